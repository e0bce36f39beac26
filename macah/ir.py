"""The kernel IR: what one kernel block means.

Values are words of 32 or 64 bits, without signedness: that is in the operation (`arch.ops`). A narrower
C type lives in a 32-bit word, sign- or zero-extended; lowering puts the narrowing where C has it. A variable,
array, stream or label is an object: two of the same name are different, and equality is identity.
Expressions have no effects and never trap. Every statement has `where`; every effect has a `guard`, a
predicate word, and happens iff that is not 0. Blocks are tuples of statements.

What each pass takes away is in `passes/pipeline.py`. At the end a kernel's body is some `Assign`s of
constants or captured variables and one `DoWhile` whose body is straight-line code.
"""

from __future__ import annotations

from dataclasses import dataclass

from backend.dfg import Place
from backend.dfg import Word as Word
from backend.record import made_quickly
from macah.ctypes import CType
from macah.host_memory import Extent as Extent
from macah.host_memory import Static as Static
from macah.ir_values import FALSE as FALSE
from macah.ir_values import TRUE as TRUE
from macah.ir_values import Apply as Apply
from macah.ir_values import Array as Array
from macah.ir_values import Const as Const
from macah.ir_values import ElementType as ElementType
from macah.ir_values import Expr as Expr
from macah.ir_values import Label as Label
from macah.ir_values import Load as Load
from macah.ir_values import Read as Read
from macah.ir_values import Stream as Stream
from macah.ir_values import Variable as Variable
from macah.ir_values import unspecified as unspecified
from macah.rare_branch import RareBranch
from macah.room import Room as Room
from macah.site import Site

# --- Statements


@made_quickly
@dataclass(frozen=True, slots=True)
class Assign:
    """`variable = value`."""

    variable: Variable
    value: Expr
    where: Place | None = None

    def __post_init__(self) -> None:
        assert self.variable.bits == self.value.bits, self


@made_quickly
@dataclass(frozen=True, slots=True)
class Store:
    """`array[index] = value`; nothing happens where an index is out of range."""

    array: Array
    index: tuple[Expr, ...]
    value: Expr
    guard: Expr = TRUE
    where: Place | None = None
    site: Site | None = None

    def __post_init__(self) -> None:
        assert self.array.bits == self.value.bits, self


@dataclass(frozen=True, slots=True)
class Shift:
    """Moves the elements of a shiftable dimension, the one after `index`, by `amount` places.

    Places are counted upwards: the element at place i goes to place i + amount. So `a >>= n` has amount n
    and `a <<= n` has -n. `index` fixes the dimensions that the program indexed; the first shiftable
    dimension not yet indexed is shifted, for all values of unindexed dimensions before it. `amount` is a
    signed word; vacated places hold unspecified values.
    """

    array: Array
    index: tuple[Expr, ...]
    amount: Expr
    guard: Expr = TRUE
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """The elements of a local array hold unspecified values from here on."""

    array: Array
    where: Place | None = None


@made_quickly
@dataclass(frozen=True, slots=True)
class Receive:
    """Receives one element into `targets`, one variable for each of the stream's words.

    Blocks if `worked` is None. Where nothing is received (guard false, stream ended, or nothing there for
    the non-blocking form) the targets keep their values. `worked` becomes 0 or 1, and keeps its value if the
    guard is false. With `passed` a blocking one does not wait: `passed` becomes 0 where it would have to, and
    1 else, whatever the guard is.
    """

    stream: Stream
    index: tuple[Expr, ...]
    targets: tuple[Variable, ...]
    worked: Variable | None = None
    guard: Expr = TRUE
    where: Place | None = None
    passed: Variable | None = None

    def __post_init__(self) -> None:
        assert len(self.targets) == len(self.stream.words), self
        assert self.worked is None or self.passed is None, self


@made_quickly
@dataclass(frozen=True, slots=True)
class Send:
    """Sends one element made of `values`; blocks if `worked` is None; `worked` as in `Receive`."""

    stream: Stream
    index: tuple[Expr, ...]
    values: tuple[Expr, ...]
    worked: Variable | None = None
    guard: Expr = TRUE
    where: Place | None = None

    def __post_init__(self) -> None:
        assert len(self.values) == len(self.stream.words), self


@dataclass(frozen=True, slots=True)
class Close:
    """`pstream_close(stream)`."""

    stream: Stream
    index: tuple[Expr, ...]
    guard: Expr = TRUE
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """`target = pstream_ended(stream)`; keeps its value if the guard is false."""

    stream: Stream
    index: tuple[Expr, ...]
    target: Variable
    guard: Expr = TRUE
    where: Place | None = None


Move = Receive | Send | Close | Ended
"""What uses a stream."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The iteration takes `count` more turns, if the guard is true; what follows happens in the last one."""

    count: int
    guard: Expr = TRUE
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Late:
    """`target = value`, from the first turn since `Turns` of this place; only if the guard is true."""

    target: Variable
    value: Expr
    guard: Expr = TRUE
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Assert:
    """Aborts the program with `message` if `condition` is 0."""

    condition: Expr
    message: str
    guard: Expr = TRUE
    where: Place | None = None


@made_quickly
@dataclass(frozen=True, slots=True)
class If:
    """`if (condition) then else orelse`. `expect`: how often it is true, as EXPECT says."""

    condition: Expr
    then: Body
    orelse: Body = ()
    expect: float | None = None
    where: Place | None = None


@made_quickly
@dataclass(frozen=True, slots=True)
class Block:
    """What a `Leave` of its label leaves: `break`, `continue`, `return`, `switch` are made of it."""

    label: Label
    body: Body
    where: Place | None = None


@made_quickly
@dataclass(frozen=True, slots=True)
class Leave:
    """Continues after the enclosing `Block` of that label."""

    label: Label
    where: Place | None = None


@made_quickly
@dataclass(frozen=True, slots=True)
class While:
    """`for (;;) { before; if (!condition) break; body; }`. `before` computes the condition's effects.

    `most`: it makes no more iterations each time, where that is known of what it was made of.
    """

    before: Body
    condition: Expr
    body: Body
    where: Place | None = None
    most: int | None = None


@made_quickly
@dataclass(frozen=True, slots=True)
class DoWhile:
    """`if (guard) do body while (condition)`. The guard is read once, before the loop.

    `most` is as of `While`.
    """

    body: Body
    condition: Expr
    guard: Expr = TRUE
    where: Place | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class UnrolledFor:
    """`init; for (;;) { before; if (!condition) break; body; step; }`, unrolled at compile time.

    Where it is a plain loop, each iteration begins with `fresh`: nobody needs what the last one received.
    """

    init: Body
    before: Body
    condition: Expr
    body: Body
    step: Body
    where: Place | None = None
    fresh: Body = ()


@made_quickly
@dataclass(frozen=True, slots=True)
class View:
    """An array as an argument: the callee's `p[i, …]` is `array[index[:-1], index[-1] + i, …]`.

    With an empty index the callee's array is the whole array.
    """

    array: Array
    index: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamView:
    """A stream as an argument, with its index if it is an element of an array of streams."""

    stream: Stream
    index: tuple[Expr, ...] = ()


Argument = Const | Read | Load | Apply | View | StreamView
Parameter = Variable | Array | Stream


@made_quickly
@dataclass(frozen=True, slots=True)
class Call:
    """`results = function(arguments)`; a struct result has several variables, void has none."""

    function: Function
    arguments: tuple[Argument, ...]
    results: tuple[Variable, ...] = ()
    where: Place | None = None


Stmt = (
    Assign
    | Store
    | Shift
    | Forget
    | Receive
    | Send
    | Close
    | Ended
    | Turns
    | Late
    | Assert
    | If
    | Block
    | Leave
    | While
    | DoWhile
    | UnrolledFor
    | Call
)
Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function that kernels call. `body` assigns `results` (in a `Block`, if it returns early).

    Its variables are its own: inlining makes new ones for every call. Scalar parameters are copies.
    Lowering refuses recursion, so calls form no cycle.
    """

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[Variable, ...]
    body: Body
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured scalar or array, and how host code names it.

    `source` is the C lvalue, with `{0}`, `{1}`, … for the indices of an array's element; `type` is the C type
    of that lvalue, for the conversion back. `into`: copied in at entry; `out`: copied out at exit.
    `half`: the low (0) or high (1) word of a 64-bit lvalue, or of an array's 64-bit elements. `base`: the
    lvalue is a pointer, and the word is its distance from that address. `extent`: where the host has it.
    `guard`: the host's condition that it has it at all.
    """

    what: Variable | Array
    source: str
    type: str
    into: bool = True
    out: bool = False
    half: int | None = None
    base: str | None = None
    extent: Extent | None = None
    guard: str | None = None


@dataclass(frozen=True, slots=True)
class StreamCapture:
    """A captured stream of elements of a C type.

    `source` is the C expression of its handle, with `{0}`, … for an array's indices.
    """

    stream: Stream
    source: str
    element: CType | None = None  # None: nobody asks


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel block. Its variables and arrays are local, but for the captured ones.

    `ordered`: operations on different streams keep their order as well, as seen from outside. `bubbles`:
    receives do not hold up what comes before them. `without`: the optimisations (`optional.py`) not to be
    done. `unroll`: how many copies of the body the plain loops at these places get, 0 for all of them.
    `room`: the memories over which arrays may be spread. `words`: what the largest memory has, if that is
    known. `rare`: decisions about branches with EXPECT. `tests_first`: the places of `while` loops that spend
    an iteration on finding that they are over. `row`: so many iterations inner loops make at least, some for
    nothing, so that it is known ahead when they end. `delay`: so many iterations pass between the start of a
    row of a nest and its first one (`delay_rows`). `most`: the flat loop makes no more iterations than these,
    if that is known (`find_sites`). `one_way`: it certainly receives nothing that comes of what it sends, and
    nobody serves two of its streams in turn. `rolled`: the places of FOR loops that are plain ones.
    `by_turns`: sends and receives beside loops are loops, too. `chained`: loops in sequence have one counter
    where that is possible (`chain_stages`). `stacked`: nests in sequence are one nest (`stack_nests`).
    `entered`: inner loops run even where they have nothing to do, if that never changes. `patient`: shorter
    recurrences are looked for longer (`shorten`). `once`: an iteration receives once at most
    (`receive_once`). `streams_end`: they may, and what is received then keeps its value. `partitioned`: the
    names, in the source, of arrays that are kept in variables if they are small (`partition_arrays`).
    """

    name: str
    captured: tuple[Capture, ...]
    streams: tuple[StreamCapture, ...]
    body: Body
    where: Place | None = None
    ordered: bool = False
    statics: tuple[Static, ...] = ()
    without: frozenset[str] = frozenset()
    unroll: tuple[tuple[Place, int], ...] = ()
    room: Room | None = None
    words: int | None = None
    bubbles: bool = False
    rare: tuple[RareBranch, ...] = ()
    tests_first: tuple[Place, ...] = ()
    row: int = 0
    delay: int = 0
    most: int | None = None
    one_way: bool = False
    rolled: tuple[Place, ...] = ()
    by_turns: bool = False
    chained: bool = False
    stacked: bool = False
    entered: bool = False
    patient: bool = False
    once: bool = False
    streams_end: bool = True
    partitioned: tuple[str, ...] = ()
