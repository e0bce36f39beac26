"""What lowering finds out too late to use it: it then begins again, knowing it.

A kernel is lowered in one go, in the order of its text. How a variable is stored, or what a pointer may
point to, is decided where it is first used; if a later use does not fit, lowering is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from macah.ctypes import ArrayType
from macah.diagnostic import MacahError, Note, Place
from macah.lower_scope import Object
from macah.lower_units import Step
from macah.lower_values import Lvalue

# A variable, the same each time the kernel is lowered.
Key = tuple[str, Place | None]


class Reconsider(Exception):
    """A new fact was noted; lowering has to begin again."""


@dataclass(slots=True)
class Facts:
    """What is known from lowering before.

    `raw`: variables that are looked at as bytes, or as elements of another type. `varying`: pointers that
    point to different places of their arrays. `loose`: those whose places are told in bytes. `nullable`:
    pointers that may be null. `expanded`: functions that are expanded where they are called. `bound`: for
    pointers that are used, in the order of the text, before they are assigned: the variable that they point
    into, and the steps, None for an index. `outer`: of such variables, those outside the kernel. `lost`:
    variables with pointers, by the members on the way to these, that are copies of what cannot be resolved.
    `walking`: parameters, as the arrays that they are given, that pointers of the kernel's own begin at.
    `several`: for pointers that point to several variables, each with how they get there first; None for what
    the kernel declares itself. `pointees`: what captured pointers point to, `leading`: these by that.
    `members`: the arrays that all of a program gives to pointers in captured structs. `unsized`: pointers of
    the host of which the program does not tell how many elements are behind them, with why.
    """

    raw: set[Key] = field(default_factory=set)
    varying: set[Key] = field(default_factory=set)
    nullable: set[Key] = field(default_factory=set)
    loose: set[Key] = field(default_factory=set)
    expanded: set[int] = field(default_factory=set)
    bound: dict[Key, tuple[Key, tuple[object, ...]]] = field(default_factory=dict)
    outer: dict[Key, Object] = field(default_factory=dict)
    lost: dict[tuple[Key, tuple[str, ...]], MacahError] = field(default_factory=dict)
    walking: list[Object] = field(default_factory=list)
    several: dict[Key, dict[Key, tuple[Object | None, tuple[Step, ...]]]] = field(default_factory=dict)
    pointees: dict[tuple[Object, tuple[str, ...]], Object] = field(default_factory=dict)
    leading: dict[Object, Lvalue] = field(default_factory=dict)
    members: dict[tuple[Key, tuple[str, ...]], ArrayType] = field(default_factory=dict)
    unsized: dict[tuple[Object, tuple[str, ...]], tuple[Note, ...]] = field(default_factory=dict)


def key_of(owner: Object) -> Key:
    """The key of a variable."""
    return owner.name, owner.where
