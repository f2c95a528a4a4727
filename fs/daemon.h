/* SPDX-License-Identifier: GPL-2.0 */
/* Going to the background, and the report of the start to the caller or the service manager. */
#ifndef GT_DAEMON_H
#define GT_DAEMON_H

#include <stdbool.h>

/**
 * gt_daemon_detach() - returns in the background process; the caller's process waits until
 *	gt_daemon_ready() or gt_daemon_failed() and exits accordingly. Before any thread is made
 * @foreground: stays where it is; a failure is only printed, a start that went well is reported to the
 *	service manager that the environment names as NOTIFY_SOCKET
 */
int gt_daemon_detach(bool foreground);
/** gt_daemon_ready() - the start went well: the caller's process, if it waits, exits with 0 */
void gt_daemon_ready(void);
/** gt_daemon_failed() - the caller's process prints @why and exits with @code */
void gt_daemon_failed(const char *why, int code);
/** gt_daemon_print() - a line on standard error, after the name by which the program was called */
void __attribute__((format(printf, 1, 2))) gt_daemon_print(const char *fmt, ...);

#endif
