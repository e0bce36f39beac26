"""What the command's entry point sees to before the modules are loaded."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

LOST = """
import signal, sys, time
from macah.start import hear_again
hear_again()
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
class Callback:
    def __del__(self):
        raise {}
callback = Callback()
del callback
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("error", "status"), [("KeyboardInterrupt", -signal.SIGINT), ("SystemExit(143)", 143)]
)
def test_a_signal_that_comes_where_exceptions_are_ignored_is_not_lost(error: str, status: int) -> None:
    command = [sys.executable, "-c", LOST.format(error)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert done.returncode == status
    assert "Exception ignored" not in done.stderr


def test_other_exceptions_that_are_ignored_are_shown() -> None:
    text = LOST.format("ValueError('odd')").replace("time.sleep(60)", "")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0
    assert "Exception ignored" in done.stderr and "odd" in done.stderr
