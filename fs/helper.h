/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A helper process does what the daemon itself must not be able to do: it mounts, or opens files for
 * writing. It is forked before the first thread. It ends when the daemon's end of their socket closes.
 */
#ifndef GT_HELPER_H
#define GT_HELPER_H

#include <stddef.h>

#define GT_HELPER_SOCK 3 /* descriptors of the helper; 0 to 2 are /dev/null */
#define GT_HELPER_KEPT 4

/**
 * gt_helper_start() - fork the process, with nothing else open
 * @name: its name, at most 15 bytes
 * @keep: a descriptor that becomes GT_HELPER_KEPT there, or -1
 * @sock: out: this side's end of the socket, which keeps the bounds of packets
 *
 * Return: 1 in the helper, which must not return to the caller's callers; 0 in the daemon; -errno with
 * a sentence in @err
 */
int gt_helper_start(const char *name, int keep, int *sock, char *err, size_t len);
/** gt_helper_send() - send a packet, with descriptor @fd unless it is negative. Return: 0 or -EPIPE */
int gt_helper_send(int sock, const void *data, size_t len, int fd);
/**
 * gt_helper_receive() - wait for a packet of @len bytes
 * @fd: out: the descriptor that came with it, or -1
 * Return: 0, or -EPIPE if the other side has ended
 */
int gt_helper_receive(int sock, void *data, size_t len, int *fd);
/** gt_helper_wait() - wait until the other side has ended */
void gt_helper_wait(int sock);

#endif
