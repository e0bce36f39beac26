"""The one table of operations, read by the compiler, both interpreters, the mapper and the Verilog emitter.

A value is a word of bits, a Python int in [0, 2**width). Signedness is in the operation (`slt`/`ult`,
`sar`/`shr`). A predicate is a word that is 0 or 1. Where C leaves a result open (division by zero,
shift counts out of range) the table fixes one, the same in every view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.

    `arity` operands; `outputs` values (0 for a pure effect, 2 for a non-blocking receive).
    `latency_class` names the latency that an architecture gives it. `evaluate(width, *operands)`
    is its meaning and `verilog` the same as an expression over the primaries `{0}`, `{1}`, `{2}`
    (see `verilog_expression`); both are None for operations with effects or state, whose meaning
    is in the interpreters.
    """

    name: str
    arity: int
    latency_class: str
    outputs: int = 1
    evaluate: Callable[..., int] | None = None
    verilog: str | None = None
    commutative: bool = False

    @property
    def pure(self) -> bool:
        """True if the result depends on the operands alone."""
        return self.evaluate is not None


def signed(width: int, value: int) -> int:
    """The two's complement number that the word `value` stands for."""
    return value - (1 << width) if value >> (width - 1) & 1 else value


def word(width: int, number: int) -> int:
    """`number` wrapped to a word."""
    return number & ((1 << width) - 1)


def _sdiv(w: int, a: int, b: int) -> int:
    x, y = signed(w, a), signed(w, b)
    if y == 0:
        return word(w, -1)
    quotient = abs(x) // abs(y)
    return word(w, quotient if (x < 0) == (y < 0) else -quotient)


def _srem(w: int, a: int, b: int) -> int:
    x, y = signed(w, a), signed(w, b)
    if y == 0:
        return a
    remainder = abs(x) % abs(y)
    return word(w, -remainder if x < 0 else remainder)


def _extend(bits: int, is_signed: bool) -> Callable[[int, int], int]:
    def extend(w: int, a: int) -> int:
        low = word(bits, a)
        return word(w, signed(bits, low)) if is_signed else low

    return extend


def _abs(w: int, a: int) -> int:
    return word(w, abs(signed(w, a)))


def _rotl(w: int, a: int, b: int) -> int:
    n = b % w
    return word(w, a << n | a >> (w - n))


_S0, _S1 = "$signed({0})", "$signed({1})"

_CONDITIONS = {
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "slt": f"{_S0} < {_S1}",
    "sle": f"{_S0} <= {_S1}",
    "ult": "{0} < {1}",
    "ule": "{0} <= {1}",
}
_WORDS = {name: f"{{{{{{zeros}}, {condition}}}}}" for name, condition in _CONDITIONS.items()}

_PURE = (
    Op("mov", 1, "alu", 1, lambda w, a: a, "{0}"),
    Op("add", 2, "alu", 1, lambda w, a, b: word(w, a + b), "({0} + {1})", True),
    Op("sub", 2, "alu", 1, lambda w, a, b: word(w, a - b), "({0} - {1})"),
    Op("neg", 1, "alu", 1, lambda w, a: word(w, -a), "(-{0})"),
    Op("and", 2, "alu", 1, lambda w, a, b: a & b, "({0} & {1})", True),
    Op("or", 2, "alu", 1, lambda w, a, b: a | b, "({0} | {1})", True),
    Op("xor", 2, "alu", 1, lambda w, a, b: a ^ b, "({0} ^ {1})", True),
    Op("not", 1, "alu", 1, lambda w, a: word(w, ~a), "(~{0})"),
    Op("shl", 2, "alu", 1, lambda w, a, b: word(w, a << (b % w)), "({0} << ({1} & {wm1}))"),
    Op("shr", 2, "alu", 1, lambda w, a, b: a >> (b % w), "({0} >> ({1} & {wm1}))"),
    Op(
        "sar",
        2,
        "alu",
        1,
        lambda w, a, b: word(w, signed(w, a) >> (b % w)),
        f"$unsigned({_S0} >>> ({{1}} & {{wm1}}))",
    ),
    Op("rotl", 2, "alu", 1, _rotl, "(({0} << ({1} & {wm1})) | ({0} >> (({w} - ({1} & {wm1})) & {wm1})))"),
    Op("eq", 2, "alu", 1, lambda w, a, b: int(a == b), _WORDS["eq"], True),
    Op("ne", 2, "alu", 1, lambda w, a, b: int(a != b), _WORDS["ne"], True),
    Op("slt", 2, "alu", 1, lambda w, a, b: int(signed(w, a) < signed(w, b)), _WORDS["slt"]),
    Op("sle", 2, "alu", 1, lambda w, a, b: int(signed(w, a) <= signed(w, b)), _WORDS["sle"]),
    Op("ult", 2, "alu", 1, lambda w, a, b: int(a < b), _WORDS["ult"]),
    Op("ule", 2, "alu", 1, lambda w, a, b: int(a <= b), _WORDS["ule"]),
    Op("select", 3, "alu", 1, lambda w, c, a, b: a if c else b, "(({0} != 0) ? {1} : {2})"),
    Op(
        "smin",
        2,
        "alu",
        1,
        lambda w, a, b: a if signed(w, a) < signed(w, b) else b,
        f"(({_S0} < {_S1}) ? {{0}} : {{1}})",
        True,
    ),
    Op(
        "smax",
        2,
        "alu",
        1,
        lambda w, a, b: b if signed(w, a) < signed(w, b) else a,
        f"(({_S0} < {_S1}) ? {{1}} : {{0}})",
        True,
    ),
    Op("umin", 2, "alu", 1, lambda w, a, b: min(a, b), "(({0} < {1}) ? {0} : {1})", True),
    Op("umax", 2, "alu", 1, lambda w, a, b: max(a, b), "(({0} < {1}) ? {1} : {0})", True),
    Op("abs", 1, "alu", 1, _abs, f"(({_S0} < 0) ? -{{0}} : {{0}})"),
    Op(
        "absdiff",
        2,
        "alu",
        1,
        lambda w, a, b: _abs(w, word(w, a - b)),
        "(((({0} - {1}) >> {wm1}) != 0) ? ({1} - {0}) : ({0} - {1}))",
        True,
    ),
    Op("sext8", 1, "alu", 1, _extend(8, True), "$unsigned($signed({0} << {wm8}) >>> {wm8})"),
    Op("sext16", 1, "alu", 1, _extend(16, True), "$unsigned($signed({0} << {wm16}) >>> {wm16})"),
    Op("zext8", 1, "alu", 1, _extend(8, False), "({0} & {hex}ff)"),
    Op("zext16", 1, "alu", 1, _extend(16, False), "({0} & {hex}ffff)"),
    Op("mul", 2, "mul", 1, lambda w, a, b: word(w, a * b), "({0} * {1})", True),
    Op("muladd", 3, "mul", 1, lambda w, a, b, c: word(w, a * b + c), "({0} * {1} + {2})"),
    Op("umulh", 2, "mul", 1, lambda w, a, b: a * b >> w, "umulh({0}, {1})", True),
    Op(
        "smulh",
        2,
        "mul",
        1,
        lambda w, a, b: word(w, signed(w, a) * signed(w, b) >> w),
        "smulh({0}, {1})",
        True,
    ),
    Op("sdiv", 2, "div", 1, _sdiv, f"(({{1}} != 0) ? $unsigned({_S0} / {_S1}) : {{ones}})"),
    Op("srem", 2, "div", 1, _srem, f"(({{1}} != 0) ? $unsigned({_S0} % {_S1}) : {{0}})"),
    Op(
        "udiv",
        2,
        "div",
        1,
        lambda w, a, b: a // b if b else word(w, -1),
        "(({1} != 0) ? ({0} / {1}) : {ones})",
    ),
    Op("urem", 2, "div", 1, lambda w, a, b: a % b if b else a, "(({1} != 0) ? ({0} % {1}) : {0})"),
)

_EFFECTS = (
    Op("load", 1, "mem"),  # (address)
    Op("store", 3, "mem", 0),  # (address, value, guard)
    # (old, guard): an element's word, or `old` if the guard is false or the stream ended
    Op("recv", 2, "io"),
    Op("try_recv", 2, "io", 2),  # (old, guard) -> (data or old, worked)
    Op("await", 2, "io", 2),  # (old, guard) -> (as recv, 0 where recv would have to wait): never waits
    Op("send", 2, "io", 0),  # (value, guard)
    Op("try_send", 2, "io"),  # (value, guard) -> worked
    Op("ended", 1, "io"),  # (guard) -> 1 if the stream is closed and empty
    Op("close", 1, "io", 0),  # (guard)
    Op("result", 2, "ctl", 0),  # (value, guard): a live-out scalar
    Op("stop", 1, "ctl", 0),  # (guard): this iteration is the last
    Op("fail", 1, "ctl", 0),  # (guard): an assertion failed
    # (value, what): bit 0 of `what` sends the value, bit 1 closes the stream, behind it if there is one
    Op("send_close", 2, "io", 0),
)

# Only before `split_wide`: conversions between 32-bit and 64-bit values. The width is the operand's.
_WIDE = (
    Op("sext32", 1, "alu", 1, lambda w, a: word(64, signed(w, a))),
    Op("zext32", 1, "alu", 1, lambda w, a: a),
    Op("trunc", 1, "alu", 1, lambda w, a: word(32, a)),
)

# Operations of graphs from elsewhere, of which only the class and the number of inputs are known:
# `alu_2` is any arithmetic on two values. They can be mapped, not emitted; `run_dfg` gives them a stand-in
# for a meaning.
MOST_INPUTS = 8
OPAQUE_CLASSES = ("alu", "mul", "div", "access")
_OPAQUE = tuple(Op(f"{kind}_{k}", k, kind) for kind in OPAQUE_CLASSES for k in range(MOST_INPUTS + 1))

OPS: dict[str, Op] = {op.name: op for op in (*_PURE, *_EFFECTS, *_WIDE, *_OPAQUE)}

RECEIVES = ("recv", "try_recv", "await")
SENDS = ("send", "try_send", "send_close")
CLOSES = ("close", "send_close")
STREAM_OPS = frozenset({*RECEIVES, *SENDS, *CLOSES, "ended"})
MEMORY_OPS = frozenset({"load", "store"})
CONTROL_OPS = frozenset({"result", "stop", "fail"})
WIDE_OPS = frozenset(op.name for op in _WIDE)
OPAQUE_OPS = frozenset(op.name for op in _OPAQUE)
COMPARISONS = frozenset({"eq", "ne", "slt", "sle", "ult", "ule"})

# What units that work on bits can do, as expressions over operands of one bit. With operands that are 0 or 1
# it is what the operation gives on words.
BIT_OPS = {
    "mov": "{0}",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "xor": "({0} ^ {1})",
    "eq": "(~({0} ^ {1}))",
    "ne": "({0} ^ {1})",
    "slt": "(~{0} & {1})",
    "sle": "(~{0} | {1})",
    "ult": "(~{0} & {1})",
    "ule": "(~{0} | {1})",
    "select": "({0} ? {1} : {2})",
}

assert all(op.commutative <= (op.arity == 2) for op in OPS.values())

_HIGH_PRODUCT = """\
function [{high}:0] {name}(input [{high}:0] a, input [{high}:0] b);
    // verilator lint_off UNUSED
    reg [{double}:0] product; // only its high half is wanted
    // verilator lint_on UNUSED
    begin
        product = {{{{{width}{{{sign_a}}}}}, a}} * {{{{{width}{{{sign_b}}}}}, b}};
        {name} = product[{double}:{width}];
    end
endfunction"""


def verilog_expression(name: str, width: int, *operands: str) -> str:
    """A pure operation as a Verilog expression of `width` bits over operands of that width.

    Operands must be primaries (names, literals, or in parentheses); the result is one.
    """
    template = OPS[name].verilog
    assert template is not None, name
    return template.format(
        *operands,
        w=f"{width}'d{width}",
        wm1=f"{width}'d{width - 1}",
        wm8=f"{width}'d{width - 8}",
        wm16=f"{width}'d{width - 16}",
        zeros=f"{width - 1}'d0",
        ones=f"{{{width}{{1'b1}}}}",
        hex=f"{width}'h",
    )


def verilog_condition(name: str, *operands: str) -> str:
    """A comparison as a condition of one bit over operands of any one width."""
    return f"({_CONDITIONS[name].format(*operands)})"


def verilog_function(name: str, width: int) -> str | None:
    """The Verilog function that `verilog_expression` of this operation calls; None if it calls none."""
    if name not in ("umulh", "smulh"):
        return None
    high = width - 1
    sign_a, sign_b = ("1'b0", "1'b0") if name == "umulh" else (f"a[{high}]", f"b[{high}]")
    return _HIGH_PRODUCT.format(
        name=name, width=width, high=high, double=2 * width - 1, sign_a=sign_a, sign_b=sign_b
    )


def evaluate(name: str, width: int, *operands: int) -> int:
    """The result of a pure operation on words of `width` bits."""
    op = OPS[name]
    assert op.evaluate is not None and len(operands) == op.arity, name
    return op.evaluate(width, *operands)
