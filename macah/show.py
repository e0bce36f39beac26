"""A kernel as text, for people and for tests."""

from __future__ import annotations

from arch.ops import signed
from macah import ir
from macah.ir import Apply, Array, Body, Const, Expr, Label, Load, Read, Stmt, Stream, Variable

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "sar": ">>s",
    "eq": "==",
    "ne": "!=",
    "slt": "<",
    "sle": "<=",
    "ult": "<u",
    "ule": "<=u",
    "sdiv": "/",
    "srem": "%",
    "udiv": "/u",
    "urem": "%u",
}
_PREFIX = {"neg": "-", "not": "~"}


def show_kernel(kernel: ir.Kernel) -> str:
    """The whole kernel; where names collide, a number makes them unique."""
    return _Shower().kernel(kernel)


def show_with_sizes(kernel: ir.Kernel) -> str:
    """All that tells a kernel from others: local arrays are not declared in its text, so they follow it."""
    shower = _Shower()
    text = shower.kernel(kernel)
    return text + "".join(f"{shower.declaration(a)}\n" for a in shower.keep if isinstance(a, Array))


def show_body(body: Body) -> str:
    """Some statements alone."""
    return "".join(line + "\n" for line in _Shower().body(body, ""))


class _Shower:
    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.keep: list[object] = []  # ids stay unique only while their objects live
        self.taken: set[str] = set()
        self.functions: list[ir.Function] = []

    def name(self, thing: Variable | Array | Stream | Label | ir.Function) -> str:
        if id(thing) not in self.names:
            name, number = thing.name, 1
            while name in self.taken:
                number += 1
                name = f"{thing.name}'{number}"
            self.taken.add(name)
            self.keep.append(thing)
            self.names[id(thing)] = name
        return self.names[id(thing)]

    def kernel(self, kernel: ir.Kernel) -> str:
        lines = [f"kernel {kernel.name}{' ordered' * kernel.ordered}{' bubbles' * kernel.bubbles}"]
        for capture in kernel.captured:
            flags = " in" * capture.into + " out" * capture.out
            lines.append(f"  capture {self.declaration(capture.what)}{flags}: {capture.source}")
        for stream in kernel.streams:
            lines.append(f"  stream {self.declaration(stream.stream)}: {stream.source}")
        lines += self.body(kernel.body, "  ")
        for function in self.functions:
            lines += self.function(function)
        return "\n".join(lines) + "\n"

    def function(self, function: ir.Function) -> list[str]:
        parameters = ", ".join(self.declaration(p) for p in function.parameters)
        results = ", ".join(self.name(v) for v in function.results)
        head = f"function {self.name(function)}({parameters})" + (f" -> {results}" if results else "")
        return [head, *self.body(function.body, "  ")]

    def declaration(self, thing: ir.Parameter) -> str:
        width = ":64" if isinstance(thing, Variable | Array) and thing.bits == 64 else ""
        if isinstance(thing, Variable):
            return self.name(thing) + width
        shift = thing.shiftable if isinstance(thing, Array) else ()
        marks = (*shift, *(False for _ in thing.shape[len(shift) :]))
        dims = (f"[^{n}^]" if s else f"[{n}]" for n, s in zip(thing.shape, marks, strict=True))
        return self.name(thing) + "".join(dims) + width

    def body(self, body: Body, indent: str) -> list[str]:
        return [line for stmt in body for line in self.statement(stmt, indent)]

    def statement(self, stmt: Stmt, indent: str) -> list[str]:
        match stmt:
            case ir.If(condition, then, orelse, expect):
                hint = "" if expect is None else f" (expect {expect:g})"
                lines = [f"{indent}if {self.expr(condition)}{hint}:", *self.block(then, indent)]
                return [*lines, f"{indent}else:", *self.block(orelse, indent)] if orelse else lines
            case ir.Block(label, body):
                return [f"{indent}block {self.name(label)}:", *self.block(body, indent)]
            case ir.While(before, condition, body):
                head = [f"{indent}loop:", *(self.block(before, indent) if before else [])]
                return [*head, f"{indent}while {self.expr(condition)}:", *self.block(body, indent)]
            case ir.DoWhile(body, condition, guard):
                head = [f"{indent}do{self.guard(guard)}:", *self.block(body, indent)]
                return [*head, f"{indent}while {self.expr(condition)}"]
            case ir.UnrolledFor(init, before, condition, body, step):
                lines = [f"{indent}FOR:", *self.block(init, indent), f"{indent}before:"]
                lines += [*self.block(before, indent), f"{indent}while {self.expr(condition)}:"]
                return [*lines, *self.block(body, indent), f"{indent}step:", *self.block(step, indent)]
            case _:
                return [indent + self.simple(stmt)]

    def block(self, body: Body, indent: str) -> list[str]:
        return self.body(body, indent + "  ")

    def simple(self, stmt: Stmt) -> str:
        match stmt:
            case ir.Assign(variable, value):
                return f"{self.name(variable)} = {self.expr(value)}"
            case ir.Store(array, index, value, guard):
                return f"{self.at(array, index)} = {self.expr(value)}{self.guard(guard)}"
            case ir.Shift(array, index, amount, guard):
                return f"{self.at(array, index)} shift {self.expr(amount)}{self.guard(guard)}"
            case ir.Forget(array):
                return f"forget {self.name(array)}"
            case ir.Receive(stream, index, variables, worked, guard):
                names = ", ".join(self.name(v) for v in variables)
                passed = "" if stmt.passed is None else f"{self.name(stmt.passed)} or wait :: "
                return f"{passed}{self.worked(worked)}{names} <? {self.at(stream, index)}{self.guard(guard)}"
            case ir.Send(stream, index, values, worked, guard):
                words = ", ".join(self.expr(v) for v in values)
                return f"{self.worked(worked)}{self.at(stream, index)} <! {words}{self.guard(guard)}"
            case ir.Close(stream, index, guard):
                return f"close {self.at(stream, index)}{self.guard(guard)}"
            case ir.Ended(stream, index, target, guard):
                return f"{self.name(target)} = ended {self.at(stream, index)}{self.guard(guard)}"
            case ir.Turns(count, guard):
                return f"{count} more turns{self.guard(guard)}"
            case ir.Late(target, value, guard):
                return f"{self.name(target)} = late {self.expr(value)}{self.guard(guard)}"
            case ir.Assert(condition, message, guard):
                return f"assert {self.expr(condition)} {message!r}{self.guard(guard)}"
            case ir.Leave(label):
                return f"leave {self.name(label)}"
            case ir.Call():
                return self.call(stmt)
            case _:
                raise AssertionError(stmt)

    def call(self, call: ir.Call) -> str:
        if call.function not in self.functions:
            self.functions.append(call.function)
        arguments = ", ".join(self.argument(argument) for argument in call.arguments)
        results = ", ".join(self.name(v) for v in call.results)
        return (f"{results} = " if results else "") + f"{self.name(call.function)}({arguments})"

    def argument(self, argument: ir.Argument) -> str:
        match argument:
            case ir.View(array, index):
                return "&" + self.at(array, index)
            case ir.StreamView(stream, index):
                return self.at(stream, index)
            case _:
                return self.expr(argument)

    def at(self, thing: Array | Stream, index: tuple[Expr, ...]) -> str:
        return self.name(thing) + "".join(f"[{self.expr(i)}]" for i in index)

    def guard(self, guard: Expr) -> str:
        return "" if guard == ir.TRUE else f" if {self.expr(guard)}"

    def worked(self, worked: Variable | None) -> str:
        return "" if worked is None else f"{self.name(worked)} :: "

    def expr(self, expr: Expr) -> str:
        match expr:
            case Const(value, bits):
                return str(signed(bits, value))
            case Read(variable):
                return self.name(variable)
            case Load(array, index):
                return self.at(array, index)
            case Apply(op, (a, b)) if op in _INFIX:
                return f"({self.expr(a)} {_INFIX[op]} {self.expr(b)})"
            case Apply(op, (a,)) if op in _PREFIX:
                return f"{_PREFIX[op]}{self.expr(a)}"
            case Apply(op, args):
                return f"{op}({', '.join(self.expr(arg) for arg in args)})"
