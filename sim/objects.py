"""The runtime's compiled parts, kept from one compilation to the next.

They depend on nothing of the user's program, and compiling them would be most of what a small one takes.
They are kept in `$MACAH_CACHE`, or else `macah` in `$XDG_CACHE_HOME` or `~/.cache`; `off` keeps nothing.
An entry's name is a digest of everything that goes into its files, and an entry is complete or not there.
The directory must be the user's own, and nobody else's to write: what is in it becomes a part of programs.
Where it cannot be had, all is compiled again, without a word.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

_FORM = "1"
_ENTRIES = 40
_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH")
"""What else changes the work of a compiler."""
_NOT_FOR_OBJECTS = ("-l", "-L", "-static", "-rdynamic", "-pie", "-no-pie", "-Wl,")


def compile_objects(
    command: Sequence[str],
    flags: Sequence[str],
    sources: Sequence[Path],
    directory: Path,
    run: Callable[[list[str]], None],
) -> list[Path]:
    """The objects of the runtime's C sources. `run` gets arguments for the compiler that `command` calls."""
    used = [flag for flag in flags if flag != "-s" and not flag.startswith(_NOT_FOR_OBJECTS)]
    # Debug information names the directory of the compilation, which is the same for all programs then.
    used.append(f"-fdebug-prefix-map={Path.cwd()}={sources[0].parent}")
    made = [directory / f"{source.stem}.o" for source in sources]

    def make() -> None:
        for source, target in zip(sources, made, strict=True):
            run([*used, "-c", str(source), "-o", str(target)])

    reuse([*used[:-1], *map(str, sources)], command, sources[0].parent, made, make)
    return made


def reuse(
    ingredients: Sequence[str],
    command: Sequence[str],
    folder: Path,
    files: Sequence[Path],
    make: Callable[[], None],
) -> None:
    """Makes files, or takes them from the cache: what a compiler makes of ingredients and all of a folder."""
    cache = _cache()
    digest = cache and _digest(ingredients, command, folder)
    if not cache or not digest:
        make()
        return
    entry = cache / digest
    if _take(entry, files):
        return
    make()
    _keep(entry, files)


def _cache() -> Path | None:
    """The directory, if it is safe to use."""
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
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if _is_private(path.lstat(), stat.S_ISDIR) else None
    except (OSError, RuntimeError):
        return None


def _is_private(found: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a directory entry is what it should be, and only its owner, this user, can change it."""
    return kind(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _digest(ingredients: Sequence[str], command: Sequence[str], folder: Path) -> str | None:
    """The name of an entry; None if the compiler does not say who it is."""
    found = shutil.which(command[0]) if command else None
    if found is None:
        return None
    try:
        said = subprocess.run([*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True)
        about = Path(found).resolve().stat()
        texts = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir()) if path.is_file()]
    except OSError:
        return None
    if said.returncode:
        return None
    who = (*command, str(Path(found).resolve()), about.st_size, about.st_mtime_ns, said.stdout)
    environment = [(name, os.environ.get(name)) for name in _VARIABLES]
    return hashlib.sha256(repr((_FORM, who, environment, list(ingredients), texts)).encode()).hexdigest()


def _take(entry: Path, files: Sequence[Path]) -> bool:
    """Writes an entry's files, if it is there and sound."""
    try:
        handle = os.open(entry, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(handle, "rb") as stream:
            if not _is_private(os.fstat(handle), stat.S_ISREG):
                return False
            with zipfile.ZipFile(io.BytesIO(stream.read())) as archive:
                contents = [archive.read(file.name) for file in files]
    except (OSError, KeyError, zipfile.BadZipFile):
        return False
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    return True


def _keep(entry: Path, files: Sequence[Path]) -> None:
    """Puts files into an entry, which appears whole; the oldest entries go."""
    try:
        handle, name = tempfile.mkstemp(dir=entry.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
                for file in files:
                    archive.write(file, file.name)
            Path(name).replace(entry)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        kept = sorted(entry.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in kept[_ENTRIES:]:
            old.unlink(missing_ok=True)
    except OSError:
        return
