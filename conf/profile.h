/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_PROFILE_H
#define GT_PROFILE_H

#include "config.h"

#define GT_PROFILE_CUSTOM 3 /* gt_config.profile: none, or one that was changed */

/** gt_conf_text() - a value as gputrace.conf has it */
void gt_conf_text(const struct gt_config *c, const struct gt_conf_item *it, char *buf, size_t len);

/** gt_profile_key() - the @i'th setting that profiles have; NULL after the last. It may be none
 * here */
const char *gt_profile_key(unsigned int i);
/** gt_profile_value() - what @profile sets @key to; NULL: it leaves it alone */
const char *gt_profile_value(int profile, const char *key);
/** gt_profile_holds() - is @key as the profile of @c sets it? */
bool gt_profile_holds(const struct gt_config *c, const char *key);
/**
 * gt_profile_apply() - sets what the profile of @c does
 * @given: by number in gt_conf_items: leave it alone; where that differs the profile is custom
 */
void gt_profile_apply(struct gt_config *c, const bool *given);

#endif
