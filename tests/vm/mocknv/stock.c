// SPDX-License-Identifier: GPL-2.0
/* NVIDIA's own module. */
#include "rm.h"
