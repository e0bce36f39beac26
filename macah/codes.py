"""The stable names of all errors and warnings: what each is about, of what kind it is, where it is on.

Each has a page `docs/diagnostics/<code>.md`, which `macahc --explain CODE` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["language", "accelerator", "limit", "tool", "warning"]
Group = Literal["", "default", "all", "extra"]


@dataclass(frozen=True, slots=True)
class Code:
    """A code's one-line title and its kind.

    `language`: wrong in every mode. `accelerator`: right, but kernels cannot do it (yet) on an accelerator.
    `limit`: too large for the architecture, or for the compiler. `tool`: the command line, files and other
    programs. `warning`: `-W<code>`, which `group` turns on: always, by `-Wall` or by `-Wextra`.
    """

    title: str
    kind: Kind
    group: Group = ""


def _language(title: str) -> Code:
    return Code(title, "language")


def _accelerator(title: str) -> Code:
    return Code(title, "accelerator")


def _limit(title: str) -> Code:
    return Code(title, "limit")


def _tool(title: str) -> Code:
    return Code(title, "tool")


def _warning(title: str, group: Group) -> Code:
    return Code(title, "warning", group)


CODES: dict[str, Code] = {
    # Syntax.
    "syntax": _language("the text does not follow the grammar"),
    "unterminated": _language("something that was opened is never closed"),
    "invalid-token": _language("characters that are no word, number or mark of the language"),
    "unknown-type": _language("a declaration begins with a name that is no type"),
    "declaration": _language("the parts of a declaration do not go together"),
    "transfer": _language("a send or receive in a place or form that it cannot have"),
    "kernel-block": _language("a kernel block in a place or form that it cannot have"),
    "nested-kernel": _language("a kernel block inside a kernel block"),
    "shiftable-dimension": _language("a shiftable dimension is not of the form [^N^]"),
    # Names.
    "undeclared": _language("a name that is not declared"),
    "implicit-declaration": _language("a call of a function that is not declared"),
    "redeclared": _language("a name is declared twice in one scope"),
    "not-visible": _language("a captured variable is hidden where the kernel block stands"),
    # Types and values.
    "incompatible-types": _language("a value of one type where another is needed"),
    "invalid-operands": _language("an operator does not take operands of this type"),
    "not-an-lvalue": _language("something is assigned to that cannot be"),
    "read-only": _language("something const is assigned to"),
    "not-an-array": _language("something is indexed or dereferenced that is no array or pointer"),
    "no-member": _language("a member that the type does not have"),
    "incomplete-type": _language("a type whose size is not known"),
    "array-size": _language("an array's size is missing or negative"),
    "initializer": _language("an initializer does not fit what it initializes"),
    "constant-expression": _language("an expression is not constant where it must be"),
    "static-assertion": _language("a static assertion failed"),
    "unsupported-expression": _accelerator("an expression that kernels do not support"),
    "unsupported-type": _accelerator("a type that kernels do not support"),
    "floating-point": _accelerator("floating point on an architecture without it"),
    "wide-type": _accelerator("an integer type of more than 64 bits"),
    "bit-field": _language("a bit-field where it cannot be, or of a width that it cannot have"),
    "alignment": _accelerator("a struct whose layout the accelerator cannot read"),
    # Functions.
    "recursion": _language("a kernel calls a function that calls itself"),
    "no-body": _language("a kernel calls a function whose body is not visible"),
    "host-only": _language("a kernel calls what only host code can"),
    "function-pointer": _language("a kernel calls a function through a pointer"),
    "not-a-function": _language("something is called that is no function"),
    "arguments": _language("too few or too many arguments"),
    "function-parameters": _language("parameters that a function called in a kernel cannot have"),
    "return-value": _language("'return' does not fit the function's type"),
    "builtin-function": _accelerator("a GNU built-in function that kernels do not support"),
    # Control flow.
    "leaves-kernel": _language("a jump would leave the kernel block"),
    "misplaced-jump": _language("'break' or 'continue' outside a loop"),
    "goto": _language("'goto' in a kernel, or into one"),
    "inline-asm": _language("'asm' in a kernel"),
    "switch-label": _language("two labels of a switch are the same"),
    "nested-case": _accelerator("a 'case' label inside a statement that cannot be entered there"),
    "for-trip-count": _language("the number of iterations of FOR is not known at compile time"),
    "for-too-long": _limit("FOR would unroll to too much code"),
    # Arrays and pointers.
    "unresolved-pointer": _language("a pointer that does not resolve to one array at compile time"),
    "pointer-arrays": _language("a pointer that points into more than one array"),
    "variable-length-array": _language("an array whose size is not constant"),
    "static-variable": _language("a static pointer declared in a kernel"),
    "not-shiftable": _language("a shift of an array that is not declared shiftable"),
    # Streams and the rest of Macah.
    "not-a-stream": _language("something is used as a stream that is none"),
    "stream-element": _language("a type that a stream cannot have as element"),
    "stream-handle": _language("a stream handle is declared, assigned or missing in a kernel"),
    "stream-index": _language("an index into an array of streams is not constant, or out of range"),
    "accessor": _language("a memory accessor is spawned with what is no accessor"),
    "adpc": _language("ADPC in a place or form that it cannot have"),
    "expect": _language("EXPECT with something that is no frequency"),
    # Limits.
    "does-not-fit": _limit("a kernel is too large for the accelerator"),
    "too-deep": _limit("a program is nested too deeply"),
    # The command, files and other programs.
    "usage": _tool("the command line asks for something that there is not"),
    "cannot-read": _tool("a file cannot be read"),
    "cannot-write": _tool("a file cannot be written"),
    "encoding": _tool("a file is not encoded in UTF-8"),
    "preprocessor": _tool("the C preprocessor reported an error"),
    "c-compiler": _tool("the C compiler is missing, or did not accept the host program"),
    "undefined": _tool("something is used that neither the program nor a library defines"),
    "system": _tool("the operating system refused something"),
    "modes-differ": _tool("a program does not do the same in two modes"),
    "internal": _tool("a mistake in macahc itself"),
    "simulator": _tool("the simulator is missing"),
    "graph-file": _tool("a file of a dataflow graph has a mistake"),
    "mapping-file": _tool("a file holds no mapping of the graph"),
    "architecture-file": _tool("an architecture description is missing or wrong"),
    # Warnings.
    "not-mappable": _warning("a kernel runs as C, but could not run on an accelerator", "default"),
    "unchecked-transfer": _warning("nobody looks whether a non-blocking operation happened", "all"),
    "stream-not-created": _warning("a stream is used, but nothing ever creates it", "default"),
    "stream-one-end": _warning("a stream that nothing sends to, or nothing receives from", "all"),
    "stream-depth": _warning("a stream is created that holds nothing", "default"),
    "stream-deadlock": _warning("a kernel may wait for what only its own send can bring", "default"),
    "close-by-receiver": _warning("a stream is closed where it is received from", "all"),
    "accessor-direction": _warning(
        "an accessor is spawned to read memory but receives, or the other way", "all"
    ),
    "send-after-close": _warning("a send to a stream that has been closed", "default"),
    "ended-loop": _warning("a loop asks at the wrong moment whether a stream has ended", "default"),
    "endless-loop": _warning("a loop waits for what nothing in it changes", "default"),
    "undefined-result": _warning("an operation of a kernel has no defined result", "default"),
    "vacated-element": _warning("an element is read that a shift has vacated", "default"),
    "same-memory": _warning("a kernel gets one piece of memory under two names", "default"),
    "memory-size": _warning("a kernel's arrays are too large for the architecture", "default"),
    "graph-guess": _warning("a graph file does not say something, or says it twice", "default"),
    "macah-pragma": _warning("a #pragma macah without effect", "default"),
}
