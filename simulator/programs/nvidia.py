"""Kernels of PTX files as threads of a litmus test of the PTX model.

Executed is what litmus tests and small kernels use: accesses of 32-bit words (or of bytes that
nothing else accesses otherwise), atomics, fences, barriers, mbarriers, copies and their groups,
proxy fences, arithmetic on words, branches. A copy of many bytes is one of a word, the only one
that may be accessed there. Addresses are those of locations: what is computed from constants and
the thread's numbers is computed here. Anything else is refused with its line. Each litmus thread
is one thread of a work-group, numbered in the test's order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from fencewright.lowering.ptx.code.statements import (
    ARRIVALS,
    MBARRIER_WAITS,
    OperandRole,
    Statement,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.core.program import (
    SIGN,
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Move,
    Operand,
    Placement,
    signed,
)
from fencewright.simulator.core.words import WORD_MASK
from fencewright.simulator.ptx import instructions as ptx
from fencewright.simulator.ptx.builder import OTHER_INSTRUCTIONS, Given, ModelError, build

WORD = 4
"""The bytes of a location."""
_WARP = 32
_WITH_SIZE = frozenset({"cp async", "cp async bulk", "cp reduce async bulk"})
_OF_VALUES = frozenset({"st async", "red async", "st async release", "red async release"})
"""Copies whose source is a register."""
_COMPUTING = frozenset({"cp reduce async bulk", "red async", "red async release"})
_TILES = "tiles, which descriptors name"
_MAPS = "what a tensor map describes"
_MISSING: Mapping[str, str] = {
    **OTHER_INSTRUCTIONS,
    "wgmma": _TILES,
    "tcgen05": _TILES,
    "tensormap": _MAPS,
    "cp async bulk tensor": _MAPS,
    "cp async bulk tensor bulk_group": _MAPS,
    "cp reduce async bulk tensor": _MAPS,
    "fence proxy tensormap::generic": _MAPS,
    "multimem": "copies to and from multicast addresses",
    "mbarrier pending_count": "counts as values",
    "bar red": "what a barrier computes of all threads",
    "barrier red": "what a barrier computes of all threads",
}
"""What the model, or this reader, lacks for an operation, by its first word or all of them."""

_END = "done"
_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)


@dataclass(frozen=True, slots=True)
class ToLocation:
    """An argument that is the address of a location of the test."""

    name: str


@dataclass(frozen=True, slots=True)
class ToRegister:
    """An argument through which the kernel stores what becomes a register."""

    name: str


Argument = ToLocation | ToRegister | int
"""What a kernel's parameter is bound to; a number stands for itself."""


@dataclass(frozen=True, slots=True)
class LaunchIndex:
    """Where a thread is among those of its test: in its work-group, its cluster, the grid."""

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
"""What a register holds, as far as it is known before the run."""


@dataclass(slots=True)
class Column:
    """The instructions of a thread, with the line of the file that each is from.

    ``locations`` of shared memory with their work-groups, ``mbarriers`` those that are no data,
    ``widths`` of the locations in bits, with the line that says so.
    """

    instructions: list[ptx.PtxInstruction] = field(default_factory=list[ptx.PtxInstruction])
    lines: list[int] = field(default_factory=list[int])
    locations: dict[str, int] = field(default_factory=dict[str, int])
    mbarriers: set[str] = field(default_factory=set[str])
    widths: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def read_column(
    module: PtxFile,
    kernel: PtxFunction,
    arguments: Sequence[Argument],
    situation: LaunchIndex,
    multicasts: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Column:
    """A kernel as one thread of a test runs it. Raises ``PtxError`` at what is not executed.

    ``multicasts`` are the multicast addresses of the test, with what each accesses.
    """
    if len(arguments) != len(kernel.parameters):
        raise kernel.error(
            kernel.line,
            f"'{kernel.name}' has {len(kernel.parameters)} parameters, "
            f"the thread gives {len(arguments)}",
        )
    return _Reader(module, kernel, arguments, situation, multicasts).read()


_MASKS = {8: 0xFF, 16: 0xFFFF, 32: WORD_MASK, 64: (1 << 64) - 1}
_FOLDED: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << min(b, 64),
    "shr": lambda a, b: a >> min(b, 64),
    "min": min,
    "max": max,
}
_COMPUTED: Mapping[str, ArithmeticKind] = {
    each: ArithmeticKind(each) for each in ("add", "sub", "and", "or", "xor")
}
_SETS: Mapping[str, ArithmeticKind] = {
    "eq": ArithmeticKind.EQ,
    "ne": ArithmeticKind.NE,
    "lt": ArithmeticKind.LT,
    "le": ArithmeticKind.LE,
}
_COPIES = frozenset({"mov", "cvta", "cvt"})
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_SWAPPED = {"gt": "lt", "ge": "le"}
_SILENT = frozenset(
    {
        *("bar warp sync", "pmevent", "nanosleep", "prefetch", "prefetchu", "applypriority"),
        *("createpolicy", "cp async bulk prefetch", "cp async bulk prefetch tensor"),
    }
)
"""What means nothing to threads of a warp of their own."""


class _Reader:
    """One thread."""

    def __init__(
        self,
        module: PtxFile,
        kernel: PtxFunction,
        arguments: Sequence[Argument],
        situation: LaunchIndex,
        multicasts: Mapping[str, tuple[str, ...]],
    ):
        self.kernel = kernel
        self.multicasts = multicasts
        self.situation = situation
        self.column = Column()
        self.parameters = {
            each.name: value for each, value in zip(kernel.parameters, arguments, strict=True)
        }
        self.variables = {**module.variables, **kernel.variables}
        self.values = self._solve()
        self.registers: dict[str, str] = {}
        taken = [a.name for a in arguments if isinstance(a, ToRegister)]
        self.next = max((int(name[1:]) + 1 for name in taken), default=0)
        self.long_copies: dict[str, int] = {}
        self.line = kernel.line
        self.block = kernel.blocks[0]
        self.skips = 0

    def error(self, problem: str) -> Exception:
        return self.kernel.error(self.line, problem)

    # What is known before the run

    def _solve(self) -> dict[str, _Value]:
        """What every register holds; dynamic where two instructions write different values."""
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
        for role, operand in statement.with_roles():
            if role is OperandRole.DEFINE:
                continue
            found = self._known(operand, values)
            if found is None:
                return None
            taken.append(found)
        return self._computed(statement, taken)

    def _computed(self, statement: Statement, taken: Sequence[_Value]) -> _Value:
        operation, opcode = statement.operation, statement.opcode
        if operation in _COPIES and len(taken) == 1:
            return taken[0]
        if operation == "mapa" and isinstance(taken[0], _Address) and isinstance(taken[1], int):
            ranks = self.situation.ranks
            if taken[0].group is not None and taken[1] < len(ranks):
                return _Address(taken[0].name, taken[0].offset, ranks[taken[1]])
            return _DYNAMIC
        if len(taken) == 2 and operation in ("add", "sub"):
            moved = _moved(operation, taken[0], taken[1])
            if moved is not None:
                return moved
        numbers = [each for each in taken if isinstance(each, int)]
        if len(numbers) != len(taken) or "hi" in opcode.words:
            return _DYNAMIC
        width = 64 if "wide" in opcode.words else opcode.width
        if operation in _FOLDED and len(numbers) == 2 and width in _MASKS:
            signed_ = opcode.type.startswith("s")
            a, b = (_as_number(each, opcode.width, signed_) for each in numbers)
            return _FOLDED[operation](a, b) & _MASKS[width]
        if operation == "mad" and len(numbers) == 3 and width in _MASKS:
            return (numbers[0] * numbers[1] + numbers[2]) & _MASKS[width]
        if operation == "setp" and len(numbers) == 2 and opcode.comparison in _COMPARED:
            signed_ = opcode.type.startswith("s")
            a, b = (_as_number(each, opcode.width, signed_) for each in numbers)
            return int(_COMPARED[opcode.comparison](a, b))
        if operation == "selp" and len(numbers) == 3:
            return numbers[0] if numbers[2] else numbers[1]
        return _DYNAMIC

    def _known(self, operand: str, values: Mapping[str, _Value]) -> _Value | None:
        """What an operand is, before the run."""
        value = number(operand)
        if value is not None:
            return value
        special = self.situation.special(operand)
        if special is not None:
            return special
        if operand in self.variables and self.variables[operand].space == "shared":
            return _Address(operand, 0, self.situation.place.workgroup)
        if self.kernel.type_of(operand) is None:
            return _DYNAMIC
        return values.get(operand)

    # What is executed

    def read(self) -> Column:
        """The instructions of the thread."""
        for block in self.kernel.blocks:
            if block.labels:
                self.add(Label(_label(block.number)))
            self._block(block)
        self.add(Label(_END))
        self._check_copies()
        return self.column

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
        """Whether a block is no more than a wait that is done again until it succeeds."""
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
        """Whether what follows is nothing but a jump to a block."""
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
        """Where control goes from a loop that jumps out of itself; None where it falls through."""
        jump = block.instructions[-1].statement
        return None if jump.guard.startswith("!") else block.successors[0]

    def _guarded(self, each: PtxInstruction) -> None:
        statement = each.statement
        guard = statement.guard
        if not guard or statement.operation == "bra":
            self.instruction(each)
            return
        if self._is_never(guard):
            return
        if self._is_always(guard):
            self.instruction(each)
            return
        self.skips += 1
        skip = f"skip{self.skips}"
        condition = self.operand(guard.lstrip("!"))
        self.add(Branch(skip, condition, unless=not guard.startswith("!")))
        self.instruction(each)
        self.add(Label(skip))

    def _is_never(self, guard: str) -> bool:
        value = self.values.get(guard.lstrip("!"))
        return isinstance(value, int) and bool(value) is guard.startswith("!")

    def _is_always(self, guard: str) -> bool:
        value = self.values.get(guard.lstrip("!"))
        return isinstance(value, int) and bool(value) is not guard.startswith("!")

    def instruction(self, each: PtxInstruction) -> None:
        """Append what an instruction does, without its guard."""
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
        if handler is None:
            missing = _MISSING.get(operation) or _MISSING.get(operation.split()[0])
            why = "" if missing is None else f": {missing}"
            raise self.error(f"'{statement.opcode.name}' is not executed{why}")
        handler(self, statement)

    def add(self, instruction: ptx.PtxInstruction) -> None:
        """Append an instruction."""
        self.column.instructions.append(instruction)
        self.column.lines.append(self.line)

    def build(self, statement: Statement, *operands: Given) -> None:
        """Append what the model has for a statement."""
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
            return signed(value & WORD_MASK)
        if isinstance(value, _Address):
            raise self.error(f"the address {text} is used as a value")
        if self.kernel.type_of(text) is None:
            raise self.error(f"the value of {text} is not known")
        return self.result(text)

    def address(self, text: str) -> _Address:
        """What an operand in brackets is the address of."""
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
        if address.name in self.multicasts:
            raise self.error(f"'{address.name}' is a multicast address: only multimem accesses it")
        if address.group is None:
            if address.offset:
                raise self.error(
                    f"{address.offset} bytes into '{address.name}': a location is one word"
                )
            name = address.name
        else:
            name = _shared_name(address, len(self.situation.ranks) + self.situation.groups > 2)
            self.column.locations[name] = address.group
        if width is not None:
            known, line = self.column.widths.setdefault(name, (width, self.line))
            if known != width:
                raise self.error(f"'{name}' has {known} bits in line {line}, and {width} here")
        return name

    def word(self, statement: Statement) -> int:
        """The width of an access in bits; a number is refused that the model does not have."""
        opcode = statement.opcode
        if opcode.vector > 1 or opcode.width not in (8, 16, 32):
            raise self.error(f"a location is 32 bits wide; {opcode.name} is not executed")
        return opcode.width

    # Memory

    def load(self, statement: Statement) -> None:
        self.space(statement)
        width = self.word(statement)
        target = self.result(statement.operands[0])
        location = self.location(statement.operand(OperandRole.READ), width)
        self.build(statement, target, location)

    def store(self, statement: Statement) -> None:
        self.space(statement)
        text = statement.operand(OperandRole.WRITE)
        value = self.operand(statement.operands[1])
        address = self.address(text)
        if address.is_register:
            if statement.is_strong or address.offset:
                raise self.error(f"the argument of '{address.name}' may only be stored to, weakly")
            self.add(Move(address.name, value))
            return
        location = self.location(text, self.word(statement))
        self.build(statement, location, value)

    def multimem(self, statement: Statement) -> None:
        """An access of each location that a multicast address stands for."""
        opcode = statement.opcode
        if opcode.width * opcode.vector != 32 or opcode.type.startswith(("f", "bf", "e")):
            raise self.error(f"a location is an integer of 32 bits; {opcode.name} is not executed")
        at = next(n for n, each in enumerate(statement.operands) if each.startswith("["))
        address = self.address(statement.operands[at][1:-1].strip())
        peers = self.multicasts.get(address.name)
        if peers is None or address.offset:
            raise self.error(f"'{address.name}' is no multicast address (litmus.multicast)")
        given = [self.result(each) for each in statement.operands[:at]]
        values = [self.operand(each) for each in statement.operands[at + 1 :]]
        self.build(statement, *given, peers, *values)

    def zeros(self, statement: Statement) -> None:
        """``st.bulk``."""
        self.space(statement)
        name = self.location(statement.operand(OperandRole.WRITE), 32)
        self.long_copies[name] = self.line
        size, value = map(self.operand, statement.operands[1:])
        self.build(statement, name, size, value)

    def elect(self, statement: Statement) -> None:
        """Each thread of the test is a warp of its own, or the lane that its warp elects."""
        lane, _, elected = statement.operands[0].partition("|")
        if lane.strip() != "_" or not elected:
            raise self.error(
                f"'{statement.opcode.name}' is not executed: the elected lane's number"
            )
        self.add(Move(self.result(elected.strip()), 1))

    def atomic(self, statement: Statement) -> None:
        self.space(statement)
        if statement.opcode.type.startswith("f") or self.word(statement) != 32:
            raise self.error(f"a location is 32 bits wide; {statement.opcode.name} is not executed")
        location = self.location(statement.operand(OperandRole.UPDATE), 32)
        at = next(n for n, each in enumerate(statement.operands) if each.startswith("["))
        data = [self.operand(each) for each in statement.operands[at + 1 :]]
        dst = [self.result(statement.operands[0])] if statement.operation == "atom" else []
        self.build(statement, *dst, location, *data)

    def space(self, statement: Statement) -> None:
        """Refuse a space that the model does not have."""
        for space in statement.opcode.spaces:
            if space not in (AddressSpace.GLOBAL, *_SHARED):
                raise self.error(f"{statement.opcode.name}: memory of {space} is not executed")

    # Synchronisation

    def fence(self, statement: Statement) -> None:
        if statement.scope is None:
            raise self.error(f"{statement.opcode.name} has no scope")
        self.build(statement)

    def verbatim(self, statement: Statement) -> None:
        """A fence between proxies, or of what ``mbarrier.init`` did."""
        self.build(statement, *(self.operand(each) for each in statement.operands))

    def barrier(self, statement: Statement) -> None:
        role = ptx.BarrierRole(statement.operation.split()[1])
        named, *counts = [self.operand(each) for each in statement.operands] or [0]
        count = None
        if counts:
            if isinstance(counts[0], str) or counts[0] % _WARP:
                raise self.error(f"a barrier counts whole warps, not {counts[0]} threads")
            # Each thread of the test is a warp of its own.
            count = counts[0] // _WARP
        self.add(ptx.Bar(role, 0, named, count))

    def cluster_barrier(self, statement: Statement) -> None:
        self.build(statement)

    def mbarrier(self, statement: Statement) -> str:
        """The location that is an mbarrier."""
        name = self.location(statement.operand(OperandRole.MBARRIER), None)
        self.column.mbarriers.add(name)
        return name

    def on_mbarrier(self, statement: Statement) -> None:
        """``mbarrier.init``, ``.inval``, ``.expect_tx``, ``.complete_tx`` and arrivals."""
        if "noComplete" in statement.opcode.modifiers:
            missing = "an arrival that must not complete a phase"
            raise self.error(f"'{statement.opcode.name}' is not executed: {missing}")
        name = self.mbarrier(statement)
        at = next(n for n, each in enumerate(statement.operands) if each.startswith("["))
        given = [self.result(each) for each in statement.operands[:at] if each != "_"]
        counts = [self.operand(each) for each in statement.operands[at + 1 :]]
        self.build(statement, *given, name, *counts)

    def wait(self, statement: Statement, in_loop: bool = False) -> None:
        """A wait until the phase is complete, or one look whether it is."""
        name = self.mbarrier(statement)
        complete = [] if in_loop else [self.result(statement.operands[0])]
        self.build(statement, *complete, name, self.operand(statement.operands[2]))

    def copy(self, statement: Statement) -> None:
        """Copies of every kind, and stores that complete on an mbarrier."""
        words = statement.opcode.words
        if "multicast::cluster" in words:
            missing = "write a copy for each CTA"
            raise self.error(f"'{statement.opcode.name}' is not executed: {missing}")
        if "mmio" in words:
            raise self.error(f"'{statement.opcode.name}' is not executed: memory-mapped devices")
        operation, opcode = statement.operation, statement.opcode
        is_of_words = opcode.width * opcode.vector == 32 and not opcode.type.startswith(("f", "bf"))
        if operation in _OF_VALUES | _COMPUTING and not is_of_words:
            raise self.error(f"a location is an integer of 32 bits; {opcode.name} is not executed")
        operands: list[Operand] = []
        for role, each in statement.with_roles():
            text = each[1:-1].strip() if each.startswith("[") else each
            if role in (OperandRole.READ, OperandRole.WRITE, OperandRole.UPDATE):
                operands.append(self._copied(text, statement))
            elif role is OperandRole.SIGNAL:
                signalled = self.location(text, None)
                self.column.mbarriers.add(signalled)
                operands += [WORD] * (operation in _OF_VALUES)
                operands.append(signalled)
            elif len(operands) < 2 + (operation in _WITH_SIZE):
                operands.append(self.operand(each))
        self.build(statement, *operands)

    def _copied(self, text: str, statement: Statement) -> str:
        name = self.location(text, 32)
        size = next(iter(statement.accesses)).size
        if size != WORD and statement.operation not in _OF_VALUES:
            self.long_copies[name] = self.line
        return name

    def group(self, statement: Statement) -> None:
        """Commits of groups, and waits for them."""
        self.build(statement, *(self.operand(each) for each in statement.operands))

    def copies_arrive(self, statement: Statement) -> None:
        self.build(statement, self.mbarrier(statement))

    # Values

    def move(self, statement: Statement) -> None:
        if len(statement.operands) != 2 or statement.operands[0].startswith("{"):
            raise self.error(f"'{statement.opcode.name}' of several registers is not executed")
        narrow = statement.operation == "cvt" and statement.opcode.width < 32
        floating = statement.operation == "cvt" and "f" in statement.opcode.type
        if narrow or floating:
            raise self.error(f"'{statement.opcode.name}' is not executed")
        target = self.result(statement.operands[0])
        self.add(Move(target, self.operand(statement.operands[1])))

    def compute(self, statement: Statement) -> None:
        operation, opcode = statement.operation, statement.opcode
        is_word = opcode.width in (1, 32) and not opcode.type.startswith(("f", "bf"))
        is_low = operation == "mul" and "lo" in opcode.words
        if not is_word or (operation not in _COMPUTED and not is_low) or "cc" in opcode.words:
            raise self.error(f"'{opcode.name}' is not executed on a value of the run")
        a, b = (self.operand(each) for each in statement.operands[1:])
        kind = ArithmeticKind(operation)
        self.add(Arithmetic(kind, self.result(statement.operands[0]), a, b))

    def negate(self, statement: Statement) -> None:
        mask = 1 if statement.opcode.width == 1 else -1
        target, source = statement.operands
        dst = self.result(target)
        self.add(Arithmetic(ArithmeticKind.XOR, dst, self.operand(source), mask))

    def compare(self, statement: Statement) -> None:
        opcode = statement.opcode
        word = opcode.comparison
        if len(statement.operands) != 3 or "|" in statement.operands[0] or word not in _COMPARED:
            raise self.error(f"'{opcode.name}' is not executed")
        if opcode.width != 32 or opcode.type.startswith("f"):
            raise self.error(f"'{opcode.name}' is not executed on a value of the run")
        is_signed = opcode.type.startswith("s")
        word = _UNSIGNED.get(word, word)
        a, b = (self.operand(each) for each in statement.operands[1:])
        if word in _SWAPPED:
            a, b, word = b, a, _SWAPPED[word]
        if is_signed and word in ("lt", "le"):
            a, b = self.flipped(a), self.flipped(b)
        self.add(Arithmetic(_SETS[word], self.result(statement.operands[0]), a, b))

    def flipped(self, operand: Operand) -> Operand:
        """A word with its sign changed, by which signed order becomes unsigned order."""
        if isinstance(operand, int):
            return signed(operand & WORD_MASK ^ SIGN)
        dst = self.fresh()
        self.add(Arithmetic(ArithmeticKind.XOR, dst, operand, SIGN))
        return dst

    def select(self, statement: Statement) -> None:
        if statement.opcode.width != 32:
            raise self.error(f"'{statement.opcode.name}' is not executed on a value of the run")
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
        if not guard or self._is_always(guard):
            self.add(Branch(label))
        elif not self._is_never(guard):
            condition = self.operand(guard.lstrip("!"))
            self.add(Branch(label, condition, unless=guard.startswith("!")))

    def end(self, statement: Statement) -> None:
        self.add(Branch(_END))


_Handler = Callable[[_Reader, Statement], None]

_HANDLERS: Mapping[str, _Handler] = {
    "ld": _Reader.load,
    "ld nc": _Reader.load,
    "st": _Reader.store,
    "atom": _Reader.atomic,
    "red": _Reader.atomic,
    "fence": _Reader.fence,
    "membar": _Reader.fence,
    **dict.fromkeys(
        (
            "fence mbarrier_init",
            "fence proxy alias",
            "fence proxy async",
            "fence proxy async::generic",
            "membar proxy",
        ),
        _Reader.verbatim,
    ),
    **dict.fromkeys(
        ("bar sync", "bar arrive", "barrier sync", "barrier arrive"),
        _Reader.barrier,
    ),
    **dict.fromkeys(("barrier cluster arrive", "barrier cluster wait"), _Reader.cluster_barrier),
    **dict.fromkeys(
        (
            "mbarrier init",
            "mbarrier inval",
            "mbarrier expect_tx",
            "mbarrier complete_tx",
            *ARRIVALS,
        ),
        _Reader.on_mbarrier,
    ),
    **dict.fromkeys(MBARRIER_WAITS, _Reader.wait),
    **dict.fromkeys(
        ("cp async", "cp async bulk", "cp reduce async bulk", *_OF_VALUES), _Reader.copy
    ),
    **dict.fromkeys(("multimem ld_reduce", "multimem st", "multimem red"), _Reader.multimem),
    "st bulk": _Reader.zeros,
    "elect": _Reader.elect,
    "cp async mbarrier arrive": _Reader.copies_arrive,
    **dict.fromkeys(
        (
            "cp async commit_group",
            "cp async wait_group",
            "cp async wait_all",
            "cp async bulk commit_group",
            "cp async bulk wait_group",
        ),
        _Reader.group,
    ),
    **dict.fromkeys(_COPIES, _Reader.move),
    **dict.fromkeys((*_COMPUTED, "mul"), _Reader.compute),
    "not": _Reader.negate,
    "setp": _Reader.compare,
    "selp": _Reader.select,
    "bra": _Reader.branch,
    "ret": _Reader.end,
    "exit": _Reader.end,
}
"""Who reads an operation."""


def _label(block: int) -> str:
    return f"B{block}"


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


def _as_number(value: int, width: int, is_signed: bool) -> int:
    """A value as the type that an instruction takes it for."""
    mask = _MASKS.get(width)
    if mask is None:
        return value
    value &= mask
    return value - mask - 1 if is_signed and value > mask >> 1 else value
