"""Frozen dataclasses that are made often: what `@dataclass(frozen=True)` writes takes three times as long."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def made_quickly(cls: C) -> C:
    """The frozen dataclass with slots, whose objects are the same, but are made in a third of the time.

    The usual `__init__` looks up every field by its name to get round its own `__setattr__`; this one has the
    descriptors of the slots at hand.
    """
    wanted: list[Field[Any]] = [field for field in fields(cls) if field.init]
    known: dict[str, Any] = {f"set_{field.name}": getattr(cls, field.name).__set__ for field in wanted}
    for field in wanted:
        assert field.default_factory is MISSING and not field.kw_only, field
        if field.default is not MISSING:
            known[f"default_{field.name}"] = field.default
    arguments = [f"{f.name}=default_{f.name}" if f.default is not MISSING else f.name for f in wanted]
    lines = [f"set_{field.name}(self, {field.name})" for field in wanted]
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    body = "\n    ".join(lines)
    exec(f"def __init__(self, {', '.join(arguments)}):\n    {body}\n", known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = vars(cls)["__init__"].__annotations__
    setattr(cls, "__init__", init)  # noqa: B010
    return cls
