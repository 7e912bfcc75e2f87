"""Values of the registers of a PTX function at each instruction."""

from collections.abc import Iterator, Mapping, Sequence, Set

from fencewright.checker.verdicts.expressions import leaves, number_of, variable_named
from fencewright.checker.verdicts.ptx.operations import compared, value_of
from fencewright.checker.verdicts.register_values import RegisterValues
from fencewright.lowering.code.effects import READING, Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.code.value import Opaque, Value
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import (
    Statement,
    element_of,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxInstruction

_CTA_WIDE = (
    "%ntid. %ctaid. %nctaid. %clusterid. %nclusterid. %cluster_ctaid. %cluster_nctaid. "
    "%cluster_ctarank %cluster_nctarank %gridid %dynamic_smem_size %total_smem_size"
).split()
_WARP = 32
_PARAMETER = "parameter "
"""The beginning of the name of the value that is a parameter's address."""
RESERVED = "%reserved_smem_offset_1"
"""The address of the shared memory that the system keeps for cooperative groups. Source: CUDA 13,
cooperative_groups/details/memory.h; PTX ISA, %reserved_smem_offset_<2>."""
_HALVES = ("%envreg1", "%envreg2")
_OF_GRID = "cooperative grid"
"""The registers with the address of a cooperative grid's memory, and that as a parameter.

Source: CUDA 13, cooperative_groups/details/driver_abi.h; PTX ISA, %envreg<32>.
"""


def is_parameter(value: Value) -> bool:
    """True of the address of a parameter of the kernel."""
    return isinstance(value, Opaque) and value.name.startswith(_PARAMETER)


class Registers(RegisterValues):
    """The values that a function's instructions use and define."""

    def __init__(self, places: Places, fixed: Mapping[int, str] | None = None):
        """``fixed``: loads of what all threads have alike, as they have parameters, with names."""
        self.function = places.function
        self.places = places
        self.fixed = fixed or {}
        blocks = self.function.blocks
        super().__init__(
            graph_of(blocks),
            {
                block.number: [
                    name for each in block.instructions for name in each.statement.defines
                ]
                for block in blocks
            },
            {each.number: block.number for block in blocks for each in block.instructions},
        )
        self.has_one_dimension = not any(
            name in ("%tid.y", "%tid.z")
            for each in self.function.instructions
            for name in each.statement.specials
        )
        self._widths: dict[str, int] = {}
        self._used: dict[tuple[int, str], Value] = {}
        self._at, self._own_uses = -1, dict[str, Value]()
        self.origins: dict[Value, tuple[Value, ...]] = {}
        """The values that a result of lanes, or of which no more is known, depends on."""
        self._solved_walks()

    def operand(self, instruction: PtxInstruction, text: str, bits: int = 0) -> Value:
        """The value of an operand as an instruction finds it; ``bits`` of a constant.

        Of those that compute without a guard none is kept.
        """
        return self._operand(_kept(instruction), text.strip(), bits)

    def guard(self, instruction: PtxInstruction) -> tuple[Value, bool] | None:
        """The predicate of an instruction and its required value; None if it has none."""
        guard = instruction.statement.guard
        if not guard:
            return None
        return self.operand(instruction, guard.removeprefix("!"), 1), not guard.startswith("!")

    def address(self, instruction: PtxInstruction, text: str) -> Value:
        """The value of an address, ``%rd1+8`` or ``s+-4``, as one of 64 bits.

        Shared memory ends before 2^31, so that an address of 32 bits equals its sign extension:
        the numbers in its sum may be negative.
        """
        return self._address(_kept(instruction), text)

    def _address(self, instruction: int, text: str) -> Value:
        register, _, rest = text.replace(" ", "").partition("+")
        base = self.expressions.resized(self._operand(instruction, register, 64), 64, signed=True)
        if not rest:
            return base
        offset = number(rest)
        if offset is None:
            return self.table.opaque(f"address {text}", 64, varies=True)
        return self.expressions.apply("add", (base, self.expressions.constant(offset, 64)), 64)

    def result(self, instruction: PtxInstruction, register: str) -> Value:
        """The value that a register has after an instruction that defines it."""
        return self.table.result(instruction.number, register, self._bits(register))

    # One pass

    def _forget(self, blocks: Set[int]) -> None:
        super()._forget(blocks)
        used, block_of = self._used, self.block_of
        self._used = {place: own for place, own in used.items() if block_of[place[0]] not in blocks}

    def _steps(self, block: int) -> None:
        for each in self.function.blocks[block].instructions:
            self._step(block, each)

    def _branch(self, block: int) -> None:
        """The conditions of the edges that leave a block."""
        own = self.function.blocks[block].instructions
        targets = self.graph.successors[block]
        if not own:
            return
        guard = self.guard(own[-1])
        if guard is None:
            self._by_table(block, own[-1])
            return
        value, polarity = guard
        yes = value if polarity else self.expressions.negated(value)
        jump = own[-1].statement
        if jump.kind is Kind.END and len(targets) == 1:
            # A thread that goes on has not ended.
            self.edge_literals[block, targets[0]] = self.expressions.negated(yes)
        if len(targets) != 2:
            return
        first, second = targets
        if jump.operation != "bra":
            return
        # The successor that the label names comes first.
        self.edge_literals[block, first] = yes
        self.edge_literals[block, second] = self.expressions.negated(yes)

    def _by_table(self, block: int, jump: PtxInstruction) -> None:
        """The conditions of the edges of a branch by a table: the indices that lead along each.

        Source: PTX ISA, brx.idx: an index beyond the table is not defined.
        """
        table, e = self.function.blocks[block].table, self.expressions
        for target in dict.fromkeys(table):
            index = self.operand(jump, jump.statement.operands[0], 32)
            holds = e.constant(0, 1)
            for place in (place for place, each in enumerate(table) if each == target):
                is_it = e.apply("eq", (index, e.constant(place, 32)), 1)
                holds = e.apply("or", (is_it, holds), 1)
            self.edge_literals[block, target] = holds

    def _step(self, block: int, each: PtxInstruction) -> None:
        statement, own = each.statement, self._own[block]
        used: dict[str, Value] = {}
        for name in statement.uses:
            value = self._lookup(block, name)
            if value is not None:
                used[name] = value
        self._at, self._own_uses = each.number, used
        if statement.guard or statement.kind is not Kind.COMPUTE:
            # Nobody asks for those of other instructions again.
            for name, value in used.items():
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
            place = self._parameter_at(each)
            if place is not None:
                yield from self._parameters(statement, *place)
            else:
                yield from ((register, self.result(each, register)) for register in targets)
            return
        if each.number in self.fixed:
            yield from self._parameters(statement, self.fixed[each.number], 0)
            return
        if statement.kind is not Kind.COMPUTE and statement.operation != "mapa":
            for register in targets:
                yield register, self._returned(each, register)
            return
        sources = statement.sources
        if not statement.shape.is_plain or len(targets) > 1:
            yield from self._several(each, targets, sources)
            return
        # A constant has the width of the operation, which takes the low bits of 64.
        arguments = [self._operand(each.number, text, 64) for text in sources]
        bits = self._bits(targets[0])
        if statement.operation == "bfi" and self._is_of_grid(arguments):
            yield targets[0], self.table.param(_OF_GRID, bits)
            return
        yield targets[0], value_of(self.expressions, statement, arguments, bits)

    def _is_of_grid(self, arguments: Sequence[Value]) -> bool:
        """True of the halves of the address where a cooperative grid counts its barriers."""
        high, low, *place = arguments
        parts = [leaf for each in (high, low) for leaf in leaves((each,))]
        named = [f"special {each}" for each in _HALVES]
        is_address = [each.name for each in parts if isinstance(each, Opaque)] == named
        return is_address and [number_of(each) for each in place] == [32, 32]

    def _returned(self, each: PtxInstruction, register: str) -> Value:
        statement = each.statement
        if statement.operation == "elect" and self._bits(register) == 1:
            return self.table.thread("%elect", 1)
        return self._of_operands(each, register)

    def _of_operands(self, each: PtxInstruction, register: str) -> Value:
        result = self.result(each, register)
        if each.statement.kind not in READING:
            self.origins[result] = tuple(self._own_uses.values())
        return result

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
            yield register, self._of_operands(each, register)

    def _parameter_at(self, each: PtxInstruction) -> tuple[str, int] | None:
        """The parameter that an instruction loads and the offset in it; None of another place.

        All threads have it alike, which is not so of one that a call returns.
        """
        address = self._address(each.number, each.statement.operands[1].strip("[] "))
        form = self.expressions.linear(address)
        begins = [part for part, times in form.terms if times == 1 and is_parameter(part)]
        if len(begins) != len(form.terms) or len(begins) != 1:
            return None
        assert isinstance(begins[0], Opaque)
        return begins[0].name.removeprefix(_PARAMETER), form.constant

    def _parameters(
        self, statement: Statement, name: str, offset: int
    ) -> Iterator[tuple[str, Value]]:
        width = statement.opcode.width
        for place, register in enumerate(statement.defines):
            at = offset + place * width // 8
            value = self.table.param(f"{name}+{at}" if at else name, width)
            signed = statement.opcode.type.startswith("s")
            yield register, self.expressions.resized(value, self._bits(register), signed=signed)

    def _operand(self, instruction: int, text: str, bits: int) -> Value:
        if text.startswith("!"):
            return self.expressions.negated(self._operand(instruction, text[1:].strip(), 1))
        is_own = instruction == self._at
        known = self._own_uses.get(text) if is_own else self._used.get((instruction, text))
        if known is not None:
            return known
        if text in self.places.variables:
            return self.table.param(variable_named(text), 64)
        if (constant := number(text)) is not None:
            return self.expressions.constant(constant, bits or 64)
        if [*names_in(text)] == [text]:
            # A register that no path writes before, or what only calls have.
            return self.table.opaque(
                f"{_PARAMETER if text in self.places.parameters else 'unwritten '}{text}",
                bits or self._bits(text),
                varies=True,
            )
        return self._special(text, bits)

    def _special(self, name: str, bits: int) -> Value:
        e = self.expressions
        if name == RESERVED:
            return self.table.param(variable_named(name), 64)
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
        if (found := self._widths.get(register)) is None:
            element = element_of((self.function.type_of(register) or "b32").removeprefix("."))
            found = element[1] * element[2] if element is not None else 32
            self._widths[register] = found
        return found


def _kept(instruction: PtxInstruction) -> int:
    """The number of an instruction whose operands are kept."""
    assert instruction.statement.guard or instruction.statement.kind is not Kind.COMPUTE
    return instruction.number
