// SPDX-License-Identifier: GPL-2.0
/* Likewise with the names up to Linux 6.16 only, of which the newer ones are made. */
#define OTHER_OLD
#include "other.c"
