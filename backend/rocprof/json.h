/* SPDX-License-Identifier: GPL-2.0 */
/* What json.c, which walks, and record.c, which knows what the values mean, share. */
#ifndef GT_ROCPROF_JSON_H
#define GT_ROCPROF_JSON_H

#include "walk.h"

#define RP_JSON_DEPTH	32
#define RP_SYMBOLS	(1u << 20)
#define RP_KINDS_MAX	64   /* kinds of records whose operations have names */
#define RP_OPERATIONS	2048 /* of a kind */
#define RP_READINGS	64   /* counters read in one dispatch */
#define RP_COUNTERS	4096
#define RP_NOT_INTERNED (GT_NONE32 - 1)

/** struct rp_symbol - a kernel as its code object has it, or a counter; @id: of its name, once told
 */
struct rp_symbol {
	char *name;
	size_t len;
	uint32_t id;
	uint32_t vgpr, agpr, sgpr;
};

/**
 * struct rp_json - a file being read
 * @level: the maps and arrays that the value is in, from 1 on
 * @row, @agent, @symbol: the one that is being read; @rank: how good the symbol's name is
 * @handle: of the device or counter that is being read; @kind, @operation: of a record
 * @reading: counters of a dispatch, as they come before its end
 */
struct rp_json {
	struct rp_walk walk;
	unsigned int depth;
	struct {
		bool map;
		uint8_t key;
	} level[RP_JSON_DEPTH];
	uint32_t pid;
	struct rp_row row;
	struct rp_agent agent;
	struct rp_symbol symbol;
	unsigned int rank;
	uint64_t handle, symbol_id, kernel, kind, operation;
	struct rp_symbol *symbols;
	uint64_t nsymbols;
	struct {
		uint64_t handle;
		struct rp_symbol name;
	} counter[RP_COUNTERS];
	unsigned int ncounters;
	struct {
		uint64_t handle;
		double value;
	} reading[RP_READINGS];
	unsigned int nreadings;
	struct rp_symbol *names[RP_KINDS_MAX]; /* of operations, RP_OPERATIONS each */
	unsigned int nnames[RP_KINDS_MAX], nkinds;
};

uint8_t rp_json_key(const char *s, size_t len);
/** rp_json_begin() - a map begins, the innermost level; rp_json_end() - it ends */
void rp_json_begin(struct rp_input *in, struct rp_json *j);
void rp_json_end(struct rp_input *in, struct rp_json *j);
void rp_json_text(struct rp_input *in, struct rp_json *j, uint8_t key, const char *s, size_t len);
/** rp_json_number() - @v: as a whole number, GT_NONE64 if it is none; @d: as any */
void rp_json_number(struct rp_input *in, struct rp_json *j, uint8_t key, uint8_t parent, uint64_t v,
		    double d);
void rp_json_free(struct rp_json *j);

#endif
