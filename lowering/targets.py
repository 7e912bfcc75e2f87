"""The targets by name, and where their rows are; a target's rows are loaded when first asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from fencewright.lowering.boards import chip_of_board
from fencewright.lowering.cdna.target_id import parse_target_id
from fencewright.lowering.sequence import Request, Sequence, UnsupportedError


@dataclass(frozen=True, slots=True)
class Target:
    """A target: its name, its architecture (``cdna`` or ``ptx``), and the function that lowers for it."""

    name: str
    architecture: str
    lower: Callable[[Request], Sequence]


_CDNA = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-generic")

_NOT_YET = ("gfx10", "gfx11", "gfx12")
"""AMD generations whose rows do not exist yet."""


def known_targets() -> tuple[str, ...]:
    """The names that ``load_target`` accepts."""
    return (*_CDNA, *_ptx_names())


@cache
def load_target(name: str) -> Target:
    """The target called ``name``, or of that target id. Raises ``UnsupportedError``.

    The error names the known targets.
    """
    name = str(name)  # None, where somebody forgot it, is an unknown name
    if name.startswith("gfx") and ":" in name:
        name = parse_target_id(name).chip
    if name in _CDNA:
        return _load_cdna(name)
    if name.startswith("sm_"):
        return _load_ptx(name)
    generation = next((g for g in _NOT_YET if name.startswith(g)), None)
    if generation is not None:
        raise UnsupportedError(f"target {name}", f"{generation} is not supported yet", _CDNA)
    raise unknown_target(name, "unknown target", known_targets())


def unknown_target(name: str, reason: str, known: tuple[str, ...]) -> UnsupportedError:
    """The error for a name that is none of ``known``; names the chip if it is a board's name."""
    chip = chip_of_board(name)
    same = tuple(
        each for each in known if chip is not None and each.rstrip("af") == chip.rstrip("af")
    )
    if not same:
        return UnsupportedError(f"target {name}", reason, known)
    return UnsupportedError(f"target {name}", f"{reason}: a board's name, of the chip {chip}", same)


def has_clusters(name: str) -> bool:
    """Whether work-groups of the target called ``name`` can be launched in clusters."""
    if load_target(name).architecture != "ptx":
        return False
    from fencewright.lowering.ptx.chip import FORMS, Form
    from fencewright.lowering.ptx.select import chip_named

    return chip_named(name).number >= FORMS[Form.CLUSTER].number


def _load_cdna(name: str) -> Target:
    from fencewright.lowering.cdna import select

    chip = import_module(f"fencewright.lowering.cdna.{name.replace('-', '_')}").CHIP
    return Target(name, "cdna", lambda request: select.lower(chip, request))


def _load_ptx(name: str) -> Target:
    from fencewright.lowering.ptx import select

    chip = select.chip_named(name)
    return Target(name, "ptx", lambda request: select.lower(chip, request))


def _ptx_names() -> tuple[str, ...]:
    from fencewright.lowering.ptx.chip import CHIPS

    return tuple(chip.name for chip in CHIPS)
