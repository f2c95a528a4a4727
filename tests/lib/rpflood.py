#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Databases that a user could write to hurt others: rpflood.py KIND FILE [N]

recursive: the table of dispatches is a query without an end
function:  likewise, with a function that the reader does not use itself
again:     likewise, that has each row of a small table again and again
slow:      likewise, that looks for long and finds nothing
"""
import sqlite3
import sys

from rocprof import TABLES, database

ROW = ('{0} AS id, 1 AS nid, 1 AS pid, 1 AS tid, 3 AS agent_id, 1 AS kernel_id, {0} AS dispatch_id, 1 AS queue_id, '
       '1 AS stream_id, 1000 + {0} AS start, 1500 + {0} AS "end", 0 AS private_segment_size, 0 AS group_segment_size, '
       '1 AS workgroup_size_x, 1 AS workgroup_size_y, 1 AS workgroup_size_z, 1 AS grid_size_x, 1 AS grid_size_y, '
       '1 AS grid_size_z, 1 AS event_id')
COLUMNS = ', '.join('a."%s"' % c.split()[0] for c in ['id'] + TABLES['kernel_dispatch'].split(', '))
VIEWS = {
    'recursive': 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ' + ROW.format('i') + ' FROM n',
    'function': 'SELECT ' + ROW.format('abs(id)') + ' FROM rocpd_kernel_dispatch_u',
    'again': 'SELECT ' + COLUMNS + ' FROM rocpd_kernel_dispatch_u a, rocpd_kernel_dispatch_u b, rocpd_kernel_dispatch_u c',
    'slow': 'SELECT ' + COLUMNS + ' FROM rocpd_kernel_dispatch_u a, rocpd_kernel_dispatch_u b, rocpd_kernel_dispatch_u c, '
            'rocpd_kernel_dispatch_u d WHERE a.start + b.start + c.start + d.start < 0',
}


def hostile(kind, path, n=500):
    database(path, n)
    db = sqlite3.connect(path)
    db.execute('DROP VIEW rocpd_kernel_dispatch')
    db.execute('CREATE VIEW rocpd_kernel_dispatch AS ' + VIEWS[kind])
    db.execute('DROP VIEW rocpd_pmc_event')  # which would be looked up in it, first of all
    db.commit()
    db.close()


if __name__ == '__main__':
    hostile(sys.argv[1], sys.argv[2], *[int(n) for n in sys.argv[3:4]])
