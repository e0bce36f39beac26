"""Random lvalues and references to parts of variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from program_generator_types import Base, Ex, Scalar, Struct, Type, Var


class Places(Base, ABC):
    """Needs the variables in scope."""

    scope: dict[str, Var]

    @abstractmethod
    def pure(self, depth: int) -> Ex:
        """An expression without effects."""

    def place(self, depth: int, write: bool = False) -> Ex | None:
        """A scalar lvalue; its object is what is written."""
        known = [v for v in self.scope.values() if not (write and v.fixed)]
        return self.inside(self.pick(known), depth) if known else None

    def inside(self, var: Var, depth: int) -> Ex:
        """A scalar in a variable."""
        text, kind, shape = var.name, var.type, var.shape
        reads: frozenset[str] = frozenset()
        if var.pointer and not shape:
            text = f"(*{text})"
        while True:
            for extent in shape:
                index = self.index(extent, depth)
                text += f"[{index.text}]"
                reads |= index.reads
            if isinstance(kind, Scalar):
                return Ex(
                    text.replace("(*" + var.name + ").", var.name + "->"), reads, frozenset((var.object,))
                )
            name, kind, shape = self.pick(kind.members)
            text += f".{name}"

    def index(self, extent: int, depth: int) -> Ex:
        if self.chance(35) or depth <= 0:
            constants = [v.name for v in self.scope.values() if v.compile_time]
            if constants and self.chance(60):
                name = self.pick(constants)
                return Ex(f"(unsigned){name} % {extent}u", frozenset((name,)))
            return Ex(str(self.choices.integer(0, extent - 1)))
        inner = self.pure(depth - 2)
        if extent & (extent - 1) == 0:
            return replace(inner, text=f"{inner.wrapped()} & {extent - 1}")
        return replace(inner, text=f"(unsigned){inner.wrapped()} % {extent}u")

    def whole(self, kind: Type, write: bool = False) -> Ex | None:
        """An lvalue of a struct type."""
        found = []
        for var in self.scope.values():
            if write and var.fixed:
                continue
            text = f"(*{var.name})" if var.pointer and not var.shape else var.name
            text += "".join(f"[{self.choices.integer(0, n - 1)}]" for n in var.shape)
            found += [
                Ex(t, frozenset(), frozenset((var.object,)), True) for t in _parts(text, var.type, kind)
            ]
        return self.pick(found) if found else None

    # References, for parameters

    def array_argument(self, parameter: Var) -> Ex | None:
        found = []
        for var in self.scope.values():
            if (
                var.type != parameter.type
                or (var.fixed and not parameter.fixed)
                or any(var.shiftable)
                or any(parameter.shiftable)
            ):
                continue
            for skip in range(len(var.shape)):
                rest = var.shape[skip:]
                if (
                    len(rest) == len(parameter.shape)
                    and rest[1:] == parameter.shape[1:]
                    and rest[0] >= parameter.shape[0]
                ):
                    text = var.name + "".join(f"[{self.choices.integer(0, n - 1)}]" for n in var.shape[:skip])
                    room = rest[0] - parameter.shape[0]
                    if room and self.chance(50):
                        text += f" + {self.choices.integer(1, room)}"
                    found.append(_reference(text, var, parameter.fixed))
        return self.pick(found) if found else None

    def address(self, parameter: Var) -> Ex | None:
        found = []
        for var in self.scope.values():
            if var.compile_time or any(var.shiftable) or (var.fixed and not parameter.fixed):
                continue
            if var.pointer and not var.shape:
                texts = [var.name] if var.type == parameter.type else []
            else:
                text = var.name + "".join(f"[{self.choices.integer(0, n - 1)}]" for n in var.shape)
                texts = [f"&{t}" for t in _parts(text, var.type, parameter.type)]
            found += [_reference(text, var, parameter.fixed) for text in texts]
        return self.pick(found) if found else None


def _reference(text: str, var: Var, const: bool) -> Ex:
    objects = frozenset((var.object,))
    return Ex(text, objects, frozenset() if const else objects)


def _parts(text: str, kind: Type, wanted: Type) -> list[str]:
    """The lvalues of a type in a value."""
    if kind == wanted:
        return [text]
    found = []
    if isinstance(kind, Struct):
        for name, member, shape in kind.members:
            found += _parts(f"{text}.{name}" + "[0]" * len(shape), member, wanted)
    return found
