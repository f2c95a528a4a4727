/* SPDX-License-Identifier: GPL-2.0 */
/* Directories that users make in one of a backend's own: backends/<name>/<dir>/<made>/. */
#ifndef GT_MADE_H
#define GT_MADE_H

#include "../../backend/host/host.h"
#include "node.h"

/** gt_made_in() - name of the directory of backend @id in which users make others; false: it has
 * none */
bool gt_made_in(const struct gt_app *app, uint32_t id, char name[64]);
/** gt_made_seen() - may @v know what a user made? */
bool gt_made_seen(uint32_t uid, const struct gt_view *v);
/** gt_made_alive() - is what @dir means still there? */
bool gt_made_alive(const struct gt_app *app, const struct gt_obj *dir);
struct gt_obj gt_obj_of_made(uint32_t backend, const struct gt_userdir *m);
/** gt_made_name() - as the caller knows it: another user's has ~UID at its end, as each has names
 * of their own */
void gt_made_name(char out[GT_NAME_MAX], const struct gt_userdir *m, const struct gt_view *v);
/** gt_made_named() - what the caller calls @name in @dir; false: nothing that they see */
bool gt_made_named(const struct gt_app *app, const char *name, const struct gt_obj *dir,
		   const struct gt_view *v, struct gt_obj *out);
/** gt_userdir_file() - the @i'th file in @dir, as gt_backend_own() */
bool gt_userdir_file(const struct gt_app *app, const struct gt_obj *dir, unsigned int i,
		     struct gt_file *dyn, char name[64]);
/** gt_made_path() - "backends/NAME/DIR" of the directory that @dir is in, or is */
void gt_made_path(const struct gt_app *app, const struct gt_obj *dir, char *out, size_t len);

#endif
