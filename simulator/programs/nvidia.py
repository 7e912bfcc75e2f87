"""Kernels of PTX files as threads of a litmus test of the PTX model.

Executed is what litmus tests and small kernels use: accesses of 32-bit words (or of bytes that
nothing else accesses otherwise), atomics, fences, barriers, mbarriers, copies and their groups,
proxy fences, arithmetic on words, branches. A copy of many bytes is one of a word, the only one
that may be accessed there. Addresses are those of locations: what is computed from constants and
the thread's numbers is computed here. Anything else is refused with its line. Each litmus thread
is one thread of a work-group, numbered in the test's order.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import postorder
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    CONTROL,
    MBARRIER_WAITS,
    Opcode,
    OperandRole,
    Statement,
    element_of,
    names_in,
    number,
    split_operands,
)
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.core.condition import Comparison
from fencewright.simulator.core.program import (
    SIGN,
    Arithmetic,
    ArithmeticKind,
    Branch,
    Computation,
    Label,
    Move,
    Operand,
    Placement,
    signed,
)
from fencewright.simulator.core.words import TOO_WIDE, WORD_MASK, fits_word
from fencewright.simulator.ptx import instructions as ptx
from fencewright.simulator.ptx.builder import (
    MODELLED,
    OTHER_INSTRUCTIONS,
    Given,
    ModelError,
    build,
)
from fencewright.simulator.semantics import python, term
from fencewright.simulator.semantics.formulas import formula_of
from fencewright.simulator.semantics.operands import literal

WORD = 4
"""The bytes of a location."""
_WARP = 32
_OF_INTEGERS = frozenset(
    {"multimem ld_reduce", "multimem st", "multimem red", "cp reduce async bulk"}
    | {"st async", "red async", "st async release", "red async release"}
)
_OF_A_MAP = "only the tensor map says of which type the elements are, and so which is less"
_MISSING: Mapping[str, str] = {
    **OTHER_INSTRUCTIONS,
    **dict.fromkeys(
        ("multimem cp async bulk", "multimem cp reduce async bulk"),
        "copies to and from multicast addresses",
    ),
    "mbarrier pending_count": "counts as values",
    "bar red": "what a barrier computes of all threads",
    "barrier red": "what a barrier computes of all threads",
}
"""The parts that the model, or this reader, lacks for an operation, by its first word or all of
them."""

_END = "done"
_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)


@dataclass(frozen=True, slots=True)
class ToLocation:
    """An argument that is the address of a location of the test."""

    name: str


@dataclass(frozen=True, slots=True)
class ToRegister:
    """An argument through which the kernel stores the value of a register."""

    name: str


Argument = ToLocation | ToRegister | int
"""The value to which a kernel's parameter is bound; a number stands for itself."""


@dataclass(frozen=True, slots=True)
class LaunchIndex:
    """The place of a thread among those of its test: in its work-group, its cluster, the grid."""

    place: Placement
    thread: int
    threads: int
    groups: int
    rank: int = 0
    ranks: tuple[int, ...] = (0,)
    """The work-groups of the cluster, by rank."""

    def special(self, name: str) -> int | None:
        """The value of a special register; None for one that has none here."""
        values = {
            "%tid.x": self.thread,
            "%ntid.x": self.threads,
            "%ctaid.x": self.place.workgroup,
            "%nctaid.x": self.groups,
            "%cluster_ctarank": self.rank,
            "%cluster_nctarank": len(self.ranks),
            **dict.fromkeys(("%tid.y", "%tid.z", "%ctaid.y", "%ctaid.z"), 0),
            **dict.fromkeys(("%ntid.y", "%ntid.z", "%nctaid.y", "%nctaid.z"), 1),
        }
        return values.get(name)


@dataclass(frozen=True, slots=True)
class _Address:
    """``offset`` bytes into a location of the test, or into a variable of a work-group."""

    name: str
    offset: int = 0
    group: int | None = None
    is_register: bool = False


class _Dynamic:
    """A value that only the run knows."""


_DYNAMIC = _Dynamic()
_Value = _Address | int | _Dynamic
"""The value of a register, as far as it is known before the run."""


@dataclass(slots=True)
class Column:
    """The instructions of a thread, with the line of the file that each is from.

    ``locations`` of shared memory with their work-groups, ``mbarriers`` those that are no data.
    ``globals``: the values of variables in global memory, which are locations of these names.
    """

    instructions: list[ptx.PtxInstruction] = field(default_factory=list[ptx.PtxInstruction])
    lines: list[int] = field(default_factory=list[int])
    locations: dict[str, int] = field(default_factory=dict[str, int])
    mbarriers: set[str] = field(default_factory=set[str])
    globals: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """Facts on the memory that kernels reach by addresses, from their test and from themselves.

    ``variables``: the location or mbarrier that a variable in shared memory is, by its name and
    its work-group. ``multicasts``: what each multicast address accesses. ``described``: the
    locations that a tensor map may describe, by its value. ``sizes``: the bytes of a location
    that stands for a tile. ``widths`` of the locations that kernels have accessed, in bits, with
    the place of the first access, which ``where`` says in words of its line.
    """

    variables: Mapping[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    multicasts: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    described: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    widths: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    where: Callable[[int], str] = "in line {}".format

    def peer(self, name: str, group: int) -> str | None:
        """The location of another work-group for one in shared memory; None if there is none."""
        own = next((variable for (variable, _), each in self.variables.items() if each == name), "")
        return self.variables.get((own, group))


def read_column(
    module: PtxFile,
    kernel: PtxFunction,
    arguments: Sequence[Argument],
    situation: LaunchIndex,
    memory: KnownMemory,
) -> Column:
    """A kernel as one thread of a test runs it. Raises ``PtxError`` at what is not executed."""
    if len(arguments) != len(kernel.parameters):
        raise kernel.error(
            kernel.line,
            f"'{kernel.name}' has {len(kernel.parameters)} parameters, "
            f"the thread gives {len(arguments)}",
        )
    return _Reader(module, kernel, arguments, situation, memory).read()


_MASKS = {8: 0xFF, 16: 0xFFFF, 32: WORD_MASK, 64: (1 << 64) - 1}
_COMPUTED: Mapping[str, ArithmeticKind] = {
    each: ArithmeticKind(each) for each in ("add", "sub", "and", "or", "xor", "min", "max")
}
_SIGNED = frozenset({"min", "max"})
"""The arithmetic that the model has for signed words alone."""
_SETS: Mapping[Comparison, ArithmeticKind] = {
    Comparison.EQ: ArithmeticKind.EQ,
    Comparison.NE: ArithmeticKind.NE,
    Comparison.LT: ArithmeticKind.LT,
    Comparison.LE: ArithmeticKind.LE,
}
_COPIES = frozenset({"mov", "cvta", "cvt"})
_WHOLE = frozenset({"u32", "s32", "b32", "u64", "s64", "b64"})
"""The types between which a conversion keeps the low word."""
_COMPARISONS: Mapping[str, Comparison] = {
    **{each.word: each for each in Comparison},
    **{"lo": Comparison.LT, "ls": Comparison.LE, "hi": Comparison.GT, "hs": Comparison.GE},
}
_UNSIGNED = frozenset({"lo", "ls", "hi", "hs"})
_SWAPPED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}
_SILENT = frozenset({"bar warp sync", "pmevent", "nanosleep", "createpolicy"})
"""Instructions that mean nothing to threads of a warp of their own."""
_OPPOSITE = {
    Comparison.EQ: Comparison.NE,
    Comparison.NE: Comparison.EQ,
    Comparison.LT: Comparison.GE,
    Comparison.GE: Comparison.LT,
    Comparison.GT: Comparison.LE,
    Comparison.LE: Comparison.GT,
}


@dataclass(frozen=True, slots=True)
class _Compared:
    """A comparison that was computed: the instructions, and the register that was free before.

    Branches compare signed words: those of one that ``is_unsigned`` have their signs changed.
    """

    predicate: str
    instructions: range
    next: int
    kind: Comparison
    left: Operand
    right: Operand
    is_unsigned: bool


class _Reader:
    """One thread."""

    def __init__(
        self,
        module: PtxFile,
        kernel: PtxFunction,
        arguments: Sequence[Argument],
        situation: LaunchIndex,
        memory: KnownMemory,
    ):
        self.kernel = kernel
        self.test = memory
        self.situation = situation
        self.column = Column()
        self.parameters = {
            each.name: value for each, value in zip(kernel.parameters, arguments, strict=True)
        }
        self.variables = {**module.variables, **kernel.variables}
        self.values = self._solve()
        self.uses = Counter(name for each in kernel.instructions for name in each.statement.uses)
        self.compared: _Compared | None = None
        self.registers = dict[str, str]()
        taken = [a.name for a in arguments if isinstance(a, ToRegister)]
        self.next = max((int(name[1:]) + 1 for name in taken), default=0)
        self._share_accumulators()
        self.long_copies: dict[str, int] = {}
        self.line = kernel.line
        self.block = kernel.blocks[0]
        self.skips = 0

    def error(self, problem: str) -> Exception:
        return self.kernel.error(self.line, problem)

    # Values known before the run

    def _solve(self) -> dict[str, _Value]:
        """The value of every register; dynamic where two instructions write different values."""
        instructions = list(self.kernel.instructions)
        values: dict[str, _Value] = {}
        changed = True
        while changed:
            changed = False
            for each in instructions:
                for register in each.statement.defines:
                    found = self._evaluate(each.statement, values)
                    if found is None:
                        continue
                    before = values.get(register)
                    if before is not None and before != found:
                        found = _DYNAMIC
                    if before is not found and before != found:
                        values[register] = found
                        changed = True
        return values

    def _evaluate(self, statement: Statement, values: Mapping[str, _Value]) -> _Value | None:
        """The result of an instruction; None while an operand has no value yet."""
        operation, operands = statement.operation, statement.operands
        if operation == "ld param":
            name = next(iter(names_in(operands[1])), "")
            bound = self.parameters.get(name, _DYNAMIC)
            if isinstance(bound, ToLocation):
                return _Address(bound.name)
            return (
                _Address(bound.name, is_register=True) if isinstance(bound, ToRegister) else bound
            )
        taken: list[_Value] = []
        for role, operand in statement.roles:
            if role is OperandRole.DEFINE:
                continue
            found = self._known(operand, values)
            if found is None:
                return None
            taken.append(found)
        return self._computed(statement, taken)

    def _computed(self, statement: Statement, taken: Sequence[_Value]) -> _Value:
        operation, opcode = statement.operation, statement.opcode
        is_number = len(taken) == 1 and isinstance(taken[0], int)
        if operation in _COPIES and len(taken) == 1 and not (operation == "cvt" and is_number):
            return taken[0]
        if operation == "mapa":
            return self._peer(*taken)
        if len(taken) == 2 and operation in ("add", "sub"):
            moved = _moved(operation, taken[0], taken[1])
            if moved is not None:
                return moved
        numbers = [each for each in taken if isinstance(each, int)]
        compute = _function_of(opcode)
        if compute is None or len(numbers) != len(taken) or len(statement.defines) != 1:
            return _DYNAMIC
        return compute(*numbers)

    def _peer(self, address: _Value, rank: _Value) -> _Value:
        """The address of the same variable in another work-group of the cluster."""
        ranks = self.situation.ranks
        if not isinstance(address, _Address) or not isinstance(rank, int) or rank >= len(ranks):
            return _DYNAMIC
        if address.group is not None:
            return replace(address, group=ranks[rank])
        peer = self.test.peer(address.name, ranks[rank])
        return _DYNAMIC if peer is None else replace(address, name=peer)

    def _known(self, operand: str, values: Mapping[str, _Value]) -> _Value | None:
        """The value of an operand, before the run."""
        value = number(operand)
        if value is None:
            value = literal(operand, "b64")
        if value is not None:
            return value
        special = self.situation.special(operand)
        if special is not None:
            return special
        space = self.variables[operand].space if operand in self.variables else ""
        if space in ("shared", "global"):
            group = self.situation.place.workgroup if space == "shared" else None
            return _Address(operand, 0, group)
        if self.kernel.type_of(operand) is None:
            return _DYNAMIC
        return values.get(operand)

    # Execution

    def read(self) -> Column:
        """The instructions of the thread."""
        reached = self._reached()
        for block in self.kernel.blocks:
            if block.number not in reached:
                continue
            if block.labels:
                self.add(Label(_label(block.number)))
            self._block(block)
        self.add(Label(_END))
        self._check_copies()
        return self.column

    def _reached(self) -> frozenset[int]:
        """The blocks that this thread may come to: not those of other threads of its kernel."""
        blocks = self.kernel.blocks
        return frozenset(postorder([0], lambda number: self._following(blocks[number])))

    def _following(self, block: PtxBlock) -> Sequence[int]:
        end = block.instructions[-1].statement if block.instructions else None
        if end is None or not end.guard or end.kind not in CONTROL or end.operation == "call":
            return block.successors
        # The taken side of a branch comes first; the other one last.
        holds = self._holds(end.guard)
        if holds is None:
            return block.successors
        return block.successors[: end.operation == "bra"] if holds else block.successors[-1:]

    def _share_accumulators(self) -> None:
        """Give all registers of an accumulator of ``wgmma`` one register: a tile is one word."""
        for each in self.kernel.instructions:
            operation = each.statement.operation
            if operation == "wgmma mma_async":
                for tile in filter(_is_list, each.statement.operands):
                    names = tuple(names_in(tile))
                    known = (self.registers[name] for name in names if name in self.registers)
                    self.registers |= dict.fromkeys(names, next(known, None) or self.fresh())

    def _check_copies(self) -> None:
        """Refuse a copy of more than a word to or from a variable of which more is accessed."""
        for name, line in self.long_copies.items():
            others = [each for each in self.column.locations if each.startswith(f"{name}_")]
            if others:
                self.line = line
                raise self.error(
                    f"a copy is executed as one of a word, but more of '{name}' is accessed"
                )

    def _block(self, block: PtxBlock) -> None:
        self.block = block
        for each in block.instructions:
            self.line = each.line
            if each.statement.operation in MBARRIER_WAITS and self._is_loop(block):
                self.wait(each.statement, in_loop=True)
                after = self._after_loop(block)
                if after is not None:
                    self.add(Branch(_label(after)))
                return
            self._guarded(each)

    def _is_loop(self, block: PtxBlock) -> bool:
        """True if a block is no more than a wait that is done again until it succeeds."""
        if len(block.instructions) != 2:
            return False
        wait, jump = (each.statement for each in block.instructions)
        complete = wait.defines[0] if wait.defines else ""
        if jump.operation != "bra" or wait.guard or not complete:
            return False
        if jump.guard == f"!{complete}":
            return block.successors[0] == block.number
        return jump.guard == complete and self._jumps_to(block.successors[1:], block.number)

    def _jumps_to(self, following: Sequence[int], target: int) -> bool:
        """True if the next code is nothing but a jump to a block."""
        if not following:
            return False
        block = self.kernel.blocks[following[0]]
        return (
            len(block.instructions) == 1
            and block.instructions[0].statement.operation == "bra"
            and not block.instructions[0].statement.guard
            and block.successors == (target,)
        )

    def _after_loop(self, block: PtxBlock) -> int | None:
        """The block after a loop that jumps out of itself; None where it falls through."""
        jump = block.instructions[-1].statement
        return None if jump.guard.startswith("!") else block.successors[0]

    def _guarded(self, each: PtxInstruction) -> None:
        statement = each.statement
        guard = statement.guard
        holds = not guard or statement.operation == "bra" or self._holds(guard)
        if holds is not None:
            if holds:
                self.instruction(each)
            return
        self.skips += 1
        skip = f"skip{self.skips}"
        condition = self.operand(guard.lstrip("!"))
        self.add(Branch(skip, condition, unless=not guard.startswith("!")))
        self.instruction(each)
        self.add(Label(skip))

    def _holds(self, guard: str) -> bool | None:
        """The outcome of a guard, where it is known before the run."""
        value = self.values.get(guard.lstrip("!"))
        return bool(value) is not guard.startswith("!") if isinstance(value, int) else None

    def instruction(self, each: PtxInstruction) -> None:
        """Append the steps of an instruction, without its guard."""
        statement = each.statement
        operation = statement.operation
        if statement.opcode.fit.faults:
            raise self.error(f"'{statement.opcode.name}' {statement.opcode.problem}")
        if operation in _SILENT or operation == "ld param":
            return
        if statement.defines and all(
            not isinstance(self.values.get(each, _DYNAMIC), _Dynamic) for each in statement.defines
        ):
            return
        handler = _HANDLERS.get(operation)
        if handler is None and operation in MODELLED and operation not in _MISSING:
            handler = _Reader.by_roles
        if handler is None and _function_of(statement.opcode) is not None:
            handler = _Reader.apply
        if handler is None:
            missing = _MISSING.get(operation) or _MISSING.get(statement.opcode.head)
            why = "" if missing is None else f": {missing}"
            raise self.error(f"'{statement.opcode.name}' is not executed{why}")
        handler(self, statement)

    def add(self, instruction: ptx.PtxInstruction) -> None:
        """Append an instruction; a branch to the next one in any case is left out."""
        if isinstance(instruction, Label) and self.column.instructions[-1:] == [
            Branch(instruction.name)
        ]:
            self.column.instructions.pop()
            self.column.lines.pop()
        self.column.instructions.append(instruction)
        self.column.lines.append(self.line)

    def build(self, statement: Statement, *operands: Given) -> None:
        """Append the model's instruction for a statement."""
        try:
            self.add(build(statement.opcode, operands))
        except ModelError as problem:
            raise self.error(f"in the PTX model, {problem.message}") from problem

    def fresh(self) -> str:
        """A register that nothing else uses."""
        self.next += 1
        return f"r{self.next - 1}"

    def result(self, register: str) -> str:
        """The register of the test for one of PTX."""
        if register == "_":
            return self.fresh()
        bits = self.kernel.type_of(register)
        if bits is None:
            raise self.error(f"'{register}' is no register")
        if register not in self.registers:
            self.registers[register] = self.fresh()
        return self.registers[register]

    def operand(self, text: str) -> Operand:
        """A register or number of the test."""
        value = self._known(text, self.values)
        if isinstance(value, int):
            if not fits_word(_as_number(value, 64, True)):
                raise self.error(f"in the PTX model, '{value}' {TOO_WIDE}")
            return signed(value & WORD_MASK)
        if isinstance(value, _Address):
            raise self.error(f"the address {text} is used as a value")
        if self.kernel.type_of(text) is None:
            raise self.error(f"the value of {text} is not known")
        return self.result(text)

    def address(self, text: str) -> _Address:
        """The location at the address of an operand in brackets."""
        names = [*names_in(text)]
        base = self._known(names[0], self.values) if names else None
        rest = text[len(names[0]) :].replace(" ", "").removeprefix("+") if names else ""
        offset = number(rest) if rest else 0
        if not isinstance(base, _Address) or offset is None:
            raise self.error(f"'{text}' must be the address of a location of the test")
        return _Address(base.name, base.offset + offset, base.group, base.is_register)

    def location(self, text: str, width: int | None) -> str:
        """The location at an address; ``width`` in bits, None where nothing is accessed."""
        address = self.address(text)
        if address.is_register:
            raise self.error(f"the argument of '{address.name}' may only be stored to, weakly")
        if address.name in self.test.multicasts:
            raise self.error(f"'{address.name}' is a multicast address: only multimem accesses it")
        variable = self.variables.get(address.name)
        if address.group is None and variable is not None and variable.space == "global":
            name = _shared_name(address, several=False)
            self.column.globals[name] = self._initial(address, (width or 32) // 8)
        elif address.group is None:
            if address.offset:
                raise self.error(
                    f"{address.offset} bytes into '{address.name}': a location is one word"
                )
            name = address.name
        elif (known := self._variable(address)) is not None:
            name = known
        else:
            name = _shared_name(address, len(self.situation.ranks) + self.situation.groups > 2)
            self.column.locations[name] = address.group
        if width is not None:
            here = width, self.test.where(self.line)
            known, before = self.test.widths.setdefault(name, here)
            if known != width:
                raise self.error(f"'{name}' has {known} bits {before}, and {width} here")
        return name

    def _initial(self, address: _Address, size: int) -> int:
        """The bytes that a variable in global memory has at an address before the launch."""
        variable = self.variables[address.name]
        if variable.size is None or not 0 <= address.offset <= variable.size - size:
            raise self.error(
                f"{size} bytes at byte {address.offset} of '{address.name}', "
                f"which has {variable.size or 0} here"
            )
        data = bytearray(variable.size)
        for at, text in enumerate(variable.values):
            value = literal(text, variable.type)
            if value is None:
                raise self.error(f"'{address.name}' holds an address: {text}")
            begin = at * variable.element
            data[begin : begin + variable.element] = value.to_bytes(variable.element, "little")
        return int.from_bytes(data[address.offset : address.offset + size], "little")

    def _variable(self, address: _Address) -> str | None:
        """The test's name of a variable in shared memory, if it has one."""
        if address.offset or address.group is None:
            return None
        return self.test.variables.get((address.name, address.group))

    # Memory

    def by_roles(self, statement: Statement) -> None:
        """An instruction that the model has as it is, by the roles of its operands."""
        self._check(statement)
        roles = statement.roles
        if "L2::cache_hint" in statement.opcode.words:
            roles = roles[:-1]
        operands = [self.given(statement, *each) for each in roles]
        if statement.operation == "cp async bulk tensor":
            # A tile is one location, which says how many bytes complete.
            operands.insert(2, self._size(str(operands[0])))
        self.build(statement, *operands)

    def _check(self, statement: Statement) -> None:
        """Refuse a space or a type that the model does not have."""
        opcode, operation = statement.opcode, statement.operation
        for space in opcode.spaces:
            if space not in (AddressSpace.GLOBAL, *_SHARED):
                raise self.error(f"{opcode.name}: memory of {space} is not executed")
        is_of_words = opcode.width * opcode.vector == 32
        is_integer = not opcode.type.startswith(("f", "bf", "e"))
        if operation in _OF_INTEGERS and not (is_of_words and is_integer):
            raise self.error(f"a location is an integer of 32 bits; {opcode.name} is not executed")
        if _is_of_a_word(statement):
            self.word(statement)
        if operation == "cp reduce async bulk tensor" and opcode.update in ("min", "max"):
            raise self.error(_OF_A_MAP)

    def given(self, statement: Statement, role: OperandRole, operand: str) -> Given:
        """An operand as the model has it."""
        is_bracketed = operand.startswith("[")
        text = operand[1:-1].strip() if is_bracketed else operand
        match role:
            case OperandRole.MBARRIER | OperandRole.SIGNAL:
                return self.mbarrier(text)
            case OperandRole.READ | OperandRole.WRITE | OperandRole.UPDATE:
                return self.memory(statement, text)
            case OperandRole.TENSORMAP:
                return self.tensor_map(text)
            case OperandRole.DEFINE if operand == "_" and statement.kind is Kind.SIGNAL:
                return operand
            case OperandRole.DEFINE if not _is_list(text):
                return self.result(text)
            case OperandRole.DEFINE | OperandRole.DESCRIPTOR | OperandRole.TENSOR_MEMORY:
                return self.tile(text)
            case _ if is_bracketed:
                return self.location(text, None)
            case _:
                return self.operand(text.strip("{ }"))

    def memory(self, statement: Statement, text: str) -> Given:
        """The locations at an address: one, or those of a multicast address."""
        if statement.opcode.head == "multimem":
            return self.peers(text)
        if _is_of_a_word(statement):
            return self.location(text, self.word(statement))
        name = self.location(text, WORD * 8)
        if next(iter(statement.accesses)).size != WORD:
            self.long_copies[name] = self.line
        return name

    def word(self, statement: Statement) -> int:
        """The width of an access in bits; a number is refused that the model does not have."""
        opcode, is_rmw = statement.opcode, statement.kind is Kind.RMW
        widths = (32,) if is_rmw else (8, 16, 32)
        if opcode.vector > 1 or opcode.width not in widths or (is_rmw and opcode.is_float):
            raise self.error(f"a location is 32 bits wide; {opcode.name} is not executed")
        return opcode.width

    def peers(self, text: str) -> tuple[str, ...]:
        """The locations that a multicast address stands for."""
        address = self.address(text)
        peers = self.test.multicasts.get(address.name)
        if peers is None or address.offset:
            raise self.error(f"'{address.name}' is no multicast address (litmus.multicast)")
        return peers

    def tensor_map(self, text: str) -> ptx.TensorMap:
        """The map of ``map, {coordinates}``: a tile is one location, wherever in its tensor."""
        name = self.location(split_operands(text)[0], None)
        described = self.test.described.get(name)
        if not described:
            problem = "does not say what tensor it describes: 'describes'"
            raise self.error(f"location '{name}' {problem}")
        return ptx.TensorMap(name, tuple((each,) for each in described))

    def _size(self, name: str) -> int:
        """The bytes of a location: as the test says, or as the variable of that name is
        declared."""
        variable = self.variables.get(name)
        size = self.test.sizes.get(name, None if variable is None else variable.size)
        if size is None:
            raise self.error(f"location '{name}' does not say how large it is: 'bytes'")
        return size

    def store(self, statement: Statement) -> None:
        address = self.address(statement.operand(OperandRole.WRITE))
        if address.is_register:
            if statement.is_strong or address.offset:
                raise self.error(f"the argument of '{address.name}' may only be stored to, weakly")
            self.add(Move(address.name, self.operand(statement.operands[1])))
            return
        self.by_roles(statement)

    def hint(self, statement: Statement) -> None:
        """A hint, which the model keeps where it is of a location by itself."""
        address = statement.operands[0][1:-1].strip()
        known = self._known(address, self.values)
        if isinstance(known, _Address) and known == _Address(known.name):
            named = f"{statement.opcode.name} {known.name}"
            self.add(ptx.Hint(", ".join((named, *statement.operands[1:]))))

    def elect(self, statement: Statement) -> None:
        """Each thread of the test is a warp of its own, or the lane that its warp elects."""
        lane, _, elected = statement.operands[0].partition("|")
        if lane.strip() != "_" or not elected:
            raise self.error(
                f"'{statement.opcode.name}' is not executed: the elected lane's number"
            )
        self.add(Move(self.result(elected.strip()), 1))

    # Synchronisation

    def barrier(self, statement: Statement) -> None:
        role = ptx.BarrierRole(statement.operation_words[1])
        named, *counts = [self.operand(each) for each in statement.operands] or [0]
        count = None
        if counts:
            if isinstance(counts[0], str) or counts[0] % _WARP:
                raise self.error(f"a barrier counts whole warps, not {counts[0]} threads")
            # Each thread of the test is a warp of its own.
            count = counts[0] // _WARP
        self.add(ptx.Bar(role, 0, named, count))

    def mbarrier(self, text: str) -> str:
        """The location that is an mbarrier."""
        name = self.location(text, None)
        self.column.mbarriers.add(name)
        return name

    def wait(self, statement: Statement, in_loop: bool = False) -> None:
        """A wait until the phase is complete, or one look whether it is."""
        name = self.mbarrier(statement.operand(OperandRole.MBARRIER))
        complete = [] if in_loop else [self.result(statement.operands[0])]
        self.build(statement, *complete, name, self.operand(statement.operands[2]))

    # Tensor cores

    def product(self, statement: Statement) -> None:
        """``wgmma`` and ``tcgen05.mma``, whose descriptors are the addresses of tiles."""
        tiles, rest = statement.operands[:3], statement.operands[3:]
        if statement.opcode.head == "tcgen05":
            # An instruction descriptor, and for some forms lanes that are not written.
            rest = tuple(each for each in rest[1:] if not _is_list(each))
        scale = [self.operand(each) for each in rest[:1]]
        names = (each[1:-1].strip() if each.startswith("[") else each for each in tiles)
        self.build(statement, *map(self.tile, names), *scale)

    def map_field(self, statement: Statement) -> None:
        """``tensormap.replace``: an address is its number among those that the map may describe."""
        target, value = statement.operands[0], statement.operands[-1]
        name = self.location(target[1:-1].strip(), None)
        address = self._known(value, self.values)
        described = self.test.described.get(name, ())
        if isinstance(address, _Address) and address.name in described and not address.offset:
            self.build(statement, name, described.index(address.name))
            return
        self.build(statement, name, self.operand(value))

    def tile(self, text: str) -> Operand:
        """A tile of one word: the register or registers that it is in, or its location."""
        if not _is_list(text):
            return self.location(text, None)
        registers = {self.result(name) for name in text.strip("{ }").split(", ")}
        if len(registers) != 1:
            raise self.error(f"a tile is executed as one word, and {text} are several")
        return registers.pop()

    def map_shared(self, statement: Statement) -> None:
        """``mapa`` of an operand that is no address of the test: others are known already."""
        address, rank = (self._known(each, self.values) for each in statement.operands[1:])
        if not isinstance(rank, int):
            raise self.error("the peer must be a number, as an argument of the kernel")
        if not isinstance(address, _Address):
            raise self.error(f"'{statement.operands[1]}' must be the address of a location")
        raise self.error(f"the test has no location that is '{address.name}' in work-group {rank}")

    # Values

    def move(self, statement: Statement) -> None:
        if len(statement.operands) != 2 or statement.operands[0].startswith("{"):
            raise self.error(f"'{statement.opcode.name}' of several registers is not executed")
        if statement.operation == "cvt" and not _WHOLE.issuperset(statement.opcode.words[1:]):
            self.apply(statement)
            return
        target = self.result(statement.operands[0])
        self.add(Move(target, self.operand(statement.operands[1])))

    def compute(self, statement: Statement) -> None:
        operation, opcode = statement.operation, statement.opcode
        is_word = opcode.width in (1, 32) and not opcode.type.startswith(("f", "bf"))
        is_low = operation == "mul" and "lo" in opcode.words
        is_word &= operation not in _SIGNED or opcode.type == "s32"
        if not is_word or (operation not in _COMPUTED and not is_low) or "cc" in opcode.words:
            self.apply(statement)
            return
        a, b = (self.operand(each) for each in statement.operands[1:])
        kind = _COMPUTED.get(operation, ArithmeticKind.MUL)
        self.add(Arithmetic(kind, self.result(statement.operands[0]), a, b))

    def apply(self, statement: Statement) -> None:
        """A computation on words by its formula, as the executor of whole kernels has it."""
        opcode, function = statement.opcode, _function_of(statement.opcode)
        sources = [each for role, each in statement.roles if role is not OperandRole.DEFINE]
        named = [*statement.defines, *statement.uses]
        is_of_words = all(map(self._is_word, named)) and len(statement.defines) == 1
        if function is None or not is_of_words or "approx" in opcode.words:
            raise self.error(f"'{opcode.name}' is not executed on a value of the run")
        operands = tuple(map(self.operand, sources))
        target = self.result(statement.operands[0])
        self.add(Computation(opcode.name, target, operands, function))

    def _is_word(self, register: str) -> bool:
        """True of a register that has 32 bits or less, or one of the hardware's."""
        type = self.kernel.type_of(register)
        element = None if type is None else element_of(type)
        return element is None or element[1] * element[2] <= 32

    def negate(self, statement: Statement) -> None:
        if statement.opcode.type != "s32":
            self.apply(statement)
            return
        value = self.operand(statement.operands[-1])
        self.add(Arithmetic(ArithmeticKind.SUB, self.result(statement.operands[0]), 0, value))

    def invert(self, statement: Statement) -> None:
        mask = 1 if statement.opcode.width == 1 else -1
        dst = self.result(statement.operands[0])
        self.add(Arithmetic(ArithmeticKind.XOR, dst, self.operand(statement.operands[-1]), mask))

    def compare(self, statement: Statement) -> None:
        opcode = statement.opcode
        kind = _COMPARISONS.get(opcode.comparison)
        is_plain = len(statement.operands) == 3 and "|" not in statement.operands[0]
        if not is_plain or kind is None or opcode.width != 32 or opcode.is_float:
            self.apply(statement)
            return
        predicate, *operands = statement.operands
        left, right = map(self.operand, operands)
        is_ordered = kind not in (Comparison.EQ, Comparison.NE)
        is_signed = opcode.type.startswith("s") and opcode.comparison not in _UNSIGNED
        first, following = len(self.column.instructions), self.next
        a, b = (left, right) if kind in _SETS else (right, left)
        if is_signed and is_ordered:
            a, b = self.flipped(a), self.flipped(b)
        computed = _SETS[_SWAPPED.get(kind, kind)]
        self.add(Arithmetic(computed, self.result(predicate), a, b))
        instructions = range(first, len(self.column.instructions))
        is_unsigned = is_ordered and not is_signed
        self.compared = _Compared(
            predicate, instructions, following, kind, left, right, is_unsigned
        )

    def flipped(self, operand: Operand) -> Operand:
        """A word with its sign changed, by which signed order becomes unsigned order."""
        if isinstance(operand, int):
            return signed(operand & WORD_MASK ^ SIGN)
        dst = self.fresh()
        self.add(Arithmetic(ArithmeticKind.XOR, dst, operand, SIGN))
        return dst

    def select(self, statement: Statement) -> None:
        if statement.opcode.width != 32:
            self.apply(statement)
            return
        target, a, b, predicate = statement.operands
        chosen, opposite, other = self.fresh(), self.fresh(), self.fresh()
        condition = self.operand(predicate)
        self.add(Arithmetic(ArithmeticKind.MUL, chosen, condition, self.operand(a)))
        self.add(Arithmetic(ArithmeticKind.XOR, opposite, condition, 1))
        self.add(Arithmetic(ArithmeticKind.MUL, other, opposite, self.operand(b)))
        self.add(Arithmetic(ArithmeticKind.ADD, self.result(target), chosen, other))

    # Control flow

    def branch(self, statement: Statement) -> None:
        # The target comes first; what follows where the branch is not taken, second.
        label = _label(self.block.successors[0])
        guard = statement.guard
        holds = not guard or self._holds(guard)
        if holds:
            self.add(Branch(label))
        elif holds is None:
            name, is_negated = guard.lstrip("!"), guard.startswith("!")
            if (test := self.compared) is not None and self._is_of_branch(test, name):
                self._compare_and_branch(test, label, is_negated)
            else:
                self.add(Branch(label, self.operand(name), unless=is_negated))

    def _is_of_branch(self, test: "_Compared", name: str) -> bool:
        """True if the last computed value is a branch's condition, and nothing else uses it."""
        is_last = test.instructions.stop == len(self.column.instructions)
        return is_last and test.predicate == name and self.uses[name] == 1

    def _compare_and_branch(self, test: "_Compared", label: str, is_negated: bool) -> None:
        """A branch on a comparison, in place of the instructions that computed the comparison."""
        del self.column.instructions[test.instructions.start :]
        del self.column.lines[test.instructions.start :]
        del self.registers[test.predicate]
        self.next = test.next
        a, b = test.left, test.right
        if test.is_unsigned:
            a, b = self.flipped(a), self.flipped(b)
        kind = _OPPOSITE[test.kind] if is_negated else test.kind
        if b == 0 and kind in (Comparison.EQ, Comparison.NE):
            self.add(Branch(label, a, unless=kind is Comparison.EQ))
        else:
            self.add(ptx.CompareBranch(label, kind, a, b))

    def end(self, statement: Statement) -> None:
        self.add(Branch(_END))


_Handler = Callable[[_Reader, Statement], None]

_HANDLERS: Mapping[str, _Handler] = {
    "st": _Reader.store,
    **dict.fromkeys(("prefetch", "prefetchu", "applypriority"), _Reader.hint),
    **dict.fromkeys(("cp async bulk prefetch", "cp async bulk prefetch tensor"), _Reader.hint),
    **dict.fromkeys(("bar sync", "bar arrive", "barrier sync", "barrier arrive"), _Reader.barrier),
    **dict.fromkeys(MBARRIER_WAITS, _Reader.wait),
    "elect": _Reader.elect,
    **dict.fromkeys(("wgmma mma_async", "tcgen05 mma"), _Reader.product),
    "tensormap replace": _Reader.map_field,
    "mapa": _Reader.map_shared,
    **dict.fromkeys(_COPIES, _Reader.move),
    **dict.fromkeys((*_COMPUTED, "mul"), _Reader.compute),
    "neg": _Reader.negate,
    "not": _Reader.invert,
    "setp": _Reader.compare,
    "selp": _Reader.select,
    "bra": _Reader.branch,
    "ret": _Reader.end,
    "exit": _Reader.end,
}
"""The reader of each operation."""


def _is_of_a_word(statement: Statement) -> bool:
    """True of an access that has a width, of one location by itself."""
    opcode = statement.opcode
    return statement.kind in ACCESSES and opcode.width > 0 and opcode.head != "multimem"


def _is_list(operand: str) -> bool:
    """True of registers in braces."""
    return operand.startswith("{")


def _label(block: int) -> str:
    return f"bb{block}"


def _shared_name(address: _Address, several: bool) -> str:
    """The location for a place in shared memory."""
    name = "".join(each if each.isalnum() else "_" for each in address.name)
    if address.offset:
        name += f"_{address.offset}"
    return f"{name}_cta{address.group}" if several else name


def _moved(operation: str, a: _Value, b: _Value) -> _Address | None:
    """An address with a constant added to it or taken from it; None for other operands."""
    if operation == "add" and isinstance(b, _Address):
        a, b = b, a
    if not isinstance(a, _Address) or not isinstance(b, int):
        return None
    offset = b if operation == "add" else -b
    if offset >= 1 << 63:
        offset -= 1 << 64
    return _Address(a.name, a.offset + offset, a.group, a.is_register)


@cache
def _function_of(opcode: Opcode) -> Callable[..., int] | None:
    """The result of an instruction, of numbers; None without a formula."""
    formula = formula_of(opcode)
    if formula is None or formula.takes_carry:
        return None
    elements = [element_of(each) for each in formula.types]
    ones = [(1 << each[1] * each[2]) - 1 for each in elements if each is not None]
    terms = [term.operand(at, each.bit_length()) for at, each in enumerate(ones)]
    function = python.function(formula.compute(terms, opcode.width)[0], len(terms))

    def compute(*given: int) -> int:
        return function(*[each & mask for each, mask in zip(given, ones, strict=True)])

    return compute


def _as_number(value: int, width: int, is_signed: bool) -> int:
    """A value as the type that an instruction takes it for."""
    mask = _MASKS.get(width)
    if mask is None:
        return value
    value &= mask
    return value - mask - 1 if is_signed and value > mask >> 1 else value
