"""One instruction of AMD code as steps of a ``LaneProgram``, by its kind."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from fencewright.lowering.cdna.caches import Caches, Effect, Visibility, maintenance_effect
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.operands.operands import effects_of, is_on_barrier
from fencewright.lowering.cdna.code.text import AssemblyInstruction, halves
from fencewright.lowering.cdna.code.waits import wait_counts
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.execution.program import (
    CacheLevel,
    FenceInstruction,
    FenceStep,
    MemoryAccessKind,
    MemorySpace,
    NamedBarrierStep,
)
from fencewright.simulator.kernels.amd.arithmetic import Arithmetic
from fencewright.simulator.kernels.amd.memory import Accesses
from fencewright.simulator.kernels.amd.modifiers import NotExecutedError
from fencewright.simulator.kernels.amd.operands import SCC
from fencewright.simulator.semantics.named_barriers import OF_CLUSTER, OF_GROUP, BarrierAction

COUNTED: Mapping[Counter, frozenset[MemorySpace]] = MappingProxyType(
    {
        Counter.VMCNT: frozenset({MemorySpace.GLOBAL, MemorySpace.PRIVATE}),
        Counter.LGKMCNT: frozenset({MemorySpace.SHARED, MemorySpace.SCALAR}),
    }
)
"""The memory whose accesses each counter counts. Source: MI300 ISA 4.4, wait counters."""

_ACCESSES = frozenset(MemoryAccessKind)
_INVALIDATED = ((CacheLevel.L1, Caches.L1), (CacheLevel.L2, Caches.AGENT | Caches.SYSTEM))


class Translator(Arithmetic, Accesses):
    """Appends the steps of instructions to those of ``state``; numbers those that are counted."""

    def translate(self, step: CodeStep) -> None:
        """One instruction that is no branch. Raises ``NotExecutedError``."""
        parts = halves(step.instruction)
        if len(parts) > 1:
            effects = (effects_of(each, self.context.generation) for each in parts)
            steps = [
                replace(step, instruction=each, effects=found)
                for each, found in zip(parts, effects, strict=True)
            ]
            self.state.together([partial(self.translate, each) for each in steps])
            return
        self._translate(step)
        self.pass_by(step.instruction)

    def _translate(self, step: CodeStep) -> None:
        effects, instruction = step.effects, step.instruction
        kind = effects.kind
        if (instruction.mnemonic, instruction.operands) in _BEFORE_THE_END:
            return
        if is_on_barrier(instruction.mnemonic):
            self._barrier(instruction)
        elif kind in (Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY):
            self.access(step)
        elif kind is Kind.WAIT:
            self._wait(instruction)
        elif kind is Kind.CACHE:
            self._maintain(instruction)
        elif kind is Kind.COMPUTE and effects.is_idle and not effects.defines:
            return
        elif kind in (Kind.COMPUTE, Kind.LANES):
            self.compute(step)
        else:
            raise NotExecutedError(f"what it does ({kind}) is not known here")

    # Instructions that order

    def _wait(self, instruction: AssemblyInstruction) -> None:
        if not self.context.has_counts:
            self._fence(_marker(instruction.text, self.context.place_of(instruction)))
            return
        try:
            counts = wait_counts((*instruction.operands, *instruction.modifiers))
        except ValueError as problem:
            raise NotExecutedError(str(problem)) from problem
        in_flight = {
            space: counts[counter]
            for counter, spaces in COUNTED.items()
            if counter in counts
            for space in spaces
        }
        self._fence(
            FenceInstruction(
                text=instruction.text,
                scope="",
                waits=_ACCESSES,
                spaces=frozenset(in_flight),
                writes_back=frozenset(),
                invalidates=frozenset(),
                joins=False,
                place=self.context.place_of(instruction),
                in_flight=tuple(sorted(item for item in in_flight.items() if item[1])),
            )
        )

    def _barrier(self, instruction: AssemblyInstruction) -> None:
        """A barrier of the work-group, or one of its two parts."""
        use = named_use(instruction)
        if use is not None:
            self._named(instruction, *use)
            return
        if instruction.mnemonic != "s_barrier":
            raise NotExecutedError("there is no row for what it does at a barrier")
        marker = _marker(instruction.text, self.context.place_of(instruction))
        self._fence(replace(marker, joins=True))
        self.state.forget()

    def _named(
        self, instruction: AssemblyInstruction, action: BarrierAction, number: int | None
    ) -> None:
        """An action at a barrier; its number, None: m0 has it."""
        state = self.state
        operand = state.read(("m0",)) if number is None else None
        marker = _marker(instruction.text, self.context.place_of(instruction))
        does = {
            BarrierAction.SIGNAL: {"arrives": True}, BarrierAction.WAIT: {"joins": True}
        }.get(action, {})  # fmt: skip
        fence = replace(marker, is_named=True, **does)
        result = state.new(is_scalar=True) if instruction.mnemonic in _IS_FIRST else None
        state.steps.append(NamedBarrierStep(self.number(fence), action, number, operand, result))
        if result is not None:
            state.write(SCC, result)
        if action is BarrierAction.LEAVE:
            self.unknown(instruction.text, SCC)
        state.forget()

    def _maintain(self, instruction: AssemblyInstruction) -> None:
        """Cache maintenance."""
        effect = Effect()
        if self.context.has_counts:
            try:
                effect = maintenance_effect(
                    self.context.chip, instruction.mnemonic, instruction.modifiers
                )
            except KeyError as problem:
                raise NotExecutedError("what it does to caches is not known") from problem
        self._fence(
            FenceInstruction(
                text=instruction.text,
                scope=_scope(effect),
                waits=frozenset(),
                spaces=frozenset(),
                writes_back=frozenset({CacheLevel.L2} if effect.writes_back else ()),
                invalidates=frozenset(
                    level for level, caches in _INVALIDATED if caches & effect.invalidates
                ),
                joins=False,
                place=self.context.place_of(instruction),
            )
        )

    def _fence(self, fence: FenceInstruction) -> None:
        self.state.steps.append(FenceStep(self.number(fence)))


_BEFORE_THE_END = frozenset({("s_sendmsg", ("sendmsg(MSG_DEALLOC_VGPRS)",))})
"""The message by which a wave that ends frees its vector registers early. Source: RDNA3 ISA,
S_SENDMSG."""

_NAMED: Mapping[str, BarrierAction] = MappingProxyType(
    {
        "s_barrier_init": BarrierAction.INITIALISE,
        "s_barrier_signal": BarrierAction.SIGNAL,
        "s_barrier_signal_isfirst": BarrierAction.SIGNAL,
        "s_barrier_join": BarrierAction.JOIN,
        "s_barrier_wait": BarrierAction.WAIT,
        "s_barrier_leave": BarrierAction.LEAVE,
    }
)
"""The actions at barriers. Source: LLVM 24 AMDGPUExecutionSynchronization."""
_NUMBERS = (OF_CLUSTER, OF_GROUP, *range(1, 17))
_IS_FIRST = frozenset({"s_barrier_signal_isfirst"})


def named_use(instruction: AssemblyInstruction) -> tuple[BarrierAction, int | None] | None:
    """The action at a barrier of gfx12 and its number, None: in m0; None of another barrier."""
    action = _NAMED.get(instruction.mnemonic)
    if action is None:
        return None
    operand = next(iter(instruction.operands), 1)
    if not isinstance(operand, int):
        return action, None
    if action is BarrierAction.INITIALISE:
        raise NotExecutedError("a barrier is initialised by m0 alone")
    if operand not in _NUMBERS:
        raise NotExecutedError("only barriers -3, -1 and 1 to 16 are a kernel's")
    return action, operand


def _marker(text: str, place: SourceLocation | None) -> FenceInstruction:
    """An instruction that changes no value."""
    nothing = frozenset[CacheLevel]()
    return FenceInstruction(text, "", frozenset(), frozenset(), nothing, nothing, False, place)


def _scope(effect: Effect) -> str:
    """The scope that a write-back reaches, or whose stores are seen after an invalidate of L2."""
    if effect.writes_back is not None:
        return effect.writes_back.name.lower()
    named = ((Caches.SYSTEM, Visibility.SYSTEM), (Caches.AGENT, Visibility.AGENT))
    return next((reach.name.lower() for each, reach in named if each in effect.invalidates), "")
