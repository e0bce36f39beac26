"""Entries of the user's cache: whole, private, and no more than there is room for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sim.cache import Cache, cache


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MACAH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def aged(entries: Cache, *names: str) -> None:
    """Makes entries of ten bytes, each used later than the one before."""
    for k, name in enumerate(names):
        entries.put(name, b"0123456789")
        os.utime(entries.directory / name, (k, k))


def test_a_part_is_a_directory_of_its_own(directory: Path) -> None:
    whole, part = cache(9), cache(9, "kernels")
    assert whole is not None and part is not None
    whole.put("a", b"1")
    part.put("a", b"2")
    assert (whole.get("a"), part.get("a")) == (b"1", b"2")
    assert (directory / "kernels").stat().st_mode & 0o777 == 0o700
    (directory / "kernels").chmod(0o777)
    assert cache(9, "kernels") is None


def test_what_was_used_last_stays() -> None:
    entries = cache(3, "part")
    assert entries is not None
    aged(entries, "a", "b", "c")
    assert entries.get("a")
    entries.put("d", b"")
    assert [name for name in "abcd" if entries.get(name) is not None] == ["a", "c", "d"]


def test_entries_that_take_too_much_room_go(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    entries = Cache(directory, 100, room=2 * (32 + 10) + 5)  # each begins with its digest
    aged(entries, "a", "b")
    entries.put("c", b"0123456789")
    assert [name for name in "abc" if entries.get(name)] == ["b", "c"]
    entries.put("d", bytes(100))
    assert not any(entries.get(name) for name in "abcd")


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_is_not_there(damage: bytes | None, directory: Path) -> None:
    entries = cache(9)
    assert entries is not None
    entries.put("a", b"0123456789")
    whole = (directory / "a").read_bytes()
    (directory / "a").write_bytes(whole[:-1] + b"8" if damage is None else damage)
    assert entries.get("a") is None
    entries.put("a", b"")
    assert entries.get("a") == b""


def test_parts_do_not_count_as_entries() -> None:
    whole, part = cache(1), cache(1, "kernels")
    assert whole is not None and part is not None
    part.put("a", b"1")
    whole.put("b", b"2")
    whole.put("c", b"3")
    assert part.get("a") == b"1" and whole.get("b") is None and whole.get("c") == b"3"


def test_an_entry_that_cannot_be_made_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    entries = cache(9)
    assert entries is not None
    entries.put("a", b"1")

    def full(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "replace", full)
    entries.put("a", b"2")
    assert [path.name for path in directory.iterdir()] == ["a"]
    assert entries.get("a") == b"1"
