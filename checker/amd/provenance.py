"""Scalar loads that read data: those whose address came from memory, or from a vector register.

All others read what does not change while a kernel runs: its arguments, by the pointer that it is
given, and what lies beside the code (constants, addresses of globals). A forward dataflow over
the scalar registers that may hold a pointer to data. Source: LLVM AMDGPUUsage, "Initial Kernel
Execution State".
"""

from collections.abc import Mapping

from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.cdna.code.operands.operands import Effects
from fencewright.lowering.cdna.code.text import Registers
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.cdna.kernel import USER_REGISTERS
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

_PRELOADED = "user_sgpr_kernarg_preload_length"


def data_loads(flow: Flow) -> frozenset[int]:
    """The scalar loads that may read data, by the ``id`` of their step."""
    start = {0: _preloaded(flow.function.descriptor)}
    if not _may_read_data(flow, start[0]):
        return frozenset()
    moving = {id(each) for each in flow.effects if _may_move(each)}
    moves = [[step for step in block.steps if id(step.effects) in moving] for block in flow.blocks]

    def after(number: int, pointers: frozenset[str]) -> frozenset[str]:
        leaving = set(pointers)
        for step in moves[number]:
            _transfer(leaving, step)
        return frozenset(leaving)

    loads: set[int] = set()
    for number, entry in solve(flow.graph, start, after, frozenset[str].union).items():
        pointers = set(entry)
        for step in moves[number]:
            if _is_scalar_load(step.effects) and not pointers.isdisjoint(_base(step)):
                loads.add(id(step))
            _transfer(pointers, step)
    return frozenset(loads)


def _preloaded(descriptor: Mapping[str, int]) -> frozenset[str]:
    """The arguments that are in registers where a kernel begins."""
    first = sum(words for name, words in USER_REGISTERS if descriptor.get(f"user_sgpr_{name}"))
    count = descriptor.get(_PRELOADED, 0)
    return frozenset(f"s{number}" for number in range(first, first + count))


def _may_read_data(flow: Flow, preloaded: frozenset[str]) -> bool:
    """False where no instruction writes a register that a scalar load takes its address from."""
    loads = [each for each in flow.effects if _is_scalar_load(each)]
    written = preloaded.union(*(each.defines for each in flow.effects)) if loads else preloaded
    return any(not written.isdisjoint(each.uses) for each in loads)


def _is_scalar_load(effects: Effects) -> bool:
    return effects.kind is Kind.LOAD and effects.space is AddressSpace.CONSTANT


def _may_move(effects: Effects) -> bool:
    """True of a scalar load, and of a write of a register that may have a pointer."""
    return _is_scalar_load(effects) or any(map(_is_scalar, effects.defines))


def _base(step: Step) -> tuple[str, ...]:
    base = step.instruction.operands[1] if len(step.instruction.operands) > 1 else ""
    return base.names if isinstance(base, Registers) else ()


def _transfer(pointers: set[str], step: Step) -> None:
    effects = step.effects
    if not effects.defines:
        return
    points = (
        _is_scalar_load(effects)
        or effects.unit is Unit.VALU
        or effects.kind is Kind.LANES
        or not pointers.isdisjoint(effects.uses)
    )
    if points:
        pointers.update(each for each in effects.defines if _is_scalar(each))
    else:
        pointers.difference_update(effects.defines)


def _is_scalar(register: str) -> bool:
    return register.startswith(("s", "vcc")) and register != "scc"
