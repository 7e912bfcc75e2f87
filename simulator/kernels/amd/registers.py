"""Registers of a wave where AMD code is read, as parts of the values of a ``LaneProgram``.

Within a block a value has a register of the program of its own, however many 32-bit registers of
the hardware it is in, so that a pair that is loaded and used whole is never taken apart, and a move
is no step. Between blocks a pair that is mostly used whole is kept whole.

Scalar registers are what they are in hardware, numbers that a wave has once: a lane mask has a bit
for each lane, and becomes a predicate of each lane where a vector instruction selects by it. So
nothing has to be known of which pairs are masks, and what computes with them is one number for 64
lanes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from fencewright.simulator.execution.lanes import LaneFlags, lane_bits
from fencewright.simulator.execution.program import (
    Compute,
    CrossLane,
    LaneValue,
    Merge,
    Register,
    Special,
    Step,
    Unknown,
    Values,
)
from fencewright.simulator.execution.values import constant, low, signed, unsigned

Names = tuple[str, ...]
"""Registers of the hardware of 32 bits, the lowest first: ``("v0", "v1")``."""

EXEC, VCC = ("exec_lo", "exec_hi"), ("vcc_lo", "vcc_hi")


def is_vector(name: str) -> bool:
    """True if each lane has a register of its own: ``v`` and ``a``."""
    return name[0] in "va" and name[1:].isdigit()


@dataclass(frozen=True, slots=True)
class Part:
    """Word ``index`` of the ``size`` words of a register of the program."""

    register: Register
    index: int
    size: int


class Registers:
    """The state within one block; ``count`` and ``scalars`` are those of the whole program."""

    def __init__(self, groups: Mapping[str, Names], masks: bool, lanes: int) -> None:
        self._groups = groups
        self.lanes = lanes
        """Lanes of a wave, and bits of a mask."""
        self.exec, self.vcc = EXEC[: lanes // 32], VCC[: lanes // 32]
        self._masks = masks
        self._canonical: dict[Names, Register] = {}
        self.count = 0
        self.scalars: set[Register] = set()
        self.begin([], is_entry=True)

    def begin(self, live: Iterable[str], *, is_entry: bool) -> None:
        """A new block, at whose begin the registers ``live`` have values."""
        self.steps: list[Step] = []
        self._parts: dict[str, Part] = {}
        self._known: dict[object, Register] = {}
        self._signs: dict[Register, Register] = {}
        self._full: Register | None = None
        if not is_entry:
            for name in live:
                group = self._group(name)
                self._parts[name] = Part(self._kept(group), group.index(name), len(group))
        if is_entry or not self._masks:
            self._full = self.special(LaneValue.ACTIVE, is_scalar=True)
            self.set(self.exec, self._full)

    def forget(self) -> None:
        """Masks of lanes are computed anew: after a barrier that is less work than to keep them."""
        self._known.clear()

    # New registers

    def new(self, *, is_scalar: bool) -> Register:
        """A register that nothing has yet."""
        self.count += 1
        if is_scalar:
            self.scalars.add(self.count - 1)
        return self.count - 1

    def compute(
        self, function: Callable[..., Values], operands: Sequence[Register], text: str
    ) -> Register:
        """A value of operands, a scalar if they are."""
        result = self.new(is_scalar=self.scalars.issuperset(operands))
        self.steps.append(Compute(result, tuple(operands), function, text))
        return result

    def across(
        self,
        function: Callable[..., Values],
        operands: Sequence[Register],
        text: str,
        *,
        is_scalar: bool = True,
        lanes: Register | None = None,
    ) -> Register:
        """A value of operands of all active lanes, of which those of ``lanes`` matter."""
        result = self.new(is_scalar=is_scalar)
        self.steps.append(CrossLane(result, tuple(operands), function, text, lanes))
        return result

    def constant(self, value: int, bits: int) -> Register:
        """The register of a constant."""
        return self._once(
            ("constant", value, bits),
            lambda: self.compute(constant(value, bits), (), f"{value:#x}"),
        )

    def special(self, value: LaneValue, *, is_scalar: bool) -> Register:
        """The register with a value that a lane or wave knows about itself."""

        def made() -> Register:
            result = self.new(is_scalar=is_scalar)
            self.steps.append(Special(result, value))
            return result

        return self._once(value, made)

    def unknown(self, text: str) -> Register:
        """The register of a word of which nothing is known but that it comes of ``text``."""
        result = self.new(is_scalar=True)
        self.steps.append(Unknown(result, text))
        return result

    def _once(self, key: object, made: Callable[[], Register]) -> Register:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = made()
        return known

    # Registers of the hardware

    def read(self, names: Names) -> Register:
        """The value of consecutive registers."""
        return self._read(names, frozenset(names))

    def _read(self, names: Names, needed: frozenset[str]) -> Register:
        """The value of consecutive registers, of which those that are not ``needed`` may be 0."""
        parts = [self._part(name) for name in names]
        first = parts[0]
        whole = [Part(first.register, n, len(names)) for n in range(len(names))]
        if parts == whole:
            return first.register
        consecutive = [Part(first.register, first.index + n, first.size) for n in range(len(names))]
        if parts == consecutive:
            return self._taken(first, len(names))
        zero = Part(self.constant(0, 32), 0, 1)
        parts = [part if name in needed else zero for name, part in zip(names, parts, strict=True)]
        ones = tuple([self._taken(each, 1) for each in parts])
        if len(ones) == 2 and self._signs.get(ones[1]) == ones[0]:
            return self._once(
                ("extended", ones[0]), lambda: self.compute(_extended, ones[:1], "sign")
            )
        return self._once(("joined", *ones), lambda: self.compute(_joined, ones, "pack"))

    def has_sign(self, register: Register, of: Register) -> None:
        """A word repeats the sign of another: above that it makes 64 bits of it."""
        self._signs[register] = of

    def part(self, name: str) -> Part:
        """The place of one register's value."""
        return self._part(name)

    def pair(self, low: Part, high: Part) -> Register:
        """The value whose words are somewhere else."""
        if (low, high) == (Part(low.register, 0, 2), Part(low.register, 1, 2)):
            return low.register
        ones = (self._taken(low, 1), self._taken(high, 1))
        return self._once(("joined", *ones), lambda: self.compute(_joined, ones, "pack"))

    def _taken(self, first: Part, count: int) -> Register:
        if count == first.size:
            return first.register
        take = partial(_extracted, first.size, first.index, count)
        return self._once(
            ("taken", first, count), lambda: self.compute(take, (first.register,), "extract")
        )

    def _part(self, name: str) -> Part:
        part = self._parts.get(name)
        if part is None:
            # Nothing has set it on any path: compilers read such registers where it is all the
            # same.
            part = Part(self.constant(0, 32), 0, 1)
        return part

    def set(self, names: Names, register: Register) -> None:
        """Registers have a value of as many words, in all lanes."""
        for n, name in enumerate(names):
            self._parts[name] = Part(register, n, len(names))

    def write(self, names: Names, register: Register) -> None:
        """The registers that an instruction writes: of vectors only the lanes that EXEC has."""
        if not names:
            return
        lanes = self.active() if is_vector(names[0]) else None
        if lanes is not None and any(name in self._parts for name in names):
            result = self.new(is_scalar=False)
            self.steps.append(Merge(result, lanes, register, self.read(names)))
            register = result
        self.set(names, register)

    def copy(self, names: Names, sources: Names) -> None:
        """A move between registers: no step where all lanes take it."""
        if is_vector(names[0]) and self.active() is not None:
            self.write(names, self.read(sources))
            return
        self._parts.update(zip(names, [self._part(name) for name in sources], strict=True))

    # Lanes

    def active(self) -> Register | None:
        """The lanes that EXEC has, as a predicate; None: all that the wave has."""
        whole = self.read(self.exec)
        return None if whole == self._full else self.lanes_of(whole)

    def lanes_of(self, bits: Register) -> Register:
        """A lane mask as a predicate of each lane."""
        compared = self._known.get(("compared", bits, self.read(self.exec)))
        if compared is not None:
            return compared
        lane = self.special(LaneValue.LANE, is_scalar=False)
        return self._once(
            ("lanes", bits), lambda: self.compute(_bit, (bits, lane), "bit of the lane")
        )

    def bits_of(self, lanes: Register, text: str) -> Register:
        """A predicate as a lane mask, with the bits of the lanes that EXEC has."""
        whole = self.read(self.exec)
        found = self.across(_bits, (lanes,), text, lanes=self.active())
        if whole != self._full:
            found = self.compute(np.bitwise_and, (found, whole), text)
        # In the lanes that are active now the predicate is the mask, as long as those are.
        self._known["compared", found, whole] = lanes
        return found

    def together(self, actions: Iterable[Callable[[], None]]) -> None:
        """Instructions that all read before any of them writes."""
        before, written = dict(self._parts), dict[str, Part]()
        for each in actions:
            self._parts = dict(before)
            each()
            written |= {
                name: part for name, part in self._parts.items() if before.get(name) != part
            }
        self._parts = before | written

    # Between blocks

    def _group(self, name: str) -> Names:
        return self._groups.get(name, (name,))

    def _kept(self, group: Names) -> Register:
        known = self._canonical.get(group)
        if known is None:
            known = self._canonical[group] = self.new(is_scalar=not is_vector(group[0]))
        return known

    def moves(self, live: Iterable[str]) -> tuple[tuple[Register, Register], ...]:
        """The moves to a block at whose begin the registers ``live`` have values."""
        needed = frozenset(live)
        groups = dict.fromkeys(self._group(name) for name in sorted(needed))
        return tuple(
            [
                (to, source)
                for group in groups
                if (source := self._read(group, needed)) != (to := self._kept(group))
            ]
        )


def groups_of(operands: Iterable[Names]) -> dict[str, Names]:
    """The pairs of registers that are kept whole between blocks, by their registers.

    Those that ``operands`` are more often than one of the two; of pairs that overlap the most
    usual.
    """
    uses = Counter(operands)
    groups: dict[str, Names] = {}
    for names, count in uses.most_common():
        alone = max(uses[name,] for name in names)
        if len(names) == 2 and count > alone and groups.keys().isdisjoint(names):
            groups.update(dict.fromkeys(names, names))
    return groups


def _joined(*registers: Values) -> Values:
    return join(registers)


def _extended(value: Values) -> Values:
    return unsigned(signed(value, 32), 64)


def _extracted(size: int, first: int, count: int, value: Values) -> Values:
    return join(words(value, size)[first : first + count])


def _bit(bits: Values, lane: Values) -> Values:
    return bits >> lane & np.uint64(1)


def _bits(active: LaneFlags, lanes: Values) -> Values:
    return lane_bits(active & (lanes != 0))


# Values of several registers: a pair is one number, the low register below; more are several such

_HALF = np.uint64(32)


def words(value: Values, count: int) -> list[Values]:
    """The registers of a value of ``count`` registers, the lowest first."""
    pieces = [value] if count <= 2 else list(value)
    halves = [half for piece in pieces for half in (low(piece, 32), piece >> _HALF)]
    return halves[:count]


def join(registers: Sequence[Values]) -> Values:
    """The value of consecutive registers, the lowest first."""
    pairs = [
        reduce(lambda below, above: below | above << _HALF, registers[first : first + 2])
        for first in range(0, len(registers), 2)
    ]
    if len(pairs) == 1:
        return pairs[0]
    return np.stack(np.broadcast_arrays(*[np.atleast_2d(each) for each in pairs]))
