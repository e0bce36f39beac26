"""Whether the Icarus Verilog and the cocotb that are found are those that simulation needs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version

from .parallel import run_all
from .simulator import SimulatorMissing, failure_of

OLDEST = 11
PATIENCE = 20
"""Seconds in which a tool must say its version."""
_VERSION = re.compile(r"Icarus Verilog (?:runtime )?version (\d+)")


def check_icarus(tools: Sequence[str]) -> None:
    """Asks the tools, which must be of one version. Errors: SimulatorMissing."""
    versions = run_all(partial(_version, tool) for tool in tools)
    if len(set(versions)) > 1:
        found = ", ".join(f"'{tool}' {number}" for tool, number in zip(tools, versions, strict=True))
        raise SimulatorMissing(f"the parts of Icarus Verilog have different versions: {found}")
    if versions[0] < OLDEST:
        raise SimulatorMissing(
            f"'{tools[0]}' is Icarus Verilog {versions[0]}, which is too old; install {OLDEST} or newer"
        )


@cache
def _version(tool: str) -> int:
    """The first number of a tool's version."""
    try:
        done = subprocess.run(
            [tool, "-V"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise SimulatorMissing(f"'{tool}' has not said its version in {PATIENCE} s") from None
    except OSError as error:
        raise SimulatorMissing(f"'{tool}' cannot be run: {error.strerror}") from None
    said = done.stdout + done.stderr
    found = _VERSION.search(said)
    if found is None:
        instead = failure_of(done.returncode, said, tool).splitlines()[0]
        raise SimulatorMissing(f"'{tool}' does not say that it is of Icarus Verilog, but: {instead}")
    return int(found[1])


def check_cocotb() -> None:
    """Errors: SimulatorMissing."""
    install = "install it (pip install 'cocotb>=2,<3')"
    try:
        found = version("cocotb")
    except PackageNotFoundError:
        raise SimulatorMissing(f"cocotb was not found; {install}") from None
    if found.split(".")[0] != "2":
        raise SimulatorMissing(f"cocotb {found} was found, but version 2 is needed; {install}")
