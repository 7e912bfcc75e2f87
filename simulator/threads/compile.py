"""Kernels as Python: one generator for each function, whose locals are the registers of a lane.

Blocks are found by a binary tree of comparisons. A generator yields where others may go on: before
each strong operation, at what waits, and at every 64th jump back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.code.source_location import place_text
from fencewright.lowering.ptx.code.text import (
    PtxBlock,
    PtxFile,
    PtxFunction,
    PtxInstruction,
    PtxParameter,
)
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.semantics import python
from fencewright.simulator.semantics.operands import reserved_at, reserves
from fencewright.simulator.threads import lanes
from fencewright.simulator.threads.emit import Emitter
from fencewright.simulator.threads.machine import Machine
from fencewright.simulator.threads.matrices import share
from fencewright.simulator.threads.memory import SIZES, Allocation
from fencewright.simulator.threads.observer import Site
from fencewright.simulator.threads.operands import Operands, code_name
from fencewright.simulator.threads.schedule import GENERATED, ThreadEnd, Trapped
from fencewright.simulator.threads.state import Thread
from fencewright.simulator.threads.unknown import NotExecuted, UnknownUsed

_LEVELS = {
    Scope.WAVEFRONT: 0,
    Scope.WORKGROUP: 0,
    Scope.CLUSTER: 1,
    Scope.AGENT: 2,
    Scope.SYSTEM: 2,
}
_ACQUIRES = (Ordering.ACQUIRE, Ordering.ACQ_REL, Ordering.SEQ_CST)
_RELEASES = (Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel and its callees, compiled. ``shared``: its variables by name, with their offsets.

    ``functions``: the kernel first. ``lines``: the site of each line of ``source``.
    """

    functions: tuple[PtxFunction, ...]
    sites: tuple[Site, ...]
    source: str
    code: CodeType
    lines: Mapping[int, int]
    shared: Mapping[str, int]
    shared_size: int
    local_size: int
    dynamic: bool
    elements: Mapping[str, int]
    updates: Mapping[str, Callable[..., int]]

    @property
    def reserves(self) -> bool:
        """True where it accesses reserved shared memory."""
        statements = (each.statement for of in self.functions for each in of.instructions)
        return any(reserves(each.operands) for each in statements)

    def bind(self, machine: Machine) -> Callable[[Machine, Thread], Any]:
        """The generator function for the threads of a machine."""
        machine.local_size = self.local_size
        names: dict[str, object] = {**python.NAMES, "M": machine}
        for size in SIZES:
            for space in "gsl":
                names[f"ld{size}{space}"] = machine.loads(size, space)
                names[f"st{size}{space}"] = machine.stores(size, space)
        names |= {
            "Allocation": Allocation,
            "BarrierWait": lanes.BarrierWait,
            "ClusterWait": lanes.ClusterWait,
            "Meeting": lanes.Meeting,
            "NotExecuted": NotExecuted,
            "ThreadEnd": ThreadEnd,
            "Trapped": Trapped,
            "UPDATES": self.updates,
            "reserved_at": reserved_at,
            "share": share,
            "UnknownUsed": UnknownUsed,
        }
        exec(self.code, names)
        entry: Any = names["entry"]
        return entry


def _reachable(module: PtxFile, kernel: PtxFunction) -> list[PtxFunction]:
    """A kernel and the functions that are called, or whose addresses are named."""
    found, queue = {kernel.name: kernel}, [kernel]
    names = [text for each in module.variables.values() for text in each.values]
    while queue:
        function = queue.pop()
        names += (text for each in function.variables.values() for text in each.values)
        names += (text for each in function.instructions for text in each.statement.operands)
        while names:
            name = names.pop()
            if name in module.functions and name not in found:
                found[name] = module.functions[name]
                queue.append(found[name])
    return list(found.values())


def _align(at: int, to: int) -> int:
    return -(-at // to) * to


def room_of(parameter: PtxParameter) -> int:
    """The bytes that a kernel's parameter has in the space of parameters."""
    return _align(max(parameter.size or 8, 8), 16)


class Layout:
    """The places of variables in shared and local memory."""

    def __init__(
        self, module: PtxFile, functions: Sequence[PtxFunction], globals_: Mapping[str, int]
    ):
        self.elements: dict[str, int] = {}
        self.shared: dict[str, int] = {}
        self.elements: dict[str, int] = {}
        self.local = 0
        self.places: dict[str, str] = {name: str(base) for name, base in globals_.items()}
        self.dynamic = False
        self.size = 0
        open_ended: list[str] = []
        used = [module.variables] + [each.variables for each in functions]
        for variables in used:
            for name, variable in variables.items():
                align = variable.alignment
                self.elements[name] = variable.element
                if variable.space == "shared" and variable.size is None:
                    open_ended.append(name)
                elif variable.space == "shared" and variable.size is not None:
                    self.size = _align(self.size, max(align, 1))
                    self.shared[name] = self.size
                    self.size += variable.size
                elif variable.space == "local":
                    self.local = _align(self.local, max(align, 16))
                    self.places[name] = str(self.local)
                    self.local += variable.size or 0
        self.size = _align(self.size, 16)
        if open_ended:
            self.size, self.dynamic = _align(self.size, 1024), True
            self.shared |= dict.fromkeys(open_ended, self.size)
        for name, at in self.shared.items():
            self.places[name] = f"(T.rank << 24 | {at})"


_LEAVES = ("ret", "exit")


class _Rounds:
    """The code of a function that a lane reaches past a barrier or round it, and then not again."""

    def __init__(self, function: PtxFunction):
        self.function = function
        self.graph: Graph[int] = graph_of(function.blocks)
        self.repeated = {
            block.number
            for block in function.blocks
            if block.number in self.graph.reachable_after((block.number,))
        }
        """The blocks of loops."""
        self.after = {
            block.number: self._after(block.number)
            for block in function.blocks
            if any(each.statement.kind is Kind.BARRIER for each in block.instructions)
        }
        self.begins = {
            at
            for blocks in self.after.values()
            for at in blocks
            if any(each not in blocks for each in self.graph.predecessors[at])
        }
        """The blocks at whose begin a lane is noted: where such code begins."""

    def _after(self, barrier: int) -> frozenset[int]:
        before = self.graph.backward.reachable((barrier,))
        after = self.graph.reachable_after((barrier,))
        return frozenset(at for at in after if at not in before and self._does(at))

    def _does(self, at: int) -> bool:
        """True of a block that does more than to end the thread or to jump."""
        return any(
            each.statement.operation not in _LEAVES
            and (each.statement.operation != "bra" or each.statement.guard)
            for each in self.function.blocks[at].instructions
        )


def site_of(
    instruction: PtxInstruction, number: int, function: PtxFunction, files: Mapping[int, str],
    after: frozenset[int] = frozenset(), repeats: bool = False,
) -> Site:  # fmt: skip
    """An instruction as observers see it; ``after`` and ``repeats``: as of ``Site``."""
    statement, source = instruction.statement, instruction.source
    opcode = statement.opcode
    strong = statement.is_strong and statement.scope is not None
    level = _LEVELS[statement.scope] if strong and statement.scope is not None else -1
    if source is not None and source.file in files:
        written = source.in_kernel
        place = place_text(source, files)
        key = written.file, written.line, opcode.name
    else:
        file = function.file.rpartition("/")[2]
        place, key = f"{file}:{instruction.line}", (file, instruction.line, opcode.name)
    return Site(
        number, instruction, function.name, place, key, level,
        acquires=statement.ordering in _ACQUIRES,
        releases=statement.ordering in _RELEASES,
        is_sc=statement.ordering is Ordering.SEQ_CST,
        reads_only=statement.operation == "ld nc",
        after=after,
        repeats=repeats,
    )  # fmt: skip


def compile_kernel(module: PtxFile, name: str, globals_: Mapping[str, int]) -> Program:
    """A kernel compiled; ``globals_``: the addresses of the variables of the module."""
    kernel = module.functions[name]
    functions = _reachable(module, kernel)
    layout = Layout(module, functions, globals_)
    sites: list[Site] = []
    lines: list[str] = []
    of_line: dict[int, int] = {}
    updates: dict[str, Callable[..., int]] = {}
    for function in functions:
        _Function(
            function, kernel, layout.places, sites, lines, of_line, updates, module.files
        ).write()
    at = (f"{globals_[each.name]}: {code_name(each, False)}" for each in functions[1:] if globals_)
    lines.append(f"FUNCTIONS = {{{', '.join(at)}}}")
    source = "\n".join(lines) + "\n"
    return Program(
        tuple(functions), tuple(sites), source, compile(source, GENERATED, "exec"), of_line,
        layout.shared, layout.size, layout.local, layout.dynamic, layout.elements, updates,
    )  # fmt: skip


class _Function:
    """One function, written to the end of ``lines``."""

    def __init__(
        self, function: PtxFunction, kernel: PtxFunction, places: Mapping[str, str],
        sites: list[Site], lines: list[str], of_line: dict[int, int],
        updates: dict[str, Callable[..., int]], files: Mapping[int, str],
    ):  # fmt: skip
        self.function, self.is_kernel = function, function is kernel
        self.sites, self.lines, self.of_line = sites, lines, of_line
        self.files = files
        own = dict(places)
        at = 0
        for number, each in enumerate(function.parameters):
            own[each.name] = str(at) if self.is_kernel else f"A[{number}]"
            at += room_of(each)
        self.operands = Operands(function, own)
        self.emitter = Emitter(self.operands, self.is_kernel, updates)
        self.rounds = _Rounds(function)

    def write(self) -> None:
        """Write the function."""
        function, lines = self.function, self.lines
        given = "M, T" if self.is_kernel else "T, R, A"
        lines.append(f"def {code_name(function, self.is_kernel)}({given}):")
        head = len(lines)
        lines.append("")
        for variable in function.variables.values():
            if variable.space == "param":
                local = self.emitter.parameter(variable.name)
                lines.append(f" {local} = Allocation('param', {variable.size or 8}, 'param')")
        blocks = [each for each in function.blocks if each.instructions]
        lines.append(" turns = 0; carry = 0; b = 0")
        lines.append(" if 0: yield")
        lines.append(" while True:")
        self._tree(blocks, 2)
        lines += [f"{name} = {text}" for text, name in self.emitter.constants.items()]
        if self.operands.registers:
            lines[head] = " " + " = ".join(sorted(self.operands.registers)) + " = 0"

    def _tree(self, blocks: Sequence[PtxBlock], depth: int) -> None:
        if not blocks:
            self.lines.append(" " * depth + "return")
        elif len(blocks) == 1:
            self._block(blocks[0], depth)
        else:
            middle = len(blocks) // 2
            self.lines.append(" " * depth + f"if b < {blocks[middle].number}:")
            self._tree(blocks[:middle], depth + 1)
            self.lines.append(" " * depth + "else:")
            self._tree(blocks[middle:], depth + 1)

    def _block(self, block: PtxBlock, depth: int) -> None:
        following = next(
            (each.number for each in self.function.blocks[block.number + 1 :] if each.instructions),
            None,
        )
        ends = False
        if self.is_kernel and block.number in self.rounds.begins:
            self.lines.append(" " * depth + f"T.region = {block.number}")
        for each in block.instructions:
            self._instruction(each, block, depth)
            ends = each is block.instructions[-1] and not each.statement.guard
            ends = ends and each.statement.operation in ("bra", "brx", "ret", "exit", "trap")
        if not ends:
            text = "return" if following is None else f"b = {following}"
            self.lines.append(" " * depth + text)

    def _instruction(self, instruction: PtxInstruction, block: PtxBlock, depth: int) -> None:
        site = len(self.sites)
        is_barrier = self.is_kernel and instruction.statement.kind is Kind.BARRIER
        after = self.rounds.after[block.number] if is_barrier else frozenset[int]()
        repeats = not self.is_kernel or block.number in self.rounds.repeated
        self.sites.append(site_of(instruction, site, self.function, self.files, after, repeats))
        pad = " " * depth
        statement = instruction.statement
        start = len(self.lines)
        try:
            if statement.guard:
                self.lines.append(f"{pad}if {self.operands.value(statement.guard, 'pred')}:")
                pad += " "
            if statement.operation in ("bra", "brx"):
                written = list(self._jump(instruction, block))
            else:
                written = list(self.emitter.emit(statement, site))
        except NotExecuted as problem:
            written = [f"raise NotExecuted({str(problem)!r})"]
        self.lines += [pad + line for line in written or ["pass"]]
        for at in range(start, len(self.lines)):
            self.of_line[at + 1] = site

    def _jump(self, instruction: PtxInstruction, block: PtxBlock) -> Iterator[str]:
        statement = instruction.statement
        if statement.operation == "brx":
            yield from self._indexed(instruction, block)
            return
        target = self._target(block.successors[0])
        if target <= block.number:
            yield "turns += 1"
            yield f"b = {target}"
            yield "if not turns & 63: yield 0"
        else:
            yield f"b = {target}"
        # The rest of the block is not for threads that jump.
        yield "continue"

    def _target(self, number: int) -> int:
        """The first block from one on that has instructions."""
        for each in self.function.blocks[number:]:
            if each.instructions:
                return each.number
        return number

    def _indexed(self, instruction: PtxInstruction, block: PtxBlock) -> Iterator[str]:
        index = self.operands.value(instruction.statement.operands[0], "u32")
        numbers = tuple(self._target(number) for number in block.table)
        yield f"if {index} >= {len(numbers)}: raise NotExecuted('a jump beyond its table')"
        yield f"b = {numbers}[{index}]"
        yield "turns += 1"
        yield "if not turns & 63: yield 0"
        yield "continue"
