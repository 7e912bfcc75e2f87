"""Packages that only some of Fencewright needs, by the optional group that installs them."""

from collections.abc import Mapping
from types import MappingProxyType

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "gpu",
        "distributed": "dask",
        "drawsvg": "pictures",
        "numpy": "hierarchy",
        "pygraphviz": "pictures",
        "shtab": "completion",
        "triton": "triton",
        "z3": "prove",
    }
)
"""The group of ``pyproject.toml`` for each package that is imported only where it is needed."""


def how_to_get(missing: ImportError) -> str | None:
    """What to say of a package that is not installed; None if it is of no optional group."""
    package = (missing.name or "").partition(".")[0]
    if package not in GROUPS:
        return None
    group = GROUPS[package]
    return (
        f"this needs {package}, which is not installed: pip install 'fencewright[{group}]', or "
        f"'.[{group}]' in a checkout"
    )
