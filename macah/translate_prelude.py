"""What every translated program begins with: the runtime's interface, macah.h, as it is.

The program's text has been preprocessed already, so including any other header again could declare the same
thing twice; macah.h includes none. It is marked as a system header, for compilers to be silent on it.
"""

from __future__ import annotations

import re
from functools import cache

from sim.cosim import RUNTIME

# A variable is often assigned by receives alone, which leave it as it is only where the stream has ended.
_RECEIVE = """\
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
"""


@cache
def _header() -> str:
    return (RUNTIME / "macah.h").read_text(encoding="utf-8")


def prelude(text: str) -> str:
    """The declarations that the translated `text` uses, with a line marker in front."""
    return '# 1 "macah.h" 3\n' + _header() + _RECEIVE * bool(re.search(r"\bmacah_receive", text))
