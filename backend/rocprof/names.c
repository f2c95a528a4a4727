/* SPDX-License-Identifier: GPL-2.0 */
/* What a file is, by its name and by its first bytes: nothing is opened here. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rocprofv3 and rocprof put at the end of names, before the suffix */
static const char *const tables[] = {
	"kernel_trace",	      "counter_collection", "hip_api_trace", "hip_runtime_trace",
	"hip_compile_trace",  "hsa_api_trace",	    "hsa_trace",     "hip_trace",
	"marker_api_trace",   "rccl_api_trace",	    "marker_trace",  "memory_copy_trace",
	"memory_allocation_", "scratch_memory_",    "kernel_stats",  "hip_api_stats",
	"hip_stats",	      "hsa_stats",	    "hsa_api_stats", "domain_stats",
	"memory_copy_stats",  "agent_info",	    "results",	     "kernel_names",
	"marker_api_stats",   "rccl_api_stats",
};

const char *rp_base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool rp_ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

/* "ui_output_agent_<handle>_dispatch_<number>" is a thread trace of device <handle>; -1: none */
uint64_t rp_agent_of(const char *folder)
{
	static const char begin[] = "ui_output_agent_";
	const char *base, *from = folder + strlen(folder);
	char *end;
	uint64_t agent;

	while (from > folder && from[-1] == '/')
		from--;
	for (base = from; base > folder && base[-1] != '/';)
		base--;
	if (strncmp(base, begin, sizeof(begin) - 1))
		return GT_NONE64;
	agent = strtoull(base + sizeof(begin) - 1, &end, 10);
	return strncmp(end, "_dispatch_", 10) ? GT_NONE64 : agent;
}

bool rp_is_result(const char *folder, const char *name)
{
	if (rp_agent_of(folder) != GT_NONE64)
		return !strcmp(name, "code.json") || !strcmp(name, "occupancy.json");
	return rp_ends(name, ".csv") || rp_ends(name, "results.json") || rp_ends(name, ".db");
}

/* Bytes of @path that files of a run have alike: its folder, and what comes before the table */
size_t rp_run_of(const char *path)
{
	const char *base = rp_base_of(path), *at;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		at = strstr(base, tables[i]);
		if (at)
			return (size_t)(at - path);
	}
	return (size_t)(base - path);
}

/* "1234_kernel_trace.csv" is of process 1234 */
uint32_t rp_pid_of(const char *base)
{
	char *end;
	unsigned long pid = strtoul(base, &end, 10);

	return *base >= '1' && *base <= '9' && *end == '_' && pid < 1u << 22 ? (uint32_t)pid
									     : GT_NONE32;
}

/* Of kernels, not of calls: rocprof v1 calls them just stats */
bool rp_of_kernels(const char *base)
{
	static const char *const others[] = { "hip",	"hsa",	  "marker", "rccl",
					      "domain", "memory", "scratch" };

	if (!strstr(base, "stats"))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(base, others[i]))
			return false;
	return true;
}

/* Does the first line begin like one of the tables? Text of ftrace may have commas as well. */
static bool csv_head(const char *head, size_t len)
{
	static const char *const first[] = { "Kind",  "Domain",	 "Correlation_Id", "Name",
					     "Index", "Node_Id", "Guid",	   "Dispatch_Id" };

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		size_t n = strlen(first[i]), at = len && head[0] == '"';

		if (len > at + n + 2 && !strncasecmp(head + at, first[i], n) &&
		    head[at + n] == (at ? '"' : ','))
			return true;
	}
	return false;
}

/*
 * Files that stand beside those that count and hold nothing that could be shown without them. The
 * first keys tell, however the file is called: @begin and @has without blanks.
 */
static const struct {
	const char *begin, *has, *why;
} parts[] = {
	{ "{\"tokens\":[", "",
	  "gives a viewer of thread traces its names and colours: nothing in it was measured" },
	{ "{\"counter_names\":", "",
	  "lists the waves of a thread trace: play code.json or occupancy.json beside it, or the "
	  "folder" },
	{ "{\"duration\":", "\"num_insts\":",
	  "is one wave of a thread trace, and calls its instructions by lines of code.json: play "
	  "that, "
	  "which has their sums, or the folder" },
	{ "{\"name\":\"wstates", "",
	  "has how many waves were in one state, not of which kernel: play occupancy.json beside "
	  "it, "
	  "or the folder" },
	{ "{\"SE", "\":[[",
	  "ties a thread trace's clock to another: play code.json or occupancy.json beside it, or "
	  "the "
	  "folder" },
	{ "{\"/\":{", "",
	  "lists the sources of a thread trace: play code.json beside it, which names them, or the "
	  "folder" },
};

const char *rp_part_only(const char *head, size_t len)
{
	char first[128];

	rp_squeeze(first, head, len);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strncmp(first, parts[i].begin, strlen(parts[i].begin)) &&
		    strstr(first, parts[i].has))
			return parts[i].why;
	return NULL;
}

bool rp_head_known(const char *head, size_t len)
{
	return csv_head(head, len) || rp_format_json.detect(head, len) ||
	       rp_format_v1json.detect(head, len) || rp_format_db.detect(head, len) ||
	       rp_format_att.detect(head, len) || rp_part_only(head, len);
}
