"""Scoped atomics and fences lowered to GPU synchronisation, with proof.

``lower`` gives the instructions of one operation, ``lower_module`` lowers an xDSL module,
``print_assembly`` gives the text of its kernels, ``lower_llvm_ir`` lowers LLVM IR text, ``access``
counts what a memory instruction costs, ``execute`` runs a PTX kernel and ``check`` finds the races
of a launch of it. Each is imported when first used, so that a caller of
``lower`` does not pay for xDSL.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencewright.launches import check, execute
    from fencewright.lowering.lower import lower
    from fencewright.lowering.sequence import UnsupportedError
    from fencewright.passes.pipelines import lower_llvm_ir, lower_module
    from fencewright.passes.print.assembly import print_assembly
    from fencewright.pictured import access

    __version__: str

__all__ = [
    "UnsupportedError",
    "access",
    "check",
    "execute",
    "lower",
    "lower_llvm_ir",
    "lower_module",
    "print_assembly",
]

_HOMES = {
    "UnsupportedError": "fencewright.lowering.sequence",
    "access": "fencewright.pictured",
    "check": "fencewright.launches",
    "execute": "fencewright.launches",
    "lower": "fencewright.lowering.lower",
    "lower_llvm_ir": "fencewright.passes.pipelines",
    "lower_module": "fencewright.passes.pipelines",
    "print_assembly": "fencewright.passes.print.assembly",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("fencewright")
    if name not in _HOMES:
        raise AttributeError(f"module 'fencewright' has no attribute '{name}'")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        from fencewright.extras import how_to_get

        if (remedy := how_to_get(missing)) is None:
            raise
        raise ModuleNotFoundError(f"{name}: {remedy}", name=missing.name) from missing
