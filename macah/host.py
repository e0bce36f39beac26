"""The host part of a program: compiled, and linked on trial before its kernels are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES, empty_image
from sim.objects import compile_objects

from .bridge import check_bridge
from .diagnostic import MacahError
from .gcc_flags import for_runtime, keeps_columns, notes
from .gcc_text import POINTERS
from .link_errors import undefined
from .messages import Messages
from .options import Options
from .program import Program
from .stages import Stages
from .toolchain import compiler_command, run_compiler
from .translate import translate
from .translate_host import HostKernel
from .translate_prelude import LANGUAGE


class Host:
    """What is made of it in `directory`, where one executable is made."""

    def __init__(
        self,
        program: Program,
        adpc: dict[str, int],
        options: Options,
        stages: Stages,
        messages: Messages,
        directory: Path,
    ) -> None:
        self._program, self._adpc, self._options = program, adpc, options
        self._stages, self._messages = stages, messages
        self.directory = directory
        self._compiled: Sequence[HostKernel] | None = None
        self._said = ""
        self._objects: dict[tuple[Path, ...], list[Path]] = {}
        # The runtime is ours: the user's warnings are not for it.
        debug = [flag for flag in options.cc if flag.startswith(("-g", "-fsanitize=thread"))]
        self._flags = [*LANGUAGE, "-O2", *debug]
        self._libraries = [*RUNTIME_FLAGS, *for_runtime(options.link)]

    def check(self, kernels: Sequence[HostKernel]) -> None:
        """Compiles it for these kernels, and links it with an image of none. Errors: MacahError."""
        self.compile(kernels)
        with self._stages("link the host program on trial"):
            image = empty_image(self.directory)
            trial = self.directory / "trial"
            self._link(image.runtime, image.own, trial)
            trial.unlink(missing_ok=True)

    def compile(self, kernels: Sequence[HostKernel]) -> None:
        """Makes its object, unless it is there; without kernels, all of it is C. Errors: MacahError."""
        for kernel in kernels:
            check_bridge(kernel.site, kernel.dfg)
        if self._compiled is not None and _same(kernels, self._compiled):
            return
        options = self._options
        with self._stages("compile the host program"):
            columns = keeps_columns(options.cc)
            made = translate(self._program, self._adpc, kernels or None, columns=columns)
            source = self.directory / "program.c"
            source.write_text(made.text)
            flags = [
                *LANGUAGE,
                *_lines(options.cc, self.directory),
                *made.flags,
                *options.cc,
                *warning_flags(options),
                *notes(options.cc, options.output, options.source),
            ]
            said = self._run([*flags, "-c", str(source)])
            if self._messages.mixes_streams(said):
                self._run([*flags, f"-Werror={POINTERS.removeprefix('-W')}", "-c", str(source)])
            if said != self._said:
                self._messages.compiler(said)
            self._compiled, self._said = kernels, said

    def _run(self, arguments: list[str]) -> str:
        """Makes the object, and gives what the C compiler said of it."""
        problem = "the C compiler did not accept the host part of the program"
        return run_compiler([*arguments, "-o", str(self._object)], problem, self._options.verbose)

    def link(self, runtime: Sequence[Path], sources: Sequence[Path]) -> Path:
        """The executable, of the object, parts of the runtime, and other C. Errors: MacahError."""
        built = self.directory / "program"
        with self._stages("link"):
            self._messages.compiler(self._link(runtime, sources, built))
        return built

    @property
    def _object(self) -> Path:
        return self.directory / "program.o"

    def _link(self, runtime: Sequence[Path], sources: Sequence[Path], output: Path) -> str:
        """Links, and gives what the linker said of it."""
        options, problem = self._options, "the program could not be linked"

        def compile_runtime(arguments: list[str]) -> None:
            self._messages.compiler(run_compiler(arguments, problem, options.verbose))

        ours = (*RUNTIME_SOURCES, *runtime)
        if ours not in self._objects:
            flags = [*self._flags, *self._libraries]
            self._objects[ours] = compile_objects(
                compiler_command(), flags, ours, self.directory, compile_runtime
            )
        parts = map(str, [self._object, *self._objects[ours], *sources])
        there = f"-fdebug-prefix-map={self.directory}=."
        command = [*self._flags, there, *parts, "-o", str(output), *self._libraries]
        try:
            return run_compiler(command, problem, options.verbose, {"LC_ALL": "C"})
        except MacahError as error:
            found = undefined(error.output, self._program, options.arguments)
            raise MacahError.of(found) if found else error from None


def _lines(given: Sequence[str], directory: Path) -> list[str]:
    """Flags for a line table, which tells where threads wait; the same wherever it is made.

    But a debugger, if the user wants one, must find the sources. In tables of DWARF 5, addr2line takes the
    program's file for the translated one.
    """
    debugged = any(flag.startswith("-g") for flag in given)
    ours = [directory] if debugged else [Path.cwd(), directory]
    return ["-gdwarf-4", "-g1", *(f"-fdebug-prefix-map={there}=." for there in ours if there.name)]


def _same(some: Sequence[HostKernel], others: Sequence[HostKernel]) -> bool:
    """Whether they are the same objects, as they are unless the mapper took another form of a kernel."""
    return all(a.kernel is b.kernel and a.dfg is b.dfg for a, b in zip(some, others, strict=True))


def warning_flags(options: Options) -> tuple[str, ...]:
    """What the C compiler is told about warnings and the form of messages."""
    return (*options.messages.warnings.for_compiler(), *options.messages.compiler_flags())
