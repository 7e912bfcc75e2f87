"""Kernels of PTX files as threads of a litmus test in columns, the form that the PTX model reads.

Executed is what litmus tests and small kernels use: accesses of 32-bit words (or of bytes that
nothing else accesses otherwise), atomics, fences, barriers, mbarriers, copies and their groups,
proxy fences, arithmetic on words, branches. A copy of many bytes is one of a word, the only one
that may be accessed there. Addresses are those of locations: what is computed from constants and
the thread's numbers is computed here. Anything else is refused with its line. Each litmus thread
is one thread of a work-group, numbered in the test's order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.simulator.core.program import SIGN, Placement, signed
from fencewright.simulator.core.words import WORD_MASK
from fencewright.simulator.ptx.builder import ATOMICS, OTHER_INSTRUCTIONS

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
    """A thread as the cells of its column, with the line of the file that each is from.

    ``locations`` of shared memory with their work-groups, ``mbarriers`` those that are no data,
    ``widths`` of the locations in bits, with the line that says so.
    """

    cells: list[str] = field(default_factory=list[str])
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
_IN_COLUMNS = frozenset({"add", "sub", "and", "or", "xor"})
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
_ORDERED = {
    Ordering.WEAK: "weak",
    Ordering.RELAXED: "relaxed",
    Ordering.ACQUIRE: "acquire",
    Ordering.RELEASE: "release",
    Ordering.ACQ_REL: "acq_rel",
    Ordering.SEQ_CST: "sc",
}
_SCOPED = {"workgroup": "cta", "cluster": "cluster", "agent": "gpu", "system": "sys"}
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
        words = opcode.name.split(".")
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
        if len(numbers) != len(taken) or "hi" in words[1:2]:
            return _DYNAMIC
        width = 64 if "wide" in words else opcode.width
        if operation in _FOLDED and len(numbers) == 2 and width in _MASKS:
            signed_ = opcode.type.startswith("s")
            a, b = (_as_number(each, opcode.width, signed_) for each in numbers)
            return _FOLDED[operation](a, b) & _MASKS[width]
        if operation == "mad" and len(numbers) == 3 and width in _MASKS:
            return (numbers[0] * numbers[1] + numbers[2]) & _MASKS[width]
        if operation == "setp" and len(numbers) == 2 and words[1] in _COMPARED:
            signed_ = opcode.type.startswith("s")
            a, b = (_as_number(each, opcode.width, signed_) for each in numbers)
            return int(_COMPARED[words[1]](a, b))
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
        """The cells of the column."""
        for block in self.kernel.blocks:
            if block.labels:
                self.cell(f"{_label(block.number)}:")
            self._block(block)
        self.cell(f"{_END}:")
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
                    self.cell(f"goto {_label(after)}")
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
        self.cell(
            f"{'bne' if guard.startswith('!') else 'beq'} {self.operand(guard.lstrip('!'))}, 0, {skip}"
        )
        self.instruction(each)
        self.cell(f"{skip}:")

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

    def cell(self, text: str) -> None:
        """Append a cell."""
        self.column.cells.append(text)
        self.column.lines.append(self.line)

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

    def operand(self, text: str) -> str:
        """A register or number of the test."""
        value = self._known(text, self.values)
        if isinstance(value, int):
            return str(signed(value & WORD_MASK))
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
        words = ["nc"] if "nc" in statement.opcode.name.split(".") else []
        self.cell(f"{'.'.join(['ld', *words, *self.semantics(statement)])} {target}, {location}")

    def store(self, statement: Statement) -> None:
        self.space(statement)
        text = statement.operand(OperandRole.WRITE)
        value = self.operand(statement.operands[1])
        address = self.address(text)
        if address.is_register:
            if statement.is_strong or address.offset:
                raise self.error(f"the argument of '{address.name}' may only be stored to, weakly")
            self.cell(f"mov {address.name}, {value}")
            return
        location = self.location(text, self.word(statement))
        self.cell(f"{'.'.join(['st', *self.semantics(statement)])} {location}, {value}")

    def multimem(self, statement: Statement) -> None:
        """An access of each location that a multicast address stands for."""
        opcode, kind = statement.opcode, statement.operation.split()[1]
        if opcode.width * opcode.vector != 32 or opcode.type.startswith(("f", "bf", "e")):
            raise self.error(f"a location is an integer of 32 bits; {opcode.name} is not executed")
        at = next(n for n, each in enumerate(statement.operands) if each.startswith("["))
        address = self.address(statement.operands[at][1:-1].strip())
        peers = self.multicasts.get(address.name)
        if peers is None or address.offset:
            raise self.error(f"'{address.name}' is no multicast address (litmus.multicast)")
        words = [word for word in opcode.name.split(".") if word in ATOMICS]
        unsigned = ["u32"] if {"min", "max"} & {*words} and opcode.type == "u32" else []
        given = [self.result(each) for each in statement.operands[:at]]
        values = [self.operand(each) for each in statement.operands[at + 1 :]]
        name = ".".join(["multimem", kind, *self.semantics(statement), *words, *unsigned])
        places = f"{{{', '.join(peers)}}}"
        self.cell(f"{name} {', '.join([*given, places, *values])}")

    def zeros(self, statement: Statement) -> None:
        """``st.bulk``."""
        self.space(statement)
        name = self.location(statement.operand(OperandRole.WRITE), 32)
        self.long_copies[name] = self.line
        size, value = map(self.operand, statement.operands[1:])
        self.cell(f"st.bulk {name}, {size}, {value}")

    def elect(self, statement: Statement) -> None:
        """Each thread of the test is a warp of its own, or the lane that its warp elects."""
        lane, _, elected = statement.operands[0].partition("|")
        if lane.strip() != "_" or not elected:
            raise self.error(
                f"'{statement.opcode.name}' is not executed: the elected lane's number"
            )
        self.cell(f"mov {self.result(elected.strip())}, 1")

    def atomic(self, statement: Statement) -> None:
        self.space(statement)
        words = statement.opcode.name.split(".")
        kind = next((word for word in words if word in ATOMICS or word == "cas"), None)
        if kind is None:
            raise self.error(f"{statement.opcode.name} is not executed")
        if statement.opcode.type.startswith("f") or self.word(statement) != 32:
            raise self.error(f"a location is 32 bits wide; {statement.opcode.name} is not executed")
        head = statement.operation
        location = self.location(statement.operand(OperandRole.UPDATE), 32)
        at = next(n for n, each in enumerate(statement.operands) if each.startswith("["))
        data = [self.operand(each) for each in statement.operands[at + 1 :]]
        dst = [self.result(statement.operands[0])] if head == "atom" else []
        unsigned = ["u32"] if kind in ("min", "max") and statement.opcode.type == "u32" else []
        name = ".".join([head, *self.semantics(statement), kind, *unsigned])
        self.cell(f"{name} {', '.join([*dst, location, *data])}")

    def space(self, statement: Statement) -> None:
        """Refuse a space that the model does not have."""
        for space in statement.opcode.spaces:
            if space not in (AddressSpace.GLOBAL, *_SHARED):
                raise self.error(f"{statement.opcode.name}: memory of {space} is not executed")

    def semantics(self, statement: Statement) -> tuple[str, ...]:
        """Ordering and scope as words of a name."""
        ordering, scope = statement.ordering, statement.scope
        assert ordering is not None
        words = [_ORDERED[ordering]]
        return (*words, _SCOPED[scope]) if scope is not None else tuple(words)

    # Synchronisation

    def fence(self, statement: Statement) -> None:
        restricted = [each for each in statement.opcode.modifiers if each.startswith("sync_")]
        ordering, *scope = self.semantics(statement)
        if not scope:
            raise self.error(f"{statement.opcode.name} has no scope")
        self.cell(".".join(["fence", ordering, *restricted, *scope]))

    def verbatim(self, statement: Statement) -> None:
        """What columns write as PTX does."""
        operands = [self.operand(each) for each in statement.operands]
        self.cell(" ".join([statement.opcode.name, ", ".join(operands)]).strip())

    def barrier(self, statement: Statement) -> None:
        role = statement.operation.split()[1]
        named, *count = [self.operand(each) for each in statement.operands] or ["0"]
        if count and int(count[0]) % _WARP:
            raise self.error(f"a barrier counts whole warps, not {count[0]} threads")
        # Each thread of the test is a warp of its own.
        counted = [str(int(each) // _WARP) for each in count]
        self.cell(f"bar.cta.{role} {', '.join(['0', named, *counted])}")

    def cluster_barrier(self, statement: Statement) -> None:
        role = statement.operation.split()[2]
        ordering = statement.ordering
        assert ordering is not None
        self.cell(f"barrier.cluster.{role}.{_ORDERED[ordering]}")

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
        words = statement.operation.split()
        if statement.is_strong:
            words += self.semantics(statement)
        at = next(n for n, each in enumerate(statement.operands) if each.startswith("["))
        given = [self.result(each) for each in statement.operands[:at] if each != "_"]
        counts = [self.operand(each) for each in statement.operands[at + 1 :]]
        self.cell(f"{'.'.join(words)} {', '.join([*given, name, *counts])}")

    def wait(self, statement: Statement, in_loop: bool = False) -> None:
        """A wait until the phase is complete, or one look whether it is."""
        name = self.mbarrier(statement)
        is_parity = "parity" in statement.opcode.name.split(".")
        words = [*statement.operation.split(), *(["parity"] if is_parity else [])]
        complete = [] if in_loop else [self.result(statement.operands[0])]
        operands = [*complete, name, self.operand(statement.operands[2])]
        self.cell(f"{'.'.join([*words, *self.semantics(statement)])} {', '.join(operands)}")

    def copy(self, statement: Statement) -> None:
        """Copies of every kind, and stores that complete on an mbarrier."""
        words = statement.opcode.name.split(".")
        if "multicast::cluster" in words:
            missing = "write a copy for each CTA"
            raise self.error(f"'{statement.opcode.name}' is not executed: {missing}")
        if "mmio" in words:
            raise self.error(f"'{statement.opcode.name}' is not executed: memory-mapped devices")
        operation, opcode = statement.operation, statement.opcode
        is_of_words = opcode.width * opcode.vector == 32 and not opcode.type.startswith(("f", "bf"))
        if operation in _OF_VALUES | _COMPUTING and not is_of_words:
            raise self.error(f"a location is an integer of 32 bits; {opcode.name} is not executed")
        name = [*operation.split()]
        if opcode.ordering is Ordering.RELEASE:
            name = [*name, *self.semantics(statement)[1:]]
        kind = [word for word in words if word in ATOMICS]
        unsigned = ["u32"] if kind and kind[0] in ("min", "max") and "u32" in words else []
        grouped = ["bulk_group"] if "bulk_group" in words else []
        operands: list[str] = []
        for role, each in statement.with_roles():
            text = each[1:-1].strip() if each.startswith("[") else each
            if role in (OperandRole.READ, OperandRole.WRITE, OperandRole.UPDATE):
                operands.append(self._copied(text, statement))
            elif role is OperandRole.SIGNAL:
                signalled = self.location(text, None)
                self.column.mbarriers.add(signalled)
                operands += [str(WORD)] * (operation in _OF_VALUES)
                operands.append(signalled)
            elif len(operands) < 2 + (operation in _WITH_SIZE):
                operands.append(self.operand(each))
        self.cell(f"{'.'.join([*name, *grouped, *kind, *unsigned])} {', '.join(operands)}")

    def _copied(self, text: str, statement: Statement) -> str:
        name = self.location(text, 32)
        size = next(iter(statement.accesses)).size
        if size != WORD and statement.operation not in _OF_VALUES:
            self.long_copies[name] = self.line
        return name

    def group(self, statement: Statement) -> None:
        """Commits of groups, and waits for them."""
        read = [word for word in ("read",) if word in statement.opcode.modifiers]
        operands = [self.operand(each) for each in statement.operands]
        name = ".".join([*statement.operation.split(), *read])
        self.cell(" ".join([name, *operands]))

    def copies_arrive(self, statement: Statement) -> None:
        noinc = ".noinc" if "noinc" in statement.opcode.modifiers else ""
        self.cell(f"cp.async.mbarrier.arrive{noinc} {self.mbarrier(statement)}")

    # Values

    def move(self, statement: Statement) -> None:
        if len(statement.operands) != 2 or statement.operands[0].startswith("{"):
            raise self.error(f"'{statement.opcode.name}' of several registers is not executed")
        narrow = statement.operation == "cvt" and statement.opcode.width < 32
        floating = statement.operation == "cvt" and "f" in statement.opcode.type
        if narrow or floating:
            raise self.error(f"'{statement.opcode.name}' is not executed")
        self.cell(
            f"mov {self.result(statement.operands[0])}, {self.operand(statement.operands[1])}"
        )

    def compute(self, statement: Statement) -> None:
        operation, opcode = statement.operation, statement.opcode
        words = opcode.name.split(".")
        is_word = opcode.width in (1, 32) and not opcode.type.startswith(("f", "bf"))
        is_low = operation == "mul" and "lo" in words
        if not is_word or (operation not in _IN_COLUMNS and not is_low) or "cc" in words:
            raise self.error(f"'{opcode.name}' is not executed on a value of the run")
        a, b = (self.operand(each) for each in statement.operands[1:])
        self.cell(f"{operation} {self.result(statement.operands[0])}, {a}, {b}")

    def negate(self, statement: Statement) -> None:
        mask = "1" if statement.opcode.width == 1 else "-1"
        target, source = statement.operands
        self.cell(f"xor {self.result(target)}, {self.operand(source)}, {mask}")

    def compare(self, statement: Statement) -> None:
        opcode = statement.opcode
        word = opcode.name.split(".")[1]
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
        name = f"setp.{word}" if word in ("eq", "ne") else f"setp.{word}.u32"
        self.cell(f"{name} {self.result(statement.operands[0])}, {a}, {b}")

    def flipped(self, operand: str) -> str:
        """A word with its sign changed, by which signed order becomes unsigned order."""
        if not operand.startswith("r"):
            return str(signed(int(operand) & WORD_MASK ^ SIGN))
        dst = self.fresh()
        self.cell(f"xor {dst}, {operand}, {SIGN}")
        return dst

    def select(self, statement: Statement) -> None:
        if statement.opcode.width != 32:
            raise self.error(f"'{statement.opcode.name}' is not executed on a value of the run")
        target, a, b, predicate = statement.operands
        chosen, opposite, other = self.fresh(), self.fresh(), self.fresh()
        condition = self.operand(predicate)
        self.cell(f"mul {chosen}, {condition}, {self.operand(a)}")
        self.cell(f"xor {opposite}, {condition}, 1")
        self.cell(f"mul {other}, {opposite}, {self.operand(b)}")
        self.cell(f"add {self.result(target)}, {chosen}, {other}")

    # Control flow

    def branch(self, statement: Statement) -> None:
        # The target comes first; what follows where the branch is not taken, second.
        label = _label(self.block.successors[0])
        guard = statement.guard
        if not guard or self._is_always(guard):
            self.cell(f"goto {label}")
        elif not self._is_never(guard):
            word = "beq" if guard.startswith("!") else "bne"
            self.cell(f"{word} {self.operand(guard.lstrip('!'))}, 0, {label}")

    def end(self, statement: Statement) -> None:
        self.cell(f"goto {_END}")


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
    **dict.fromkeys((*_IN_COLUMNS, "mul"), _Reader.compute),
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


def joined(columns: Iterable[Column]) -> tuple[dict[str, int], set[str]]:
    """The shared locations of all threads with their work-groups, and which are mbarriers."""
    locations: dict[str, int] = {}
    mbarriers: set[str] = set()
    for each in columns:
        locations |= each.locations
        mbarriers |= each.mbarriers
    return locations, mbarriers


def table(heads: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
    """The rows of a test in columns."""
    cells = [[head, *column.cells] for head, column in zip(heads, columns, strict=True)]
    for n in range(max(map(len, cells))):
        yield " | ".join(each[n] if n < len(each) else "" for each in cells)
