"""Room for walks of programs that are nested deeply: most of them call themselves."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from backend.dfg import Place
from macah.diagnostic import MacahError

_DEPTH = 100_000
_STACK = 120 << 20
"""Bytes of stack for that many calls. Linux keeps 128 MiB free for the first thread's whatever the limit was
when the program started. A call from Python to Python needs none; one through C some hundred bytes."""


@contextmanager
def deep_recursion(kernel: Place | None = None) -> Iterator[None]:
    """Allow for programs nested deeper than Python's usual limit; what is deeper still is an error.

    That is a `MacahError` at the place of the kernel block that is walked, if there is one.
    """
    before, (soft, hard) = sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_STACK)
    sys.setrecursionlimit(max(before, _DEPTH))
    if soft != resource.RLIM_INFINITY and soft < _STACK:
        most = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (most, hard))
    try:
        yield
    except RecursionError:
        if kernel is None:
            raise
        raise MacahError("the kernel block is nested too deeply", kernel, code="too-deep") from None
    finally:
        sys.setrecursionlimit(before)
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
