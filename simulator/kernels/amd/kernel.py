"""A kernel of AMD assembly as its lanes run it, of any compiler.

A wave branches as a whole, and its lanes diverge by EXEC alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

import numpy as np

from fencewright.lowering.cdna.access_names import access_name
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, Generation
from fencewright.lowering.cdna.code.calls import inlined
from fencewright.lowering.cdna.code.flow import Block, Flow, flow_of
from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.operands.operands import opcode_of
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    Function,
    KernelArgument,
    Operand,
)
from fencewright.lowering.cdna.code.text import Registers as RegisterOperand
from fencewright.lowering.cdna.code.variables import Variable
from fencewright.lowering.cdna.kernel import USER_REGISTERS, WORK_ITEM_ID_BITS
from fencewright.lowering.cdna.performance.accesses import LANES, has_hierarchy
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of, postorder
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.execution.launch import LaunchError
from fencewright.simulator.execution.program import (
    EndLane,
    Jump,
    KernelParameter,
    KernelResources,
    LaneBlock,
    LaneBranch,
    LaneProgram,
    LaneValue,
    MemoryStep,
    NamedBarrierStep,
    Register,
    Step,
    Stop,
    Values,
)
from fencewright.simulator.execution.segments import reads_of, written_by
from fencewright.simulator.execution.values import flags
from fencewright.simulator.kernels.amd.instructions import Translator
from fencewright.simulator.kernels.amd.memory import WINDOWS
from fencewright.simulator.kernels.amd.modifiers import NotExecutedError
from fencewright.simulator.kernels.amd.operands import SCC, Context, half_of, names_of
from fencewright.simulator.kernels.amd.registers import (
    EXEC,
    Registers,
    groups_of,
    is_vector,
)
from fencewright.simulator.kernels.amd.symbols import symbols_of
from fencewright.simulator.kernels.calls import executed_callee
from fencewright.simulator.semantics.amd import BRANCHES

_GENERATIONS = (
    Generation.GFX908, Generation.GFX90A, Generation.GFX942, Generation.GFX1030, Generation.GFX1100,
    Generation.GFX1200, Generation.GFX1250,
)  # fmt: skip
_EXECUTED = tuple(name for name, chip in KNOWN_CHIPS.items() if chip.generation in _GENERATIONS)
Places = Callable[[AssemblyInstruction], SourceLocation | None]


def with_calls(function: Function, functions: Mapping[str, Function]) -> Function:
    """A kernel with the bodies of the functions that it calls, each call with its own.

    A call of an unknown function, and of a kernel, stays. Raises ``LaunchError`` at a recursion.
    """
    called = {name: each for name, each in functions.items() if not each.descriptor}
    return inlined(function, functions, executed_callee(called, function.file))


def program_of(
    function: Function,
    l2_per_agent: L2PerAgent | None = None,
    place_of: Places | None = None,
    variables: Mapping[str, Variable] = MappingProxyType({}),
) -> LaneProgram:
    """The kernel ``function``, which stops at what is not executed.

    Raises ``LaunchError`` for a chip whose code is not executed.

    ``l2_per_agent``: what caches do with an access depends on it; where it is None, the chip's.
    ``place_of``: where an instruction comes from, None: from nothing; without it, its line.
    ``variables``: those of the module, by their names.
    """

    def of_line(instruction: AssemblyInstruction) -> SourceLocation:
        return SourceLocation(function.file, instruction.line)

    if function.chip not in _EXECUTED:
        raise LaunchError(
            f"{function.name} is for {function.chip or 'no chip'}: kernels of "
            f"{', '.join(_EXECUTED)} are executed"
        )
    return _Reader(function, l2_per_agent, place_of or of_line, variables).read()


_GROUPS = (LaneValue.GROUP_X, LaneValue.GROUP_Y, LaneValue.GROUP_Z)
_THREADS = (LaneValue.THREAD_X, LaneValue.THREAD_Y, LaneValue.THREAD_Z)
_CLUSTERS = (LaneValue.CLUSTER_X, LaneValue.CLUSTER_Y, LaneValue.CLUSTER_Z)
_WITHOUT_VALUE = frozenset({"private_segment_buffer", "flat_scratch_init", "private_segment_size"})
"""The registers that find private memory, which each lane has for itself here."""

_POINTERS: Mapping[str, LaneValue] = MappingProxyType(
    {"kernarg_segment_ptr": LaneValue.ARGUMENTS, "dispatch_ptr": LaneValue.PACKET}
)
_HIDDEN: Mapping[str, LaneValue] = {
    f"hidden_{name}_{axis}": LaneValue[f"{value}_{axis.upper()}"]
    for name, value in (("block_count", "GRID"), ("group_size", "BLOCK"))
    for axis in "xyz"
}
_DYNAMIC_STACK = 16 << 10
"""The additional bytes of a lane of a kernel that uses a dynamic stack. The runtime decides:
inferred.
"""
_DENORMALS = 3
"""``float_denorm_mode_32`` that keeps denormal numbers. Source: LLVM AMDGPUUsage."""


class _Reader:
    """Reads one kernel."""

    def __init__(
        self, function: Function, l2_per_agent: L2PerAgent | None, place_of: Places,
        variables: Mapping[str, Variable],
    ):  # fmt: skip
        self.function = function
        self.descriptor = function.descriptor
        self.place_of = place_of
        self.flow: Flow = flow_of(function)
        self.chip = KNOWN_CHIPS[function.chip]
        is_small = self.descriptor.get("wavefront_size32", int(self.chip.wave_size < LANES))
        self.lanes = LANES // 2 if is_small else LANES
        self.reached = postorder([0], lambda n: self.flow.blocks[n].successors)[::-1]
        steps = [step for n in self.reached for step in self.flow.blocks[n].steps]
        names = {name for each in steps for name in (*each.effects.defines, *each.effects.uses)}
        numbers = [int(name[1:]) for name in names if name[0] == "v" and name[1:].isdigit()]
        vectors = max(numbers, default=-1) + 1
        self.indexed = _indexed(self.flow, self.reached, vectors)
        self.masks = any("exec_lo" in step.effects.defines for step in steps)
        self.live = self._live()
        self.state = Registers(groups_of(_operands(steps)), self.masks, self.lanes)
        split = self.chip.split_mode
        context = Context(
            chip=self.chip.name,
            generation=self.chip.generation,
            has_counts=has_hierarchy(self.chip.name),
            signed_offsets=self.chip.signed_offsets,
            tgsplit=split is not None and split.is_on(self.descriptor),
            l2_per_agent=l2_per_agent,
            private=self._private(steps),
            keeps_denormals=self.descriptor.get("float_denorm_mode_32", 0) == _DENORMALS,
            vectors=vectors,
            windows={
                each: WINDOWS[each][0]
                for step in steps
                for each in step.instruction.operands
                if isinstance(each, str) and each in WINDOWS
            },
            symbols=symbols_of(function.instructions, variables),
            place_of=place_of,
        )
        self.keeps_denormals = context.keeps_denormals
        self.translator = Translator(context, self.state)

    def read(self) -> LaneProgram:
        """The whole kernel."""
        numbers = {block: n for n, block in enumerate(self.reached)}
        blocks: list[LaneBlock] = []
        for block in self.reached:
            self.state.begin(self.live[block], is_entry=block == 0)
            if block == 0:
                self._enter()
            blocks.append(self._block(block, numbers))
        threads = self.function.threads
        return LaneProgram(
            name=self.function.name,
            target=self.chip.name,
            lanes=self.lanes,
            registers=self.state.count,
            parameters=tuple(map(_parameter, self.function.arguments)),
            resources=self._resources(),
            block_size=(1, 1, 1) if threads == 1 else None,
            instructions=tuple(self.translator.instructions),
            blocks=_without_unused(blocks),
            most_threads=threads,
            scalars=frozenset(self.state.scalars),
            variables=self.translator.context.symbols.variables,
            cluster=self._cluster(),
        )

    def _stopped(self, instruction: AssemblyInstruction, reason: str) -> LaneBlock:
        """The block up to an instruction that is not executed."""
        text = f"'{instruction.text}' is not executed: {reason}"
        stop = Stop(text, self.place_of(instruction))
        self.translator.index = None
        self.translator.context.keeps_denormals = self.keeps_denormals
        return LaneBlock((*self.state.steps, stop), EndLane())

    # The function

    def _live(self) -> dict[int, frozenset[str]]:
        """The registers whose value at the begin of each block may be read."""
        blocks = self.flow.blocks

        def before(number: int, after: frozenset[str]) -> frozenset[str]:
            live = set(after)
            for step in reversed(blocks[number].steps):
                live.difference_update(self._overwritten(step))
                live.update(step.effects.uses)
                live.update(self.indexed.get(step.instruction.line, ()))
            return frozenset(live if self.masks else live.difference(EXEC))

        graph = graph_of(blocks).within(set(self.reached)).backward
        ends = dict.fromkeys(graph.nodes, frozenset[str]())
        after = solve(graph, ends, before, lambda one, other: one | other)
        return {number: before(number, after[number]) for number in self.reached}

    def _overwritten(self, step: CodeStep) -> Iterable[str]:
        """The registers that an instruction writes in every lane, so that nothing is left of their
        old values."""
        if step.instruction.line in self.indexed:
            return ()
        halves = {
            name
            for each in step.instruction.operands
            if half_of(each) is not None
            for name in names_of(each)
        }
        if step.effects.kind is Kind.LOAD:
            loaded = access_name(step.instruction.mnemonic)
            halves.update(step.effects.defines if loaded and loaded.is_half else ())
        defines = set(step.effects.defines) - halves
        if not self.masks or "exec_lo" not in step.effects.uses:
            return defines
        return (name for name in defines if not is_vector(name))

    def _private(self, steps: Sequence[CodeStep]) -> frozenset[str]:
        """The registers that have nothing but words of the resource of private memory.

        Those of hardware and their copies; a word that is added to is one still.
        """
        if not self.descriptor.get("user_sgpr_private_segment_buffer"):
            return frozenset()
        found = {f"s{n}" for n in range(4)}
        writes = [
            (step.instruction, set(step.effects.defines) - set(SCC))
            for step in steps
            if any(name[0] == "s" for name in step.effects.defines)
        ]
        copies = [(_sources(each), names) for each, names in writes if each.mnemonic in _COPIES]
        while (
            more := {
                name for sources, names in copies if sources and sources <= found for name in names
            }
            - found
        ):
            found |= more
        others = {
            name
            for each, names in writes
            for name in names
            if each.mnemonic not in _COPIES or not _sources(each) & found
        }
        return frozenset(found - others)

    def _resources(self) -> KernelResources:
        metadata, descriptor = self.function.metadata, self.descriptor
        vector = metadata.get("vgpr_count", descriptor.get("next_free_vgpr", 0))
        accumulation = metadata.get("agpr_count", 0)
        if self.chip.vector_registers.unified:
            vector -= accumulation
        return KernelResources(
            vector_registers=vector,
            accumulation_registers=accumulation,
            scalar_registers=metadata.get("sgpr_count", descriptor.get("next_free_sgpr", 0)),
            shared_bytes=self._bytes("group_segment_fixed_size"),
            private_bytes=self._bytes("private_segment_fixed_size") + self._dynamic_stack(),
        )

    def _cluster(self) -> tuple[int, int, int] | None:
        """The work-groups of a cluster, where the kernel fixes them."""
        x, y, z = (self._bytes(f"cluster_dims_{n}") for n in range(3))
        return (x, y, z) if x and y and z else None

    def _dynamic_stack(self) -> int:
        """Bytes of private memory for stack that the compiler could not count."""
        return _DYNAMIC_STACK if self.descriptor.get("uses_dynamic_stack") else 0

    def _bytes(self, name: str) -> int:
        return self.function.metadata.get(name, self.descriptor.get(name, 0))

    def _enter(self) -> None:
        """The values that the hardware puts in registers before a kernel begins."""
        state, descriptor = self.state, self.descriptor
        first = 0
        for name, count in USER_REGISTERS:
            if not descriptor.get(f"user_sgpr_{name}"):
                continue
            registers = tuple([f"s{n}" for n in range(first, first + count)])
            first += count
            if name in _POINTERS:
                state.set(registers, state.special(_POINTERS[name], is_scalar=True))
            elif name not in _WITHOUT_VALUE:
                for each in registers:
                    state.set((each,), state.unknown(f"the {name}"))
        for n in range(descriptor.get("user_sgpr_kernarg_preload_length", 0)):
            state.set((f"s{first + n}",), state.unknown("the preload of arguments"))
        first = max(first, descriptor.get("user_sgpr_count", 0))
        groups = {
            axis: state.special(value, is_scalar=True)
            for axis, value in zip("xyz", _GROUPS, strict=True)
            if descriptor.get(f"system_sgpr_workgroup_id_{axis}", int(axis == "x"))
        }
        if self.chip.ready_workgroup_ids:
            sizes = [state.special(each, is_scalar=True) for each in _CLUSTERS]
            ids = [state.special(each, is_scalar=True) for each in _GROUPS]
            x, *others = [
                state.compute(np.floor_divide, each, "ids of clusters")
                for each in zip(ids, sizes, strict=True)
            ]
            state.set(("ttmp9",), x)
            state.set(("ttmp7",), state.compute(_halves, others, "ids of clusters"))
            state.set(("ttmp6",), state.compute(_in_cluster, (*ids, *sizes), "place in a cluster"))
        else:
            for register, value in enumerate(groups.values(), first):
                state.set((f"s{register}",), value)
            first += len(groups)
        if descriptor.get("system_sgpr_workgroup_info"):
            state.set((f"s{first}",), state.unknown("the workgroup_info"))
        ids = [state.special(value, is_scalar=False) for value in _THREADS]
        if self.chip.packed_workitem_ids:
            state.set(("v0",), state.compute(_packed, ids, "work-item ids"))
            return
        for n in range(descriptor.get("system_vgpr_workitem_id", 0) + 1):
            state.set((f"v{n}",), ids[n])

    # Blocks

    def _block(self, number: int, numbers: Mapping[int, int]) -> LaneBlock:
        block = self.flow.blocks[number]
        *steps, last = block.steps or (None,)
        if last is not None and not last.ends_block:
            steps, last = [*steps, last], None
        for step in steps:
            assert step is not None
            try:
                self.translator.translate(step)
            except NotExecutedError as problem:
                return self._stopped(step.instruction, str(problem))
            except ValueError:
                return self._stopped(step.instruction, "its operands are not known here")
        translator = self.translator
        if block.steps and translator.index is not None:
            reason = "its index is for other blocks too"
            return self._stopped(block.steps[-1].instruction, reason)
        if block.steps and translator.context.keeps_denormals != self.keeps_denormals:
            # Blocks are read in the kernel's own mode, whatever comes before them.
            reason = "the mode is not the kernel's any more"
            return self._stopped(block.steps[-1].instruction, reason)
        if (end := self._end(block, last, numbers)) is not None:
            return LaneBlock(tuple(self.state.steps), end)
        if last is None:
            return self._stopped(self._last_of(number), "the code ends after it")
        return self._stopped(last.instruction, "its target is not known")

    def _last_of(self, number: int) -> AssemblyInstruction:
        """The last instruction of a block that has no next one, or before it."""
        blocks = self.flow.blocks[number::-1]
        return next(each.steps[-1].instruction for each in blocks if each.steps)

    def _end(
        self, block: Block, last: CodeStep | None, numbers: Mapping[int, int]
    ) -> Jump | LaneBranch | EndLane | None:
        """The end of a block; None: not known."""
        kind = Kind.JUMP if last is None else last.effects.kind
        if last is not None and kind is Kind.END and last.instruction.mnemonic == "s_endpgm":
            return EndLane()
        targets = [Jump(numbers[n], self._moves(n)) for n in block.successors]
        # A prologue without what hardware preloads comes first, which loads the same itself.
        if kind is Kind.JUMP and targets and (len(targets) == 1 or not block.steps):
            return targets[0]
        if last is not None and kind is Kind.BRANCH and len(targets) == 2:
            branch = BRANCHES.get(last.instruction.mnemonic)
            if branch is not None:
                registers = {"scc": SCC, "vcc": self.state.vcc, "exec": self.state.exec}
                value = self.state.read(registers[branch.register])
                taken = _is_zero if branch.unless else _is_set
                condition = self.state.compute(taken, (value,), last.instruction.mnemonic)
                yes, no = targets
                return LaneBranch(condition, yes, no, self.place_of(last.instruction))
        return None

    def _moves(self, target: int) -> tuple[tuple[Register, Register], ...]:
        return self.state.moves(self.live[target])


def _is_zero(value: Values) -> Values:
    return flags(value == 0)


def _is_set(value: Values) -> Values:
    return flags(value != 0)


_COPIES = frozenset({"s_mov_b32", "s_mov_b64", "s_add_u32", "s_addc_u32"})
"""The instructions that move a resource, and move it on to the part of a wave."""


def _sources(instruction: AssemblyInstruction) -> set[str]:
    first = instruction.operands[1]
    return set(first.names) if isinstance(first, RegisterOperand) else set()


def _operands(steps: Iterable[CodeStep]) -> Iterator[tuple[str, ...]]:
    """The registers of every operand; the operands of a sum and of its carry are a pair too."""
    before: Sequence[Operand] = ()
    for step in steps:
        operands = step.instruction.operands
        for n, each in enumerate(operands):
            if not isinstance(each, RegisterOperand):
                continue
            yield each.names
            low = before[n] if n < len(before) else None
            name, _ = opcode_of(step.instruction.mnemonic)
            if isinstance(low, RegisterOperand) and name in _TAKES_CARRY:
                # More than as two that stand alone.
                yield from [(*low.names, *each.names)] * 2
        before = operands


def _indexed(flow: Flow, blocks: Iterable[int], vectors: int) -> Mapping[int, tuple[str, ...]]:
    """The registers that moves may read or leave as they are by an index, by their lines."""
    found: dict[int, tuple[str, ...]] = {}
    for number in blocks:
        is_on = False
        for step in flow.blocks[number].steps:
            mnemonic = step.instruction.mnemonic
            if mnemonic in _INDEXING:
                is_on = mnemonic != "s_set_gpr_idx_off"
            elif is_on or opcode_of(mnemonic)[0] in _RELATIVE:
                defined = {*step.effects.defines, *step.effects.uses}
                first = [int(name[1:]) for name in defined if is_vector(name)]
                names = [f"v{n}" for n in range(min(first, default=vectors), vectors)]
                found[step.instruction.line] = tuple(names)
    return found


_TAKES_CARRY = frozenset({"v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32"})
_INDEXING = frozenset(f"s_set_gpr_idx_{word}" for word in ("on", "off", "idx", "mode"))
_RELATIVE = frozenset(f"v_movrel{word}_b32" for word in ("s", "d", "sd", "sd_2"))


def _parameter(argument: KernelArgument) -> KernelParameter:
    return KernelParameter(
        argument.name,
        8 * argument.size,
        argument.kind == "global_buffer",
        argument.offset,
        is_hidden=argument.is_hidden,
        hidden=_HIDDEN.get(argument.kind),
        is_struct=argument.size > 8,
    )


def _packed(x: Values, y: Values, z: Values) -> Values:
    return x | y << np.uint64(WORK_ITEM_ID_BITS) | z << np.uint64(2 * WORK_ITEM_ID_BITS)


def _halves(y: Values, z: Values) -> Values:
    return y | z << np.uint64(16)


def _in_cluster(*values: Values) -> Values:
    """The place of a work-group in its cluster, 4 bits for each dimension, and the last place.

    Source: LLVM 22 SIISelLowering, CLUSTER_WORKGROUP_ID and CLUSTER_WORKGROUP_MAX_ID in ttmp6.
    """
    ids, sizes = values[:3], values[3:]
    places = [each % size for each, size in zip(ids, sizes, strict=True)]
    places += [size - np.uint64(1) for size in (*sizes, sizes[0] * sizes[1] * sizes[2])]
    found = np.zeros((), np.uint64)
    for n, each in enumerate(places):
        found = found | each << np.uint64(4 * n)
    return found


# Unused results


def _without_unused(blocks: Sequence[LaneBlock]) -> tuple[LaneBlock, ...]:
    """The blocks without computations of a register that nothing reads, and moves to such."""
    sources: dict[Register, set[Register]] = {}
    roots: set[Register] = set()
    for block in blocks:
        for step in block.steps:
            result = written_by(step)
            if isinstance(step, MemoryStep | NamedBarrierStep) or result is None:
                roots.update(reads_of(step))
            else:
                sources.setdefault(result, set()).update(reads_of(step))
        if isinstance(block.end, LaneBranch):
            roots.add(block.end.condition)
        for to, source in chain.from_iterable(jump.moves for jump in _jumps(block.end)):
            sources.setdefault(to, set()).add(source)
    used = frozenset(postorder(roots, lambda register: sources.get(register, ())))

    def kept(step: Step) -> bool:
        result = written_by(step)
        is_kept = isinstance(step, MemoryStep | NamedBarrierStep)
        return is_kept or result is None or result in used

    return tuple(
        [LaneBlock(tuple(filter(kept, each.steps)), _end_with(each.end, used)) for each in blocks]
    )


def _jumps(end: Jump | LaneBranch | EndLane) -> Iterator[Jump]:
    if isinstance(end, Jump):
        yield end
    elif isinstance(end, LaneBranch):
        yield from (end.taken, end.other)


def _end_with(
    end: Jump | LaneBranch | EndLane, used: frozenset[Register]
) -> Jump | LaneBranch | EndLane:
    def only(jump: Jump) -> Jump:
        return Jump(jump.block, tuple([each for each in jump.moves if each[0] in used]))

    if isinstance(end, LaneBranch):
        return LaneBranch(end.condition, only(end.taken), only(end.other), end.place)
    return only(end) if isinstance(end, Jump) else end
