"""What one compilation finds out and the next ones need again, in a directory of the user's.

That is `$MACAH_CACHE`, or else `macah` in `$XDG_CACHE_HOME` or `~/.cache`; `off` keeps nothing. An entry's
name is a digest of everything that goes into it, and an entry is complete or not there: one that has changed
since, which a digest at its begin tells, is not. The directory must be the user's own, and nobody else's to
write: what is in it becomes a part of programs. Where it cannot be had, all is made again, without a word.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Cache:
    """Entries in a directory, of which those used last stay: `most`, in so many bytes of `room`."""

    directory: Path
    most: int
    room: int = 256 << 20

    def get(self, name: str) -> bytes | None:
        """What is in an entry, if it is there, sound, and nobody else can have written it."""
        try:
            handle = os.open(self.directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(handle, "rb") as stream:
                if not _is_private(os.fstat(handle), stat.S_ISREG):
                    return None
                with suppress(OSError):  # where nothing may be written, nothing gets old
                    os.utime(handle)
                digest, content = stream.read(_DIGEST), stream.read()
        except OSError:
            return None
        return content if hashlib.sha256(content).digest() == digest else None

    def put(self, name: str, content: bytes) -> None:
        """Makes an entry, which appears whole; the oldest ones go."""
        with suppress(OSError):
            handle, new = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(content).digest() + content)
                Path(new).replace(self.directory / name)
            except BaseException:
                Path(new).unlink(missing_ok=True)
                raise
            self._make_room()

    def _make_room(self) -> None:
        found = [(path, path.stat()) for path in self.directory.iterdir()]
        entries = [(about.st_mtime_ns, path, about.st_size) for path, about in found if path.is_file()]
        bytes_so_far = 0
        for k, (_, path, size) in enumerate(sorted(entries, reverse=True)):
            bytes_so_far += size
            if k >= self.most or bytes_so_far > self.room:
                path.unlink(missing_ok=True)


def cache(most: int, part: str = "") -> Cache | None:
    """The cache, or a part of it, if its directory is safe to use."""
    wanted = os.environ.get("MACAH_CACHE")
    if wanted == "off":
        return None
    try:
        if wanted:
            path = Path(wanted)
        else:
            path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "macah"
        if not path.is_absolute():
            return None
        for directory in (path, path / part):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(directory.lstat(), stat.S_ISDIR):
                return None
        return Cache(path / part, most)
    except (OSError, RuntimeError):
        return None


def _is_private(found: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a directory entry is what it should be, and only its owner, this user, can change it."""
    return kind(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
