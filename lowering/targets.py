"""The words of a user to a ``Target``, and the lowering for its chip, loaded at its first use."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from fencewright.lowering.boards import chip_of_board
from fencewright.lowering.cdna.chips import CHIPS, KNOWN_CHIPS, WITHOUT_ROWS
from fencewright.lowering.cdna.target_id import parse_target_id
from fencewright.lowering.sequence import Request, Sequence, Target, UnsupportedError, is_ptx
from fencewright.lowering.vocabulary import SCOPE_WORDS, Compat, L2PerAgent, Scope

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_E = TypeVar("_E", bound=Enum)


def parse_target(
    target: str,
    features: Iterable[str] = (),
    l2_per_agent: str = L2PerAgent.MANY,
    compat: str | None = None,
    ptx_version: str | None = None,
) -> Target:
    """The target that a user's words name, as ``fencewright.lower`` takes them.

    Raises ``UnsupportedError`` for a word that there is not, and for a version that is none. That
    the chip exists, and has what is asked of it, is checked where the target is lowered for.
    """
    return Target(
        target,
        frozenset(several("features", features)),
        word(L2PerAgent, "number of L2s", l2_per_agent),
        None if ptx_version is None else _version(ptx_version),
        None if compat is None else word(Compat, "compatibility", compat),
    )


def target_of(options: "DataclassInstance") -> Target:
    """The target that the options of a pass name, which has as fields those that it takes."""
    given = {each.name: getattr(options, each.name) for each in fields(options)}
    return parse_target(
        given["mcpu"],
        ("tgsplit",) if given.get("tgsplit") else (),
        given.get("l2_per_agent", L2PerAgent.MANY),
        given.get("compat"),
        given.get("ptx_version"),
    )


def options_of(target: Target) -> dict[str, Any]:
    """The options that name ``target`` to a pass, but for those that are as they are by default."""
    given: dict[str, Any] = {"mcpu": target.chip, **dict.fromkeys(target.features, True)}
    if target.l2_per_agent is L2PerAgent.ONE:
        given["l2_per_agent"] = target.l2_per_agent.value
    if target.compat is not None:
        given["compat"] = target.compat.value
    if target.ptx_version is not None:
        given["ptx_version"] = ".".join(map(str, target.ptx_version))
    return given


def several(what: str, given: Iterable[str]) -> tuple[str, ...]:
    """The words ``given``. Raises ``UnsupportedError`` for a string, which is letters."""
    if isinstance(given, str):
        raise UnsupportedError(f"{what} '{given}'", "one word for several", (f"['{given}']",))
    return tuple(given)


def word(words: type[_E], what: str, given: str, others: Iterable[str] = ()) -> _E:
    """The member of ``words`` that is ``given``. Raises ``UnsupportedError`` that lists them, and
    ``others`` that stand for some."""
    try:
        return words(given)
    except ValueError:
        accepted = (*(str(each.value) for each in words), *others)
        raise UnsupportedError(f"{what} '{given}'", f"unknown {what}", accepted) from None


def scope_named(given: str) -> Scope:
    """The scope of that name, or of others' word for it. Raises ``UnsupportedError``."""
    return word(Scope, "scope", SCOPE_WORDS.get(given, given), SCOPE_WORDS)


def _version(given: object) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]+)\.([0-9]+)", given) if isinstance(given, str) else None
    if match is None:
        raise UnsupportedError(f"PTX version {given!r}", "not a version", ("'8.6'",))
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True)
class Backend:
    """The lowering for a chip of the architecture ``cdna`` or ``ptx``."""

    chip: str
    architecture: str
    lower: Callable[[Request], Sequence]


def known_targets() -> tuple[str, ...]:
    """The chips that ``backend_of`` accepts."""
    return (*CHIPS, *_ptx_names())


@cache
def backend_of(name: str) -> Backend:
    """The lowering for the chip called ``name``, or of that target id. Raises ``UnsupportedError``.

    The error names the known targets.
    """
    name = str(name)  # None, where somebody forgot it, is an unknown name
    if name.startswith("gfx") and ":" in name:
        name = parse_target_id(name).chip
    if name in CHIPS:
        return _load_cdna(name)
    if is_ptx(name):
        return _load_ptx(name)
    if is_only_read(name):
        reason = "fence-check and fence-sim know the chip, but nothing is lowered for it"
        raise UnsupportedError(f"target {name}", reason, tuple(CHIPS))
    generation = next((g for g in WITHOUT_ROWS if name.startswith(g)), None)
    if generation is not None:
        raise UnsupportedError(f"target {name}", f"{generation} is not supported yet", tuple(CHIPS))
    raise unknown_target(name, "unknown target", known_targets())


def architecture_of(name: str) -> str:
    """The architecture of the chip called ``name``: cdna or ptx, also of one that is only read.

    Raises ``UnsupportedError``.
    """
    return "cdna" if name in KNOWN_CHIPS else backend_of(name).architecture


def is_only_read(name: str) -> bool:
    """True if code of the chip called ``name`` is read and executed, but not generated."""
    return name in KNOWN_CHIPS and name not in CHIPS


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
    """True if work-groups of the target called ``name`` can be launched in clusters."""
    if name in KNOWN_CHIPS:
        return KNOWN_CHIPS[name].clusters
    from fencewright.lowering.ptx.chip import FORMS, PtxForm
    from fencewright.lowering.ptx.select import chip_named

    return chip_named(name).number >= FORMS[PtxForm.CLUSTER].number


def _load_cdna(name: str) -> Backend:
    from fencewright.lowering.cdna import select
    from fencewright.lowering.cdna.generations.common import load_chip

    chip = load_chip(name)
    return Backend(name, "cdna", lambda request: select.lower(chip, request))


def _load_ptx(name: str) -> Backend:
    from fencewright.lowering.ptx import select

    chip = select.chip_named(name)
    return Backend(name, "ptx", lambda request: select.lower(chip, request))


def _ptx_names() -> tuple[str, ...]:
    from fencewright.lowering.ptx.chip import CHIPS

    return tuple(chip.name for chip in CHIPS)
