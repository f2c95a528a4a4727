# SPDX-License-Identifier: GPL-2.0
"""Tables of the tree: the first line has the names of the columns, each row as many cells."""


def rows(path):
    """A list of {column: cell}; unknown cells stay '-'."""
    with open(path) as f:
        lines = [line.split() for line in f]
    if lines == [['unavailable']]:
        return []
    for line in lines[1:]:
        if len(line) != len(lines[0]):
            raise ValueError('%s: %s cells in a table of %s' % (path, line, lines[0]))
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def one_row(path):
    """{column: cell} of the only row of a table; unknown is left out."""
    return {k: v for row in rows(path) for k, v in row.items() if v != '-'}


def stages(path, **where):
    """{stage: {'count': 1, 'total_ns': 2, ...}} of a latency file, of rows with these cells; unknown is left out."""
    return {row['stage']: {k: int(v) for k, v in row.items() if v.isdigit() and k not in ('gpu', 'ring', 'stage')}
            for row in rows(path) if row['count'] != '-' and all(row[k] == v for k, v in where.items())}
