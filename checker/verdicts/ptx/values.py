"""Values of the registers of a PTX function at each instruction: SSA over its control-flow graph.

A register that is written once, or always alike, has one value; where paths meet, a choice of two
by the branch between them, or a value that is not known. A register of a loop that grows by what
does not change in it is its value at entry and so many steps as iterations. Source: Cytron and
others, "Efficiently Computing Static Single Assignment Form".
"""

from collections.abc import Iterator, Mapping, Sequence

from fencewright.checker.verdicts.expressions import (
    Expressions,
    leaves,
    number_of,
    variable_named,
)
from fencewright.checker.verdicts.model import Loop
from fencewright.checker.verdicts.ptx.operations import compared, value_of
from fencewright.checker.verdicts.ptx.sequences import sequence_of
from fencewright.lowering.code.dominance import dominates, immediate_dominators
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of, postorder
from fencewright.lowering.code.loops import back_edges, by_head, natural_loop
from fencewright.lowering.code.value import Apply, Iteration, Opaque, Result, Value, ValueTable
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import (
    OperandRole,
    Statement,
    element_of,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxInstruction

_DEPTH = 1 << 20
"""The depth beyond which an expression is opaque: they are shared, so that none has to be."""
_PASSES = 5
"""The number of times that loops of loops are looked at again, outer ones first."""
_CTA_WIDE = (
    "%ntid. %ctaid. %nctaid. %clusterid. %nclusterid. %cluster_ctaid. %cluster_nctaid. "
    "%cluster_ctarank %cluster_nctarank %gridid %dynamic_smem_size %total_smem_size"
).split()
_WARP = 32


class Registers:
    """The values that a function's instructions use and define."""

    def __init__(self, places: Places):
        self.function = places.function
        self.places = places
        self.table = ValueTable(_DEPTH)
        self.expressions = Expressions(self.table)
        self.graph: Graph[int] = graph_of(self.function.blocks)
        self.dominators = immediate_dominators(self.graph, 0)
        self.order = list(reversed(postorder((0,), self.graph.successors.__getitem__)))
        texts = {operand for each in self._instructions() for operand in each.statement.operands}
        self.has_one_dimension = not any(
            name in text for text in texts for name in ("%tid.y", "%tid.z")
        )
        self.is_irreducible = False
        self.loops = self._loops()
        self.edge_literals: dict[tuple[int, int], Value] = {}
        self._phis = self._phi_places()
        self.block_of = {
            each.number: block.number
            for block in self.function.blocks
            for each in block.instructions
        }
        self._solved: dict[tuple[int, str], tuple[str, Value]] = {}
        self._open: dict[tuple[int, str], Opaque] = {}
        self.block_of_phi: dict[Value, int] = {}
        self._used: dict[tuple[int, str], Value] = {}
        self._own: dict[int, dict[str, Value]] = {}
        for _ in range(_PASSES):
            self._walk()
            if not self._solve():
                break

    def operand(self, instruction: PtxInstruction, text: str, bits: int = 0) -> Value:
        """The value of an operand as an instruction finds it; ``bits`` of a constant."""
        return self._operand(instruction.number, text.strip(), bits)

    def guard(self, instruction: PtxInstruction) -> tuple[Value, bool] | None:
        """The predicate of an instruction and what it has to be; None for an instruction
        without."""
        guard = instruction.statement.guard
        if not guard:
            return None
        return self.operand(instruction, guard.removeprefix("!"), 1), not guard.startswith("!")

    def address(self, instruction: PtxInstruction, text: str) -> Value:
        """The value of an address, ``%rd1+8`` or ``s+-4``, as one of 64 bits."""
        register, _, rest = text.replace(" ", "").partition("+")
        base = self.expressions.resized(self.operand(instruction, register, 64), 64)
        offset = number(rest) if rest else 0
        if offset is None:
            return self.table.opaque(f"address {text}", 64, varies=True)
        return self.expressions.apply("add", (base, self.expressions.constant(offset, 64)), 64)

    def result(self, instruction: PtxInstruction, register: str) -> Value:
        """The value that a register has after an instruction that defines it."""
        return self.table.result(instruction.number, register, self._bits(register))

    # The graph

    def _instructions(self) -> Iterator[PtxInstruction]:
        yield from self.function.instructions

    def _loops(self) -> dict[int, Loop]:
        loops: dict[int, Loop] = {}
        for head, latches in by_head(back_edges(self.graph, (0,))).items():
            if not all(dominates(self.dominators, head, latch) for latch in latches):
                self.is_irreducible = True
                continue
            blocks = natural_loop(self.graph, head, latches)
            assert blocks is not None
            loops[head] = Loop(head, blocks, tuple(latches), self.table.iteration(head, 32))
        return loops

    def _phi_places(self) -> dict[int, tuple[str, ...]]:
        """The registers that have several definitions where paths from them meet, by block."""
        written: dict[str, set[int]] = {}
        times: dict[str, int] = {}
        for block in self.function.blocks:
            if block.number not in self.dominators:
                continue
            for each in block.instructions:
                for register in each.statement.defines:
                    written.setdefault(register, set()).add(block.number)
                    times[register] = times.get(register, 0) + 1
        frontiers = self._frontiers()
        places: dict[int, list[str]] = {}
        for register, blocks in written.items():
            if times[register] < 2:
                continue
            work, at = [*blocks], set[int]()
            while work:
                for target in frontiers.get(work.pop(), ()):
                    if target not in at:
                        at.add(target)
                        work.append(target)
            for block in at:
                places.setdefault(block, []).append(register)
        return {block: tuple(own) for block, own in places.items()}

    def _frontiers(self) -> Mapping[int, set[int]]:
        frontiers: dict[int, set[int]] = {}
        for block in self.dominators:
            before = [p for p in self.graph.predecessors[block] if p in self.dominators]
            if len(before) < 2 and not (block == 0 and before):
                continue
            for start in before:
                runner = start
                while runner != self.dominators[block] or (block == 0 and runner == 0):
                    frontiers.setdefault(runner, set()).add(block)
                    if runner == self.dominators[runner]:
                        break
                    runner = self.dominators[runner]
        return frontiers

    # One pass

    def _walk(self) -> None:
        self._own, self._used, self.edge_literals = {}, {}, {}
        self._open, self.block_of_phi = {}, {}
        for block in self.order:
            own = self._own[block] = {}
            for register in self._phis.get(block, ()):
                own[register] = self._phi(block, register)
            for each in self.function.blocks[block].instructions:
                self._step(block, each)
            self._branch(block)

    def _lookup(self, block: int, register: str) -> Value | None:
        while True:
            known = self._own[block].get(register)
            if known is not None:
                return known
            above = self.dominators[block]
            if above == block:
                return None
            block = above

    def _phi(self, block: int, register: str) -> Value:
        loop = self.loops.get(block)
        latches = loop.latches if loop is not None else ()
        before = [p for p in self.graph.predecessors[block] if p in self._own and p not in latches]
        coming = [self._lookup(p, register) for p in before]
        start = self._joined(block, before, coming)
        if loop is None:
            return start if start is not None else self._unknown(block, register)
        solved = self._solved.get((block, register))
        if solved is not None and start is not None:
            return self._after_iterations(loop, start, *solved)
        unknown = self._unknown(block, register)
        self._open[block, register] = unknown
        return unknown

    def _unknown(self, block: int, register: str) -> Opaque:
        value = self.table.opaque(f"phi {block} {register}", self._bits(register), varies=True)
        assert isinstance(value, Opaque)
        self.block_of_phi[value] = block
        return value

    def _joined(
        self, block: int, before: Sequence[int], coming: Sequence[Value | None]
    ) -> Value | None:
        """The value where paths meet: that of all, or the choice of a branch; None: not known."""
        if not coming or any(value is None for value in coming):
            known = {value for value in coming if value is not None}
            # A register that is not written on one path is not read after it.
            return known.pop() if len(known) == 1 and block not in self.loops else None
        values = [value for value in coming if value is not None]
        if all(value is values[0] for value in values):
            return values[0]
        if len(values) != 2:
            return None
        sides = [self._side(block, p) for p in before]
        if sides[0] is None or sides[1] is None or sides[0] is sides[1]:
            return None
        return self.expressions.chosen(sides[0], *values)

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

    def _after_iterations(self, loop: Loop, start: Value, operation: str, step: Value) -> Value:
        e = self.expressions
        if operation == "same":
            return start
        if operation == "sequence":
            return step
        times = e.resized(loop.iteration, start.bits)
        grown = e.apply("mul", (times, e.resized(step, start.bits)), start.bits)
        return e.apply(operation, (start, grown), start.bits)

    def _branch(self, block: int) -> None:
        """The conditions of the edges that leave a block."""
        own = self.function.blocks[block].instructions
        targets = self.graph.successors[block]
        if not own or len(targets) != 2 or own[-1].statement.operation == "brx":
            return
        guard = self.guard(own[-1])
        if guard is None:
            return
        value, polarity = guard
        yes = value if polarity else self.expressions.negated(value)
        jump = own[-1].statement
        first, second = targets
        if jump.operation != "bra":
            return
        # The successor that the label names comes first.
        self.edge_literals[block, first] = yes
        self.edge_literals[block, second] = self.expressions.negated(yes)

    def _step(self, block: int, each: PtxInstruction) -> None:
        statement, own = each.statement, self._own[block]
        for name in statement.uses:
            value = self._lookup(block, name)
            if value is not None:
                self._used[each.number, name] = value
        for register, value in self._defined(each):
            if statement.guard:
                condition = self._operand(each.number, statement.guard.removeprefix("!"), 1)
                if statement.guard.startswith("!"):
                    condition = self.expressions.negated(condition)
                old = self._lookup(block, register)
                if old is not None:
                    value = self.expressions.chosen(condition, value, old)
            own[register] = value

    def _defined(self, each: PtxInstruction) -> Iterator[tuple[str, Value]]:
        """The registers that an instruction writes, with their values."""
        statement = each.statement
        targets = list(statement.defines)
        if not targets:
            return
        if statement.opcode.of_parameters and statement.opcode.head == "ld":
            yield from self._parameters(statement)
            return
        if statement.kind is not Kind.COMPUTE and statement.operation != "mapa":
            for register in targets:
                yield register, self._returned(each, register)
            return
        sources = [text for role, text in statement.with_roles() if role is not OperandRole.DEFINE]
        if any(text.startswith(("{", "[")) for text in sources) or len(targets) > 1:
            yield from self._several(each, targets, sources)
            return
        # A constant has the width of the operation, which takes the low bits of 64.
        arguments = [self._operand(each.number, text, 64) for text in sources]
        bits = self._bits(targets[0])
        yield targets[0], value_of(self.expressions, statement, arguments, bits)

    def _returned(self, each: PtxInstruction, register: str) -> Value:
        statement = each.statement
        if statement.operation == "elect" and self._bits(register) == 1:
            return self.table.thread("%elect", 1)
        return self.result(each, register)

    def _several(
        self, each: PtxInstruction, targets: Sequence[str], sources: Sequence[str]
    ) -> Iterator[tuple[str, Value]]:
        """The values of an instruction with two results, or with vectors of registers."""
        statement, e = each.statement, self.expressions
        if statement.operation == "setp" and len(targets) == 2 and not statement.opcode.boolean:
            arguments = [
                self._operand(each.number, text, statement.opcode.width) for text in sources
            ]
            value = compared(e, statement, arguments)
            yield targets[0], value
            yield targets[1], e.negated(value)
            return
        is_move = statement.operation == "mov"
        if is_move and len(targets) == 2 and len(sources) == 1 and not sources[0].startswith("{"):
            whole = self._operand(each.number, sources[0], 2 * self._bits(targets[0]))
            half = self._bits(targets[0])
            if whole.bits == 2 * half:
                yield targets[0], e.resized(whole, half)
                high = e.apply("lshr", (whole, e.constant(half, whole.bits)), whole.bits)
                yield targets[1], e.resized(high, half)
                return
        if is_move and len(targets) == 1 and sources[0].startswith("{"):
            bits = self._bits(targets[0])
            parts = [text.strip() for text in sources[0].strip("{} ").split(",")]
            if len(parts) == 2 and "_" not in parts:
                low, high = (
                    e.resized(self._operand(each.number, text, bits // 2), bits) for text in parts
                )
                up = e.apply("shl", (high, e.constant(bits // 2, bits)), bits)
                yield targets[0], e.apply("or", (low, up), bits)
                return
        for register in targets:
            yield register, self.result(each, register)

    def _parameters(self, statement: Statement) -> Iterator[tuple[str, Value]]:
        address = statement.operands[1].strip("[] ").replace(" ", "")
        name, _, rest = address.partition("+")
        offset = number(rest) if rest else 0
        width = statement.opcode.width
        for place, register in enumerate(statement.defines):
            at = (offset or 0) + place * width // 8
            value = self.table.param(f"{name}+{at}" if at else name, width)
            signed = statement.opcode.type.startswith("s")
            yield register, self.expressions.resized(value, self._bits(register), signed=signed)

    def _operand(self, instruction: int, text: str, bits: int) -> Value:
        if text.startswith("!"):
            return self.expressions.negated(self._operand(instruction, text[1:].strip(), 1))
        known = self._used.get((instruction, text))
        if known is not None:
            return known
        if text in self.places.variables:
            return self.table.param(variable_named(text), 64)
        if (constant := number(text)) is not None:
            return self.expressions.constant(constant, bits or 64)
        if [*names_in(text)] == [text]:
            is_parameter = text in self.places.parameters
            # A register that no path writes before, or what only calls have.
            return self.table.opaque(
                f"{'parameter' if is_parameter else 'unwritten'} {text}",
                bits or self._bits(text),
                varies=True,
            )
        return self._special(text, bits)

    def _special(self, name: str, bits: int) -> Value:
        e = self.expressions
        if name == "WARP_SZ":
            return e.constant(_WARP, 32)
        if name == "%laneid" and self.has_one_dimension:
            thread = self._special("%tid.x", 32)
            return e.apply("and", (thread, e.constant(_WARP - 1, 32)), 32)
        threads = self.function.threads
        if name.startswith("%ntid.") and threads is not None and name[-1] in "xyz":
            return e.constant(threads["xyz".index(name[-1])], 32)
        if name.startswith("%tid."):
            return self.table.thread(name, 32)
        if any(name.startswith(each) for each in _CTA_WIDE):
            return self.table.constant(name, 32)
        if name.startswith("%lanemask_"):
            return self.table.apply(name, (self._special("%laneid", 32),), 32)
        return self.table.opaque(f"special {name}", bits or 32, varies=True)

    def _bits(self, register: str) -> int:
        element = element_of((self.function.type_of(register) or "b32").removeprefix("."))
        return element[1] * element[2] if element is not None else 32

    # Loops

    def _solve(self) -> bool:
        """Find registers of loops that change by a step, outer loops first; true if some are
        new."""
        fresh: dict[tuple[int, str], tuple[str, Value]] = {}
        solving = set[Value]()
        for block in self.order:
            for register in self._phis.get(block, ()):
                phi = self._open.get((block, register))
                if phi is None:
                    continue
                step = self._step_of(self.loops[block], register, phi)
                if step is None and (value := self._sequence(block, phi)) is not None:
                    step = "sequence", value
                if step is None or leaves((step[1],)) & solving:
                    continue
                fresh[block, register] = step
                solving.add(phi)
        self._solved |= fresh
        return bool(fresh)

    def _step_of(self, loop: Loop, register: str, phi: Opaque) -> tuple[str, Value] | None:
        coming = {self._lookup(latch, register) for latch in loop.latches}
        if len(coming) != 1 or (value := coming.pop()) is None or value.bits != phi.bits:
            return None
        zero = self.expressions.constant(0, phi.bits)
        if value is phi:
            return "same", zero
        if isinstance(value, Apply) and value.operation in ("lshr", "shl"):
            shifted, by = value.arguments
            return (value.operation, by) if shifted is phi and number_of(by) else None
        step = self._addend(value, phi)
        if step is None or not self._is_invariant(step, loop):
            return None
        return "add", step

    def _sequence(self, block: int, phi: Opaque) -> Value | None:
        """The value of a register that comes back to where a loop began, with others of it."""
        loop = self.loops[block]
        starts: dict[Value, Value] = {}
        following: dict[Value, Value] = {}
        for register in self._phis[block]:
            own = self._open.get((block, register))
            coming = {self._lookup(latch, register) for latch in loop.latches}
            entering = {
                self._lookup(before, register)
                for before in self.graph.predecessors[block]
                if before in self._own and before not in loop.latches
            }
            if own is None or len(coming) != 1 or len(entering) != 1:
                continue
            after, start = coming.pop(), entering.pop()
            if after is not None and start is not None and after.bits == own.bits:
                starts[own], following[own] = start, after
        return sequence_of(self.expressions, loop.iteration, phi, starts, following)

    def _addend(self, value: Value, phi: Value) -> Value | None:
        """The sum of all that is added to a phi once; None for any other form."""
        e, bits = self.expressions, phi.bits
        total, count = e.constant(0, bits), 0
        work = [(value, False)]
        while work:
            part, negative = work.pop()
            if part is phi:
                count += -1 if negative else 1
            elif isinstance(part, Apply) and part.operation in ("add", "sub"):
                left, right = part.arguments
                work += [(left, negative), (right, negative ^ (part.operation == "sub"))]
            elif phi in leaves((part,)):
                return None
            else:
                total = e.apply("sub" if negative else "add", (total, part), bits)
        return total if count == 1 else None

    def _is_invariant(self, value: Value, loop: Loop) -> bool:
        for leaf in leaves((value,)):
            if isinstance(leaf, Iteration) and leaf.head in loop.blocks:
                return False
            if isinstance(leaf, Result) and self.block_of[leaf.instruction] in loop.blocks:
                return False
            if isinstance(leaf, Opaque) and self.block_of_phi.get(leaf, -1) in loop.blocks:
                return False
        return True
