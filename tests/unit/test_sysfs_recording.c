/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: what dumps of queues, which have no times, refuse. */
#include <stdarg.h>
#include <stdio.h>

#include "../../backend/sysfs/sysfs.c"
#include "../lib/tap.h"

static char said[512];

static int on_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	return -err;
}

static int asked(bool recording, enum gt_control what)
{
	static const struct gt_host host = { .error = on_error };
	struct gt_plugin p = { .host = &host, .recording = recording };

	said[0] = 0;
	return gt_backend.control(&p, what, 1);
}

int main(void)
{
	is(asked(true, GT_CTL_PAUSE), -EOPNOTSUPP, "pause");
	ok(strstr(said, "pause"), "... which is reported: %s", said);
	is(asked(true, GT_CTL_SEEK), -EOPNOTSUPP, "seek");
	ok(strstr(said, "seek"), "... which is reported: %s", said);
	is(asked(true, GT_CTL_LEVEL), -EOPNOTSUPP, "a level is the gate's affair");
	is_str(said, "", "... without a sentence");
	is(asked(false, GT_CTL_PAUSE), 0, "live, what processes use is read all the same");
	return done_testing();
}
