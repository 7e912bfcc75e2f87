"""One instruction of a warp or wave with an address a lane, and the counts of the hardware.

``access`` is for one, ``count`` for many of one instruction: a hundred thousand a second.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

import numpy as np

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance import accesses as cdna_rows
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.notebook import html_table
from fencewright.lowering.ptx.performance import accesses as ptx_rows
from fencewright.lowering.sequence import UnsupportedError, is_ptx
from fencewright.simulator.execution.addresses import SHARED_WINDOW, SPACE, Addresses, check
from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.performance.accesses import cdna, ptx
from fencewright.simulator.performance.accesses.expression import addresses_of

BATCH = 1024
"""Accesses that are counted at once: as many as stay in the caches of a CPU."""


@dataclass(frozen=True, slots=True)
class AccessCounts:
    """The hardware's counts for one access, by the profiler's names, and how well that is
    known. ``picture``: draws the access as SVG; none where it cannot be drawn."""

    values: Mapping[str, int]
    evidence: Mapping[str, Evidence]
    picture: Callable[[], str | None] | None = field(default=None, compare=False, repr=False)

    def __getitem__(self, counter: str) -> int:
        return self.values[counter]

    def _repr_html_(self) -> str:
        rows = ((name, value, self.evidence[name]) for name, value in self.values.items() if value)
        return html_table("counters of one access", ("counter", "value", "known"), rows)

    def _repr_svg_(self) -> str | None:
        return None if self.picture is None else self.picture()


@dataclass(frozen=True, slots=True)
class Model:
    """An instruction on a chip: ``lanes`` addresses of ``width`` bytes each.

    ``size``: bytes of LDS or shared memory; None for other memory. ``window``: bytes of shared
    memory that its generic addresses may be in. ``shifts``: bytes from a lane's address to what it
    accesses, for each pass.
    """

    instruction: str
    target: str
    lanes: int
    width: int
    alignment: int
    size: int | None
    count: Callable[[Numbers, LaneFlags], dict[str, Numbers]]
    evidence: Callable[[str, Numbers], Evidence]
    window: int | None = None
    shifts: tuple[int, ...] = (0,)

    def check(self, addresses: Sequence[int | None]) -> None:
        """Raise ``AddressError`` for addresses that the instruction cannot have."""
        for shift in self.shifts:
            shifted = addresses if not shift else [_shifted(each, shift) for each in addresses]
            check(shifted, self.lanes, self.width, self.alignment, self.size, self.window)

    def admits(self, addresses: Numbers, active: LaneFlags) -> bool:
        """True if the instruction can have all these addresses, none of shared memory by ``s``."""
        limit = SPACE if self.size is None else self.size
        places = [addresses + shift for shift in self.shifts]
        wrong = [
            (each < 0)
            | (each + self.width > min(limit, SHARED_WINDOW))
            | (each % self.alignment != 0)
            for each in places
        ]
        return not any((each & active).any() for each in wrong)


def _shifted(address: int | None, shift: int) -> int | None:
    return None if address is None else address + shift


def access(instruction: str, addresses: str | Sequence[int | None], target: str) -> AccessCounts:
    """The counts of one access on ``target``, as Nsight Compute or rocprofiler would give them.

    ``addresses``: one for each lane in bytes, None for an inactive lane, or an expression over
    ``lane``. Bases are aligned to 1 GiB. Raises ``UnsupportedError`` for an instruction or chip
    that is not modelled, ``AddressError`` for addresses that cannot be.
    """
    model = model_of(instruction, target)
    given = given_addresses(model, addresses)
    model.check(given)
    (found,) = count(model, [given])
    return found


def given_addresses(model: "Model", addresses: str | Sequence[int | None]) -> Addresses:
    """The address of each lane. Raises ``AddressError`` for an expression that is none."""
    return addresses_of(addresses, model.lanes) if isinstance(addresses, str) else tuple(addresses)


def count(model: Model, accesses: Iterable[Addresses]) -> Iterable[AccessCounts]:
    """The counts of each of many accesses of one instruction, which have been checked."""
    waiting = iter(accesses)
    while batch := list(islice(waiting, BATCH)):
        addresses, active = arrays_of(batch)
        found = model.count(addresses, active)
        evidence = MappingProxyType({each: model.evidence(each, addresses) for each in found})
        columns = [values.tolist() for values in found.values()]
        for row in zip(*columns, strict=True):
            yield AccessCounts(dict(zip(found, row, strict=True)), evidence)


def arrays_of(batch: Sequence[Addresses]) -> tuple[Numbers, LaneFlags]:
    """The addresses of many accesses, a row each, and which lanes are active."""
    if any(None in each for each in batch):
        active = np.array([[each is not None for each in row] for row in batch])
        return np.array([[each or 0 for each in row] for row in batch], dtype=np.int64), active
    addresses = np.array(batch, dtype=np.int64)
    return addresses, np.ones(addresses.shape, dtype=np.bool_)


# The instruction on its chip


@lru_cache(maxsize=256)
def model_of(instruction: str, target: str) -> Model:
    """The model of an instruction, with its offsets, on a chip. Raises ``UnsupportedError``."""
    if is_ptx(target):
        return _ptx_model(instruction, target)
    return _cdna_model(instruction, target)


def _refused(
    instruction: str, target: str, reason: str, known: Iterable[str] = ()
) -> UnsupportedError:
    return UnsupportedError(f"access '{instruction}' on {target}", reason, tuple(known))


def _ptx_model(instruction: str, target: str) -> Model:
    chip = ptx_rows.hierarchy_of(target, f"access '{instruction}' on {target}")
    found = ptx.parse(instruction, target)
    return Model(
        instruction, target, ptx_rows.LANES, found.width, found.width,
        chip.shared_block if found.space is ptx.PtxSpace.SHARED else None,
        lambda addresses, active: ptx.counters(found, addresses, active),
        lambda counter, addresses: ptx.evidence(counter, found, addresses, chip.number),
        chip.shared_block if found.space is ptx.PtxSpace.GENERIC else None,
    )  # fmt: skip


_OFFSET = re.compile(r"(offset[01]?):(-?[0-9]{1,6})")


def _cdna_model(instruction: str, target: str) -> Model:
    chip = cdna_rows.hierarchy_of(target, f"access '{instruction}' on {target}")
    mnemonic, *words = instruction.split()
    vector = cdna_rows.VECTOR_INSTRUCTIONS.get(mnemonic)
    if vector is not None:
        _refuse_absent(instruction, target, vector.absent)
        bits = cdna_rows.POLICY_BITS[CHIPS[target].generation]
        offsets = _offsets(instruction, target, words, vector.path, bits)
        shift = offsets.get("offset", 0)
        returns = any(each in words for each in cdna_rows.RETURNING_BITS)
        is_atomic = vector.access is Kind.RMW
        return Model(
            instruction, target, cdna_rows.LANES, vector.width,
            vector.width if is_atomic else 1, None,
            lambda addresses, active: cdna.vector_counters(
                vector, chip, addresses + shift, active, returns=returns
            ),
            cdna.vector_evidence(vector, chip, shift),
            shifts=(shift,),
        )  # fmt: skip
    lds = cdna_rows.LDS_INSTRUCTIONS.get(mnemonic)
    if lds is None or cdna_rows.lds_phases(lds.access, lds.width, chip.lds_banks) is None:
        reason = (
            f"unknown instruction '{mnemonic}'; known are ds_read_b128, global_load_dwordx4 and "
            "their like"
        )
        raise _refused(instruction, target, reason)
    _refuse_absent(instruction, target, lds.absent)
    offsets = _offsets(instruction, target, words, "ds" if lds.passes == 1 else "ds two")
    shifts = (
        (offsets.get("offset", 0),)
        if lds.passes == 1
        else (offsets.get("offset0", 0) * lds.stride, offsets.get("offset1", 0) * lds.stride)
    )
    known = cdna.lds_evidence(lds, chip)
    return Model(
        instruction, target, cdna_rows.LANES, lds.width, min(lds.width, 4), CHIPS[target].lds_bytes,
        lambda addresses, active: cdna.lds_counters(lds, shifts, chip, addresses, active) or {},
        lambda counter, addresses: known(counter),
        shifts=shifts,
    )  # fmt: skip


def _offsets(
    instruction: str, target: str, words: Sequence[str], family: str, bits: tuple[str, ...] = ()
) -> dict[str, int]:
    """The offsets among the operands of an instruction. Raises ``UnsupportedError`` for others."""
    known = cdna_rows.OFFSETS[family]
    offsets: dict[str, int] = {}
    for word in words:
        found = _OFFSET.fullmatch(word)
        if found is not None and found[1] in known:
            least, most = known[found[1]]
            if not least <= int(found[2]) <= most:
                reason = f"'{word}' does not fit its field: give {least} to {most}"
                raise _refused(instruction, target, reason)
            offsets[found[1]] = int(found[2])
        elif word not in bits:
            accepted = ", ".join((*(f"{each}:N" for each in known), *bits))
            raise _refused(instruction, target, f"unknown operand '{word}'; accepted: {accepted}")
    return offsets


def _refuse_absent(instruction: str, target: str, absent: frozenset[str]) -> None:
    if target in absent:
        known = (each.chip for each in cdna_rows.HIERARCHIES if each.chip not in absent)
        raise _refused(instruction, target, "the chip has no such instruction", known)
