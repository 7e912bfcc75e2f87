"""Named barriers of each kernel of a module, each with its number of waves.

``scoped`` has them as PTX does, where they need not be set up. A chip that has them wants each
initialised before the first use, by code that every wave of the work-group runs.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation

from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.named_barriers import BarrierUse, initialise, signal
from fencewright.mlir_dialects.scoped import Asynchronous
from fencewright.passes.kernels.accept import Function

if TYPE_CHECKING:
    from fencewright.mlir_dialects.scoped_async import NamedBarrierOp

WaveCounts = Mapping[int, frozenset[int]]
"""For how many waves each barrier is, by its number; several where operations differ."""


def _number(op: "NamedBarrierOp", name: str) -> int:
    return cast("IntegerAttr[Any]", op.properties[name]).value.data


def number_of(op: "NamedBarrierOp") -> int:
    """The number of a barrier."""
    return _number(op, "number")


def waves_of(op: "NamedBarrierOp", chip: ChipRow) -> int:
    """The number of waves of its barrier according to an operation."""
    return _number(op, "threads") // chip.wave_size


def named_barriers_of(
    module: ModuleOp, functions: Iterable[Function], chip: ChipRow
) -> dict[str, WaveCounts]:
    """The named barriers of each function, by its name.

    Kernels that the threads of one litmus test run stand for parts of one kernel, so that each has
    those of all.
    """
    found = {each.sym_name.data: _of_function(each, chip) for each in functions}
    if not any(found.values()):
        return found
    for test in module.ops:
        if test.name == "litmus.test":
            kernels = [name for name in _kernels_of(test) if name in found]
            together = _joined(found[name] for name in kernels)
            found |= dict.fromkeys(kernels, together)
    return found


def _of_function(function: Function, chip: ChipRow) -> WaveCounts:
    every = (op for block in function.body.blocks for op in block.ops)
    ops = [op for op in every if isinstance(op, Asynchronous)]
    if not ops:
        return {}
    from fencewright.mlir_dialects.scoped_async import NamedBarrierOp

    return _joined(
        {number_of(op): frozenset({waves_of(op, chip)})}
        for op in ops
        if isinstance(op, NamedBarrierOp)
    )


def _kernels_of(test: Operation) -> Iterable[str]:
    for region in test.regions:
        for op in region.ops:
            if isinstance(kernel := op.properties.get("kernel"), SymbolRefAttr):
                yield kernel.string_value()


def _joined(each_of: Iterable[WaveCounts]) -> WaveCounts:
    joined: dict[int, frozenset[int]] = {}
    for counts in each_of:
        for number, waves in counts.items():
            joined[number] = joined.get(number, frozenset()) | waves
    return joined


def initialised(counts: WaveCounts) -> tuple[BarrierUse, ...]:
    """Sets the barriers up; no wave may use one before all waves have come past it."""
    return tuple(initialise(number, min(waves)) for number, waves in sorted(counts.items()))


def signalled(counts: WaveCounts, number: int, waves: int) -> BarrierUse:
    """Arrives at a barrier for ``waves``, which is said where not all operations agree on it."""
    return signal(number) if len(counts[number]) == 1 else signal(number, waves)
