# SPDX-License-Identifier: GPL-2.0
"""Settings as a program writes them: one write of the whole value."""
import os


def written(path, value):
    """0 if it was taken, or the errno"""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, value if isinstance(value, bytes) else value.encode() + b'\n')
        return 0
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)
