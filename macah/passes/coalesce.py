"""Gives a variable its new value where that is computed, instead of a copy of it later.

    s' = s + x;  m = s' >> 4;  s = s';        ->        s = s + x;  m = s >> 4;

Where paths have met, values have gone through variables of their own. What a loop counts or sums up is looked
for as a variable that is stepped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from macah.ir import Assign, Body, DoWhile, Read, Variable
from macah.passes.liveness import live_at_body_end, step_back
from macah.walk import Renaming, has_loop, read, written


def coalesced(body: Body, after: Iterable[Variable]) -> Body:
    """The same without copies in loops, where these are straight-line code; `after` is live after it."""
    if not has_loop(body):
        return body
    live, made = set(after), list(body)
    for place in reversed(range(len(body))):
        match body[place]:
            case DoWhile() as loop:
                end = live_at_body_end(loop, live)
                inner = coalesced(loop.body, end)
                made[place] = replace(loop, body=_Copies(inner, end).removed())
        step_back(body[place], live)
    return tuple(made)


class _Copies:
    """The copies in a body, at whose end some variables are live."""

    def __init__(self, body: Body, live: Iterable[Variable]) -> None:
        self.body = body
        self.live = frozenset(live)
        self.writes, self.reads = (
            defaultdict[Variable, list[int]](list),
            defaultdict[Variable, list[int]](list),
        )
        for place, stmt in enumerate(body):
            for variable in written((stmt,)):
                self.writes[variable].append(place)
            for variable in read((stmt,)):
                self.reads[variable].append(place)
        self.names: dict[Variable, Variable] = {}

    def removed(self) -> Body:
        """The body without them."""
        dropped = {place for place in reversed(range(len(self.body))) if self._is_removed(place)}
        if not dropped:
            return self.body
        left = tuple([stmt for place, stmt in enumerate(self.body) if place not in dropped])
        return Renaming({made: self._name(made) for made in self.names}).body(left)

    def _is_removed(self, place: int) -> bool:
        """Whether a statement is a copy of what may as well be in the variable from the beginning."""
        match self.body[place]:
            case Assign(variable, Read(made)) if made.bits == variable.bits:
                variable, made = self._name(variable), self._name(made)
            case _:
                return False
        if made is variable or made in self.live or len(self.writes[variable]) > 1:
            return False
        match self.writes[made]:
            case [first] if first < place and isinstance(self.body[first], Assign):
                pass
            case _:
                return False
        if any(first < other < place for other in self.reads[variable]):
            return False
        self.names[made] = variable
        self.writes[variable] = [first]
        self.reads[variable] += [other for other in self.reads[made] if other != place]
        return True

    def _name(self, variable: Variable) -> Variable:
        while variable in self.names:
            variable = self.names[variable]
        return variable
