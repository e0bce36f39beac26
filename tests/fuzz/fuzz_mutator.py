"""Changes programs token by token, as changes of single bytes rarely get past the lexer."""

from __future__ import annotations

import random
import re

from fuzz_corpus import DICTIONARY, SNIPPETS

_TOKEN = re.compile(
    r"""\s+|[A-Za-z_]\w*|\.?[0-9](?:[eEpP][+-]|[\w.])*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
    r"""|<<=|>>=|\.\.\.|->|\+\+|--|<\?|<!|::|\[\^|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.""",
    re.DOTALL,
)
_OPENING = {"(": ")", "[": "]", "{": "}"}
_TYPE = re.compile(r"int|char|short|long|unsigned|signed|float|double|_Bool|u?int\d+_t")
_OPERAND = re.compile(r"[A-Za-z_]\w*|\.?[0-9][\w.]*")
# What may stand for each other.
_KINDS = (
    re.compile(r"(?!(?:int|char|short|long|unsigned|signed|float|double|_Bool)$)[A-Za-z_]\w*"),
    re.compile(r"(?!(?:int|char|short|long|unsigned|signed|float|double|_Bool)$)[A-Za-z_]\w*"),
    _TYPE,
    re.compile(r"\.?[0-9][\w.]*|'.*'"),
    re.compile(r"[-+*/%&|^<>]|<<|>>|[<>=!]=|&&|\|\|"),
    re.compile(r"(?:[-+*/%&|^]|<<|>>)?="),
    re.compile(r"\+\+|--|[!~-]"),
)
_KEYWORDS = """
kernel FOR ADPC struct union enum typedef if else while do for switch case default break continue return goto
sizeof const void static stream _Alignof _Generic _Static_assert typeof extern inline restrict register
_Atomic _Thread_local __int128 _Complex __label__ __extension__ asm volatile
"""
_FIXED = frozenset(_KEYWORDS.split())
_AROUND = (
    ("(", ")"),
    ("!", ""),
    ("-", ""),
    ("~(", ")"),
    ("(short)(", ")"),
    ("(1 ? ", " : 2)"),
    ("", " + 1"),
    ("abs(", ")"),
    ("", "[0]"),
    ("*&", ""),
    ("(unsigned char)", ""),
    ("({", ";})"),
    ("(x = ", ")"),
    ("(0, ", ")"),
)
_BLOCKS = (
    ("{", "}"),
    ("if (x) {", "}"),
    ("while (x--) {", "}"),
    ("FOR (int i = 0; i < 2; i++) {", "}"),
    ("for (int i = 0; i < x; i++) {", "}"),
    ("switch (x) { case 1: ", "}"),
    ("kernel {", "}"),
    ("do {", "} while (x < 9);"),
    ("if (x) ; else {", "}"),
)


def tokens_of(text: str) -> list[str]:
    """The text cut into tokens and white space, of which it is the sum."""
    return _TOKEN.findall(text)


class Mutator:
    """Changes texts at random, with parts of `others` among them."""

    def __init__(self, others: list[str], chance: random.Random) -> None:
        self.others = [tokens for text in others if (tokens := tokens_of(text))]
        self.chance = chance

    def mutate(self, text: str, limit: int = 1 << 16) -> str:
        """A changed text of at most `limit` characters."""
        tokens = tokens_of(text) or [";"]
        # Most changes keep the syntax, or little would get behind the parser.
        rough = self.chance.random() < 0.15
        for _ in range(1 + int(self.chance.expovariate(0.9))):
            change = self.chance.choice(self._ROUGH if rough else self._GENTLE)
            tokens = change(self, tokens, self.chance.randrange(len(tokens))) or [";"]
        return "".join(tokens)[:limit]

    # Changes that often leave a program a program.

    def _renamed(self, tokens: list[str], at: int) -> list[str]:
        """A name, number or operator exchanged for another of its kind."""
        for kind in self.chance.sample(_KINDS, len(_KINDS)):
            places = [i for i, token in enumerate(tokens) if kind.fullmatch(token) and token not in _FIXED]
            words = [word for word in DICTIONARY if kind.fullmatch(word) and word not in _FIXED]
            if places:
                source = self.chance.choice(places)
                new = self.chance.choice(words) if self.chance.random() < 0.3 and words else tokens[source]
                tokens[self.chance.choice(places)] = new
                break
        return tokens

    def _moved(self, tokens: list[str], at: int) -> list[str]:
        """A statement moved, copied or dropped."""
        starts = _statements(tokens)
        if not starts:
            return tokens
        start = self.chance.choice(starts)
        part = tokens[start : _end_of_statement(tokens, start)]
        if self.chance.random() < 0.5:
            tokens = tokens[:start] + tokens[start + len(part) :]
            starts = _statements(tokens) or [0]
        target = self.chance.choice(starts)
        return tokens[:target] + part * self.chance.choice((0, 1, 1, 1, 2)) + tokens[target:]

    def _with_snippet(self, tokens: list[str], at: int) -> list[str]:
        """A statement of the dictionary, or of another program, among the others."""
        target = self.chance.choice(_statements(tokens) or [0])
        part = [" ", self.chance.choice(SNIPPETS), " "]
        if self.others and self.chance.random() < 0.5:
            other = self.chance.choice(self.others)
            start = self.chance.choice(_statements(other) or [0])
            part = other[start : _end_of_statement(other, start)]
        return tokens[:target] + part + tokens[target:]

    def _regrouped(self, tokens: list[str], at: int) -> list[str]:
        """A part in brackets exchanged for another one in such brackets."""
        groups = [i for i, token in enumerate(tokens) if token in _OPENING]
        if not groups:
            return tokens
        start = self.chance.choice(groups)
        source = self.chance.choice([tokens, *self.others[:1], self.chance.choice(self.others or [tokens])])
        same = [i for i, token in enumerate(source) if token == tokens[start]] or [start]
        first = self.chance.choice(same)
        part = source[first : _end_of_group(source, first)]
        return tokens[:start] + part + tokens[_end_of_group(tokens, start) :]

    def _wrapped(self, tokens: list[str], at: int) -> list[str]:
        """An operand with operators around it, once or many times; a statement within others."""
        depth = self.chance.choice((1, 1, 1, 2, 5, 50))
        if self.chance.random() < 0.3 and (starts := _statements(tokens)):
            at = self.chance.choice(starts)
            end = _end_of_statement(tokens, at)
            before, behind = self.chance.choice(_BLOCKS)
        else:
            operands = [
                i for i, token in enumerate(tokens) if _OPERAND.fullmatch(token) and token not in _FIXED
            ]
            at = self.chance.choice(operands or [at])
            end = at + 1
            before, behind = self.chance.choice(_AROUND)
        return [*tokens[:at], *[before] * depth, *tokens[at:end], *[behind] * depth, *tokens[end:]]

    # Changes that rarely do.

    def _dropped(self, tokens: list[str], at: int) -> list[str]:
        return tokens[:at] + tokens[at + self._length() :]

    def _doubled(self, tokens: list[str], at: int) -> list[str]:
        end = at + self._length()
        return tokens[:end] + tokens[at:end] + tokens[end:]

    def _swapped(self, tokens: list[str], at: int) -> list[str]:
        other = self.chance.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
        return tokens

    def _with_word(self, tokens: list[str], at: int) -> list[str]:
        return [*tokens[:at], self.chance.choice(DICTIONARY), *tokens[at + self.chance.randrange(2) :]]

    def _spliced(self, tokens: list[str], at: int) -> list[str]:
        other = self.chance.choice(self.others or [tokens])
        start = self.chance.randrange(len(other))
        return tokens[:at] + other[start : start + 3 * self._length()] + tokens[at:]

    def _cut(self, tokens: list[str], at: int) -> list[str]:
        return tokens[:at] if self.chance.random() < 0.5 else tokens[at:]

    def _length(self) -> int:
        return 1 + int(self.chance.expovariate(0.3))

    _GENTLE = (_renamed, _renamed, _renamed, _moved, _with_snippet, _regrouped, _wrapped)
    _ROUGH = (_dropped, _doubled, _swapped, _with_word, _with_word, _spliced, _cut, _wrapped)


def _statements(tokens: list[str]) -> list[int]:
    """Where statements begin, within braces."""
    found, depth, waiting = [], 0, 0
    for at, token in enumerate(tokens):
        depth += (token == "{") - (token == "}")
        waiting += (token in "([") - (token in ")]") if token.strip() else 0
        if depth > 0 and waiting == 0 and token in (";", "{", "}"):
            found.append(at + 1)
    return found


def _end_of_statement(tokens: list[str], at: int) -> int:
    """Behind the semicolon or brace that ends what begins at `at`."""
    while at < len(tokens) and tokens[at] not in (";", "}"):
        at = _end_of_group(tokens, at)
        if tokens[at - 1] == "}":
            return at
    return at + (at < len(tokens) and tokens[at] == ";")


def _end_of_group(tokens: list[str], at: int) -> int:
    waiting: list[str] = []
    while at < len(tokens):
        if tokens[at] in _OPENING:
            waiting.append(_OPENING[tokens[at]])
        elif waiting and tokens[at] == waiting[-1]:
            waiting.pop()
        at += 1
        if not waiting:
            break
    return at
