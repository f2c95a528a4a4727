// SPDX-License-Identifier: GPL-2.0
/* grtrace's records: what grtrace(5) says of them, and that numbers are gputrace's own. */
#include "../../backend/event.h"
#include "../../backend/relay/kmod/format.h"
#include "../lib/tap.h"

static const struct grt_type_info types[] = {
#define X(number, text, payload) { .type = number, .size = sizeof(payload), .name = text },
	GRT_TYPES(X)
#undef X
};

static const struct grt_engine_info engines[] = {
#define X(bit, text) { .engine_class = bit, .name = text },
	GRT_ENGINES(X)
#undef X
};

static void test_numbers(void)
{
	static const char *const ours[] = GT_TYPE_NAMES;
	bool same = true, even = true, named = true;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct grt_type_info *t = &types[i];

		if (t->type < GT_CUSTOM0)
			same &= !strcmp(t->name, ours[t->type]);
		even &= t->size % 8 == 0 && t->type < GRT_NTYPES;
	}
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		named &= *engines[i].name != 0;
	ok(same, "types below 32 have gputrace's numbers, so masks mean the same");
	ok(even, "payloads keep what follows aligned");
	ok((int)GRT_CUSTOM == GT_CUSTOM0, "a driver's event is a CUSTOM one");
	ok(sizeof(types) / sizeof(types[0]) == GRT_TYPES_USED, "METADATA's types");
	ok(sizeof(engines) / sizeof(engines[0]) == GRT_ENGINES_USED && named,
	   "METADATA's engines, each with a name");
	ok(GRT_ERR_TIMEOUT == (int)GT_ERR_TIMEOUT && GRT_ERR_GUILTY == (int)GT_ERR_GUILTY,
	   "kinds of error are gputrace's");
}

static void test_layout(void)
{
	ok(offsetof(struct grt_header, cpu) == 4 && offsetof(struct grt_header, gseq) == 16 &&
		   offsetof(struct grt_header, cseq) == 24,
	   "the header");
	ok(offsetof(struct grt_event, seqno) == 8 && offsetof(struct grt_event, pid) == 12 &&
		   offsetof(struct grt_event, seqno_high) == 28 &&
		   offsetof(struct grt_event, ref) == 40,
	   "an event");
	ok(offsetof(struct grt_stream_info, clock_src) == 32 &&
		   offsetof(struct grt_stream_info, boottime_offset) == 56,
	   "STREAM_INFO");
	ok(offsetof(struct grt_metadata, field_sizes) == 8 &&
		   offsetof(struct grt_metadata, driver) == 24 &&
		   offsetof(struct grt_metadata, model) == 40,
	   "METADATA");
	ok(offsetof(struct grt_ring_info, name) == 24 && offsetof(struct grt_ring_info, dev) == 56,
	   "RING");
}

int main(void)
{
	test_numbers();
	test_layout();
	return done_testing();
}
