"""The Macah language and its compiler driver."""

import arch

# An unrelated package on PyPI is also called `arch`: say so instead of failing somewhere inside.
if not (arch.__doc__ or "").startswith("Machines"):
    raise ImportError(f"the package 'arch' at {arch.__path__} is not Macah's: give Macah its own environment")
