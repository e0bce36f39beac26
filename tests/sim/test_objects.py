"""The cache of the compiled runtime: who may fill it, what makes another entry, and what if one is broken."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sim.objects import compile_objects


class Compiler:
    """Compiles a source, and counts how often."""

    def __init__(self, folder: Path) -> None:
        self.runs = 0
        self.sources = folder / "sources"
        self.sources.mkdir()
        (self.sources / "one.c").write_text('#include "common.h"\nint one(void) { return ONE; }\n')
        (self.sources / "two.c").write_text("int two(void) { return 2; }\n")
        (self.sources / "common.h").write_text("#define ONE 1\n")
        self.folder = folder

    def run(self, arguments: list[str]) -> None:
        self.runs += 1
        subprocess.run(["cc", *arguments], check=True)

    def objects(self, *flags: str, command: str = "cc") -> list[bytes]:
        target = self.folder / "made"
        target.mkdir(exist_ok=True)
        sources = [self.sources / "one.c", self.sources / "two.c"]
        made = compile_objects(command.split(), flags, sources, target, self.run)
        return [path.read_bytes() for path in made]


@pytest.fixture
def cc(tmp_path: Path) -> Compiler:
    return Compiler(tmp_path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MACAH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_objects_are_compiled_once_and_are_the_same_bytes(cc: Compiler, cache: Path) -> None:
    first = cc.objects("-O1", "-g")
    assert cc.runs == 2
    assert cc.objects("-O1", "-g") == first
    assert cc.runs == 2
    assert len(list(cache.iterdir())) == 1


def test_flags_for_the_linker_make_no_other_object(cc: Compiler, cache: Path) -> None:
    cc.objects("-O1", "-lm", "-static", "-s", "-Wl,-O1", "-L/usr/lib")
    cc.objects("-O1", "-pie")
    assert cc.runs == 2


@pytest.mark.parametrize("what", ["flags", "source", "header", "compiler", "environment"])
def test_whatever_goes_into_an_object_makes_it_another(
    what: str, cc: Compiler, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cc.objects("-O1")
    match what:
        case "flags":
            cc.objects("-O2")
        case "source":
            (cc.sources / "two.c").write_text("int two(void) { return 3; }\n")
            cc.objects("-O1")
        case "header":
            (cc.sources / "common.h").write_text("#define ONE 11\n")
            cc.objects("-O1")
        case "compiler":
            cc.objects("-O1", command="cc -O1")
        case "environment":
            monkeypatch.setenv("CPATH", "/usr/include")
            cc.objects("-O1")
    assert cc.runs == 4


def test_a_broken_entry_is_compiled_again(cc: Compiler, cache: Path) -> None:
    made = cc.objects()
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    assert cc.objects() == made
    damaged = bytearray(entry.read_bytes())
    damaged[200] ^= 1
    entry.write_bytes(damaged)
    assert cc.objects() == made
    assert cc.runs == 6
    assert len(list(cache.iterdir())) == 1


def test_entries_and_directories_that_others_can_write_are_not_trusted(cc: Compiler, cache: Path) -> None:
    cc.objects()
    (entry,) = cache.iterdir()
    entry.chmod(0o666)
    cc.objects()
    assert cc.runs == 4
    cache.chmod(0o777)
    cc.objects()
    assert cc.runs == 6


def test_no_link_is_followed(cc: Compiler, cache: Path, tmp_path: Path) -> None:
    cc.objects()
    (entry,) = cache.iterdir()
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    cc.objects()
    assert cc.runs == 4
    assert not entry.is_symlink()
    cache.rename(tmp_path / "moved")
    cache.symlink_to(tmp_path / "moved")
    cc.objects()
    assert cc.runs == 6


@pytest.mark.parametrize("value", ["off", "/dev/null/no", "relative"])
def test_without_a_directory_all_is_compiled_again(
    value: str, cc: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MACAH_CACHE", value)
    before = sorted(path.name for path in tmp_path.iterdir())
    cc.objects()
    cc.objects()
    assert cc.runs == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({*before, "made"})


def test_the_cache_is_in_the_users_directory_and_private(
    cc: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MACAH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    cc.objects()
    assert (tmp_path / "xdg" / "macah").stat().st_mode & 0o777 == 0o700
    cc.objects()
    assert cc.runs == 2


def test_old_entries_go(cc: Compiler, cache: Path) -> None:
    cc.objects()
    (entry,) = cache.iterdir()
    for k in range(60):
        old = cache / f"old{k}"
        old.write_bytes(b"")
        os.utime(old, (k, k))
    cc.objects("-O1")
    left = {path.name for path in cache.iterdir()}
    assert len(left) == 40
    assert entry.name in left
    assert "old0" not in left
