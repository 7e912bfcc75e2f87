"""The rows of ``cdna_operands``: families of instructions by their mnemonics."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fencewright.lowering.cdna.counters.scoreboard import CounterEvent
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

EXEC, VCC = ("exec_lo", "exec_hi"), ("vcc_lo", "vcc_hi")
SCC, M0 = ("scc",), ("m0",)
FLAT_SCRATCH = ("flat_scratch_lo", "flat_scratch_hi")
"""Registers that instructions use or define without printing them, of a wave of 64 lanes."""


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """The instructions whose whole mnemonic the regular expression ``pattern`` matches.

    ``results``: how many operands, from the first on, are defined. ``accumulates``: they are used
    too. ``defines`` and ``uses``: registers that are not printed. ``returns``: the modifiers with
    one of which alone there are results; none: always. ``without_result``: what it counts as where
    it has none, if not as ``events``.
    ``unit``: of arithmetic alone.
    """

    pattern: str
    kind: Kind
    results: int
    source: str
    accumulates: bool = False
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    space: AddressSpace | None = None
    events: tuple[CounterEvent, ...] = ()
    returns: frozenset[str] = frozenset()
    without_result: tuple[CounterEvent, ...] | None = None
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class FamilyRows:
    """Makes rows of one generation, whose operands are known from ``source``."""

    source: str

    def here(self, rows: Iterable[FamilyRow]) -> tuple[FamilyRow, ...]:
        """Rows of another generation, which LLVM's operands of these chips agree with."""
        return tuple(replace(each, source=self.source) for each in rows)

    def control(self, pattern: str, kind: Kind, uses: tuple[str, ...] = ()) -> FamilyRow:
        """Instructions without results."""
        return FamilyRow(pattern, kind, 0, self.source, uses=uses)

    def salu(
        self,
        pattern: str,
        accumulates: bool = False,
        *,
        results: int = 1,
        defines: tuple[str, ...] = (),
        uses: tuple[str, ...] = (),
    ) -> FamilyRow:
        """Scalar arithmetic."""
        kind, unit = Kind.COMPUTE, Unit.SALU
        return FamilyRow(pattern, kind, results, self.source, accumulates, defines, uses, unit=unit)

    def valu(
        self,
        pattern: str,
        results: int,
        accumulates: bool = False,
        *,
        defines: tuple[str, ...] = (),
        uses: tuple[str, ...] = EXEC,
    ) -> FamilyRow:
        """Vector arithmetic."""
        kind, unit = Kind.COMPUTE, Unit.VALU
        return FamilyRow(pattern, kind, results, self.source, accumulates, defines, uses, unit=unit)

    def image(
        self,
        pattern: str,
        kind: Kind,
        results: int,
        events: tuple[CounterEvent, ...],
        returns: frozenset[str] = frozenset(),
        without_result: tuple[CounterEvent, ...] | None = None,
    ) -> FamilyRow:
        """Accesses to images; of atomics, ``returns`` and ``without_result`` as ``FamilyRow`` has
        them."""
        is_atomic = kind is Kind.RMW
        return FamilyRow(
            pattern,
            kind,
            results,
            self.source,
            accumulates=is_atomic,
            uses=EXEC,
            space=AddressSpace.GLOBAL,
            events=events,
            returns=returns,
            without_result=without_result,
        )
