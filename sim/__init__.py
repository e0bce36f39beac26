"""Running designs together with host programs, and kernels under Python (docs/python.md)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import CompileError as CompileError
    from .errors import DeadlockError as DeadlockError
    from .errors import Diagnostic as Diagnostic
    from .errors import KernelAssertionError as KernelAssertionError
    from .errors import KernelError as KernelError
    from .errors import OverrunError as OverrunError
    from .errors import SimulatorError as SimulatorError
    from .kernel import Kernel as Kernel
    from .kernel import compile_kernel as compile_kernel
    from .kernel import compile_kernels as compile_kernels
    from .kernel import load_kernel as load_kernel
    from .ports import KernelPorts as KernelPorts
    from .result import Result as Result
    from .result import RunOptions as RunOptions
    from .session import Run as Run

_ERRORS = "CompileError DeadlockError Diagnostic KernelAssertionError KernelError OverrunError SimulatorError"
_HOMES = {
    "errors": _ERRORS,
    "kernel": "Kernel compile_kernel compile_kernels load_kernel",
    "ports": "KernelPorts",
    "result": "Result RunOptions",
    "session": "Run",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = list(_MODULES)  # noqa: PLE0604


def __getattr__(name: str) -> object:
    """What is asked for is imported then, as the compiler imports this package, too."""
    if name not in _MODULES:
        raise AttributeError(f"module 'sim' has no attribute '{name}'")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
