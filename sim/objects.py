"""The runtime's compiled parts, kept from one compilation to the next (`cache.py`).

They depend on nothing of the user's program, and compiling them would be most of what a small one takes.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from sim.cache import cache

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
    kept = cache(_ENTRIES)
    name = kept and _digest(ingredients, command, folder)
    if not kept or not name:
        make()
        return
    entry = kept.get(name)
    if entry is not None and _taken(entry, files):
        return
    make()
    with suppress(OSError):
        kept.put(name, _entry(files))


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


def _taken(entry: bytes, files: Sequence[Path]) -> bool:
    """Writes an entry's files, if these are in it."""
    with zipfile.ZipFile(io.BytesIO(entry)) as archive:
        if not {file.name for file in files} <= {*archive.namelist()}:
            return False
        for file in files:
            file.write_bytes(archive.read(file.name))
    return True


def _entry(files: Sequence[Path]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for file in files:
            archive.write(file, file.name)
    return made.getvalue()
