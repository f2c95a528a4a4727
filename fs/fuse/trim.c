/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names that a user has looked up stay in the kernel's memory, each with a node and a text here,
 * until the kernel needs room. This thread asks it to forget the oldest of a user who has many;
 * what it then still holds is held by the user: descriptors (of O_PATH too), working directories,
 * mounts.
 *
 * A thread of its own: to drop a name the kernel takes the directory's lock, which a lookup that
 * the session's thread has to answer may hold.
 */
#include <string.h>

#include "fuse.h"

#define BATCH 64
#define MANY  256 /* worth a look */

bool gt_trim_wanted(struct gt_fs *fs, const struct gt_user *u)
{
	const struct gt_quota *q = &fs->app->quota;

	return !gt_quota_is_privileged(q, u) && fs->names[gt_quota_index(q, u)].nrecent >= MANY &&
	       (gt_quota_full(q, u, GT_Q_NAMES, 2) || gt_quota_full(q, u, GT_Q_BYTES, 4));
}

static int next_user(struct gt_fs *fs)
{
	for (int i = 0; i < GT_QUOTA_USERS; i++)
		if (gt_trim_wanted(fs, &fs->app->quota.users[i]))
			return i;
	return -1;
}

/*
 * When the daemon ends, the loop answers until nobody is in here; after that nobody may come in, as
 * the directory's lock would not be let go.
 */
static bool forget(struct gt_fs *fs, const struct gt_old_name *old)
{
	bool ends;

	atomic_store(&fs->trimming, true);
	ends = atomic_load(&fs->ending);
	/* -ENOENT: it has forgotten it by itself */
	if (!ends)
		fuse_lowlevel_notify_inval_entry(fs->se, old->parent, old->name, strlen(old->name));
	atomic_store(&fs->trimming, false);
	return !ends;
}

/* All but the latest, so that this is not called for each lookup from then on. */
static void trim(struct gt_fs *fs, unsigned int user)
{
	struct gt_old_name old[BATCH];
	unsigned int n;

	do {
		n = gt_node_old(fs, user, old, BATCH);
		for (unsigned int i = 0; i < n; i++)
			if (!forget(fs, &old[i]))
				return;
	} while (n == BATCH);
}

void *gt_trim_main(void *arg)
{
	struct gt_fs *fs = arg;
	int user;

	pthread_mutex_lock(&fs->node_lock);
	while (!fs->trim_stop && !atomic_load(&fs->ending)) {
		user = next_user(fs);
		if (user < 0) {
			pthread_cond_wait(&fs->trim, &fs->node_lock);
			continue;
		}
		pthread_mutex_unlock(&fs->node_lock);
		trim(fs, (unsigned int)user);
		pthread_mutex_lock(&fs->node_lock);
	}
	pthread_mutex_unlock(&fs->node_lock);
	return NULL;
}
