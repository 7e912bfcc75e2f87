"""Barriers of an AMD kernel that may order nothing, each with the lines that go with it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from fencewright.checker.redundant.barriers import idle_barriers
from fencewright.checker.verdicts.amd.kernel import NO_DESCRIPTOR
from fencewright.checker.verdicts.model import Kernel, Region
from fencewright.lowering.cdna.code.flow import Flow
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

_SILENT = frozenset(
    {Kind.BARRIER, Kind.BRANCH, Kind.CACHE, Kind.END, Kind.JUMP, Kind.LANES, Kind.WAIT}
)
_PRIVATE = frozenset({AddressSpace.PRIVATE, AddressSpace.CONSTANT})
_FREES_REGISTERS = "sendmsg(MSG_DEALLOC_VGPRS)"
"""The message of a wave before it ends. Source: RDNA3 ISA, S_SENDMSG."""


def idle_work_group_barriers(
    kernel: Kernel,
    flow: Flow,
    write_backs: Collection[int],
    is_proved: Callable[[Kernel], bool] | None,
) -> Mapping[int, tuple[int, ...]]:
    """The lines of barriers that can go together: of each, those of its second part.

    ``write_backs``: their lines. ``is_proved``: as ``idle_barriers`` has it.
    """
    waits = Counter(end for barrier in kernel.barriers for end in barrier.ends)
    parts = {
        kernel.line_of(barrier.instruction): tuple(map(kernel.line_of, barrier.ends))
        for barrier in kernel.barriers
        if all(waits[end] == 1 for end in barrier.ends)
    }
    caches = {
        step.instruction.line
        for block in flow.blocks
        for step in block.steps
        if step.effects.kind is Kind.CACHE
    }
    others = {*write_backs, *_beyond(kernel, flow), *(caches if _sees_others(kernel) else ())}
    obstacles = tuple(obstacle for obstacle in kernel.obstacles if obstacle.reason != NO_DESCRIPTOR)
    kernel = replace(kernel, obstacles=obstacles, _memo={})
    idle = idle_barriers(kernel, parts, others, is_proved, {*_flags(kernel, flow)}, caches)
    return {line: parts[line] for line in idle}


def _beyond(kernel: Kernel, flow: Flow) -> Iterator[int]:
    """The lines of instructions that do more than the kernel has: messages and clocks."""
    known = {access.line for access in kernel.accesses}
    for step in (step for block in flow.blocks for step in block.steps):
        effects, line = step.effects, step.instruction.line
        if effects.kind is Kind.COMPUTE:
            is_beyond = bool(effects.events)
        elif effects.kind is Kind.SIGNAL:
            is_beyond = _FREES_REGISTERS not in map(str, step.instruction.operands)
        else:
            is_beyond = line not in known and effects.space not in _PRIVATE
        if is_beyond and effects.kind not in _SILENT:
            yield line


def _sees_others(kernel: Kernel) -> bool:
    """True of a kernel that may read what other kernels say is done."""
    return any(
        access.is_strong and access.reads and access.place.root.region is not Region.SHARED
        for access in kernel.accesses
    )


def _flags(kernel: Kernel, flow: Flow) -> Iterator[int]:
    """The lines of stores of a chip whose stores do not say that they are flags."""
    if flow.chip.scope_bits:
        return
    for access in kernel.accesses:
        if access.writes and access.place.root.region is not Region.SHARED:
            yield access.line
