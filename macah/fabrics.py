"""The architecture that a command line names."""

from __future__ import annotations

from arch.describe import ArchitectureError, load_fabric
from arch.fabric import Fabric

from .diagnostic import MacahError, Place


def fabric_of(name: str) -> Fabric:
    """The architecture that `--arch` names."""
    try:
        return load_fabric(name)
    except ArchitectureError as error:
        if error.line:
            raise MacahError(error.message, Place(error.file, error.line), code="architecture-file") from None
        raise MacahError(f"architecture '{name}': {error.message}", code="architecture-file") from None
