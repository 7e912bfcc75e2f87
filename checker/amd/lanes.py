"""Lanes that scalar registers stand for along one path, and the branches that these contradict.

LLVM runs both sides of a branch one after another, with the lanes of each in ``exec``, and joins
paths that exclude each other. A mask is here what it is for any one lane: a Boolean function of the
masks that were not known, as an ordered decision diagram, so that equal functions are one. A branch
that is taken where no lane, or some lane, can be left in ``exec`` or ``vcc`` is one that cannot be
taken. Sources: LLVM StructurizeCFG, SILowerControlFlow; CDNA3 ISA, 4.4 (scalar logic by bits).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.cdna.code.text import Operand, Registers
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.programs.amd.rows import row_of
from fencewright.simulator.semantics.amd import Copy, FirstLane, Logic, SaveExec

_NONE, _ALL = 0, 1
"""The functions of no lane, and of every lane."""

_BY_MASK: Mapping[str, tuple[bool, bool]] = MappingProxyType(
    {
        "s_cbranch_execz": (True, False),
        "s_cbranch_execnz": (True, True),
        "s_cbranch_vccz": (False, False),
        "s_cbranch_vccnz": (False, True),
    }
)
"""Branches: whether by exec, not vcc, and whether they are taken if that has a lane."""


@dataclass(slots=True)
class Diagrams:
    """Boolean functions by number; those of one path, and of all that begin as it does."""

    nodes: list[tuple[int, int, int]] = field(default_factory=lambda: [(1 << 30, 0, 0)] * 2)
    numbers: dict[tuple[int, int, int], int] = field(
        default_factory=dict[tuple[int, int, int], int]
    )
    chosen: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])
    atoms: int = 0

    def atom(self) -> int:
        """A function of which nothing is known."""
        self.atoms += 1
        return self._node(self.atoms, _NONE, _ALL)

    def _node(self, atom: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (atom, low, high)
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return self.numbers[key]

    def choose(self, which: int, then: int, other: int) -> int:
        """``then`` where ``which`` holds, elsewhere ``other``."""
        if which <= _ALL:
            return then if which else other
        if then == other:
            return then
        key = (which, then, other)
        if key not in self.chosen:
            atom = min(self.nodes[each][0] for each in key)
            low, high = (
                self.choose(*(self._half(each, atom, side) for each in key)) for side in (1, 2)
            )
            self.chosen[key] = self._node(atom, low, high)
        return self.chosen[key]

    def _half(self, function: int, atom: int, side: int) -> int:
        node = self.nodes[function]
        return node[side] if node[0] == atom else function

    def both(self, a: int, b: int) -> int:
        """The conjunction of two masks."""
        return self.choose(a, b, _NONE)

    def inverse(self, a: int) -> int:
        """The complement of a mask."""
        return self.choose(a, _NONE, _ALL)

    def combined(self, logic: Logic, a: int, b: int) -> int:
        """The mask that an instruction of scalar logic computes from two masks."""
        a = self.inverse(a) if logic.invert_a else a
        b = self.inverse(b) if logic.invert_b else b
        made = {
            ArithmeticKind.AND: lambda: self.both(a, b),
            ArithmeticKind.OR: lambda: self.choose(a, _ALL, b),
            ArithmeticKind.XOR: lambda: self.choose(a, self.inverse(b), b),
        }[logic.kind]()
        return self.inverse(made) if logic.invert else made


Masks = frozenset[tuple[str, ...]]
"""Masks of lanes, by the registers that hold them."""


@dataclass(slots=True)
class Lanes:
    """The known masks at one place of a path.

    ``masks`` by their registers; ``never``: what holds of no lane; ``some``: of which each has a
    lane.
    """

    chip: ChipRow
    diagrams: Diagrams = field(default_factory=Diagrams)
    masks: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    never: int = _NONE
    some: tuple[int, ...] = ()

    def copy(self) -> "Lanes":
        """The same, to go on by itself."""
        return Lanes(self.chip, self.diagrams, dict(self.masks), self.never, self.some)

    @property
    def _exec(self) -> tuple[str, ...]:
        return ("exec_lo", "exec_hi")[: self.chip.wave_size // 32]

    @property
    def _vcc(self) -> tuple[str, ...]:
        return ("vcc_lo", "vcc_hi")[: self.chip.wave_size // 32]

    def assume_inactive(self, masks: Masks) -> None:
        """No lane of ``masks`` is active."""
        for names in sorted(masks):
            shared = self.diagrams.both(self._held(names), self._held(self._exec))
            self.never = self.diagrams.choose(shared, _ALL, self.never)

    def inactive(self, masks: Masks) -> Masks:
        """Those of ``masks`` none of whose lanes is active."""
        can_be = self.diagrams.both(self._held(self._exec), self.diagrams.inverse(self.never))
        return frozenset(
            names for names in masks if self.diagrams.both(self._held(names), can_be) == _NONE
        )

    def begin(self) -> None:
        """An instruction is executed by some lane."""
        self.some = (self._held(self._exec),)

    def step(self, step: Step) -> None:
        """An instruction that does not branch."""
        defined = frozenset(each for each in step.effects.defines if not each.startswith("v"))
        defined |= frozenset(self._vcc).intersection(step.effects.defines)
        if not defined:
            return
        values = self._values(step)
        for names in [each for each in self.masks if not defined.isdisjoint(each)]:
            del self.masks[names]
        self.masks.update(values)

    def _values(self, step: Step) -> Mapping[tuple[str, ...], int]:
        """The masks that an instruction writes, if they are known."""
        mnemonic, operands = step.instruction.mnemonic, step.instruction.operands
        first = operands[0] if operands else ""
        active = self._held(self._exec)
        effects = step.effects
        if effects.comparison is not None and effects.unit is Unit.VALU:
            # Lanes that are not active get 0.
            compared = self.diagrams.both(self.diagrams.atom(), active)
            if not set(self._exec).isdisjoint(effects.defines):
                return {self._exec: compared}
            return {first.names: compared} if isinstance(first, Registers) else {}
        row = row_of(mnemonic, self.chip.name)
        if row is None or row.lanes or not isinstance(first, Registers):
            return {}
        match row.meaning:
            case Copy() | FirstLane():
                return {first.names: self._mask(operands[1], first)}
            case Logic() as logic:
                a, b = (self._mask(each, first) for each in operands[1:3])
                return {first.names: self.diagrams.combined(logic, a, b)}
            case SaveExec(logic):
                left = self.diagrams.combined(logic, self._mask(operands[1], first), active)
                return {first.names: active, self._exec: left}
            case _:
                return {}

    def _mask(self, operand: Operand, like: Registers) -> int:
        if isinstance(operand, Registers):
            return self._held(operand.names)
        if operand in (-1, (1 << 32 * len(like.names)) - 1):
            return _ALL
        return _NONE if operand == 0 else self.diagrams.atom()

    def _held(self, names: tuple[str, ...]) -> int:
        if names not in self.masks:
            self.masks[names] = self.diagrams.atom()
        return self.masks[names]

    def branch(self, step: Step, is_taken: bool) -> bool:
        """Go on after a branch that is taken or not; False: it cannot be, as far as is known."""
        known = _BY_MASK.get(step.instruction.mnemonic)
        if known is None:
            return True
        is_exec, taken_if_some = known
        diagrams, active = self.diagrams, self._held(self._exec)
        mask = active if is_exec else self._held(self._vcc)
        # Only where some lane is active does code look at a mask that it has computed.
        some = self.some if is_exec else (*self.some, active)
        if is_taken is taken_if_some:
            some = self.some = (*self.some, mask)
        else:
            self.never = diagrams.choose(mask, _ALL, self.never)
        can_be = diagrams.inverse(self.never)
        return all(diagrams.both(each, can_be) != _NONE for each in some)


_FORGET = (Kind.CALL, Kind.OPAQUE)
"""Steps that may leave anything in any register."""


@lru_cache(maxsize=1)
def inactive_masks(flow: Flow) -> Mapping[int, Masks]:
    """The masks with no active lane where each block begins, on every path to it.

    A loop of LLVM's keeps so the lanes that have left it: each round takes them out of ``exec``, so
    that a walk that begins within the loop knows that those it begins with have not left. A
    must-analysis: where paths meet, what holds on both. Source: LLVM SILowerControlFlow
    (``SI_IF_BREAK``, ``SI_LOOP``).
    """
    size = flow.chip.wave_size // 32
    steps = (step for block in flow.blocks for step in block.steps)
    operands = (step.instruction.operands[:1] for step in steps if _is_scalar_logic(flow, step))
    candidates = frozenset(
        first.names
        for (first,) in operands
        if isinstance(first, Registers) and len(first.names) == size
    )

    def after(number: int, masks: Masks) -> Masks:
        lanes = Lanes(flow.chip)
        lanes.assume_inactive(masks)
        for step in flow.blocks[number].steps:
            if step.effects.kind in _FORGET:
                return frozenset()
            lanes.step(step)
        return lanes.inactive(candidates)

    start: dict[int, Masks] = {0: frozenset()}
    return solve(flow.graph, start, after, lambda one, other: one & other)


def _is_scalar_logic(flow: Flow, step: Step) -> bool:
    row = row_of(step.instruction.mnemonic, flow.chip.name)
    return (
        row is not None
        and isinstance(row.meaning, Copy | FirstLane | Logic | SaveExec)
        and not row.lanes
    )
