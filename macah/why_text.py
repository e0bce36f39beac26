"""What limits a kernel, in the words of who wrote it: `macah.why` as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from backend.dfg import Node, Place

from .diagnostic import source_line
from .sources import source_name
from .why import Meeting, Recurrence, Resource

# Names that lowering gives to what these statements decide.
_C_WORDS = frozenset({"if", "for", "while", "do", "switch", "case", "FOR"})
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def recurrence_text(recurrence: Recurrence) -> Iterator[str]:
    """What a recurrence needs, and a line for each of the source's lines on it."""
    time = f"{count(recurrence.cycles, 'cycle')} in {_iterations(recurrence.distance)}"
    number = count(len(recurrence.nodes), "operation")
    yield f"a recurrence: {number}, one after the other, {time}"
    yield from (f"    {line}" for line in steps(recurrence.nodes))
    for text in dict.fromkeys(meeting_text(m) for m in recurrence.meetings if m.before.memory is not None):
        yield f"    where {text}"


def resource_text(resource: Resource) -> str:
    """What a resource is asked for."""
    if resource.kind == "units":
        return f"resources: {resource.name}"
    name, needed = f"{resource.kind} {resource.name}", count(resource.needed, "operation")
    whose = "which has" if resource.kind == "stream" else "whose memory has"
    return f"resources: {needed} on {name}, {whose} {count(resource.available, 'port')}"


def meeting_text(meeting: Meeting) -> str:
    """`a[j + 1]` is stored (line 16) before `a[j]` is loaded (line 13) in the next iteration, ..."""
    when = (
        ("", " in the next iteration")[meeting.distance]
        if meeting.distance < 2
        else (f" {_iterations(meeting.distance)} later")
    )
    before, after = (
        f"{_element(meeting, node)} is {'stored' if node.op == 'store' else 'loaded'}{_at(node.where)}"
        for node in (meeting.before, meeting.after)
    )
    return f"{before} before {after}{when}, as both may be the same element"


def stream_text(name: str, needed: int, places: Iterable[Place | None], narrow: bool) -> str:
    """How to use a stream less; `narrow`: several of its elements fit into a word."""
    change = "pack several elements into one, or use another stream" if narrow else "use another stream"
    return (
        f"stream '{name}' moves {count(needed, 'word')} in an iteration, one in a cycle{lines_text(places)}:"
        f" {change}"
    )


def division_text(places: Iterable[Place | None], waited_for: bool) -> str:
    """How to divide sooner; `waited_for`: by the next iteration, not only by what divides, too."""
    found = list(places)
    name = "the division{} is" if len(found) == 1 else "the divisions{} are"
    why = "on the way from one iteration to the next" if waited_for else "more than few units do in time"
    return f"{name.format(lines_text(found))} {why}: divide by a constant, or multiply by a reciprocal"


def width_text(name: str, places: Iterable[Place | None]) -> str:
    """How to leave values as they are."""
    return (
        f"'{name}' is of a narrow type, which each value is made to fit{lines_text(places)}: if they all do"
        " as they are, declare it as int"
    )


def apart_text(meeting: Meeting) -> str:
    """How to say that two accesses do not meet."""
    return (
        f"array '{meeting.name}' is {_access(meeting, meeting.before)} and {_access(meeting, meeting.after)},"
        " and the compiler cannot tell that these are different elements: if they never meet, or what was"
        " there before will do, use two arrays, one to read and one to write"
    )


def together_text(meeting: Meeting, number: int) -> str:
    """How to do without waiting for what is stored."""
    return (
        f"array '{meeting.name}' is {_access(meeting, meeting.before)} and {_access(meeting, meeting.after)},"
        f" which may be the same element in the next iteration: make {_number(number)} iterations one (FOR),"
        " each with an array of its own, and put these together at the end"
    )


def array_text(resource: Resource) -> str:
    """How to have more ports for an array."""
    return (
        f"array '{resource.name}' is accessed {_number(resource.needed)} times in an iteration, and its"
        f" memory has {count(resource.available, 'port')}: use two arrays, one to read and one to write, if"
        " what was there before will do"
    )


def outside_text(name: str, places: Iterable[Place | None]) -> str:
    """What takes ports in all iterations though it happens outside innermost loops."""
    return (
        f"array '{name}' is used outside the innermost loop, too{lines_text(places)}, and one loop is made of"
        " all, whose iterations all have room for that: do it in the host, or in another kernel"
    )


def test_text(places: Iterable[Place | None]) -> str:
    """How to know earlier how often a loop runs."""
    return (
        f"the loop's test{lines_text(places)} waits for what the iteration computes:"
        " count iterations that are known beforehand, or test what is known earlier"
    )


def turns_text(nodes: Iterable[Node], number: int) -> str:
    """How to have more time from one iteration to the next."""
    named = [n for n in nodes if n.variable not in (None, *_C_WORDS) and _plain(n) != "a value"]
    what = f"{_plain(named[0])}{_at(named[0].where)}" if named else "what a recurrence computes"
    return (
        f"{what} is made of what it was in the iteration before: let {_number(number)} independent ones take"
        " turns, so that each has as many iterations for it"
    )


def lines_text(places: Iterable[Place | None]) -> str:
    """` (line 3)`, ` (lines 3, 5)`."""
    lines = [str(line) for line in sorted({place.line for place in places if place is not None})]
    return f" (line{'s' * (len(lines) > 1)} {', '.join(lines)})" if lines else ""


def _access(meeting: Meeting, node: Node) -> str:
    return f"{'written' if node.op == 'store' else 'read'} as {_element(meeting, node)}{_at(node.where)}"


def _element(meeting: Meeting, node: Node) -> str:
    return element_text(meeting.name, node.op == "store", node.where)


def element_text(name: str, stores: bool, where: Place | None) -> str:
    """An access to an array as its source line has it."""
    found = list(_subscripts(name, source_line(where) or "")) if where else []
    written = [text for text, stored in found if stored == stores] or [text for text, _ in found]
    return f"'{written[0]}'" if written else f"'{name}'"


def _subscripts(name: str, line: str) -> Iterator[tuple[str, bool]]:
    """The elements of an array that a line mentions, and whether it assigns them."""
    for found in re.finditer(rf"\b{re.escape(source_name(name))}\s*\[", line):
        end, depth = found.end(), 1
        while end < len(line) and (depth or line[end] == "["):
            depth += {"[": 1, "]": -1}.get(line[end], 0)
            end += 1
        rest = line[end:].lstrip()
        stored = re.match(r"([-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--", rest) is not None
        yield line[found.start() : end], stored


def steps(nodes: Iterable[Node]) -> Iterator[str]:
    """Operations in order, those of one source line together, with the text of that line."""
    for _, same_line in groupby(nodes, key=lambda node: node.where and (node.where.file, node.where.line)):
        same = list(same_line)
        where = same[0].where
        source = source_line(where) if where else None
        words = [_step(node, source or "") for node in same]
        place = f"{where.file}:{where.line}: " if where else ""
        yield f"{place}{', '.join(words)}" + (f"  | {' '.join(source.split())}" if source else "")


def _step(node: Node, source: str) -> str:
    """An operation, and the variable that it gives a value, if the source line speaks of it."""
    name = node.variable
    named = name and name.partition(".")[0] not in _C_WORDS and _mentions(source, name.partition(".")[0])
    return f"{node.op} of {name}" if named else node.op


def _mentions(source: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", source) is not None


def count(number: int, what: str) -> str:
    """`1 port`, `2 ports`."""
    return f"{number} {what}{'s' * (number != 1)}"


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _iterations(number: int) -> str:
    return "each iteration" if number == 1 else count(number, "iteration")


def _plain(node: Node) -> str:
    name = (node.variable or "").partition(".")[0]
    source = source_line(node.where) if node.where else None
    return f"'{node.variable}'" if name and (source is None or _mentions(source, name)) else "a value"


def _at(where: Place | None) -> str:
    return f" (line {where.line})" if where is not None else ""
