# SPDX-License-Identifier: GPL-2.0
"""TAP for the parts of a case that are written in Python; run by python_checks of case.sh."""
count = 0


def ok(cond, what, got=None):
    """One check; @got is shown if it failed."""
    global count
    count += 1
    print('%sok py%d - %s' % ('' if cond else 'not ', count, what))
    if not cond and got is not None:
        print('# got %s' % (got,))
