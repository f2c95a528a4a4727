/* SPDX-License-Identifier: GPL-2.0 */
/* Who may use a device, held against what the kernel says when that user tries. */
#include <fcntl.h>
#include <grp.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../../fs/devices.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

#define UID   54321
#define GROUP 54322

static char path[TMP_PATH_MAX];

/* A process of UID, which is in GROUP: can it open the file? It stays until it is killed */
static pid_t user(bool *opens)
{
	const gid_t group = GROUP;
	char c = 0;
	int pipes[2];
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		if (setgroups(1, &group) || setresgid(UID, UID, UID) || setresuid(UID, UID, UID))
			_exit(1);
		c = open(path, O_RDWR | O_CLOEXEC) >= 0;
		_exit(write(pipes[1], &c, 1) == 1 && pause());
	}
	close(pipes[1]);
	if (read(pipes[0], &c, 1) != 1)
		c = 0;
	close(pipes[0]);
	*opens = c;
	return pid;
}

static void is_as_tried(const char *what)
{
	bool opens = false;
	pid_t pid = user(&opens);

	is(gt_device_access(path, UID), opens, "%s: %d", what, opens);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check(mode_t mode, uid_t uid, gid_t gid, const char *what)
{
	if (chown(path, uid, gid) || chmod(path, mode))
		perror(path);
	is_as_tried(what);
}

static bool set_acl(unsigned int user, unsigned int group, unsigned int mask)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entry[6];
	} acl = { { POSIX_ACL_XATTR_VERSION },
		  { { ACL_USER_OBJ, 6, ACL_UNDEFINED_ID },
		    { ACL_USER, (unsigned short)user, UID },
		    { ACL_GROUP_OBJ, 0, ACL_UNDEFINED_ID },
		    { ACL_GROUP, (unsigned short)group, GROUP },
		    { ACL_MASK, (unsigned short)mask, ACL_UNDEFINED_ID },
		    { ACL_OTHER, 0, ACL_UNDEFINED_ID } } };

	return !setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0);
}

static void check_acl(unsigned int named, unsigned int group, unsigned int mask, const char *what)
{
	if (set_acl(named, group, mask))
		is_as_tried(what);
	else
		ok(true, "%s # skip there are no ACLs here", what);
}

int main(void)
{
	int fd = tmp_file(path, "gt-devaccess");

	if (fd < 0 || (geteuid() && ok(true, "devices # skip it takes root")))
		return done_testing();
	close(fd);
	is(gt_device_access("/none", UID), false, "what is not there");
	is(gt_device_access(path, 0), true, "root");
	check(0666, 0, 0, "everybody");
	check(0644, 0, 0, "nobody may write");
	check(0660, 0, 0, "root's group");
	check(0660, 0, GROUP, "a group of the user's");
	check(0640, 0, GROUP, "which may not write");
	check(0660, 0, UID, "the user's first group");
	check(0600, UID, 0, "the owner");
	check(0066, UID, GROUP, "who has no more than an owner");
	if (chown(path, 0, 0))
		perror(path);
	check_acl(6, 0, 7, "an ACL that names the user");
	check_acl(4, 6, 7, "with less than the group");
	check_acl(6, 6, 4, "and a mask");
	unlink(path);
	return done_testing();
}
