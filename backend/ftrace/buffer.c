/* SPDX-License-Identifier: GPL-2.0 */
/* How large the kernel's buffers are: asked, bounded by the machine's memory, and granted. */
#include <stdio.h>
#include <sys/param.h>
#include <syslog.h>

#include "internal.h"

int64_t ft_buffer_cap(int64_t memory, int64_t ncpus)
{
	return MAX(gt_live_buffer_cap(memory, ncpus), FT_BUFFER_MIN);
}

/* KiB in DIR/@file; a buffer not yet in use says "7 (expanded: 1408)". 0 if it does not say. */
static int64_t kib(struct ft *ft, const char *file)
{
	ft_auto_free char *text = gt_live_read(ft->dir, file, NULL);

	return text ? strtoll(text, NULL, 10) : 0;
}

void ft_buffer_ask(struct ft *ft, int64_t bytes)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t want;
	char text[32];

	ft->buffer.asked = bytes;
	ft->buffer.cap = ft_buffer_cap(memory, ncpus);
	/* The kernel may end processes to find memory: what is too much is not even tried. */
	want = MAX(MIN(bytes, ft->buffer.cap), FT_BUFFER_MIN);
	for (; want >= FT_BUFFER_MIN; want /= 2) {
		snprintf(text, sizeof(text), "%lld", (long long)(want / 1024));
		if (!ft_write(ft->dir, "buffer_size_kb", text))
			break;
	}
	/* With all refused the buffer keeps the size it has. */
	ft->buffer.granted = kib(ft, "buffer_size_kb") * 1024;
	ft->buffer.total = kib(ft, "buffer_total_size_kb") * 1024;
	if (ft->buffer.granted > 0)
		ft->o->buffer_size = ft->buffer.granted;
	if (ft->buffer.granted < bytes)
		ft->p->host->log(ft->p, LOG_INFO, "buffers of %lld bytes per CPU, %lld were asked",
				 (long long)ft->buffer.granted, (long long)bytes);
}
