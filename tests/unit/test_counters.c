/* SPDX-License-Identifier: GPL-2.0 */
/* A GPU's counters: those of all its kernels by name, however many there are. */
#include "../lib/treebed.h"

#define KERNELS 60

static uint32_t kernel(const char *name, uint32_t uid)
{
	struct gt_kernel_desc d;

	gt_kernel_init(&d);
	d.gpu = 0;
	d.uid = uid;
	d.name = name;
	d.len = strlen(name);
	return gt_model_kernel(app.model, &d);
}

/* Kernel @k reads counters @first to @first + @n - 1, each in another order: their number and its
 * own */
static void fill(uint32_t id, unsigned int k, unsigned int first, unsigned int n)
{
	char name[GT_KERNEL_COUNTER];

	GT_MODEL_LOCK(app.model);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int c = first + (i * 7 + k * 1001) % n;

		snprintf(name, sizeof(name), "TCC_BUBBLE_OF_CHANNEL_sum[%u]", c);
		gt_model_counter(app.model, id, name, c);
		gt_model_counter(app.model, id, name, c + k);
	}
}

static bool show_all(const char *path, const struct gt_view *v, struct gt_text *t)
{
	struct gt_show s = { .app = &app, .view = *v };
	struct gt_entry e;

	gt_text_init(t, 16 << 20);
	if (find(path, v, &e))
		return false;
	s.obj = e.obj;
	s.file = e.file;
	return !gt_tree_show(t, &s) && t->len && (gt_text_ch(t, '\0'), !t->failed);
}

/* Lines that say what they should of counters @first to @last of so many kernels, at most twice the
 * sum of @ks */
static unsigned int good(const char *p, unsigned int kernels, unsigned int ks, unsigned int last)
{
	unsigned int n = 0, c, count, max;
	unsigned long long sum;
	double min, avg;

	for (; p; p = strchr(p, '\n'), p += p != NULL) {
		if (sscanf(p, "TCC_BUBBLE_OF_CHANNEL_sum[%u] %u %llu %lf %lf %u", &c, &count, &sum,
			   &min, &avg, &max) != 6)
			continue;
		n += c <= last && count == 2 * kernels && sum == 2ULL * kernels * c + ks &&
		     min == c && max >= c && max < c + KERNELS;
	}
	return n;
}

int main(void)
{
	struct gt_view user = { .uid = 1000, .visibility = GT_VIS_REDACTED };
	unsigned int ks = 0;
	struct gt_entry e;
	struct gt_text t;
	char name[16];

	make_machine();
	is(find("amdgpu0/counters", &root_view, &e), -ENOENT, "no counters, no file");
	for (unsigned int k = 0; k < 1000;
	     k++) { /* more than are looked at with the lock at once */
		snprintf(name, sizeof(name), "none%u", k);
		kernel(name, 0);
	}
	is(find("amdgpu0/counters", &root_view, &e), -ENOENT, "nor with kernels that have none");
	for (unsigned int k = 0; k < KERNELS; k++, ks += k < KERNELS ? k : 0) {
		snprintf(name, sizeof(name), "k%u", k);
		fill(kernel(name, 0), k, 0, GT_KERNEL_COUNTERS);
	}
	ok(show_all("amdgpu0/counters", &root_view, &t), "%d kernels of %d counters are shown",
	   KERNELS, GT_KERNEL_COUNTERS);
	is(good(t.buf, KERNELS, ks, GT_KERNEL_COUNTERS), GT_KERNEL_COUNTERS, "each added up");
	ok(!strstr(t.buf, "\n- "), "and all of them");
	gt_text_free(&t);
	ok(show_all("amdgpu0/kernels/k3/counters", &root_view, &t), "one kernel's");
	is(good(t.buf, 1, 3, GT_KERNEL_COUNTERS), GT_KERNEL_COUNTERS, "… are its own");
	gt_text_free(&t);

	is(find("amdgpu0/counters", &user, &e), -ENOENT, "another user has none");
	fill(kernel("own", 1000), 7, 0, 600);
	ok(show_all("amdgpu0/counters", &user, &t), "but for those of the own kernels");
	is(good(t.buf, 1, 7, 599), 600, "… which are these alone");
	gt_text_free(&t);

	fill(kernel("more", 0), 0, GT_KERNEL_COUNTERS - 10, 25);
	ok(show_all("amdgpu0/counters", &root_view, &t), "more than there is room for");
	ok(strstr(squeeze(t.buf), "\n- 30 - - - -\n"), "… which is counted");
	gt_text_free(&t);
	return done_testing();
}
