"""Lowered ``scoped`` programs as programs of the CDNA machine.

Waits for the results of loads, which the lowering leaves to the wait insertion pass, are put
in where a register is used: the weakest that deliver it, so that they hide no missing wait.
"""

from collections.abc import Mapping

from fencewright.lowering.cdna.instructions import (
    CACHE_COUNTS,
    Counts,
    InstructionRow,
    Kind,
    either_form,
)
from fencewright.lowering.sequence import Instruction, Sequence
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.simulator.cdna import instructions as cdna
from fencewright.simulator.cdna.instructions import CdnaInstruction, CdnaProgram, Segment
from fencewright.simulator.cdna.rows import CdnaConfiguration, Counted, access_counted
from fencewright.simulator.certify.programs.code import SCOPED, Code
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Move,
    Operand,
    Program,
    ProgramError,
    Thread,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedOperation,
    Store,
    assigned,
    used,
)

_COUNTS = {mnemonic: row.value for (mnemonic, *_), row in CACHE_COUNTS.items()}
"""True for cache maintenance that counts in vmcnt, on the chips that have it."""


def cdna_program(code: Code, configuration: CdnaConfiguration | None = None) -> CdnaProgram:
    """The program that the machine executes in a configuration; same names, same observables.

    Raises ``ProgramError`` for an instruction that the machine does not have.
    """
    configuration = configuration or CdnaConfiguration()
    source = code.program
    threads: list[Thread[CdnaInstruction]] = []
    for number, thread in enumerate(source.threads):
        wave = _Wave(code, number, configuration)
        for position, each in enumerate(thread.instructions):
            wave.add(position, each)
        threads.append(Thread(thread.placement, tuple(wave.instructions)))
    return Program(source.locations, tuple(threads), source.observables(), source.name)


class _Wave:
    """One wave's instructions so far, and which registers are still outstanding.

    ``pending`` has for each register the counters it comes in, and for each counter how many
    operations had been issued with it; None where only a wait for everything is safe.
    """

    def __init__(self, code: Code, number: int, configuration: CdnaConfiguration):
        self.code = code
        self.number = number
        self.configuration = configuration
        self.instructions: list[CdnaInstruction] = []
        self.issued = dict.fromkeys(map(str, configuration.row.counters), 0)
        self.flat = False
        self.barriers = cdna.BarrierCode(self.instructions.append)
        self.pending: dict[str, dict[str, int | None]] = {}

    def add(self, position: int, instruction: object) -> None:
        if isinstance(instruction, SCOPED):
            self.deliver(*used(instruction))
            self.scoped(instruction, self.code.sequences[self.number, position])
            return
        if isinstance(instruction, Label):
            # The outstanding operations here depend on the path taken.
            self.pending = {name: dict.fromkeys(counts) for name, counts in self.pending.items()}
        elif isinstance(instruction, Move | Arithmetic | Branch):
            self.deliver(*used(instruction), *assigned(instruction))
        else:
            raise ProgramError(f"the machine has no '{instruction}'")
        self.instructions.append(instruction)

    def deliver(self, *operands: Operand) -> None:
        """A wait, if any is needed, after which the registers among ``operands`` can be used."""
        counts: dict[str, int] = {}
        for name in operands:
            for counter, stamp in self.pending.get(str(name), {}).items():
                left = 0 if stamp is None or self.flat else self.issued[counter] - stamp
                counts[counter] = min(left, counts.get(counter, left))
        if counts:
            self.wait(counts)

    def wait(self, left: Mapping[str, int]) -> None:
        """A wait until no more operations than these are outstanding in each counter."""
        made = cdna.wait_instruction(left)
        if made is None:
            return
        self.instructions.append(made)
        for name, counts in list(self.pending.items()):
            for counter, stamp in list(counts.items()):
                count = left.get(counter)
                if count is None:
                    continue
                certain = stamp is not None and not self.flat
                if count == 0 or (certain and self.issued[counter] - (stamp or 0) >= count):
                    del counts[counter]
            if not counts:
                del self.pending[name]
        if left.get("vmcnt") == left.get("lgkmcnt") == 0:
            self.flat = False

    def scoped(self, operation: ScopedOperation, sequence: Sequence) -> None:
        for each in sequence.instructions:
            row = either_form(each.mnemonic)
            if each.wait is not None:
                self.wait(each.wait.given)
            elif row is not None and row.kind is Kind.CACHE:
                self.cache(each)
            elif row is not None and row.kind is Kind.BARRIER:
                if not self.barriers.instruction(each.mnemonic, each.modifiers):
                    raise ProgramError(f"the machine has no '{each.text}'")
            elif (
                row is not None
                and each.phase is Phase.ACCESS
                and not isinstance(operation, Fence | Barrier)
            ):
                self.access(operation, each, row)
            else:
                raise ProgramError(f"the machine has no '{each.text}'")
            self.barriers.passed()
        if isinstance(operation, Cmpxchg) and operation.success is not None:
            compared = Arithmetic(
                ArithmeticKind.EQ, operation.success, _result(operation) or "", operation.compare
            )
            self.deliver(*used(compared), operation.success)
            self.instructions.append(compared)

    def cache(self, instruction: Instruction) -> None:
        made = cdna.CacheInstruction(instruction.mnemonic, instruction.modifiers)
        self.instructions.append(made)
        counts = _COUNTS.get(made.mnemonic)
        if counts is not None:
            # The safe side: what may count does not let a wait for a result leave one more.
            self.issued["vmcnt"] += counts is Counts.YES
            return
        effect = self.configuration.cache_effect(made.mnemonic, made.bits)
        for counter in self.configuration.counted(effect.counted_as, flat=False).counters:
            self.issued[counter] += effect.counts

    def access(
        self,
        operation: Load | Store | AtomicRmw | Cmpxchg,
        instruction: Instruction,
        row: InstructionRow,
    ) -> None:
        location = self.code.program.location(operation.location)
        in_lds = row.space is AddressSpace.LOCAL
        flat = row.space is AddressSpace.GENERIC
        if in_lds and location.space is not AddressSpace.LOCAL:
            raise ProgramError(f"{location.name} is not in LDS: '{instruction.text}'")
        dst = _result(operation)
        there = in_lds or location.space is AddressSpace.LOCAL
        counted = self.configuration.counted(access_counted(there, dst is not None), flat)
        if dst is not None:
            self.overwrite(dst, counted, flat)
        segment = Segment.LDS if in_lds else Segment.FLAT if flat else Segment.GLOBAL
        bits = () if in_lds else instruction.modifiers
        made = _made(operation, bits, segment)
        self.instructions.append(made)
        counters = tuple(map(str, counted.counters))
        self.flat |= flat and not counted.in_order
        for counter in counters:
            self.issued[counter] += 1
        if dst is not None:
            self.pending[dst] = {counter: self.issued[counter] for counter in counters}

    def overwrite(self, dst: str, counted: Counted, flat: bool) -> None:
        """An outstanding register may only be overwritten by an operation that returns after it."""
        others = set(self.pending.get(dst, {})) - set(counted.counters)
        if self.flat or flat or others or not counted.writes_in_order:
            self.deliver(dst)


def _result(operation: ScopedOperation) -> str | None:
    """The register that takes the loaded or the old value."""
    if isinstance(operation, Cmpxchg) and operation.dst is None and operation.success is not None:
        return f"{operation.success}.old"
    return operation.dst if isinstance(operation, Load | AtomicRmw | Cmpxchg) else None


def _made(
    operation: Load | Store | AtomicRmw | Cmpxchg, bits: tuple[str, ...], segment: Segment
) -> CdnaInstruction:
    location = operation.location
    match operation:
        case Load():
            return cdna.VectorLoad(operation.dst, location, bits, segment)
        case Store():
            return cdna.VectorStore(location, operation.value, bits, segment)
        case AtomicRmw():
            return cdna.Atomic(
                operation.kind, location, operation.value, operation.dst, bits, segment
            )
        case Cmpxchg():
            dst = _result(operation)
            return cdna.CompareSwap(location, operation.compare, operation.new, dst, bits, segment)
