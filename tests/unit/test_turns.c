/* SPDX-License-Identifier: GPL-2.0 */
/* fs/fuse: whose request is next, with a socket for the kernel's queue. */
#include <sys/socket.h>

#include "../../fs/fuse/turns.c"
#include "../lib/tap.h"

static int queue[2];
static struct gt_fs *fs;
static uint32_t served[2048]; /* uids, or opcodes of what is urgent */
static unsigned int n, guarded, most_guarded;
static char space[1 << 16];
static unsigned int cut; /* long writes of which the beginning was kept */
static bool fired;	 /* the guard has answered what waits */

int fuse_session_fd(struct fuse_session *se)
{
	return queue[0];
}

int fuse_session_receive_buf(struct fuse_session *se, struct fuse_buf *buf)
{
	ssize_t len = recv(queue[0], space, sizeof(space), 0);

	buf->mem = space;
	buf->size = len > 0 ? (size_t)len : 0;
	return len > 0 ? (int)len : -ENODEV;
}

void fuse_session_process_buf(struct fuse_session *se, const struct fuse_buf *buf)
{
	const struct fuse_in_header *in = buf->mem;

	served[n++] = in->opcode == FUSE_LOOKUP ? in->uid : in->opcode;
	cut += in->opcode == FUSE_WRITE && buf->size == LEN_MAX && in->len == LEN_MAX;
	if (fs->serving != in->unique || (fs->serving_kept && buf->mem == space))
		served[n - 1] = UINT32_MAX;
}

bool gt_guard_fired(struct gt_fs *f)
{
	bool was = fired;

	fired = false;
	return was;
}

void gt_guard_keep(struct gt_fs *f, struct gt_guarded *r, uint64_t unique)
{
	r->slot = 1;
	most_guarded = ++guarded > most_guarded ? guarded : most_guarded;
}

void gt_guard_del(struct gt_fs *f, struct gt_guarded *r)
{
	guarded -= r->slot;
}

void gt_guard_catch_up(struct gt_fs *f)
{
}

uint64_t gt_fs_now(void)
{
	return 0; /* no read has waited */
}

static void ask(uint32_t uid, uint32_t opcode, size_t len)
{
	static char msg[1 << 16];
	static uint64_t unique;
	struct fuse_in_header *in = (struct fuse_in_header *)msg;

	*in = (struct fuse_in_header){
		.len = (uint32_t)len, .opcode = opcode, .unique = ++unique, .uid = uid
	};
	if (send(queue[1], msg, len, MSG_DONTWAIT) != (ssize_t)len)
		perror("send");
}

static unsigned int place_of(uint32_t what)
{
	unsigned int i = 0;

	while (i < n && served[i] != what)
		i++;
	return i;
}

static void serve_all(unsigned int all)
{
	n = 0;
	while (n < all && gt_turns_serve(fs) > 0)
		;
}

/* How many requests were answered with EINTR */
static unsigned int eintrs(void)
{
	struct fuse_out_header out;
	unsigned int count = 0;

	while (recv(queue[1], &out, sizeof(out), MSG_DONTWAIT) == sizeof(out))
		count += out.error == -EINTR && out.unique && out.len == sizeof(out);
	return count;
}

#define CROWD 150 /* the socket takes so many */
#define SHORT sizeof(struct fuse_in_header)

int main(void)
{
	const int room = 200 << 10; /* as large as everybody may have it */

	fs = calloc(1, sizeof(*fs));
	TAILQ_INIT(&fs->turns.waiting);
	if (!fs || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, queue) ||
	    setsockopt(queue[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)))
		return 1;
	ask(1, FUSE_LOOKUP, SHORT);
	serve_all(1);
	is(served[0], 1, "a request alone");
	is(most_guarded, 0, "is answered as it comes");

	for (int i = 0; i < CROWD; i++)
		ask(65534, FUSE_LOOKUP, SHORT);
	ask(0, FUSE_LOOKUP, SHORT);
	ask(1001, FUSE_LOOKUP, SHORT);
	ask(1001, FUSE_LOOKUP, SHORT);
	serve_all(CROWD + 3);
	is(n, CROWD + 3, "behind a crowd of one user: all are answered");
	ok(place_of(0) < 3, "root's is number %u", place_of(0));
	ok(place_of(1001) < 3, "another user's number %u", place_of(1001));
	served[place_of(1001)] = 0;
	ok(place_of(1001) < 6, "and that one's next number %u", place_of(1001));
	is(most_guarded, CROWD + 3, "a suspend finds all of them while they wait");
	is(guarded, 0, "and none afterwards");

	for (int i = 0; i < 10; i++)
		ask(65534, FUSE_LOOKUP, SHORT);
	ask(0, FUSE_FORGET, SHORT);
	ask(0, FUSE_RELEASE, SHORT);
	ask(0, FUSE_INTERRUPT, SHORT);
	ask(7, FUSE_IOCTL, 20000);
	serve_all(14);
	is(place_of(FUSE_FORGET), 0, "what nobody waits for");
	is(place_of(FUSE_RELEASE), 1, "comes first");
	is(place_of(FUSE_INTERRUPT), 2, "as what interrupts");
	is(place_of(FUSE_IOCTL), 3, "and what is too large to be kept");

	for (int i = 0; i < 6; i++)
		ask(65534, FUSE_WRITE, 20000);
	ask(7, FUSE_LOOKUP, SHORT);
	cut = 0;
	serve_all(7);
	ok(place_of(7) < 3, "long writes wait for their user's turn: number %u", place_of(7));
	ok(cut >= 5, "what is kept of them is their beginning");

	for (uint32_t i = 0; i < 100; i++)
		ask(i < 2 ? 7 + i : 65534, i < 2 ? FUSE_LOOKUP : FUSE_RELEASE, SHORT);
	serve_all(100);
	ok(place_of(7) == URGENT_MAX && place_of(8) == 2 * URGENT_MAX + 1,
	   "urgent requests without end: others have turns, numbers %u and %u", place_of(7),
	   place_of(8));
	for (int i = 0; i < 8; i++)
		ask(1, FUSE_IOCTL, LEN_MAX + 1);
	ask(7, FUSE_LOOKUP, SHORT);
	for (int i = 0; i < 100; i++)
		ask(1, FUSE_RELEASE, SHORT);
	serve_all(109);
	ok(place_of(7) <= 3 * URGENT_MAX, "also behind large ones, number %u", place_of(7));

	/* 1 and 256 have the same remainder by the number of queues */
	for (int i = 0; i < 40; i++)
		ask(1, FUSE_LOOKUP, SHORT);
	ask(GT_TURNS, FUSE_LOOKUP, SHORT);
	serve_all(41);
	is(place_of(GT_TURNS), 1, "users with uids of the same remainder do not share turns");
	for (uint32_t i = 0; i < GT_TURNS + 20; i++)
		ask(1000 + i, FUSE_LOOKUP, SHORT);
	serve_all(GT_TURNS + 20);
	is(n, GT_TURNS + 20, "more users than there are queues: all are answered");

	for (int i = 0; i < 10; i++)
		ask(65534, FUSE_LOOKUP, SHORT);
	serve_all(1);
	fired = true;
	ask(65534, FUSE_RELEASE, SHORT);
	serve_all(1);
	is(served[0], FUSE_RELEASE, "behind the guard's answers a release");
	is(eintrs(), 9, "finds all requests that waited dropped");
	ok(!fs->turns.n && !guarded, "and none is left");

	for (int i = 0; i < 3; i++)
		ask(65534, FUSE_LOOKUP, SHORT);
	fired = true;
	serve_all(2);
	is(eintrs(), 1, "a request that the guard answered while it was read is dropped");
	ok(n == 2 && !fs->turns.n, "and later ones are served");

	for (int i = 0; i < 10; i++)
		ask(65534, FUSE_LOOKUP, SHORT);
	serve_all(1);
	ok(fs->turns.n == 9 && guarded == 9, "nine wait");
	gt_turns_free(fs);
	ok(!fs->turns.n && !guarded, "at the end none is left");
	free(fs);
	return done_testing();
}
