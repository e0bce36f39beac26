"""Builds the hot modules; everything else about the project is in pyproject.toml.

`python setup.py build_ext --inplace` builds them next to their sources. Without them the same files run
as plain Python, with the same results, only slowly.
"""

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = (
    "backend.anneal",
    "backend.finder",
    "backend.flood",
    "backend.flow",
    "backend.groups",
    "backend.ledger",
    "backend.longest",
    "backend.paths",
    "backend.pushes",
    "backend.reach",
    "backend.relocate",
    "backend.settler",
    "backend.words",
    "macah.course_rows",
    "macah.shorten_plan",
    "macah.shorten_sweep",
)
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "legacy_implicit_noexcept": True,
}
# No fused multiply-add: costs must be the same numbers that plain Python computes.
ARGUMENTS = ["-O3", "-ffp-contract=off"]

setup(
    ext_modules=cythonize(
        [Extension(name, [name.replace(".", "/") + ".py"], extra_compile_args=ARGUMENTS) for name in MODULES],
        compiler_directives=DIRECTIVES,
    )
)
