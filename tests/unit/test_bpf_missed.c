/* SPDX-License-Identifier: GPL-2.0 */
/* When too many events are missed: of each ten thousand, more than so many of a million. */
#include "../../backend/bpf/tracepoint/internal.h"
#include "../lib/tap.h"

int main(void)
{
	struct tp_share s = { 0 };

	ok(!tp_missed_often(&s, TP_WHILE / 2, 100, 1000), "half of a while says nothing");
	ok(tp_missed_often(&s, TP_WHILE / 2, 0, 1000), "at its end 1 of 100 is too much");
	ok(s.last >= 9900 && s.last <= 10000, "... which is known: %llu of a million",
	   (unsigned long long)s.last);
	ok(!tp_missed_often(&s, TP_WHILE - 10, 10, 1000), "1 of 1000 is not, in the next");
	ok(!tp_missed_often(&s, TP_WHILE, 0, 0), "none never is");
	ok(tp_missed_often(&s, TP_WHILE, 1, 0), "one is where none may be");
	return done_testing();
}
