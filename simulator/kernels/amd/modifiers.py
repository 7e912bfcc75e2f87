"""The effects of the words after the operands of vector instructions: DPP, SDWA, halves, clamp.

Source: MI300 ISA 6.6 (SDWA), 6.7 (DPP), 6.2 (VOP3: op_sel, clamp, omod); LLVM AMDGPUModifierSyntax.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

from fencewright.simulator.execution.lanes import LaneFlags
from fencewright.simulator.execution.program import Values
from fencewright.simulator.semantics.elements import extended, replaced
from fencewright.simulator.semantics.term import Term, low


class NotExecutedError(ValueError):
    """The reason for which an instruction is not executed."""


def numbers_of(word: str) -> tuple[int, ...]:
    """The numbers of ``[0,1]``."""
    return tuple([int(each) for each in word.strip("[]").split(",")])


def words_of(modifiers: tuple[str, ...]) -> dict[str, str]:
    """The modifiers by their names, with the text after the colon."""
    return {key: value for key, _, value in (each.partition(":") for each in modifiers)}


@dataclass(frozen=True, slots=True)
class Part:
    """``count`` bits of a register from bit ``first`` on."""

    first: int = 0
    count: int = 32


_WHOLE = Part()
_PARTS: Mapping[str, Part] = MappingProxyType(
    {"DWORD": _WHOLE, "WORD_0": Part(0, 16), "WORD_1": Part(16, 16)}
    | {f"BYTE_{n}": Part(8 * n, 8) for n in range(4)}
)


@dataclass(frozen=True, slots=True)
class Modifiers:
    """The modifiers of an instruction.

    ``dpp``: the lanes that the first source comes from. ``parts``: of each source, of SDWA;
    ``into``, ``unused``: the part that the result goes to, and what becomes of the others.
    ``halves``: of 16 bits, the half of each source and last that of the result. ``factor``: of the
    result.
    """

    dpp: "DppControl | None" = None
    parts: tuple[Part, ...] = ()
    into: Part = _WHOLE
    unused: str = ""
    halves: tuple[int, ...] = ()
    clamp: bool = False
    factor: float = 1.0


_FACTORS = MappingProxyType({("mul", "2"): 2.0, ("mul", "4"): 4.0, ("div", "2"): 0.5})


@cache
def read_modifiers(encoding: str, modifiers: tuple[str, ...]) -> Modifiers:
    """The modifiers of an instruction by its encoding: ``dpp``, ``sdwa`` or another.

    Raises ``NotExecutedError`` at one that is not executed.
    """
    words = words_of(modifiers)
    clamp = words.pop("clamp", None) is not None
    factors = [(key, words.pop(key)) for key in ("mul", "div") if key in words]
    if any(each not in _FACTORS for each in factors):
        raise NotExecutedError(f"'{' '.join(modifiers)}' is not executed")
    factor = _FACTORS[factors[0]] if factors else 1.0
    if encoding == "dpp":
        control = dpp_control(words)
        return Modifiers(dpp=control, clamp=clamp, factor=factor)
    if encoding == "sdwa":
        parts = tuple([_PARTS[words.pop(f"src{n}_sel", "DWORD")] for n in range(2)])
        into = _PARTS[words.pop("dst_sel", "DWORD")]
        unused = words.pop("dst_unused", "UNUSED_PAD")
        halves = ()
    else:
        parts, into, unused = (), _WHOLE, ""
        halves = numbers_of(words.pop("op_sel", "")) if "op_sel" in words else ()
    if words:
        raise NotExecutedError(f"'{' '.join(modifiers)}' is not executed")
    return Modifiers(None, parts, into, unused, halves, clamp, factor)


def put(into: Part, unused: str, value: Term, old: Term) -> Term:
    """A result in a part of a register; the ``unused`` part is 0, the sign, or as it was."""
    if unused == "UNUSED_PRESERVE":
        return replaced(into.first, into.count, value, old)
    if unused == "UNUSED_SEXT":
        return low(extended(0, into.count, 32, value) << into.first, 32)
    return low(value, into.count) << into.first


# Lanes


@dataclass(frozen=True, slots=True)
class DppControl:
    """The lane that each lane reads, -1: none; which lanes are written; those without a source
    too."""

    sources: tuple[int, ...]
    enabled: tuple[bool, ...]
    zeros: bool

    @property
    def writes_all(self) -> bool:
        """True if no lane keeps its old value."""
        return self.zeros and all(self.enabled)


_LANES = range(64)
_ROW = 16
_DPP: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "row_shl": lambda lane, n: lane + n if lane % _ROW + n < _ROW else -1,
        "row_shr": lambda lane, n: lane - n if lane % _ROW >= n else -1,
        "row_ror": lambda lane, n: lane // _ROW * _ROW + (lane - n) % _ROW,
        "row_newbcast": lambda lane, n: lane // _ROW * _ROW + n,
        "row_share": lambda lane, n: lane // _ROW * _ROW + n,
        "row_xmask": lambda lane, n: lane ^ n,
        "row_mirror": lambda lane, n: lane ^ 15,
        "row_half_mirror": lambda lane, n: lane ^ 7,
        "wave_shl": lambda lane, n: lane + n if lane + n < len(_LANES) else -1,
        "wave_shr": lambda lane, n: lane - n,
        "wave_rol": lambda lane, n: (lane + n) % len(_LANES),
        "wave_ror": lambda lane, n: (lane - n) % len(_LANES),
        # The last lane of a row for the next row, of the lower half for the upper one.
        "row_bcast": lambda lane, n: lane // (n + 1) * (n + 1) - 1,
    }
)


def dpp_control(words: dict[str, str]) -> DppControl:
    """The control that the words of a DPP instruction say. Raises ``NotExecutedError``."""
    rows, banks = (int(words.pop(each, "0xf"), 0) for each in ("row_mask", "bank_mask"))
    zeros = "bound_ctrl" in words
    words.pop("bound_ctrl", None)
    if len(words) != 1:
        raise NotExecutedError(f"'{' '.join(words)}' is not executed")
    ((word, value),) = words.items()
    if word == "quad_perm":
        order = numbers_of(value)
        sources = [lane // 4 * 4 + order[lane % 4] for lane in _LANES]
    elif word in _DPP:
        sources = [_DPP[word](lane, int(value or "0", 0)) for lane in _LANES]
    else:
        raise NotExecutedError(f"'{word}' is not executed")
    enabled = [bool(rows >> lane // _ROW & banks >> lane % _ROW // 4 & 1) for lane in _LANES]
    return DppControl(tuple(sources), tuple(enabled), zeros)


def _has_source(
    control: DppControl, active: LaneFlags, lanes: Values | None
) -> tuple[LaneFlags, Sequence[int]]:
    chosen = active if lanes is None else active & (lanes != 0)
    sources = control.sources[: active.shape[1]]
    return (np.array(sources) >= 0) & chosen[:, sources], sources


def taken(
    control: DppControl, active: LaneFlags, value: Values, lanes: Values | None = None
) -> Values:
    """The value that each lane reads of another; 0 where there is none."""
    has_source, sources = _has_source(control, active, lanes)
    return np.where(has_source, value[:, sources], np.uint64(0))


def written(control: DppControl, active: LaneFlags, lanes: Values | None = None) -> Values:
    has_source, _ = _has_source(control, active, lanes)
    enabled = np.array(control.enabled[: active.shape[1]])
    return ((has_source | control.zeros) & enabled).astype(np.uint64)
