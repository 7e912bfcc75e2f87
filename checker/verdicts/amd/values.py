"""Values of the registers of an AMD function, as one lane finds them.

A wave has one program counter and a mask, EXEC; a verdict is about threads. A vector register is
written by the lanes whose bit of EXEC is set. Of a lane mask the thread knows its own bit: it is a
truth value here, and narrowing EXEC is a condition, as a branch is. Where a wave branches around
code for no lane, a thread whose bit is not set goes around it, though its wave may go through it:
what vector instructions do there is not done for it. What scalar instructions do there, is; so a
scalar register that is written there is not known after it, but for a mask that has the thread's
bit as it was. Source: MI300 ISA 3.3, EXEC; LLVM AMDGPUUsage, "Initial Kernel Execution State".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import TypeGuard

from fencewright.checker.verdicts.amd.booleans import Booleans
from fencewright.checker.verdicts.amd.operations import (
    by_table,
    compared,
    compared_with_constant,
    computed,
    sources_of,
)
from fencewright.checker.verdicts.amd.words import SHARED_BASE, Words
from fencewright.checker.verdicts.expressions import leaves, number_of
from fencewright.checker.verdicts.model import Literal, Loop
from fencewright.checker.verdicts.register_values import RegisterValues
from fencewright.lowering.cdna.access_names import AccessName, Path, access_name, path_of
from fencewright.lowering.cdna.code.flow import Block, Flow, Step
from fencewright.lowering.cdna.code.operands.operands import opcode_of
from fencewright.lowering.cdna.code.text import KernelArgument, ModifiedRegisters, Operand, halves
from fencewright.lowering.cdna.code.text import Registers as RegisterOperand
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.cdna.kernel import USER_REGISTERS, WORK_ITEM_ID_BITS
from fencewright.lowering.code.dominance import dominates
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.code.value import (
    Apply,
    Const,
    Iteration,
    Opaque,
    Param,
    Result,
    Thread,
    Value,
)
from fencewright.lowering.vocabulary import MOST_THREADS, RmwKind
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.semantics import amd
from fencewright.simulator.semantics.amd_rows import ROWS

KERNEL_ARGUMENTS, _PACKET = "kernel arguments", "dispatch_ptr"
"""The names of the pointers to what a launch gives."""
_PACKET_BLOCK, _PACKET_GRID = {4: "xy", 8: "z"}, {12: "x", 16: "y", 20: "z"}
"""The offsets in a packet of a work-group's sizes, 16 bits each, and of all work-items. Source: HSA
Platform System Architecture 2.9.6, kernel dispatch packet."""
_EXEC, _SCC = "exec_lo", "scc"
_BOTH = (_EXEC, "exec_hi")
_WORD = 32
_WRITTEN_AT_ENTRY = (*(f"s{n}" for n in range(32)), "v0", "v1", "v2", _EXEC, "exec_hi")
_MASK, _PAIR = "?", ":"
"""Prefixes of the names of registers that are one mask, or one pair, at joins."""


@dataclass(frozen=True, slots=True)
class Executed:
    """An access as a thread executes it: the values of its operands, and its own bit of EXEC.

    ``loaded``: the values of the registers that it loads, by their names. ``m0``: None where it is
    not known. ``is_alike``: all lanes have one address.
    """

    step: Step
    operands: tuple[Value | None, ...]
    address: Value | None
    active: Value
    loaded: Mapping[str, Value]
    m0: Value | None
    is_alike: bool


class LaneRegisters(RegisterValues):
    """The values that a function's instructions use and define.

    ``steps``: the instructions by their numbers, in the order of the text. ``executed``: those that
    access memory. ``conditions``: of every block. ``wide``: the branches that a thread may see
    taken for another lane. ``undecided``: those of which no condition is known.
    ``packed``: words of two sizes, of which a kernel wants one. ``ranks``: numbers of active lanes
    below one, with the mask of these.
    ``reads_cluster_slot``: the values hold in launches without clusters. ``infeasible``: edges that
    no thread takes, which the values are worked out without. ``origins``: of a result of which no
    formula is known, the values of the instruction's sources.
    """

    def __init__(
        self,
        flow: Flow,
        infeasible: frozenset[tuple[int, int]] = frozenset(),
        *,
        has_one_dimension: bool = True,
    ):
        self.flow = flow
        self.function = flow.function
        self.chip = flow.chip
        size32 = self.function.descriptor.get("wavefront_size32")
        self.lanes = 64 if size32 == 0 else self.chip.wave_size
        self.infeasible = infeasible
        graph = graph_of(flow.blocks).without(infeasible)
        numbers: dict[int, tuple[int, ...]] = {}
        self.steps: list[Step] = []
        for block, own in enumerate(flow.blocks):
            first = len(self.steps)
            self.steps += own.steps
            numbers[block] = tuple(range(first, len(self.steps)))
        self.numbers = numbers
        self.threads = self.function.threads or MOST_THREADS
        self.executed: dict[int, Executed] = {}
        self.wide: set[int] = set()
        self.undecided: set[int] = set()
        self._starts: dict[tuple[int, str], Value] = {}
        self._some: dict[int, Value] = {}
        self.reads_cluster_slot = False
        self._carries: dict[Value, tuple[str, Value, Value]] = {}
        self.packed: set[Value] = set()
        self.ranks: dict[Value, Value] = {}
        self._low_ranks: dict[Value, Value] = {}
        self._counts: dict[Value, Value] = {}
        self._firsts: dict[Value, tuple[Value, int, Value]] = {}
        self._addresses: dict[Value, Value | None] = {}
        self.origins: dict[Value, tuple[Value, ...]] = {}
        self._block = 0
        self._exec: Value | None = None
        written = {
            block: [name for n in own for name in self.steps[n].effects.defines]
            for block, own in numbers.items()
        }
        block_of = {n: block for block, own in numbers.items() for n in own}
        written[0] = [*_WRITTEN_AT_ENTRY, *written.get(0, ())]
        super().__init__(graph, written, block_of)
        self.booleans = Booleans(self.expressions)
        self.words = Words(self.expressions, self.threads)
        self.has_one_dimension = has_one_dimension
        self._arguments = {each.offset: each for each in self.function.arguments}
        self._entry = dict(self._entered())
        self._words_at: Mapping[Value, Callable[[int], Value | None]] = {
            self.table.param(KERNEL_ARGUMENTS, 64): self._argument,
            self.table.param(_PACKET, 64): self._packet,
        }
        self._solved_walks()

    @classmethod
    def of(cls, flow: Flow) -> "LaneRegisters":
        """The values of a function without the edges that no thread takes, as ``s_cbranch_execz``
        with the thread's own bit set."""
        registers = cls(flow)
        is_flat = registers._dimensions() == 1 or not registers._reads_further_dimensions()
        if not is_flat:
            registers = cls(flow, has_one_dimension=False)
        for _ in range(_ROUNDS):
            infeasible = frozenset(
                edge for edge, value in registers.edge_literals.items() if number_of(value) == 0
            )
            apart = dict(registers._decided_joins())
            if not apart and infeasible <= registers.infeasible:
                break
            infeasible |= registers.infeasible
            flow = _with_joins_apart(registers.flow, apart)
            registers = cls(flow, infeasible, has_one_dimension=is_flat)
        return registers

    def _decided_joins(self) -> Iterator[tuple[tuple[int, int], int]]:
        """The ways through a join, from a block to one after the join, of which the conditions
        before the join decide which one they are.

        The wave has taken the way that the thread has: no lane goes another one between.
        """
        for join in self.order:
            before, above = self.graph.predecessors[join], self.dominators[join]
            after = self.graph.successors[join]
            if len(before) < 2 or len(after) != 2 or join in self.loops:
                continue
            first = self.edge_literals.get((join, after[0]))
            if first is None or join in self.wide or not self._is_idle(join):
                continue
            if self.wide & self.graph.backward.reachable(before, above.__ne__):
                continue
            for each in filter(self._own.__contains__, before):
                edge = self.edge_literals.get((each, join))
                known = [*self.conditions[each]]
                known += () if edge is None else self.expressions.literals(edge, True, each)
                number = number_of(self.booleans.restricted(first, known))
                if number is not None:
                    yield (each, join), after[not number]

    def _is_idle(self, block: int) -> bool:
        """True of a block that only computes."""
        return all(step.effects.kind in _IDLE for step in self.flow.blocks[block].steps)

    def _reads_further_dimensions(self) -> bool:
        """True of a kernel that does anything with a thread's second or third index."""
        values = [*self.edge_literals.values()]
        for each in self.executed.values():
            known = (each.address, each.active, each.m0, *each.operands)
            values += [value for value in known if value is not None]
        return any(
            isinstance(leaf, Thread) and leaf.name in ("%tid.y", "%tid.z")
            for leaf in leaves(values)
        )

    # The begin of a kernel

    def _dimensions(self) -> int:
        if not self.function.descriptor:
            return 3
        return self.function.descriptor.get("system_vgpr_workitem_id", 0) + 1

    def _entered(self) -> Iterator[tuple[str, Value]]:
        """The values that the hardware puts in registers. Source: LLVM AMDGPUUsage, SGPR and VGPR
        initial state."""
        e, table = self.expressions, self.table
        descriptor = self.function.descriptor
        yield _EXEC, e.constant(1, 1)
        yield "exec_hi", e.constant(1, 1)
        if not descriptor:
            return
        first = 0
        for name, count in USER_REGISTERS:
            if not descriptor.get(f"user_sgpr_{name}"):
                continue
            called = KERNEL_ARGUMENTS if name == "kernarg_segment_ptr" else name
            if count == 2:
                whole = table.param(called, 64)
                yield f"s{first}", self.words.low(whole)
                yield f"s{first + 1}", self.words.high(whole)
            else:
                for n in range(count):
                    yield f"s{first + n}", table.param(f"{name} {n}", _WORD)
            first += count
        preloaded = descriptor.get("user_sgpr_kernarg_preload_length", 0)
        offset = descriptor.get("user_sgpr_kernarg_preload_offset", 0)
        for n in range(preloaded):
            yield f"s{first + n}", self._argument(4 * (offset + n))
        first = max(first + preloaded, descriptor.get("user_sgpr_count", 0))
        ready = self.chip.ready_workgroup_ids
        for axis in "xyz":
            if not ready and descriptor.get(f"system_sgpr_workgroup_id_{axis}", int(axis == "x")):
                yield f"s{first}", table.constant(f"%ctaid.{axis}", _WORD)
                first += 1
        if ready:
            if self.has_one_dimension:
                # LLVM SITargetLowering, lowerWaveID: bits 25 to 29 are the wave's number.
                wave = self.words.shifted_down(
                    table.thread("%tid.x", _WORD), self.lanes.bit_length() - 1
                )
                rest = e.apply(
                    "and",
                    (table.opaque("ttmp8", _WORD, varies=True), e.constant((1 << 25) - 1, _WORD)),
                    _WORD,
                )
                yield "ttmp8", e.apply("or", (self.words.shifted(wave, 25), rest), _WORD)
            yield "ttmp9", table.constant("%ctaid.x", _WORD)
            above = table.constant("%ctaid.y", _WORD)
            if descriptor.get("system_sgpr_workgroup_id_z"):
                # Else the upper half is 0. Source: LLVM 24 SITargetLowering, lowerWorkGroupId.
                z = self.words.shifted(table.constant("%ctaid.z", _WORD), 16)
                above = e.apply("add", (above, z), _WORD)
            yield "ttmp7", above
        ids = [table.thread(f"%tid.{d}", _WORD) for d in "xyz"][: self._dimensions()]
        if self.chip.packed_workitem_ids:
            total = ids[0]
            for place, own in enumerate(ids[1:], 1):
                total = e.apply(
                    "add", (total, self.words.shifted(own, WORK_ITEM_ID_BITS * place)), _WORD
                )
            yield "v0", total
        else:
            yield from ((f"v{n}", own) for n, own in enumerate(ids))

    def _argument(self, offset: int) -> Value:
        """The 32 bits of the kernel's arguments from an offset on."""
        for each in self._arguments.values():
            if not each.offset <= offset < each.offset + max(each.size, 4):
                continue
            if each.is_hidden:
                return self._hidden(each, offset)
            if each.size == 8:
                whole = self.table.param(each.name, 64)
                return self.words.low(whole) if offset == each.offset else self.words.high(whole)
            name = each.name if offset == each.offset else f"{each.name}+{offset - each.offset}"
            return self.table.param(name, _WORD)
        whole = self.table.param(f"argument at {offset & ~7}", 64)
        return self.words.high(whole) if offset & 4 else self.words.low(whole)

    def _hidden(self, each: KernelArgument, offset: int) -> Value:
        if each.kind.startswith("hidden_block_count_"):
            return self.table.constant(f"%nctaid.{each.kind[-1]}", _WORD)
        if each.kind.startswith("hidden_group_size_"):
            after = self._arguments.get(each.offset + 2)
            is_size = after is not None and after.kind.startswith("hidden_group_size_")
            return self._group_sizes(each.kind[-1] + (after.kind[-1] if after and is_size else ""))
        return self.table.param(f"{each.kind}+{offset - each.offset}", _WORD)

    def _group_sizes(self, axes: str) -> Value:
        """A word with the sizes of a work-group in one or two dimensions, of 16 bits each."""
        own, *above = (self.table.constant(f"%ntid.{axis}", _WORD) for axis in axes)
        for upper in above:
            own = self.expressions.apply("add", (own, self.words.shifted(upper, 16)), _WORD)
            self.packed.add(own)
        return own

    def _packet(self, offset: int) -> Value | None:
        """The 32 bits of the dispatch packet from an offset on, if they are sizes."""
        if (axes := _PACKET_BLOCK.get(offset)) is not None:
            return self._group_sizes(axes)
        axis = _PACKET_GRID.get(offset)
        if axis is None or not self.function.metadata.get("uniform_work_group_size"):
            return None
        sizes = (self.table.constant(f"%{each}.{axis}", _WORD) for each in ("nctaid", "ntid"))
        return self.expressions.apply("mul", tuple(sizes), _WORD)

    # Values where paths meet

    def _bits(self, register: str) -> int:
        if register.startswith(_MASK) or register in (_EXEC, "exec_hi", _SCC):
            return 1
        return 64 if register.startswith(_PAIR) else _WORD

    def _enter(self, block: int) -> None:
        self._block = block
        if block == 0:
            self._own[0].update(self._entry)
        for register in self._phis.get(block, ()):
            if block == 0:
                continue
            value = self._phi(block, register)
            low, high = _halves_of(register)
            if register.startswith(_PAIR):
                self._own[block][low] = self.words.low(value)
                self._own[block][high] = self.words.high(value)
            else:
                self._own[block].update(dict.fromkeys((low, high), value))

    def _at_end(self, block: int, register: str) -> Value | None:
        low, high = _halves_of(register)
        value = self._lookup(block, low)
        if register.startswith(_PAIR):
            upper = self._lookup(block, high)
            return None if value is None or upper is None else self._pair(value, upper)
        if register.startswith(_MASK) and value is not None:
            return self._as_mask(value, self._lookup(block, high))
        return value

    def _joined(
        self, block: int, register: str, before: Sequence[int], coming: Sequence[Value | None]
    ) -> Value | None:
        bits = {value.bits for value in coming if value is not None}
        if len(bits) > 1:
            self._take_for_mask(block, register)
            return None
        is_wide = self.dominators[block] in self.wide and not _is_vector(register)
        if len({*coming}) == 1 or not (is_wide or (len(before) > 2 and bits == {1})):
            return super()._joined(block, register, before, coming)
        low, known = _halves_of(register)[0], dict[int, Value]()
        for each, value in zip(before, coming, strict=True):
            left = (x for x in self.around.get(each, ()) if block not in x.blocks)
            keeps = all(not self._is_left_alone(x) or self._keeps_bits(x, low) for x in left)
            if value is None or value.bits != 1 or not keeps:
                return None
            edge = self.edge_literals.get((each, block))
            if edge is not None and each in self.wide and edge is not self._some[each]:
                # No lane is active on this way.
                value = self.booleans.restricted(value, self.expressions.literals(edge, True, each))
            known[each] = value
        return self._mask_joined(block, known)

    def _mask_joined(self, block: int, coming: Mapping[int, Value]) -> Value | None:
        """The thread's bit of a mask where paths meet.

        A wave may have gone where this thread has not: then it has to have left its bit alone.
        """
        start, *others = coming
        if not others:
            return coming[start]
        while not all(dominates(self.spans, start, each) for each in coming):
            start = self.dominators[start]
        taken, *more = self.graph.successors[start]
        condition = self.edge_literals.get((start, taken))
        inside = {
            each: value
            for each, value in coming.items()
            if (taken == block if each == start else dominates(self.spans, taken, each))
        }
        outside = {each: value for each, value in coming.items() if each not in inside}
        if condition is None or len(more) != 1 or not inside or not outside:
            return None
        one, other = self._mask_joined(block, inside), self._mask_joined(block, outside)
        if one is None or other is None:
            return None
        booleans = self.booleans
        absent = booleans.negated(condition)
        if start in self.wide:
            gone = absent if condition is self._some[start] else condition
            if not all(
                booleans.equal_under(gone, a, b) for a in inside.values() for b in outside.values()
            ):
                return None
        return booleans.either(booleans.both(condition, one), booleans.both(absent, other))

    def _chosen_from(self, start: int, block: int, coming: Mapping[int, Value]) -> Value | None:
        # Of more branches than one a wave may take several ways, one after another.
        sides = [self._side(block, before) for before in coming]
        if len(sides) != 2 or sides[0] is None or sides[1] is None or sides[0] is sides[1]:
            return None
        return self.expressions.chosen(sides[0], *coming.values())

    def _side(self, block: int, before: int) -> Value | None:
        """The condition under which a path from the dominator of a block comes to it by
        ``before``."""
        above = self.dominators[block]
        if before == above:
            return self.edge_literals.get((above, block))
        node = before
        while self.dominators[node] != above:
            node = self.dominators[node]
        if self.graph.predecessors[node] != (above,):
            return None
        return self.edge_literals.get((above, node))

    def _lookup(self, block: int, register: str) -> Value | None:
        home = self._home(block, register)
        if home is None:
            return None
        known = self._own[home][register]
        if _is_vector(register) or register == _SCC:
            return known
        for loop in self.around.get(home, ()):
            if block not in loop.blocks and self._is_left_alone(loop):
                if not self._keeps_bits(loop, register):
                    name = f"{register} after the loop of block {loop.head}"
                    return self.table.opaque(name, known.bits, varies=True)
        return known

    def _is_left_alone(self, loop: Loop) -> bool:
        """True of a loop that lanes leave at different times."""
        return any(
            block in self.wide and any(t not in loop.blocks for t in self.graph.successors[block])
            for block in loop.blocks
        )

    def _keeps_bits(self, loop: Loop, register: str) -> bool:
        """True of a mask of which a loop leaves the bits of lanes alone that are out of it."""
        if register in (_EXEC, "exec_hi"):
            return True
        for block in loop.blocks:
            for number in self.numbers[block]:
                step = self.steps[number]
                if register in step.effects.defines and not self._keeps(loop, step, register):
                    return False
        return True

    def _keeps(self, loop: Loop, step: Step, register: str) -> bool:
        operands = step.instruction.operands
        if len(operands) != 3 or not all(map(_is_registers, operands)):
            return False
        target, a, b = (_names(each) for each in operands)
        meaning = _scalar_meaning(step)
        if register not in target:
            return False
        if meaning == amd.LOGIC["or"]:
            return (a == target and self._is_active_only(loop, b)) or (
                b == target and self._is_active_only(loop, a)
            )
        return meaning == amd.LOGIC["andn2"] and a == target and self._is_active_only(loop, b)

    def _is_active_only(self, loop: Loop, names: tuple[str, ...]) -> bool:
        """True of a mask that only lanes in the loop have bits of: EXEC, and results of
        comparisons."""
        if _EXEC in names:
            return True
        found = False
        for block in loop.blocks:
            for number in self.numbers[block]:
                step = self.steps[number]
                if set(names).isdisjoint(step.effects.defines):
                    continue
                meaning = _scalar_meaning(step)
                is_masked = meaning == amd.LOGIC["and"] and any(
                    _EXEC in _names(each) for each in step.instruction.operands
                )
                is_masked |= isinstance(meaning, amd.SaveExec) and not meaning.keeps
                effects = step.effects
                is_compared = effects.comparison is not None and effects.unit is Unit.VALU
                if not is_masked and (not is_compared or _EXEC in effects.defines):
                    return False
                found = True
        return found

    # Loops

    def _step_of(self, loop: Loop, register: str, phi: Opaque) -> tuple[str, Value] | None:
        if phi.bits != 1:
            return super()._step_of(loop, register, phi)
        zero = self.expressions.constant(0, 1)
        start = self._starts.get((loop.head, register))
        for latch in loop.latches:
            coming = self._at_end(latch, register)
            if coming is None or coming.bits != 1:
                return None
            edge = self.edge_literals.get((latch, loop.head))
            known = [*self.conditions[latch]]
            if edge is not None:
                known += self.expressions.literals(edge, True, latch)
            here = self.booleans.restricted(coming, known)
            if here is phi or here is start:
                continue
            # A lane that is still in the loop has had its bit all the time.
            if here is self.booleans.true and self.booleans.implies(coming, phi):
                continue
            return None
        return "same", zero

    def _phi(self, block: int, register: str) -> Value:
        loop = self.loops.get(block)
        if loop is not None and self._bits(register) == 1:
            latches = loop.latches
            before = [
                p for p in self.graph.predecessors[block] if p in self._own and p not in latches
            ]
            coming = [self._at_end(p, register) for p in before]
            start = self._joined(block, register, before, coming)
            if start is not None:
                self._starts[block, register] = start
        return super()._phi(block, register)

    def _forget(self, blocks: Set[int]) -> None:
        super()._forget(blocks)
        starts = self._starts
        self._starts = {place: own for place, own in starts.items() if place[0] not in blocks}
        self._news = set[int]()
        self.wide -= blocks
        self.undecided -= blocks

    def _solve(self) -> Set[int]:
        fresh = super()._solve()
        for (block, register), _ in [*self._open.items()]:
            if _is_plain(register):
                self._find_pair(block, register)
        return fresh | self._news

    def _find_pair(self, block: int, register: str) -> None:
        """Take two registers for one of 64 bits, if that comes back to a loop's head."""
        following = _next(register)
        if following is None or (block, following) not in self._open:
            return
        (latch, *more) = self.loops[block].latches
        low, high = self._lookup(latch, register), self._lookup(latch, following)
        if more or low is None or high is None or low.bits != _WORD or high.bits != _WORD:
            return
        whole = self._pair(low, high)
        # Before EXEC is known in the loop, what is written there may be a choice.
        if isinstance(whole, Apply) and whole.operation not in ("or", "zext", "sext", "ite"):
            self._rename(block, register, following, _PAIR)

    def _take_for_mask(self, block: int, register: str) -> None:
        if not _is_plain(register) or _is_vector(register):
            return
        if self.lanes > _WORD and register[:1] == "s" and register[1:].isdigit():
            register = f"s{int(register[1:]) & ~1}"  # Scalar pairs begin with even registers.
        following = _next(register) if self.lanes > _WORD else register
        if following is not None:
            self._rename(block, register, following, _MASK)

    def _rename(self, block: int, low: str, high: str, kind: str) -> None:
        own = self._phis.get(block, ())
        if low not in own:
            return
        rest = tuple(each for each in own if each not in (low, high))
        self._phis[block] = (*rest, f"{kind}{low} {high}")
        self._news.add(block)

    # Instructions

    def _steps(self, block: int) -> None:
        self._block = block
        written = True
        for number in self.numbers[block]:
            step = self.steps[number]
            if written:
                mask = self._mask_of(_BOTH)
                self._exec = self.booleans.restricted(mask, self.conditions[block])
            if step.effects.accesses:
                self._access(number, step)
            else:
                self._compute(number, step)
            defines = step.effects.defines
            written = _EXEC in defines or "exec_hi" in defines

    @property
    def active(self) -> Value:
        """The thread's own bit of EXEC, where the block's conditions hold."""
        assert self._exec is not None
        return self._exec

    def _access(self, number: int, step: Step) -> None:
        operands = tuple(self._whole(each) for each in step.instruction.operands)
        address = self._address(step, operands)
        loaded = dict(self._loaded(number, step, address))
        m0 = self._lookup(self._block, "m0")
        active = self.booleans.both(self.active, self._is_within(step))
        is_alike = address is not None and self.is_of_wave(address)
        self.executed[number] = Executed(step, operands, address, active, loaded, m0, is_alike)
        for name in step.effects.defines:
            value = loaded.get(name)
            self._define(name, self._result(number, name) if value is None else value)

    def _loaded(
        self, number: int, step: Step, address: Value | None
    ) -> Iterator[tuple[str, Value]]:
        """The values that a load returns: arguments, or results of this instruction."""
        names = step.effects.defines
        given = self._given(step, address)
        if given is not None:
            yield from zip(names, given, strict=True)
            return
        size = step.effects.accesses[0].size or 0
        parts = len(names) * 4 // size if size and len(names) * 4 >= size else 0
        is_wide = (size == 8 and parts > 0) or size > 8
        if not is_wide or len(names) % 2:
            yield from ((name, self._result(number, name)) for name in names)
            return
        for low, high in zip(names[::2], names[1::2], strict=True):
            whole = self.table.result(number, f"{low}:{high}", 64)
            yield low, self.words.low(whole)
            yield high, self.words.high(whole)

    def _given(self, step: Step, address: Value | None) -> Sequence[Value] | None:
        """The words that a load from the arguments or the packet returns; None for any other."""
        if step.effects.kind is not Kind.LOAD or address is None:
            return None
        form = self.expressions.linear(address)
        at, name = form.constant, access_name(step.instruction.mnemonic)
        if len(form.terms) != 1 or name is None or name.is_half:
            return None
        ((value, times),) = form.terms
        word_at = self._words_at.get(value)
        if word_at is None or times != 1:
            return None
        if name.bits < _WORD:
            part = self._part(word_at(at & ~3), at & 3, name)
            return None if part is None else (part,)
        words = [word_at(at + 4 * n) for n in range(len(step.effects.defines))]
        known = [word for word in words if word is not None]
        return None if at & 3 or len(known) < len(words) else known

    def _part(self, word: Value | None, offset: int, name: AccessName) -> Value | None:
        """The word that a load of some of the bytes of one returns."""
        e, words = self.expressions, self.words
        if word is None or 8 * offset + name.bits > _WORD:
            return None
        own = words.shifted_down(word, 8 * offset)
        if name.letter == "i":
            return e.resized(e.resized(own, name.bits), _WORD, signed=True)
        return words.apply("and", own, e.constant((1 << name.bits) - 1, _WORD))

    def _address(self, step: Step, operands: Sequence[Value | None]) -> Value | None:
        """The address of an access as one of 64 bits; None of forms that are not followed."""
        effects, instruction = step.effects, step.instruction
        path = path_of(instruction.mnemonic)
        returned = sum(len(_names(each)) for each in instruction.operands[:1]) if (
            effects.defines
            and instruction.operands
            and set(_names(instruction.operands[0])) <= set(effects.defines)
        ) else 0  # fmt: skip
        own = list(operands[1:] if returned else operands)
        texts = list(instruction.operands[1:] if returned else instruction.operands)
        constant = _offset_of(instruction.modifiers)
        if path in (Path.SCALAR, Path.SCALAR_SCRATCH):
            if len(own) < 2 or own[0] is None or own[0].bits != 64:
                return None
            further = self._scaled(step, own[1], signed=False)
            return None if further is None else self._sum(own[0], further, constant)
        bits = 64 if path is Path.FLAT else _WORD
        if path in (Path.LDS, Path.FLAT) and own and own[0] is not None and own[0].bits == bits:
            return self._sum(own[0], None, constant)
        if path in (Path.GLOBAL, Path.FLAT):
            base = own[-1] if texts[-1] != "off" else None
            if texts[-1] != "off" and (base is None or base.bits != 64):
                return None
            if texts[0] == "off":
                return None if base is None else self._sum(base, None, constant)
            further = self._scaled(step, own[0], signed=self.chip.signed_offsets)
            return None if further is None else self._sum(further, base, constant)
        if path is Path.BUFFER:
            return self._of_buffer(instruction.operands, instruction.modifiers, constant)
        return None

    def _scaled(self, step: Step, offset: Value | None, *, signed: bool) -> Value | None:
        """An offset from an address in bytes; None where the size that scales it is not known."""
        if offset is None:
            return None
        whole = self.expressions.resized(offset, 64, signed=signed)
        if "scale_offset" not in step.instruction.modifiers:
            return whole
        size = step.effects.accesses[0].size
        if size is None:
            return None
        factor = self.expressions.constant(size, 64)
        return self.expressions.apply("mul", (whole, factor), 64)

    def _of_buffer(
        self, operands: Sequence[Operand], modifiers: Sequence[str], constant: int
    ) -> Value | None:
        """The address of a buffer access without records. Source: MI300 ISA 9.1."""
        e, place = self.expressions, _resource(operands)
        if place is None or "idxen" in modifiers or "addr64" in modifiers:
            return None
        base = self._base_of(_names(operands[place]))
        if base is None:
            return None
        further = self._value(operands[place + 1], _WORD) if place + 1 < len(operands) else None
        total = self._sum(base, None if further is None else e.resized(further, 64), constant)
        if "offen" in modifiers:
            _, own = self._kept(operands, place, constant)
            return None if own is None else self._sum(total, e.resized(own, 64), 0)
        return total

    def _is_within(self, step: Step) -> Value:
        """The condition that a buffer access is done: others leave memory as it is."""
        operands, modifiers = step.instruction.operands, step.instruction.modifiers
        is_buffer = path_of(step.instruction.mnemonic) is Path.BUFFER and "offen" in modifiers
        place = _resource(operands) if is_buffer else None
        if place is None or {"idxen", "addr64"} & {*modifiers}:
            return self.booleans.true
        return self._kept(operands, place, _offset_of(modifiers))[0]

    def _kept(
        self, operands: Sequence[Operand], place: int, constant: int
    ) -> tuple[Value, Value | None]:
        """The condition that a buffer access with a vector offset is done, and that offset where
        it is; ``place``: of the resource."""
        own, limit = self._value(operands[place - 1], _WORD), self._limit(operands, place, constant)
        if own is None or limit is None:
            return self.booleans.true, own
        return self._below(own, limit)

    def _limit(self, operands: Sequence[Operand], place: int, constant: int) -> int | None:
        """The offset in a vector register from which on nothing is accessed, of a buffer of bytes
        whose size is a number; None: not known. Source: MI300 ISA 9.1.5, Range Checking; RDNA3 ISA
        8.1.5, OOB_SELECT."""
        if operands[place + 1 :][:1] not in ((0,), ("null",)):
            return None
        low, high, size, flags = (self._word(name) for name in _names(operands[place]))
        if self.chip.wide_buffers:
            wide = None if low is None or high is None else self._wide_base(low, high)
            upper = None if size is None or number_of(flags or size) != 0 else number_of(size)
            if wide is None or upper is None:
                return None
            return (
                wide[1] >> _WIDE_BASE | (upper & (1 << _WORD) - 1) << 64 - _WIDE_BASE
            ) - constant
        select = None if flags is None else number_of(flags)
        is_raw = select is not None and select >> _OFFSET_CHECK & _OF_BYTES == _OF_BYTES
        if not (self.chip.checks_offsets or (self.chip.selects_checks and is_raw)):
            return None
        if not isinstance(high, Apply) or high.operation != "and" or size is None:
            return None
        if number_of(high.arguments[1]) != 0xFFFF:
            return None  # It may have a stride.
        records = number_of(size)
        return None if records is None else (records & (1 << _WORD) - 1) - constant

    def _below(self, value: Value, limit: int) -> tuple[Value, Value]:
        """The condition that a value is below a limit, and the value where it is: compilers choose
        an offset that is not for lanes which are to access nothing."""
        booleans = self.booleans
        if (number := number_of(value)) is not None:
            is_below = (number & (1 << value.bits) - 1) < limit
            return booleans.true if is_below else booleans.negated(booleans.true), value
        if isinstance(value, Apply) and value.operation == "ite":
            condition, yes, no = value.arguments
            is_yes, one = self._below(yes, limit)
            is_no, other = self._below(no, limit)
            if is_no is booleans.negated(booleans.true):
                return booleans.both(condition, is_yes), one
            if is_yes is booleans.negated(booleans.true):
                return booleans.both(booleans.negated(condition), is_no), other
        below = (value, self.expressions.constant(limit, value.bits))
        return self.expressions.apply("ult", below, 1), value

    def _base_of(self, names: Sequence[str]) -> Value | None:
        """The address that a resource begins with; None of forms that are not followed."""
        low, high = (self._word(name) for name in names[:2])
        if low is None or high is None:
            return None
        if not self.chip.wide_buffers:
            return self._without_stride(low, high)
        wide = self._wide_base(low, high)
        return None if wide is None else wide[0]

    def _wide_base(self, low: Value, high: Value) -> tuple[Value, int] | None:
        """The base of a resource, 57 bits, and the number above it: the low bits of its size.

        Source: LLVM SITargetLowering, lowerPointerAsRsrcIntrin.
        """
        for joined, below in ((self._pair(low, high), None), (high, low)):
            if not isinstance(joined, Apply) or joined.operation not in ("add", "or"):
                continue
            own, number = joined.arguments[0], number_of(joined.arguments[-1])
            if number is None:
                continue
            base, upper = (own, number) if below is None else (self._pair(below, own), number << 32)
            if not upper & (1 << _WIDE_BASE) - 1:
                return base, upper & (1 << 64) - 1
        return None

    def _without_stride(self, low: Value, high: Value) -> Value | None:
        """The base of a resource: 48 bits, under its stride and flags."""
        if isinstance(high, Apply) and high.operation in ("add", "or") and len(high.arguments) == 2:
            number = number_of(high.arguments[1])
            if number is not None and not number & 0xFFFF:
                high = high.arguments[0]
        if isinstance(high, Apply) and high.operation == "and":
            if number_of(high.arguments[1]) == 0xFFFF:
                high = high.arguments[0]
        whole = self._pair(low, high)
        is_one = not (isinstance(whole, Apply) and whole.operation == "or")
        return whole if is_one else None

    def _sum(self, a: Value, b: Value | None, constant: int) -> Value:
        e = self.expressions
        total = a if b is None else e.apply("add", (a, b), a.bits)
        return e.apply("add", (total, e.constant(constant, total.bits)), total.bits)

    def _compute(self, number: int, step: Step) -> None:
        self._number = number
        results = self._results(step)
        unknown = [name for name in step.effects.defines if results.get(name) is None]
        if unknown:
            sources = [self._lookup(self._block, name) for name in step.effects.uses]
            results = {**results, **{name: self._result(number, name) for name in unknown}}
            origins = tuple(dict.fromkeys(each for each in sources if each is not None))
            self.origins |= dict.fromkeys((results[name] for name in unknown), origins)
        for name in step.effects.defines:
            self._define(name, results[name])

    def _results(self, step: Step) -> Mapping[str, Value]:
        instruction = step.instruction
        own = halves(instruction)
        if len(own) > 1:  # Both read the registers as they were.
            steps = (replace(step, instruction=half) for half in own)
            return dict(item for half in steps for item in self._results(half).items())
        name, encoding = opcode_of(instruction.mnemonic)
        operands = instruction.operands
        modified = any(isinstance(each, ModifiedRegisters) for each in operands)
        odd = [each for each in instruction.modifiers if each not in ("", "glc")]
        if name == "v_bfi_b32" and not odd:
            name, odd = "v_bitop3_b32", ["bitop3:0xca"]  # Of two words, by the bits of a third.
        if name in ("v_bitop2_b32", "v_bitop3_b32") and len(odd) == 1 and not modified:
            return self._by_table(odd[0], operands)
        if modified or encoding in ("dpp", "sdwa") or odd:
            return {}
        row, is_scalar = amd.MEANINGS.get(name), step.effects.unit is Unit.SALU
        meaning = None if row is None else row.meaning
        if step.effects.comparison is not None:
            return self._comparison(step, row, operands)
        if row is not None and is_scalar:
            masked = self._masks(row.meaning, operands)
            if masked is not None:
                return masked
        match meaning:
            case amd.FirstLane():
                return self._first_lane(operands)
            case amd.CountLanesBelow(first):
                return self._lanes_below(first, operands)
            case amd.SaveExec():
                return self._saved_exec(meaning, operands)
            case amd.Select() if row is not None:
                return self._selected(row, operands, is_scalar=is_scalar)
            case amd.Sum(carries=True):
                return self._carrying(meaning, operands, is_scalar=is_scalar)
            case amd.CountBits() if self._is_mask(operands[1]):
                return self._lanes_counted(operands)
            case _:
                pass
        if name == "s_getreg_b32" and operands[1] == self.chip.cluster_slot:
            self.reads_cluster_slot = True
            return self._split(operands[0], self.expressions.constant(0, _WORD))
        if (tested := _TESTED_BITS.get(name)) is not None:
            return self._bit_tested(tested, operands)
        bits = sources_of(name)
        if bits is None:
            if name in ("s_getpc_b64", "s_get_pc_i64"):
                return self._split(operands[0], self.table.param("the code's address", 64))
            return {}
        # The sources come last; a carry may be a second result.
        executed = ROWS.get(name)
        has_own = executed is not None and executed.own is not None
        given = operands[-len(bits) :] if len(operands) > len(bits) or has_own else ()
        sources = [self._value(each, size) for each, size in zip(given, bits, strict=False)]
        known = [each for each in sources if each is not None]
        if len(known) < len(bits):
            return {}
        value = self._own_share(computed(self.words, name, known))
        results = self._split(operands[0], value)
        if executed is not None and executed.tests_result:
            e = self.expressions
            is_zero = e.apply("eq", (value, e.constant(0, value.bits)), 1)
            results[_SCC] = e.negated(is_zero)
        return results

    def _bit_tested(self, is_set: bool, operands: Sequence[Operand]) -> Mapping[str, Value]:
        """SCC as a test of one bit leaves it."""
        word, place = self._value(operands[0], _WORD), self._value(operands[1], _WORD)
        number = None if place is None else number_of(place)
        if word is None or number is None:
            return {}
        bit = self.expressions.constant(1 << (number & _WORD - 1), _WORD)
        is_zero = self.words.is_zero(self.words.apply("and", word, bit))
        return {_SCC: self.expressions.negated(is_zero) if is_set else is_zero}

    def _by_table(self, word: str, operands: Sequence[Operand]) -> Mapping[str, Value]:
        """Logic by a truth table of three sources, of which the third may be left out: 0."""
        sources = [self._value(each, _WORD) for each in (*operands[1:], 0)[:3]]
        known = [each for each in sources if each is not None]
        table = word.removeprefix("bitop3:")
        if len(known) < len(sources) or table == word:
            return {}
        return self._split(operands[0], by_table(self.words, int(table, 0), known))

    def _split(self, target: Operand, value: Value) -> dict[str, Value]:
        names = _names(target)
        if len(names) == 1:
            return {names[0]: value if value.bits == 1 else self.words.low(value)}
        if len(names) == 2 and value.bits == 64:
            return {names[0]: self.words.low(value), names[1]: self.words.high(value)}
        return {}

    # Masks and conditions

    def _comparison(
        self, step: Step, row: amd.MeaningRow | None, operands: Sequence[Operand]
    ) -> Mapping[str, Value]:
        is_vector = step.effects.unit is Unit.VALU
        sources = operands[-2:]
        targets = tuple(each for named in operands[:-2] for each in _names(named))
        if not is_vector:
            targets = (_SCC,)
        elif _EXEC in step.effects.defines:  # From gfx10 on EXEC is all that v_cmpx writes.
            targets = tuple(dict.fromkeys((*targets, _EXEC, "exec_hi")))
        if row is None:
            own = [self._value(each, _WORD) for each in sources]
            if len(own) != 2 or own[0] is None or own[1] is None:
                return {}
            name = opcode_of(step.instruction.mnemonic)[0]
            value = compared_with_constant(self.words, name, own[0], own[1])
            return {} if value is None else {_SCC: value}
        if not isinstance(row.meaning, amd.Compare) or row.sources[0] == 16:
            return {}
        values = [self._value(each, row.sources[0]) for each in sources]
        if len(values) != 2 or values[0] is None or values[1] is None:
            return {}
        value = compared(self.words, row.meaning, values[0], values[1])
        if is_vector:
            value = self.booleans.both(self._mask_of(_BOTH), value)
        return dict.fromkeys(targets, value)

    def _saved_exec(
        self, meaning: amd.SaveExec, operands: Sequence[Operand]
    ) -> Mapping[str, Value]:
        old = self._mask_of(_BOTH)
        source = self._mask(operands[1])
        if source is None:
            return {}
        new = self._logic(meaning.logic, source, old)
        found = dict.fromkeys(_names(operands[0]), new if meaning.keeps else old)
        return {**found, _EXEC: new, "exec_hi": new, _SCC: self._any(new)}

    def _masks(
        self, meaning: amd.Meaning, operands: Sequence[Operand]
    ) -> Mapping[str, Value] | None:
        """A scalar instruction on lane masks; None if it computes with numbers."""
        count = self.lanes // _WORD
        if len(_names(operands[0])) != count or not isinstance(meaning, amd.Logic | amd.Copy):
            return None
        sources = operands[1:]
        is_mask = _EXEC in _names(operands[0]) or any(self._is_mask(each) for each in sources)
        if not is_mask:
            return None
        values = [self._mask(each) for each in sources]
        if any(value is None for value in values):
            return {}
        known = [value for value in values if value is not None]
        if isinstance(meaning, amd.Copy):
            return dict.fromkeys(_names(operands[0]), known[0])
        new = self._logic(meaning, known[0], known[1])
        return {**dict.fromkeys(_names(operands[0]), new), _SCC: self._any(new)}

    def _logic(self, logic: amd.Logic, a: Value, b: Value) -> Value:
        booleans = self.booleans

        def inverted(value: Value, is_inverted: bool) -> Value:
            return booleans.negated(value) if is_inverted else value

        own = inverted(a, logic.invert_a), inverted(b, logic.invert_b)
        join = {
            ArithmeticKind.AND: booleans.both,
            ArithmeticKind.OR: booleans.either,
            ArithmeticKind.XOR: booleans.differs,
        }[logic.kind]
        return inverted(join(*own), logic.invert)

    def _any(self, mask: Value) -> Value:
        """True if any lane has its bit of a mask, in which only the thread's own bit is known.

        No lane has a bit of 0, and the thread is one if it has its own wherever it is here.
        """
        if mask is self.booleans.false:
            return mask
        if self.booleans.restricted(mask, self.conditions[self._block]) is self.booleans.true:
            return self.booleans.true
        return self.table.apply("any", (mask,), 1)

    def _selected(
        self, row: amd.MeaningRow, operands: Sequence[Operand], *, is_scalar: bool
    ) -> Mapping[str, Value]:
        if is_scalar:
            flag = self._lookup(self._block, _SCC)
            is_mask = any(self._is_mask(each) for each in operands[1:3])
            if flag is not None and self._is_any(flag):
                flag = self._alike(flag.arguments[0]) if self.active is self.booleans.true else None
            if flag is None or flag.bits != 1:
                return {}
            if is_mask:
                masks = [self._mask(each) for each in operands[1:3]]
                if masks[0] is None or masks[1] is None:
                    return {}
                chosen = self.expressions.chosen(flag, masks[0], masks[1])
                return dict.fromkeys(_names(operands[0]), chosen)
            values = [self._value(each, row.sources[0]) for each in operands[1:3]]
            if values[0] is None or values[1] is None:
                return {}
            return self._split(operands[0], self.expressions.chosen(flag, values[0], values[1]))
        if len(operands) not in (3, 4):
            return {}
        # A half of two instructions names no mask: it is VCC.
        mask = self._mask(operands[3]) if len(operands) == 4 else self._mask_of(("vcc_lo",))
        values = [self._value(each, _WORD) for each in operands[1:3]]
        if mask is None or values[0] is None or values[1] is None:
            return {}
        # Lanes that are not active do not choose.
        known = (*self.conditions[self._block], *self._literals_of(self.active))
        mask = self.booleans.restricted(mask, known)
        return self._split(operands[0], self.expressions.chosen(mask, values[1], values[0]))

    def _is_any(self, value: Value) -> TypeGuard[Apply]:
        return isinstance(value, Apply) and value.operation == "any"

    def _alike(self, mask: Value) -> Value | None:
        """The truth value of any active lane having its bit of a mask, if all have it alike."""
        known = (*self.conditions[self._block], *self._literals_of(self.active))
        alike = self.booleans.restricted(mask, known)
        return alike if self.is_of_wave(alike) else None

    def _literals_of(self, value: Value) -> Iterable[Literal]:
        return self.expressions.literals(value, True, -1)

    def _is_mask(self, operand: Operand) -> bool:
        names = _names(operand)
        if not names:
            return False
        value = self._lookup(self._block, names[0])
        return value is not None and value.bits == 1

    def _mask(self, operand: Operand) -> Value | None:
        """The thread's own bit of a mask."""
        if isinstance(operand, int):
            if operand in (0, -1):
                return self.booleans.true if operand else self.booleans.false
            return None
        return self._mask_of(_names(operand)) if _names(operand) else None

    def _mask_of(self, names: tuple[str, ...]) -> Value:
        low = self._lookup(self._block, names[0])
        high = self._lookup(self._block, names[-1])
        if low is None:
            return self.table.opaque(f"unwritten mask {names[0]}", 1, varies=True)
        return self._as_mask(low, high)

    def _as_mask(self, low: Value, high: Value | None) -> Value:
        if low.bits == 1:
            return low
        numbers = {number_of(each) for each in (low, low if high is None else high)}
        if numbers == {0}:
            return self.booleans.false
        if numbers == {(1 << _WORD) - 1}:
            return self.booleans.true
        if isinstance(low, Apply) and low.operation == "ite" and high in (low, None):
            condition, yes, no = low.arguments
            own = self._as_mask(yes, None), self._as_mask(no, None)
            return self.expressions.chosen(condition, *own)
        if isinstance(low, Opaque) and low in self.block_of_phi:
            register = low.name.rpartition(" ")[2]
            self._take_for_mask(self.block_of_phi[low], register)
        return self.table.apply("lane's bit", (low, high or low), 1)

    # Sums with carries

    def _carrying(
        self, meaning: amd.Sum, operands: Sequence[Operand], *, is_scalar: bool
    ) -> Mapping[str, Value]:
        """A sum or difference of words with a carry, which the next word takes."""
        sources = list(operands[1:3]) if is_scalar else list(operands[2:4])
        values = [self._value(each, _WORD) for each in sources]
        if len(values) != 2 or values[0] is None or values[1] is None:
            return {}
        a, b = (values[1], values[0]) if meaning.reverse else (values[0], values[1])
        kind = "add" if meaning.kind is ArithmeticKind.ADD else "sub"
        flags = (_SCC,) if is_scalar else _names(operands[1])
        if not meaning.takes:
            carry = self._carry(kind, a, b)
            result = self._plain_sum(kind, a, b)
            return {**self._split(operands[0], result), **dict.fromkeys(flags, carry)}
        given = self._lookup(self._block, _SCC) if is_scalar else self._mask(operands[4])
        if given is None or given not in self._carries or self._carries[given][0] != kind:
            return {}
        _, low_a, low_b = self._carries[given]
        pairs = [(self._pair(low_a, a), self._pair(low_b, b))]
        if kind == "add":
            # The text may add the halves of two numbers in either order.
            pairs.append((self._pair(low_a, b), self._pair(low_b, a)))
        one, other = min(pairs, key=lambda pair: sum(map(_is_joined, pair)))
        whole = self._plain_sum(kind, one, other)
        return self._split(operands[0], self.words.high(whole))

    def _plain_sum(self, kind: str, a: Value, b: Value) -> Value:
        e = self.expressions
        if kind == "sub" and (number := number_of(b)) is not None and a.bits == 64:
            return e.apply("sub", (a, e.constant(number, 64)), 64)
        return self.words.apply(kind, a, b)

    def _carry(self, kind: str, a: Value, b: Value) -> Value:
        value = self.table.apply(f"carry of {kind}", (a, b), 1)
        self._carries[value] = kind, a, b
        return value

    # Lanes

    def _first_lane(self, operands: Sequence[Operand]) -> Mapping[str, Value]:
        value = self._value(operands[1], _WORD)
        if value is None:
            return {}
        if self._is_one_lane():
            return self._split(operands[0], value)
        if self._mask_of(_BOTH) is self.booleans.true and self.has_one_dimension:
            # All lanes are active: the first is lane 0.
            thread, e = self.table.thread("%tid.x", _WORD), self.expressions
            first = self.words.apply("and", thread, e.constant(-self.lanes, _WORD))
            own = e.substituted(value, {thread: first})
            if all(self.is_of_wave(leaf) or leaf is thread for leaf in leaves((value,))):
                return self._split(operands[0], own)
        if self.is_of_wave(value):
            return self._split(operands[0], value)
        active, own = self._mask_of(_BOTH), value
        if isinstance(own, Apply) and own.operation == "ite":
            if self.first_of(Literal(own.arguments[0], True)) is active:
                own = own.arguments[1]
        if (share := self._added_for_all(own, active)) is None:
            return self._split(operands[0], own) if self._is_one_load(own) else {}
        first = self._result(self._number, _names(operands[0])[0])
        self._firsts[first] = own, share, active
        return self._split(operands[0], first)

    def _lanes_below(self, first: int, operands: Sequence[Operand]) -> Mapping[str, Value]:
        mask, more = operands[1], self._value(operands[2], _WORD)
        if more is not None and self._is_exec_mask(mask) and self._is_one_lane():
            return self._split(operands[0], more)
        if more is not None and self._is_exec_mask(mask):
            return self._active_below(first, operands[0], more)
        if mask != -1 or more is None:
            return {}
        lane = self.lane()
        if first == 0:
            if number_of(more) != 0:
                return {}
            if self.lanes == _WORD:
                return self._split(operands[0], lane)
            half = self.table.apply("lanes below, low", (lane,), _WORD)
            return self._split(operands[0], half)
        if more is self.table.apply("lanes below, low", (lane,), _WORD):
            return self._split(operands[0], lane)
        return {}

    def _active_below(self, first: int, target: Operand, more: Value) -> Mapping[str, Value]:
        """The number of active lanes below one: another one of each, and 0 of the first."""
        mask, own = self._mask_of(_BOTH), self._result(self._number, _names(target)[0])
        begun = self._low_ranks.get(more) if first else mask if number_of(more) == 0 else None
        if begun is not mask:
            return {}
        (self.ranks if first or self.lanes == _WORD else self._low_ranks)[own] = mask
        return self._split(target, own)

    # Additions that one lane makes for all

    def _lanes_counted(self, operands: Sequence[Operand]) -> Mapping[str, Value]:
        """The number of lanes of a mask."""
        mask, names = self._mask(operands[1]), _names(operands[0])
        if self._is_exec_mask(operands[1]) and self._is_one_lane():
            one = self._split(operands[0], self.expressions.constant(1, _WORD))
            return {**one, _SCC: self.booleans.true}
        if mask is None or len(names) != 1:
            return {}
        count = self._result(self._number, names[0])
        self._counts[count] = mask
        return {names[0]: count, _SCC: self._any(mask)}

    def share_of(self, added: Value) -> tuple[int, Value] | None:
        """The part of each lane of a mask in what one of them adds for all, and that mask."""
        count, times = _multiple(added)
        mask = self._counts.get(count)
        return None if mask is None else (times, mask)

    def first_of(self, literal: Literal) -> Value | None:
        """The mask of which the first lane alone satisfies a condition."""
        value = literal.value
        if not literal.polarity or not isinstance(value, Apply) or value.operation != "eq":
            return None
        return self.ranks.get(value.arguments[0]) if number_of(value.arguments[1]) == 0 else None

    def _added_for_all(self, value: Value, mask: Value) -> int | None:
        """The part of each lane of a mask in an addition that the first one has made for all, whose
        result a value is."""
        executed = self.executed.get(value.instruction) if isinstance(value, Result) else None
        if executed is None or not isinstance(value, Result) or not executed.is_alike:
            return None
        name = access_name(executed.step.instruction.mnemonic)
        block = self.block_of[value.instruction]
        known = (*self.conditions[block], *self._literals_of(executed.active))
        if name is None or name.rmw is not RmwKind.ADD or name.bits != _WORD:
            return None
        shares = (self.share_of(each) for each in executed.operands if each is not None)
        times, of = next((each for each in shares if each is not None), (0, None))
        return times if of is mask and any(self.first_of(each) is mask for each in known) else None

    def _own_share(self, value: Value) -> Value:
        """A value; of what the first lane has found, and the parts of those below a lane, what an
        addition of the lane itself would have found."""
        if isinstance(value, Apply) and value.operation == "add":
            for first, below in permutations(value.arguments, 2):
                rank, times = _multiple(below)
                result, *shared = self._firsts.get(first, (value,))
                if rank in self.ranks and shared == [times, self.ranks[rank]]:
                    return result
        return value

    def _is_one_lane(self) -> bool:
        """True where one lane alone is active: that of a thread with a given number."""
        known = (*self.conditions[self._block], *self._literals_of(self.active))
        return self.has_one_dimension and any(map(_is_of_one_thread, known))

    def _is_exec_mask(self, operand: Operand) -> bool:
        """True of EXEC or a half of it, or of a copy."""
        names = _names(operand)[:1]
        if not names or names[0] in _BOTH:
            return bool(names)
        return self._lookup(self._block, names[0]) is self._mask_of(_BOTH)

    def lane(self) -> Value:
        if not self.has_one_dimension:
            return self.table.thread("%laneid", _WORD)
        thread = self.table.thread("%tid.x", _WORD)
        return self.words.apply("and", thread, self.expressions.constant(self.lanes - 1, _WORD))

    def is_of_wave(self, value: Value) -> bool:
        """True of a value that all lanes of a wave have alike."""
        return all(map(self._is_leaf_of_wave, leaves((value,), self._is_number_of_wave)))

    def _is_leaf_of_wave(self, value: Value) -> bool:
        if isinstance(value, Iteration):
            return self._block in self.loops[value.head].blocks
        return self._is_one_load(value) or isinstance(value, Const | Param)

    def _is_number_of_wave(self, value: Apply) -> bool:
        """True of the upper bits of a thread's index, which are its wave's."""
        inner, *by = value.arguments
        number = number_of(by[0]) if len(by) == 1 else None
        if number is None or not self.has_one_dimension or not isinstance(inner, Thread):
            return False
        if value.operation == "and":
            return inner.name == "%tid.x" and not number & self.lanes - 1
        return value.operation == "lshr" and inner.name == "%tid.x" and 1 << number >= self.lanes

    def _is_one_load(self, value: Value) -> bool:
        """True if one instruction of a wave loads it from one place, or into scalar registers."""
        if not isinstance(value, Result):
            return False
        step = self.steps[value.instruction]
        if not _is_vector(value.register.partition(":")[0]):
            return True
        if step.effects.kind is not Kind.LOAD:
            return False
        executed = self.executed.get(value.instruction)
        address = None if executed is None else executed.address
        return address is not None and all(map(self.is_of_wave, leaves((address,))))

    # Operands and results

    def _define(self, name: str, value: Value) -> None:
        """Write a register: of a vector register, where the thread is active."""
        if _is_vector(name) and self.active is not self.booleans.true:
            old = self._lookup(self._block, name)
            if old is not None and old.bits == value.bits:
                value = self.expressions.chosen(self.active, value, old)
        self._own[self._block][name] = value

    def _result(self, number: int, name: str) -> Value:
        return self.table.result(number, name, self._bits(name))

    def _word(self, name: str) -> Value | None:
        return self._lookup(self._block, name)

    def _pair(self, low: Value, high: Value) -> Value:
        if low.bits == high.bits == 1:
            return self.table.apply("mask as a number", (low, high), 64)
        return self.words.pair(self._as_word(low), self._as_word(high))

    def _as_word(self, value: Value) -> Value:
        is_mask = value.bits == 1
        return self.table.apply("mask as a word", (value,), _WORD) if is_mask else value

    def _whole(self, operand: Operand) -> Value | None:
        """The value of an operand of an access, by the number of its registers."""
        names = _names(operand)
        if isinstance(operand, int):
            return self.expressions.constant(operand, _WORD)
        if operand == "null":
            return self.expressions.constant(0, _WORD)
        if not names:
            return None
        return self._value(operand, 64 if len(names) == 2 else _WORD) if len(names) <= 2 else None

    def _value(self, operand: Operand, bits: int) -> Value | None:
        """The value of an operand of so many bits; None of forms that are not followed."""
        e = self.expressions
        if isinstance(operand, int):
            return e.constant(operand, bits)
        if isinstance(operand, str):
            return self._symbol(operand, bits)
        if not isinstance(operand, RegisterOperand):
            return None
        names = operand.names
        values = [self._lookup(self._block, name) for name in names[: bits // _WORD]]
        known = [
            self.table.opaque(f"unwritten {name}", _WORD, varies=True)
            if value is None
            else self._as_active(value)
            for name, value in zip(names, values, strict=False)
        ]
        if bits == 64 and len(known) == 2:
            return self._pair(known[0], known[1])
        if bits != _WORD or len(known) != 1:
            return None
        return self._as_word(known[0])

    def _as_active(self, value: Value) -> Value:
        """A value as active lanes find it: of a choice by EXEC, the value they have written."""
        active = self.active
        while isinstance(value, Apply) and value.operation == "ite":
            condition, yes, no = value.arguments
            if condition is active:
                value = yes
            elif condition is self.booleans.negated(active):
                value = no
            else:
                break
        return value

    def _symbol(self, text: str, bits: int) -> Value | None:
        """The address of LDS, or that of a symbol, or its distance from the code, or a half."""
        if text == SHARED_BASE and bits == 64:
            return self.table.param(SHARED_BASE, bits)
        name, _, rest = text.partition("@")
        if not rest:
            return None
        whole = self.table.param(f"symbol {name}", 64)
        if bits != _WORD:
            return whole if bits == 64 else None
        return self.words.high(whole) if "@hi" in text else self.words.low(whole)

    # Branches

    def _branch(self, block: int) -> None:
        """The conditions of the edges that leave a block."""
        own = self.flow.blocks[block]
        targets = self.graph.successors[block]
        if not own.steps or len(targets) != 2 or targets[0] == targets[1]:
            return
        branch = amd.BRANCHES.get(own.steps[-1].instruction.mnemonic)
        if branch is None:
            return
        taken, other = targets
        if branch.unless:
            taken, other = other, taken
        # From here on ``taken`` is where a wave goes whose register is not 0.
        if branch.register == _SCC:
            value = self._lookup(block, _SCC)
            if value is not None and value.bits == 1 and not self._is_any(value):
                self.edge_literals[block, taken] = value
                self.edge_literals[block, other] = self.expressions.negated(value)
                return
            if value is None or not isinstance(value, Apply):
                self._unknown_branch(block, taken, other, None)
                return
            mask = value.arguments[0]
        else:
            mask = self._mask_of((f"{branch.register}_lo", f"{branch.register}_hi"))
        mask = self.booleans.restricted(mask, self.conditions[block])
        self._of_mask(block, taken, other, mask, is_exec=self._is_exec(block, mask))

    def _is_exec(self, block: int, mask: Value) -> bool:
        own = self._mask_of(_BOTH)
        return mask is self.booleans.restricted(own, self.conditions[block])

    def _of_mask(self, block: int, taken: int, other: int, mask: Value, *, is_exec: bool) -> None:
        """A branch by whether any lane has its bit of a mask."""
        booleans = self.booleans
        if number_of(mask) is not None or is_exec:
            # A thread that is not active goes where nobody is.
            self.wide.add(block)
            self._some[block] = mask
            self.edge_literals[block, taken] = mask
            self.edge_literals[block, other] = booleans.negated(mask)
            return
        alike = self._alike(mask)
        if alike is not None:
            self.edge_literals[block, taken] = alike
            self.edge_literals[block, other] = booleans.negated(alike)
            return
        self._unknown_branch(block, taken, other, mask)

    def _unknown_branch(self, block: int, taken: int, other: int, mask: Value | None) -> None:
        some = self.table.opaque(f"another lane of the wave at block {block}", 1, varies=True)
        self.undecided.add(block)
        self.edge_literals[block, taken] = some
        none = self.expressions.negated(some)
        if mask is not None:
            none = self.booleans.both(none, self.booleans.negated(mask))
        self.edge_literals[block, other] = none


def _with_joins_apart(flow: Flow, ways: Mapping[tuple[int, int], int]) -> Flow:
    """The flow with a block of its own for each side of a join, by the block before it."""
    blocks = [*flow.blocks]
    copies: dict[tuple[int, int], int] = {}
    for (before, join), target in ways.items():
        if (join, target) not in copies:
            copies[join, target] = len(blocks)
            blocks.append(Block(flow.blocks[join].steps, (target,)))
        own = copies[join, target]
        after = (own if each == join else each for each in blocks[before].successors)
        blocks[before] = Block(blocks[before].steps, tuple(after))
    return Flow(flow.function, tuple(blocks), flow.is_called, flow.chip)


def _scalar_meaning(step: Step) -> amd.Meaning | None:
    """The meaning of a scalar instruction, if it has one."""
    row = amd.MEANINGS.get(opcode_of(step.instruction.mnemonic)[0])
    return None if row is None or step.effects.unit is not Unit.SALU else row.meaning


_ROUNDS = 4
"""The most times that a function's values are worked out, without the ways that no thread takes."""
_IDLE = frozenset({Kind.COMPUTE, Kind.BRANCH, Kind.WAIT})
_REMEMBERED = 1 << 16
"""The names of registers of which the kind is remembered."""
_TESTED_BITS = {"s_bitcmp0_b32": False, "s_bitcmp1_b32": True}
_WIDE_BASE = 57
"""The bits of a wide resource's base."""
_OFFSET_CHECK, _OF_BYTES = 28, 3
"""The place of OOB_SELECT in a resource's last word, and its value for bytes."""


@lru_cache(_REMEMBERED)
def _is_vector(register: str) -> bool:
    return register.lstrip(_MASK + _PAIR)[0] in "va" and not register.startswith("vcc")


def _is_plain(register: str) -> bool:
    return not register.startswith((_MASK, _PAIR))


def _halves_of(register: str) -> tuple[str, str]:
    """The registers that one phi is of."""
    if _is_plain(register):
        return register, register
    low, _, high = register[1:].partition(" ")
    return low, high


def _next(register: str) -> str | None:
    """The register above one: that which a pair begins with."""
    if register.endswith("_lo"):
        return f"{register.removesuffix('_lo')}_hi"
    if register[:1] in "sva" and register[1:].isdigit():
        return f"{register[0]}{int(register[1:]) + 1}"
    return None


def _multiple(value: Value) -> tuple[Value, int]:
    """A value as another one, so many times."""
    if isinstance(value, Apply) and value.operation in ("mul", "shl"):
        own, by = value.arguments
        if (number := number_of(by)) is not None:
            return own, 1 << number if value.operation == "shl" else number
    return value, 1


def _is_joined(value: Value) -> bool:
    """True of two words that are no halves of one number."""
    return isinstance(value, Apply) and value.operation == "or"


def _is_of_one_thread(literal: Literal) -> bool:
    """True of a condition that one thread of a work-group satisfies."""
    value = literal.value
    if not literal.polarity or not isinstance(value, Apply) or value.operation != "eq":
        return False
    own, number = value.arguments
    is_index = isinstance(own, Thread) and own.name == "%tid.x"
    return is_index and number_of(number) is not None


def _is_registers(operand: Operand) -> bool:
    return isinstance(operand, RegisterOperand)


def _names(operand: Operand) -> tuple[str, ...]:
    return operand.names if isinstance(operand, RegisterOperand) else ()


def _resource(operands: Sequence[Operand]) -> int | None:
    """The place of the one resource among the operands of a buffer access."""
    places = [
        place
        for place, each in enumerate(operands)
        if len(_names(each)) == 4 and not _is_vector(_names(each)[0])
    ]
    return places[0] if len(places) == 1 else None


def _offset_of(modifiers: Sequence[str]) -> int:
    """The constant offset of an access, in bytes."""
    for word in modifiers:
        if word.startswith("offset:"):
            return int(word.removeprefix("offset:"), 0)
    return 0
