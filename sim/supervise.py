"""Runs a program as a child that behaves, to all others, as if it had this process's place."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

_PASSED_ON = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
)
_BY_TERMINAL = 0x80  # si_code of a signal that the kernel sent, to the whole group of processes
_SET_DEATH_SIGNAL = 1  # of prctl()


def run_child(executable: int, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs an open file until it ends; the status as `os.waitpid` has it.

    Signals that are sent to this process go to the child, which also ends if this process is killed.
    """
    waited = _PASSED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, children)
        _become(executable, arguments, environment, before)
    try:
        return _await(child, waited)
    finally:
        signal.signal(signal.SIGCHLD, children)
        # What arrived while the child ended was meant for it.
        while signal.sigtimedwait(_PASSED_ON, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _become(
    executable: int,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    mask: set[int | signal.Signals],
) -> NoReturn:
    """In the child: the program, which begins with our own signals' state."""
    try:
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores, and the program would, too
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execve(executable, list(arguments), dict(environment))
    except BaseException as error:
        os.write(2, f"macahc: cannot run the program: {error}\n".encode())
    os._exit(127)


def _await(child: int, waited: frozenset[signal.Signals]) -> int:
    while True:
        found = signal.sigwaitinfo(waited)
        if found.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
        elif found.si_code != _BY_TERMINAL:
            with suppress(ProcessLookupError):
                os.kill(child, found.si_signo)


def end_as(status: int) -> NoReturn:
    """Ends this process as the child of that status ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        with suppress(OSError):  # SIGKILL has no other disposition
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.waitstatus_to_exitcode(status))
