/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The SQLite database that rocprofv3 writes since ROCm 7 (rocpd), read where it is: the library
 * gets a file system of one file that is open already, cannot write, and knows of no journal. Its
 * tables are read side by side, by time.
 */
#include "rocprof.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 2048 /* a piece */
#define ROW_LEAST                                                                                  \
	16 /* bytes of the file that a row takes: a table of fewer columns is none of these */
#define TEXT_MOST (16 << 20) /* bytes of a value, or of a row */

enum { Q_DISPATCH, Q_COUNTER, Q_API, Q_COPY, Q_MEMORY, QUERIES };

/** struct rp_db - @next: the row of each table that comes next, if @have; @rows: of all so far, @stored: see rp_stored();
 * @denied: a query is none that is run; @failed: nothing more is read */
struct rp_db {
	sqlite3 *db;
	sqlite3_stmt *stmt[QUERIES];
	struct rp_row next[QUERIES];
	bool have[QUERIES], denied, failed;
	uint64_t at[RP_PLACES], rows, stored;
};

static_assert(QUERIES == RP_PLACES, "each table has its place");

/* The file ---------------------------------------------------------------------------------------
 */

struct db_file {
	sqlite3_file base;
	const struct rp_input *in;
};

static const struct rp_input *opening; /* one process, one thread: what xOpen() is asked for */

static int f_close(sqlite3_file *f)
{
	return SQLITE_OK;
}
static int f_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 off)
{
	ssize_t got = rp_pread(((struct db_file *)f)->in, buf, (size_t)n, (uint64_t)off);

	if (got < 0)
		return SQLITE_IOERR_READ;
	memset((char *)buf + got, 0, (size_t)(n - got));
	return got == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}
static int f_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 off)
{
	return SQLITE_READONLY;
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return SQLITE_READONLY;
}
static int f_flags(sqlite3_file *f, int flags)
{
	return SQLITE_OK;
}
static int f_size(sqlite3_file *f, sqlite3_int64 *size)
{
	*size = (sqlite3_int64)((struct db_file *)f)->in->s->size;
	return SQLITE_OK;
}
static int f_reserved(sqlite3_file *f, int *out)
{
	*out = 0;
	return SQLITE_OK;
}
static int f_control(sqlite3_file *f, int op, void *arg)
{
	return SQLITE_NOTFOUND;
}
static int f_sector(sqlite3_file *f)
{
	return 4096;
}
static int f_is(sqlite3_file *f)
{
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_flags,
	.xFileSize = f_size,
	.xLock = f_flags,
	.xUnlock = f_flags,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_is,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
	memset(f, 0, sizeof(struct db_file));
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN; /* there is no other file */
	f->pMethods = &methods;
	((struct db_file *)f)->in = opening;
	if (out)
		*out = SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}
static int v_delete(sqlite3_vfs *v, const char *name, int sync)
{
	return SQLITE_READONLY;
}
static int v_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
	*out = 0;
	return SQLITE_OK;
}
static int v_path(sqlite3_vfs *v, const char *name, int n, char *out)
{
	sqlite3_snprintf(n, out, "%s", name);
	return SQLITE_OK;
}
static int v_random(sqlite3_vfs *v, int n, char *out)
{
	memset(out, 0, (size_t)n);
	return n;
}
static int v_sleep(sqlite3_vfs *v, int us)
{
	return 0;
}
static int v_time(sqlite3_vfs *v, double *out)
{
	*out = 0;
	return SQLITE_OK;
}

static sqlite3_vfs vfs = {
	.iVersion = 1,
	.szOsFile = sizeof(struct db_file),
	.mxPathname = 64,
	.zName = "one",
	.xOpen = v_open,
	.xDelete = v_delete,
	.xAccess = v_access,
	.xFullPathname = v_path,
	.xRandomness = v_random,
	.xSleep = v_sleep,
	.xCurrentTime = v_time,
};

/* Queries ----------------------------------------------------------------------------------------
 */

#define PROCESS                                                                                    \
	" LEFT JOIN rocpd_info_process p ON p.id = r.pid LEFT JOIN rocpd_info_thread t ON t.id = " \
	"r.tid "
#define EVENT " LEFT JOIN rocpd_event e ON e.id = r.event_id "
/* the last column is the row's number: those above what was read before are asked for */
#define AFTER "WHERE r.id > ?1"
/* columns 0 to 4 are alike in all */
#define COMMON                                                                                     \
	"r.start, r.\"end\", COALESCE(p.pid, r.pid), COALESCE(t.tid, r.tid), e.correlation_id"

#define API(more, of)                                                                              \
	"SELECT " COMMON ", n.string" more ", r.id FROM rocpd_region r "                           \
	"LEFT JOIN rocpd_string n ON n.id = r.name_id" PROCESS EVENT of AFTER

static const struct {
	enum rp_row_kind kind;
	const char *sql;
} queries[QUERIES] = {
	[Q_DISPATCH] = { RP_DISPATCH,
			 "SELECT " COMMON
			 ", COALESCE(s.display_name, s.kernel_name), r.agent_id, r.queue_id, "
			 "r.dispatch_id, s.arch_vgpr_count, s.accum_vgpr_count, s.sgpr_count, "
			 "r.group_segment_size, r.private_segment_size, r.grid_size_x, "
			 "r.grid_size_y, "
			 "r.grid_size_z, r.workgroup_size_x, r.workgroup_size_y, "
			 "r.workgroup_size_z, r.id "
			 "FROM rocpd_kernel_dispatch r LEFT JOIN rocpd_info_kernel_symbol s "
			 "ON s.id = r.kernel_id" PROCESS EVENT AFTER },
	[Q_COUNTER] = { RP_COUNTER,
			"SELECT " COMMON ", COALESCE(s.display_name, s.kernel_name), r.agent_id, "
			"i.name, v.value, v.id "
			"FROM rocpd_pmc_event v JOIN rocpd_info_pmc i ON i.id = v.pmc_id "
			"JOIN rocpd_kernel_dispatch r ON r.event_id = v.event_id "
			"LEFT JOIN rocpd_info_kernel_symbol s ON s.id = r.kernel_id" PROCESS EVENT
			"WHERE v.id > ?1" },
	[Q_API] = { RP_API, API(", c.string LIKE 'MARKER%'",
				" LEFT JOIN rocpd_string c ON c.id = e.category_id ") },
	[Q_COPY] = { RP_COPY,
		     "SELECT " COMMON ", n.string, r.dst_agent_id, r.src_agent_id, r.size, r.id "
		     "FROM rocpd_memory_copy r "
		     "LEFT JOIN rocpd_string n ON n.id = r.name_id" PROCESS EVENT AFTER },
	[Q_MEMORY] = { RP_ALLOC, "SELECT " COMMON ", r.type, r.agent_id, r.size, r.level, r.id "
				 "FROM rocpd_memory_allocate r" PROCESS EVENT AFTER },
};

/* Of databases with events without a category */
static const char plain_api[] = API("", "");

static uint64_t whole(sqlite3_stmt *s, int i)
{
	sqlite3_int64 v = sqlite3_column_int64(s, i);

	return sqlite3_column_type(s, i) == SQLITE_INTEGER && v >= 0 ? (uint64_t)v : GT_NONE64;
}

static uint32_t small(sqlite3_stmt *s, int i)
{
	uint64_t v = whole(s, i);

	return v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
}

static uint32_t name(struct rp_input *in, sqlite3_stmt *s, int i)
{
	const void *text = sqlite3_column_text(s, i);

	return text ? rp_intern(in, text, (size_t)sqlite3_column_bytes(s, i)) : GT_NONE32;
}

static void take_values(struct rp_row *r, sqlite3_stmt *s, int at)
{
	static const uint8_t order[] = { GT_KV_VGPR,	    GT_KV_AGPR,	      GT_KV_SGPR,
					 GT_KV_LDS,	    GT_KV_SCRATCH,    GT_KV_GRID_X,
					 GT_KV_GRID_Y,	    GT_KV_GRID_Z,     GT_KV_WORKGROUP_X,
					 GT_KV_WORKGROUP_Y, GT_KV_WORKGROUP_Z };

	for (size_t i = 0; i < sizeof(order); i++)
		r->v[order[i]] = small(s, at + (int)i);
}

static void take(struct rp_input *in, sqlite3_stmt *s, int q, struct rp_row *r)
{
	rp_row_init(r, queries[q].kind);
	r->start = whole(s, 0);
	r->end = whole(s, 1);
	r->pid = small(s, 2);
	r->tid = small(s, 3);
	r->correlation = whole(s, 4);
	r->name = name(in, s, 5);
	if (q == Q_DISPATCH || q == Q_COUNTER || q == Q_COPY || q == Q_MEMORY)
		r->agent = whole(s, 6);
	if (q == Q_DISPATCH) {
		r->queue = whole(s, 7);
		r->dispatch = whole(s, 8);
		take_values(r, s, 9);
	} else if (q == Q_API) { /* column 6 is the row's number where there is no category */
		if (sqlite3_column_count(s) > 7 && sqlite3_column_int(s, 6))
			r->kind = RP_MARKER;
	} else if (q == Q_COUNTER) {
		r->counter = name(in, s, 7);
		r->value = sqlite3_column_double(s, 8);
	} else if (q == Q_COPY) {
		r->from = whole(s, 7);
		r->bytes = whole(s, 8);
	} else if (q == Q_MEMORY) {
		const char *level = (const char *)sqlite3_column_text(s, 8);

		r->bytes = whole(s, 7);
		if (level && !strcmp(level, "SCRATCH"))
			r->kind = RP_SCRATCH;
	}
}

static bool sound(const struct rp_row *r)
{
	return r->start < INT64_MAX && r->end < INT64_MAX && r->start <= r->end;
}

/*
 * What a run's tables are called is a view of the tables that have the run's number in their names.
 * A view may be any query: one that goes on without an end, or has the rows of a small table again
 * and again. So none may call itself or a function but those of ours, and all of a file's rows are
 * no more than have room in it.
 */
static int may_query(void *arg, int what, const char *a, const char *b, const char *db,
		     const char *view)
{
	static const char *const functions[] = { "coalesce", "like", "json_valid", "json_extract" };

	if (what == SQLITE_SELECT || what == SQLITE_READ)
		return SQLITE_OK;
	for (size_t i = 0; what == SQLITE_FUNCTION && i < 4; i++)
		if (!strcmp(b, functions[i]))
			return SQLITE_OK;
	((struct rp_db *)arg)->denied = true;
	return SQLITE_DENY;
}

static bool too_many(struct rp_input *in, struct rp_db *d)
{
	if (++d->rows <= d->stored / ROW_LEAST)
		return false;
	if (!d->failed)
		rp_fail(in,
			"has more rows than %llu bytes have room for: further ones are left out",
			(unsigned long long)d->stored);
	return d->failed = true;
}

/* The next row of a table that makes sense; false: there is none */
static bool step(struct rp_input *in, struct rp_db *d, int q)
{
	int ret;

	while (d->stmt[q]) {
		ret = sqlite3_step(d->stmt[q]);
		if (ret == SQLITE_ROW && too_many(in, d))
			return false;
		if (ret != SQLITE_ROW) {
			if (ret != SQLITE_DONE)
				rp_fault(in, "cannot be read to its end: %s",
					 sqlite3_errmsg(d->db));
			sqlite3_finalize(d->stmt[q]);
			d->stmt[q] = NULL;
			return false;
		}
		take(in, d->stmt[q], q, &d->next[q]);
		d->at[q] = whole(d->stmt[q], sqlite3_column_count(d->stmt[q]) - 1);
		if (sound(&d->next[q]))
			return true;
		rp_fault(in, "a row of table %d has no times, or ends before it begins: left out",
			 q);
	}
	return false;
}

static void emit_agents(struct rp_input *in, struct rp_db *d)
{
	static const char sql[] =
		"SELECT id, type = 'GPU', absolute_index, "
		"CASE WHEN json_valid(extdata) THEN json_extract(extdata, '$.location_id') END, "
		"CASE WHEN json_valid(extdata) THEN json_extract(extdata, '$.domain') END, "
		"CASE WHEN json_valid(extdata) THEN json_extract(extdata, '$.gpu_id') END "
		"FROM rocpd_info_agent LIMIT 256";
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) == SQLITE_OK)
		while (sqlite3_step(s) == SQLITE_ROW) {
			struct rp_agent a = { .key = whole(s, 0),
					      .node = whole(s, 2),
					      .location = whole(s, 3),
					      .domain = whole(s, 4),
					      .gpu_id = whole(s, 5),
					      .gpu = sqlite3_column_int(s, 1) };
			rp_emit_agent(in, &a);
		}
	sqlite3_finalize(s);
}

static bool db_detect(const char *head, size_t len)
{
	return len >= 16 && !memcmp(head, "SQLite format 3", 16);
}

static int db_open(struct rp_input *in)
{
	struct rp_db *d = calloc(1, sizeof(*d));
	char why[256] = "";
	int ret;

	in->priv = d;
	if (!d)
		return rp_fail(in, "no memory");
	opening = in;
	sqlite3_vfs_register(&vfs, 1);
	ret = sqlite3_open_v2("file:db?immutable=1", &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			      "one");
	if (ret == SQLITE_OK)
		ret = sqlite3_exec(
			d->db,
			"PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; "
			"PRAGMA cache_size = -16384; SELECT 1 FROM sqlite_schema LIMIT 1",
			NULL, NULL, NULL);
	if (ret != SQLITE_OK)
		return rp_fail(in, "is no sound database: %s",
			       d->db ? sqlite3_errmsg(d->db) : "no memory");
	sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, TEXT_MOST);
	sqlite3_set_authorizer(d->db, may_query, d);
	d->stored = rp_stored(in->s);
	ret = sqlite3_prepare_v2(d->db, queries[Q_DISPATCH].sql, -1, &d->stmt[Q_DISPATCH], NULL);
	if (ret != SQLITE_OK)
		snprintf(why, sizeof(why), "%s", sqlite3_errmsg(d->db));
	for (int q = Q_DISPATCH + 1; q < QUERIES; q++)
		sqlite3_prepare_v2(d->db, queries[q].sql, -1, &d->stmt[q],
				   NULL); /* versions have not all */
	if (!d->stmt[Q_API])
		sqlite3_prepare_v2(d->db, plain_api, -1, &d->stmt[Q_API], NULL);
	if (d->denied)
		return rp_fail(in,
			       "has a query that calls itself, or a function, where rocprof has a "
			       "table: it is not read");
	if (ret != SQLITE_OK)
		return rp_fail(in, "is no database of rocprof's that is known here: %s", why);
	memcpy(d->at, in->s->at, sizeof(d->at));
	for (int q = 0; q < QUERIES; q++)
		if (d->stmt[q])
			sqlite3_bind_int64(d->stmt[q], 1, (sqlite3_int64)d->at[q]);
	emit_agents(in, d);
	return 0;
}

static bool db_first(const struct rp_input *in)
{
	return false;
}

static int db_feed(struct rp_input *in)
{
	struct rp_db *d = in->priv;

	for (int n = 0; n < ROWS; n++) {
		int first = -1;

		for (int q = 0; q < QUERIES; q++) {
			if (!d->have[q])
				d->have[q] = step(in, d, q);
			if (d->have[q] &&
			    (first < 0 || rp_row_ts(&d->next[q]) < rp_row_ts(&d->next[first])))
				first = q;
		}
		if (d->failed)
			return -EBADMSG;
		if (first < 0) {
			rp_emit_at(in, d->at);
			return 0;
		}
		rp_emit(in, &d->next[first]);
		d->have[first] = false;
	}
	return 1;
}

static void db_close(struct rp_input *in)
{
	struct rp_db *d = in->priv;

	in->priv = NULL;
	if (!d)
		return;
	for (int q = 0; q < QUERIES; q++)
		sqlite3_finalize(d->stmt[q]);
	sqlite3_close(d->db);
	free(d);
}

const struct rp_format rp_format_db = {
	.name = "rocpd",
	.detect = db_detect,
	.open = db_open,
	.first = db_first,
	.feed = db_feed,
	.close = db_close,
};
