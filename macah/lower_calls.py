"""Calls: what a called name means, and the names that are built in."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from pycparser import c_ast

from macah import ctypes, ir
from macah.ctypes import Integer
from macah.diagnostic import MacahError, Note, Place
from macah.library import character_class, class_function, library_function
from macah.lower_arithmetic import binary, convert, unary
from macah.lower_bits import BIT_FUNCTIONS
from macah.lower_constants import string_units
from macah.lower_functions import check_count
from macah.lower_memory import MEMORY_FUNCTIONS, Memory
from macah.lower_operators import NOTHING
from macah.lower_scope import FunctionName, Object
from macah.lower_values import Rvalue, Value
from macah.program import place_of
from macah.std_headers import header_hint
from macah.syntax import ADPC_FORM, ADPC_MISPLACED, EXPECT_FORM

_ALLOCATING = frozenset({"malloc", "calloc", "realloc", "free"})
_HOST_ONLY = frozenset(
    {"pstream_create", "stream_create", "pstream_free", "stream_free", "pstream_empty", "pstream_full"}
    | {"mem_reader_spawn", "mem_writer_spawn", "mem_reader_spawn_depth", "mem_writer_spawn_depth"}
    | {"mem_reader_join", "mem_writer_join"}
)
_MATH = {"min": 2, "max": 2, "abs": 1, "labs": 1, "llabs": 1}
_GNU_MATH = {"__builtin_abs": ctypes.INT, "__builtin_labs": ctypes.LONG, "__builtin_llabs": ctypes.LLONG}
_BUILT_IN = frozenset(
    {"EXPECT", "ADPC", "__builtin_expect", "__builtin_expect_with_probability", "__builtin_offsetof"}
    | {"__assert_fail", "__builtin_unreachable", "__builtin_prefetch", "__builtin_assume_aligned"}
    | {"__builtin_constant_p", "pstream_close", "pstream_ended"}
)


def _of_streams(name: str) -> str:
    """What to append to a message about an unknown function that is a built-in one, misspelt or cut short."""
    known = [word for word in sorted(_BUILT_IN | _HOST_ONLY) if word.startswith(("pstream_", "mem_"))]
    whole = f"pstream_{name}"
    near = [whole] if whole in known else get_close_matches(name, known, 1, 0.8)
    return f"; did you mean '{near[0]}'?" if near else ""


class Calls(Memory):
    """Function calls."""

    def call(self, node: Any) -> Value:
        where = place_of(node)
        arguments = node.args.exprs if node.args else []
        if not isinstance(node.name, c_ast.ID):
            raise self._through_pointer(where)
        name = node.name.name
        function = self.scope.find(name)
        if isinstance(function, FunctionName) and function.definition is not None:
            return self.call_function(function, arguments, where)
        if function is None or isinstance(function, FunctionName):
            if name in _MATH:
                return self._math(name, function, arguments, where)
            if name in _GNU_MATH:
                check_count(name, len(arguments), 1, where)
                expr, source = self.number(arguments[0])
                expr, ctype = unary("abs", convert(expr, source, _GNU_MATH[name]), _GNU_MATH[name])
                return Rvalue(ctype, expr)
            if name in BIT_FUNCTIONS:
                return self.bit_function(name, arguments, where)
            if name in MEMORY_FUNCTIONS:
                return self.memory_function(name, arguments, where)
            if name in _BUILT_IN:
                return self._built_in(node, arguments, where)
            if (known := library_function(name, self.scope)) is not None:
                return self.call_function(known, arguments, where)
            raise self._no_body(name, function, where)
        if isinstance(function, Object) and isinstance(function.type, ctypes.Pointer | ctypes.FunctionType):
            raise self._through_pointer(where)
        raise MacahError(f"called object '{name}' is not a function", where, code="not-a-function")

    def class_of_character(self, node: Any) -> Value | None:
        if (asked := character_class(node)) is None:
            return None
        character, bits = asked
        name = class_function(self.types.constant(bits, self.scope))
        known = library_function(name, self.scope)
        return known and self.call_function(known, [character], place_of(node))

    def _through_pointer(self, where: Place) -> MacahError:
        hint = "call the function by its name, or choose with 'if' or 'switch'"
        return MacahError(
            "a kernel cannot call a function through a pointer", where, hint=hint, code="function-pointer"
        )

    def _no_body(self, name: str, function: FunctionName | None, where: Place) -> MacahError:
        if name in _HOST_ONLY:
            hint = "call it outside the kernel block"
            return MacahError(f"'{name}' cannot be called in a kernel", where, hint=hint, code="host-only")
        if function is None and name.startswith("__builtin_"):
            message = f"built-in function '{name}' is not supported in a kernel"
            return MacahError(message, where, hint="write it in C", code="builtin-function")
        if function is None:
            hint = header_hint(name) or "a kernel can call only functions that are defined in this file"
            guess = "" if header_hint(name) else _of_streams(name) or self.scope.guess(name)
            message = f"implicit declaration of function '{name}'{guess}"
            return MacahError(message, where, hint=hint, code="implicit-declaration")
        notes = (Note(f"'{name}' is declared here", function.where),)
        message = f"function '{name}' has no body visible here, so it cannot run on the accelerator"
        hint = "call it outside the kernel block, or define it in this file"
        if name in _ALLOCATING:
            hint = "declare an array of fixed size instead"
        return MacahError(message, where, notes, hint, code="no-body")

    # --- Built-in names

    def _math(self, name: str, function: FunctionName | None, arguments: list[Any], where: Place) -> Value:
        check_count(name, len(arguments), _MATH[name], where)
        values = [self.number(argument) for argument in arguments]
        if function is not None and function.type.parameters is not None:
            # A prototype, as in <stdlib.h>, converts the arguments.
            targets = [t for t in function.type.parameters if isinstance(t, Integer)]
            pairs = zip(values, targets, strict=False)
            values = [(convert(expr, source, target), target) for (expr, source), target in pairs]
        if len(values) == 2:
            expr, ctype = binary(name, *values[0], *values[1])
        else:
            expr, ctype = unary("abs", *values[0])
        return Rvalue(ctype, expr)

    def _built_in(self, node: Any, arguments: list[Any], where: Place) -> Value:
        name = node.name.name
        match name, arguments:
            case "__builtin_offsetof", _:
                return Rvalue(ctypes.ULONG, ir.Const(self.types.constant(node, self.scope), 64))
            case "EXPECT", [condition, share]:
                self.frequency(share)
                return self.rvalue(condition)
            case ("__builtin_expect", [condition, _]) | (
                "__builtin_expect_with_probability",
                [condition, _, _],
            ):
                expr, source = self.number(condition)
                return Rvalue(ctypes.LONG, convert(expr, source, ctypes.LONG))
            case "__builtin_unreachable", []:
                return NOTHING
            case "__builtin_prefetch", _:
                return NOTHING
            case "__builtin_assume_aligned", [pointer, *_]:
                return self.rvalue(pointer)
            case "__builtin_constant_p", [argument]:
                return Rvalue(ctypes.INT, ir.Const(int(self._is_constant(argument))))
            case "__assert_fail", [text, *_]:
                message = f"{self.frame.function}: Assertion `{_spelled(text)}' failed."
                self.emit(ir.Assert(ir.FALSE, message, where=where))
                return NOTHING
            case "pstream_close", [stream]:
                return self.close(stream)
            case "pstream_ended", [stream]:
                return self.ended(stream)
            case "ADPC", _:
                raise MacahError(ADPC_MISPLACED, where, hint=ADPC_FORM, code="adpc")
        wanted = {"EXPECT": 2, "__builtin_expect": 2, "__builtin_expect_with_probability": 3}
        wanted["__builtin_unreachable"] = 0
        check_count(name, len(arguments), wanted.get(name, 1), where)
        raise AssertionError(name)

    def _is_constant(self, node: Any) -> bool:
        try:
            self.types.number(node, self.scope)
        except MacahError:
            return False
        return True

    def frequency(self, node: Any) -> float:
        """How often a condition is true, as EXPECT's second argument says."""
        try:
            value = float(self.types.number(node, self.scope)[1])
        except MacahError as error:
            raise MacahError.of((replace(error.diagnostics[0], hint=EXPECT_FORM),)) from error
        if not 0 <= value <= 1:
            message = "the frequency must be between 0 and 1"
            raise MacahError(message, place_of(node), hint=EXPECT_FORM, code="expect")
        return value


def _spelled(text: Any) -> str:
    if not isinstance(text, c_ast.Constant) or not text.value.endswith('"'):
        return "..."
    return bytes(unit & 0xFF for unit in string_units(text.value)[1]).decode(errors="replace")
