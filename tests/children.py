"""Child processes of the tests."""

from __future__ import annotations

import os


def no_children() -> bool:
    """Whether none is left, running or to be reaped."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False
