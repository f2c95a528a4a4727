#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 300 damaged variants of each recording, judged as phantoms.sh does it.
# Long
MANY=1 SEEDS=$(seq -s ' ' 1 18) exec "$GT_SRC/tests/cases/phantoms.sh"
