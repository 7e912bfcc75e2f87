"""Functions of AMD assembly as threads of the CDNA machine.

A wave has one active lane. Each 32-bit register is one register of the simulator, called as in
the assembly. What a launch fixes is followed by a forward analysis from the kernel's arguments
on: which registers hold the address of which location or a constant, and which branches that
decides; all else is computed by the simulator. Scalar loads of arguments are not executed, as
nobody writes there, but their results have to be waited for all the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from fencewright.lowering.cdna.chips import KNOWN_CHIPS, Counter, Generation
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    ModifiedRegisters,
    Operand,
    Registers,
    halves,
)
from fencewright.lowering.cdna.code.waits import wait_counts
from fencewright.lowering.cdna.counters.waits import read_wait
from fencewright.lowering.cdna.instructions import either_form
from fencewright.lowering.cdna.kernel import USER_REGISTERS
from fencewright.lowering.code.dataflow import before_each
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import AddressSpace, Operation
from fencewright.simulator.cdna import instructions as machine
from fencewright.simulator.cdna.instructions import CdnaInstruction
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core import program as common
from fencewright.simulator.core.program import ARITHMETIC, WORD_BITS, WORD_MASK, ArithmeticKind
from fencewright.simulator.programs.amd import rows
from fencewright.simulator.programs.amd.rows import row_of
from fencewright.simulator.semantics import amd as meanings

_SIGN = 1 << (WORD_BITS - 1)
_END = "end"
_TEMPORARY = "temporary"
_EQ, _NE, _LT = ArithmeticKind.EQ, ArithmeticKind.NE, ArithmeticKind.LT
_AND, _OR, _XOR = ArithmeticKind.AND, ArithmeticKind.OR, ArithmeticKind.XOR
_ADD, _SUB, _MUL = ArithmeticKind.ADD, ArithmeticKind.SUB, ArithmeticKind.MUL
_BITWISE = (_AND, _OR, _XOR)
_COMPARISONS = (_EQ, _NE, _LT, ArithmeticKind.LE)


class UnreadableError(AssemblyError):
    """Code that is not executed: the ``problem``, and the ``line`` of the text that it is in."""

    def __init__(self, function: Function, line: int, problem: str, text: str = ""):
        super().__init__(str(function.error(line, f"{problem}: {text}" if text else problem)))
        self.line = line
        self.problem = problem


class HazardError(UnreadableError):
    """A register that is used before the scalar load that writes it has been waited for."""


@dataclass(frozen=True, slots=True)
class ThreadLaunch:
    """The values with which a thread's kernel begins, and those that are observed when it has
    ended.

    ``values`` of arguments that are numbers; ``locations`` by their pointer argument, or the symbol
    that stands for them, and their offset from it in bytes; ``registers``: what the hardware puts
    in registers. ``results``: the register of the outcome that a pointer argument stands for; what
    is stored there is its value, and no store is executed. ``observed``: by the line in which the
    wave ends, registers of the outcome and the registers that they are then taken from.
    ``configuration``: the machine, where it is not the chip's own in every respect.
    """

    values: Mapping[str, int]
    locations: Mapping[tuple[str, int], str]
    registers: Mapping[str, int] = field(default_factory=dict[str, int])
    results: Mapping[str, str] = field(default_factory=dict[str, str])
    observed: Mapping[int, tuple[tuple[str, str], ...]] = field(
        default_factory=dict[int, tuple[tuple[str, str], ...]]
    )
    configuration: CdnaConfiguration | None = None

    @property
    def outcome(self) -> frozenset[str]:
        """The registers of the outcome."""
        observed = (name for pairs in self.observed.values() for name, _ in pairs)
        return frozenset((*self.results.values(), *observed))


@dataclass(frozen=True, slots=True)
class ThreadCode:
    """The ``instructions`` of a wave, and the line of the text that each is from; 0 for none."""

    instructions: tuple[CdnaInstruction, ...]
    lines: tuple[int, ...]


# Known values of a register, besides constants, which are integers


@dataclass(frozen=True, slots=True)
class _Computed:
    """The value of the simulator's ``register`` at that time; no bits but those of ``may`` are set.

    Its lowest bit is that of the register ``like``, if there is one, or the opposite.
    """

    register: str
    may: int = WORD_MASK
    like: str = ""
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class _HalfAddress:
    """One half of an address, ``offset`` bytes past the target of a pointer argument.

    Without an argument: past the kernarg segment's start.
    """

    argument: str
    offset: int
    half: int = 0


@dataclass(frozen=True, slots=True)
class _Unusable:
    """A value that no computation can use, with the reason: the contents of ``register``, if known.

    ``unset``: nothing has written it.
    """

    reason: str
    register: str = ""
    unset: bool = False


_Value = int | _Computed | _HalfAddress | _Unusable


@dataclass(frozen=True, slots=True)
class _InFlight:
    """The value that a scalar load of an argument will bring, once it has been waited for."""

    value: _Value
    line: int


_Held = _Value | _InFlight
_State = dict[str, _Held]


def _bits(value: _Value) -> int:
    """The bits that may be set in a value."""
    match value:
        case int():
            return value
        case _Computed(may=may):
            return may
        case _:
            return WORD_MASK


def _joined(register: str, a: _Held, b: _Held) -> _Held:
    """The value that ``register`` is known to hold where two paths meet."""
    if a == b:
        return a
    if isinstance(a, _InFlight) or isinstance(b, _InFlight):
        line = a.line if isinstance(a, _InFlight) else b.line if isinstance(b, _InFlight) else 0
        known = [each.value if isinstance(each, _InFlight) else each for each in (a, b)]
        value = _joined(register, *known)
        assert not isinstance(value, _InFlight)
        return _InFlight(value, line)
    # A register that was not set on one path is read only where the other was taken.
    for one, other in ((a, b), (b, a)):
        if isinstance(one, _Unusable) and one.unset:
            return other
    for each in (a, b):
        if isinstance(each, _Unusable):
            return each
        if isinstance(each, _HalfAddress):
            return _Unusable(f"{register} holds an address on one path, not on another", register)
    return _Computed(register, _bits(a) | _bits(b))


def _join(a: _State, b: _State) -> _State:
    return {
        name: _joined(name, a.get(name, _unset(name)), b.get(name, _unset(name)))
        for name in a.keys() | b.keys()
    }


def _unset(register: str) -> _Unusable:
    return _Unusable(f"nothing has set {register}", register, unset=True)


# Blocks


_Known = tuple[AssemblyInstruction, rows.MnemonicRow]
_ENDS = (Kind.JUMP, Kind.END)


def _is_by_lanes(known: _Known) -> bool:
    """True if an instruction does nothing for a lane that is not active; a comparison clears its
    bit."""
    _, row = known
    return row.lanes and not isinstance(row.meaning, meanings.Compare)


@dataclass(frozen=True, slots=True)
class _Block:
    """Instructions that run one after another, after ``labels``; ``lines`` of the assembly."""

    labels: tuple[str, ...]
    instructions: tuple[_Known, ...]


def _blocks(function: Function) -> list[_Block]:
    blocks: list[_Block] = []
    labels: list[str] = []
    body: list[_Known] = []
    over, left = "", 0

    def close() -> None:
        if body or labels:
            blocks.append(_Block(tuple(labels), tuple(body)))
        labels.clear()
        body.clear()

    for each in function.body:
        if isinstance(each, AssemblyLabel):
            if body:
                close()
            labels.append(each.name)
            continue
        for half in _in_turn(function, each):
            row = row_of(half.mnemonic, function.chip)
            if row is None:
                problem = f"the CDNA machine does not execute {half.mnemonic}"
                raise UnreadableError(function, each.line, problem, each.text)
            match row.meaning, half.operands:
                case meanings.Branch() | Kind.JUMP, (int(count),) if count > 0 and not left:
                    # Over words of code: it gets a label behind the instructions that these are.
                    over, left = f"over.{each.line}", count + 1
                    half = replace(half, operands=(over,))
                case Kind.BARRIER, _:
                    pass
                case _ if left:
                    problem = "only instructions of a barrier, a word each, are stepped over"
                    raise UnreadableError(function, each.line, problem, each.text)
                case _:
                    pass
            body.append((half, row))
            left -= left > 0
            if isinstance(row.meaning, meanings.Branch) or row.meaning in _ENDS:
                close()
            elif over and not left:
                close()
                labels.append(over)
                over = ""
    close()
    return blocks


def _in_turn(
    function: Function, instruction: AssemblyInstruction
) -> tuple[AssemblyInstruction, ...]:
    """An instruction, or its halves such that neither reads a register that the other has just
    written."""
    parts = halves(instruction)
    for order in (parts, parts[::-1]):
        if len(parts) == 1 or not _written(order[0]) & _read(order[1]):
            return order
    problem = "two registers change places"
    raise UnreadableError(function, instruction.line, problem, instruction.text)


def _written(instruction: AssemblyInstruction) -> frozenset[str]:
    """The registers of the first operand."""
    return _registers(instruction.operands[:1])


def _read(instruction: AssemblyInstruction) -> frozenset[str]:
    """The registers of the other operands."""
    return _registers(instruction.operands[1:])


def _registers(operands: Iterable[Operand]) -> frozenset[str]:
    each_of = (each.names for each in operands if isinstance(each, Registers))
    return frozenset(name for names in each_of for name in names)


class _BlockStart(NamedTuple):
    """The start of a block, apart for each known value of the lane's bit of exec."""

    block: int
    active: int


def _place(block: int, state: _State) -> _BlockStart:
    held = state["exec_lo"]
    return _BlockStart(block, held if isinstance(held, int) else -1)


# The kernel's start (AMDGPUUsage, "Initial Kernel Execution State")


def _initial_state(function: Function, launch: ThreadLaunch) -> _State:
    first = 0
    for name, count in USER_REGISTERS:
        if name == "kernarg_segment_ptr":
            break
        if function.descriptor.get(f"user_sgpr_{name}"):
            first += count
    state: _State = {f"s{first + half}": _HalfAddress("", 0, half) for half in range(2)}
    return state | {"exec_lo": 1, "exec_hi": 0} | dict(launch.registers)


def read_thread(function: Function, launch: ThreadLaunch) -> ThreadCode:
    """The instructions of a wave that runs the kernel ``function``.

    Raises ``UnreadableError`` at what is not executed, ``HazardError`` at the use of an argument
    that was not waited for.
    """
    return _ThreadReader(function, launch).read()


class _ThreadReader:
    """A thread that is being read; ``state`` is the state of its registers at this point."""

    def __init__(self, function: Function, launch: ThreadLaunch):
        self.function = function
        self.launch = launch
        chip = KNOWN_CHIPS.get(function.chip)
        self.mask_words = 2 if chip is None else chip.wave_size // WORD_BITS
        self.generation = Generation.GFX942 if chip is None else chip.generation
        self.blocks = _blocks(function)
        self.of_label = {
            name: number for number, block in enumerate(self.blocks) for name in block.labels
        }
        self.counters = () if chip is None else tuple(chip.counters)
        self.state: _State = {}
        self.listing: list[CdnaInstruction] = []
        self.lines: list[int] = []
        self.instruction: AssemblyInstruction | None = None
        self.issued: dict[str, list[bool]] = {}
        self.ends = False
        self.temporaries = 0
        self.skips = 0
        self.reached: list[tuple[_BlockStart, _State]] = []

    def read(self) -> ThreadCode:
        """The thread's instructions."""
        entry = self._solve()
        self.listing, self.lines, self.instruction = [], [], None
        for name in sorted(self.launch.outcome):
            # A value that no taken path observes reads 0.
            self._add(common.Move(name, 0))
        for name, value in {"exec_lo": 1, "exec_hi": 0, **self.launch.registers}.items():
            self._add(common.Move(name, value))
        for place in sorted(entry):
            self.instruction = None
            self._add(common.Label(_label(place)))
            self._block(place.block, entry[place])
        self.instruction = None
        self._add(common.Label(_END))
        return without_dead_code(
            ThreadCode(tuple(self.listing), tuple(self.lines)), self.launch.outcome
        )

    def _add(self, instruction: CdnaInstruction) -> None:
        """Append an instruction, which is from the line that is being read."""
        self.listing.append(instruction)
        self.lines.append(0 if self.instruction is None else self.instruction.line)

    def _solve(self) -> dict["_BlockStart", _State]:
        """The values of registers at the start of each block that is reached."""
        start = _initial_state(self.function, self.launch)
        entry = {_place(0, start): start}
        work = list(entry)
        while work:
            place = work.pop()
            self.listing, self.lines = [], []
            self._block(place.block, entry[place])
            for target, state in self.reached:
                known = entry.get(target)
                joined = state if known is None else _join(known, state)
                if joined != known:
                    entry[target] = joined
                    work.append(target)
        return entry

    def _block(self, number: int, state: _State) -> None:
        """Append the code of a block; ``reached`` are its successors with their entry states."""
        self.state, self.reached = dict(state), []
        self.issued = {str(counter): [] for counter in self.counters}
        code = self.blocks[number].instructions
        self.ends = bool(code) and code[-1][1].meaning is Kind.END
        for by_lanes, group in groupby(code, key=_is_by_lanes):
            if by_lanes:
                self._by_lanes(tuple(group))
                continue
            for instruction, row in group:
                self.instruction, self.temporaries = instruction, 0
                if row.meaning is Kind.END:
                    self._end(instruction)
                    return
                if row.meaning is Kind.JUMP or isinstance(row.meaning, meanings.Branch):
                    self._jump(None if row.meaning is Kind.JUMP else row.meaning, number)
                    return
                active = self.lane(self.value("exec_lo")) if row.lanes else 1
                self._perform(row, active)
        self._go_on(number)

    def _go_on(self, number: int) -> None:
        if number + 1 == len(self.blocks):
            raise self._error("the function goes on behind its end")
        self._go(number + 1)

    def _end(self, end: AssemblyInstruction) -> None:
        """Everything that is outstanding arrives before the wave's registers are looked at."""
        observed = self.launch.observed.get(end.line, ())
        every = machine.wait_instruction(dict.fromkeys(map(str, self.counters), 0))
        if observed and every is not None:
            self._add(every)
        for name, register in observed:
            self._add(common.Move(name, self.operand(self.value(register))))
        self._add(common.Branch(_END))

    def _error(
        self, problem: str, kind: type[UnreadableError] = UnreadableError
    ) -> UnreadableError:
        at = self.instruction
        return kind(self.function, 1 if at is None else at.line, problem, at.text if at else "")

    # Registers

    def mask(self, register: str) -> tuple[str, ...]:
        """The words of ``exec`` or ``vcc``, which have a bit for each lane."""
        return tuple(f"{register}_{half}" for half in ("lo", "hi")[: self.mask_words])

    def value(self, register: str) -> _Value:
        """The value of a register; it must not be in flight."""
        held = self.state.get(register, _unset(register))
        if isinstance(held, _InFlight):
            problem = (
                f"unwaited register {register}: no s_waitcnt covers the load of line {held.line}"
            )
            raise self._error(problem, HazardError)
        return held

    def words(self, operand: Operand, count: int) -> tuple[_Value, ...]:
        """An operand as ``count`` words, lowest first."""
        match operand:
            case int():
                return tuple(operand >> n * WORD_BITS & WORD_MASK for n in range(count))
            case Registers(names) if len(names) == count:
                return tuple(self.value(name) for name in names)
            case ModifiedRegisters((name,), text) if name == text and count == 1:
                return (self.value(name),)
            case str() if count == 1 and (symbol := _SYMBOL.fullmatch(operand)) is not None:
                return (_HalfAddress(symbol[1], 0, int(symbol[2] == "hi")),)
            case _:
                raise self._error(f"an operand of {count} words is not known")

    def usable(self, value: _Value) -> int | _Computed:
        """A value to compute with."""
        match value:
            case _HalfAddress():
                raise self._error("an address is used as a value")
            case _Unusable(reason):
                raise self._error(reason)
            case _:
                return value

    def operand(self, value: _Value) -> common.Operand:
        """A value as the simulator's instructions take it."""
        usable = self.usable(value)
        return usable if isinstance(usable, int) else usable.register

    def compute(self, kind: ArithmeticKind, a: _Value, b: _Value) -> _Value:
        """``a kind b``: known, or computed in a register of its own until it is written."""
        if kind in _BITWISE:  # A mask may have been set for some lanes only.
            a, b = _anything(a), _anything(b)
        for each in (a, b):
            if isinstance(each, _Unusable):
                return each
        if isinstance(a, _HalfAddress) or isinstance(b, _HalfAddress):
            return _moved(kind, a, b)
        if isinstance(a, int) and isinstance(b, int):
            return ARITHMETIC[kind](a, b)
        known = _simpler(kind, a, b)
        if known is not None:
            return known
        name = f"{_TEMPORARY}{self.temporaries}"
        self.temporaries += 1
        self._add(common.Arithmetic(kind, name, self.operand(a), self.operand(b)))
        return _Computed(name, _bits_of(kind, a, b), *_relation(kind, a, b))

    def invert(self, value: _Value, wanted: bool = True) -> _Value:
        """Every bit inverted, if that is wanted."""
        return self.compute(_XOR, value, WORD_MASK) if wanted else value

    def write(self, register: str, value: _Value) -> _Value:
        """Set a register; returns its new value."""
        self.value(register)
        if isinstance(value, int):
            self._add(common.Move(register, value))
        elif isinstance(value, _Computed):
            last = self.listing[-1] if self.listing else None
            temporary = value.register.startswith(_TEMPORARY)
            if temporary and isinstance(last, common.Arithmetic) and last.dst == value.register:
                self.listing[-1] = replace(last, dst=register)
            elif value.register != register:
                self._add(common.Move(register, value.register))
            of = value.like or ("" if temporary else value.register)
            like = "" if of == register else of
            value = _Computed(register, value.may, like, value.opposite and bool(like))
        self._forget(register)
        self.state[register] = value
        return value

    def _forget(self, register: str) -> None:
        """The register changes: nothing is like it any more."""
        for name, held in self.state.items():
            if isinstance(held, _Computed) and held.like == register:
                self.state[name] = _Computed(held.register, held.may)

    def is_nonzero(self, words: Iterable[_Value]) -> _Value:
        """True if any of the words is not 0, as 0 or 1."""
        together: _Value = 0
        for each in words:
            together = self.compute(_OR, together, each)
        return self.compute(_NE, together, 0)

    def _origin(self, value: _Value) -> _Value:
        """The bit that a bit is a copy of: the copy may then be one without a reader."""
        if not isinstance(value, _Computed) or value.may != 1 or not value.like or value.opposite:
            return value
        origin = self.state.get(value.like)
        return origin if isinstance(origin, _Computed) and origin.may == 1 else value

    def lane(self, mask: _Value) -> _Value:
        """True if the lane is in a mask, as 0 or 1."""
        return self.compute(_AND, mask, 1)

    # Instructions

    def _by_lanes(self, instructions: tuple[_Known, ...]) -> None:
        """Instructions without a jump, which the lane takes part in together or not at all."""
        self.instruction, self.temporaries = instructions[0][0], 0
        active = self.lane(self.value("exec_lo"))
        if active == 0:
            return
        before, name = dict(self.state), f"skip{self.skips}"
        if active != 1:
            self.skips += 1
            self._add(common.Branch(name, self.operand(active), unless=True))
        for instruction, row in instructions:
            self.instruction, self.temporaries = instruction, 0
            self._perform(row, 1)
        if active != 1:
            self._add(common.Label(name))
            self.state = _join(before, self.state)

    def _perform(self, row: rows.MnemonicRow, active: _Value) -> None:
        assert self.instruction is not None
        operands = self.instruction.operands
        match row.meaning:
            case rows.AccessRow(space=AddressSpace.CONSTANT, width=bits):
                self._load_scalar(bits // WORD_BITS, operands)
                self._issue(row.mnemonic)
                return
            case rows.AccessRow():
                is_executed = self._access(row.meaning, operands)
                self._issue(row.mnemonic, is_executed)
                return
            case rows.CopyRow():
                self._copy(row.meaning, operands)
                self._issue(row.mnemonic)
                return
            case Kind.CACHE:
                bits = self._cache_bits()
                self._add(machine.CacheInstruction(row.mnemonic, bits))
                self._issue_cache(row.mnemonic, bits)
                return
            case Kind.WAIT:
                self._await(self._counts(row.mnemonic, operands))
                return
            case Kind.BARRIER:
                self._meet(row.mnemonic, operands)
                return
            case Kind.COMPUTE:
                return
            case _:
                pass
        meaning, modifiers = row.meaning, self.instruction.modifiers
        if isinstance(meaning, rows.LogicByTable):
            row, modifiers = replace(row, meaning=self._of_table(meaning)), ()
        count = len(row.results)
        if len(operands) != count + len(row.sources) or modifiers:
            raise self._error("these operands are not known")
        defined: tuple[str, ...] = ()
        for words, operand in zip(row.results, operands[:count], strict=True):
            if not isinstance(operand, Registers) or len(operand.names) != words:
                raise self._error(f"a result of {words} words is not known")
            defined = operand.names
        used = [
            self.words(operand, words)
            for words, operand in zip(row.sources, operands[count:], strict=True)
        ]
        self._compute(row, defined, used, active)

    def _compute(
        self,
        row: rows.MnemonicRow,
        defined: tuple[str, ...],
        used: Sequence[tuple[_Value, ...]],
        active: _Value,
    ) -> None:
        """An instruction of registers alone."""
        match row.meaning:
            case meanings.Copy() | meanings.FirstLane():
                for name, value in zip(defined, used[0], strict=True):
                    self.write(name, value)
            case meanings.Logic():
                written = self._logic(row.meaning, defined, used[0], used[1])
                if row.sets_scc:
                    self.write("scc", self.is_nonzero(written))
            case meanings.Sum():
                self._sum(row, row.meaning, defined[0], used[0][0], used[1][0])
            case meanings.Product():
                self.write(defined[0], self.compute(_MUL, used[0][0], used[1][0]))
            case meanings.Extreme(kind, signed):
                a, b = (self._with_sign(each[0], not signed) for each in used)
                self.write(defined[0], self._with_sign(self.compute(kind, a, b), not signed))
            case meanings.TakeBits(packed):
                self._take_bits(packed, defined[0], [each[0] for each in used])
            case meanings.ShiftRight():
                self._take_bits(False, defined[0], [used[0][0], used[1][0], WORD_BITS])
            case meanings.Compare():
                truth = self._compare(row.meaning, used[0][0], used[1][0])
                if row.sets_exec:
                    active = self.lane(self.value("exec_lo"))
                    self._write_mask(self.mask("exec"), self.compute(_AND, truth, active))
                elif defined:
                    self._write_mask(defined, self.compute(_AND, truth, active))
                else:
                    self.write("scc", truth)
            case meanings.Select():
                self._select(row, defined, used)
            case meanings.SaveExec(logic):
                names = self.mask("exec")
                execs = [self.value(name) for name in names]
                masks = [
                    self._aside(self._combined(logic, a, b), defined)
                    for a, b in zip(_masks(used[0]), execs, strict=True)
                ]
                for name, value in zip((*defined, *names), (*execs, *masks), strict=True):
                    self.write(name, value)
                self.write("scc", self.is_nonzero(masks))
            case meanings.CountBits():
                self._count_bits(defined[0], used[0])
            case meanings.CountLanesBelow():
                self.write(defined[0], used[1][0])
            case _:
                raise AssertionError(row)

    def _of_table(self, meaning: rows.LogicByTable) -> meanings.Logic:
        """The logic that the truth table of the instruction is of."""
        assert self.instruction is not None
        logic = meaning.tables.get(self.instruction.modifiers)
        if logic is None:
            raise self._error("this truth table is not known")
        return logic

    def _write_mask(self, names: tuple[str, ...], lane: _Value) -> None:
        """A mask of which only the lane's bit can be set."""
        for name, word in zip(names, (lane, 0), strict=False):
            self.write(name, word)

    def _logic(
        self,
        logic: meanings.Logic,
        defined: tuple[str, ...],
        first: Sequence[_Value],
        second: Sequence[_Value],
    ) -> list[_Value]:
        written: list[_Value] = []
        if len(defined) == 2:
            first, second = _masks(first), _masks(second)
        for name, a, b in zip(defined, first, second, strict=True):
            written.append(self.write(name, self._combined(logic, a, b)))
        return written

    def _combined(self, logic: meanings.Logic, a: _Value, b: _Value) -> _Value:
        a, b = self.invert(a, logic.invert_a), self.invert(b, logic.invert_b)
        return self.invert(self.compute(logic.kind, a, b), logic.invert)

    def _aside(self, value: _Value, overwritten: tuple[str, ...]) -> _Value:
        """A value that stays when these registers are overwritten."""
        if not isinstance(value, _Computed) or value.register not in overwritten:
            return value
        name = f"{_TEMPORARY}{self.temporaries}"
        self.temporaries += 1
        self._add(common.Move(name, value.register))
        return _Computed(name, value.may)

    def _sum(
        self, row: rows.MnemonicRow, meaning: meanings.Sum, defined: str, a: _Value, b: _Value
    ) -> None:
        if meaning.reverse:
            a, b = b, a
        result = self.compute(meaning.kind, a, b)
        carry: _Value = _Unusable("an overflow is used")
        if meaning.carries:
            less = (result, a) if meaning.kind is _ADD else (a, b)
            carry = 0 if isinstance(result, _HalfAddress) else self.compute(_LT, *less)
        if meaning.takes:
            taken = self.value("scc")
            total = self.compute(_ADD, result, taken)
            more = 0 if isinstance(total, _HalfAddress) else self.compute(_LT, total, result)
            carry, result = self.compute(_OR, carry, more), total
        self.write(defined, result)
        if row.sets_scc:
            self.write("scc", carry)

    def _compare(self, meaning: meanings.Compare, a: _Value, b: _Value) -> _Value:
        if meaning.swap:
            a, b = b, a
        flips = meaning.signed and meaning.kind not in (_EQ, _NE)
        return self.compute(meaning.kind, self._with_sign(a, flips), self._with_sign(b, flips))

    def _with_sign(self, value: _Value, flips: bool) -> _Value:
        """A word with its highest bit inverted, by which words with a sign are as those without."""
        return self.compute(_XOR, value, _SIGN) if flips else value

    def _take_bits(self, packed: bool, defined: str, used: Sequence[_Value]) -> None:
        """Bits of a word by constants; of a word that is not known only its lowest."""
        word, first, *rest = used
        if packed and isinstance(first, int):
            first, rest = first & 0x1F, [first >> 16 & 0x7F]
        (count,) = rest
        if not isinstance(first, int) or not isinstance(count, int):
            raise self._error("only the lowest bits can be taken out")
        mask = (1 << min(count, WORD_BITS)) - 1
        if isinstance(word, int):
            self.write(defined, word >> first & mask)
            return
        if first:
            raise self._error("only the lowest bits can be taken out")
        self.write(defined, self.compute(_AND, word, mask))

    def _select(
        self, row: rows.MnemonicRow, defined: tuple[str, ...], used: Sequence[tuple[_Value, ...]]
    ) -> None:
        if row.lanes:  # The last operand chooses the second.
            otherwise, chosen = used[0], used[1]
            condition = self.lane(used[2][0])
        else:
            chosen, otherwise = used[0], used[1]
            condition = self.value("scc")
        for name, a, b in zip(defined, chosen, otherwise, strict=True):
            self.write(name, self._either(condition, a, b))

    def _either(self, condition: _Value, a: _Value, b: _Value) -> _Value:
        """``a`` if the condition is 1, ``b`` if it is 0."""
        if isinstance(condition, int):
            return a if condition else b
        if a == b:
            return a
        mask = self.compute(_SUB, 0, condition)
        inverse = self.compute(_SUB, condition, 1)
        return self.compute(_OR, self.compute(_AND, a, mask), self.compute(_AND, b, inverse))

    def _count_bits(self, defined: str, words: Sequence[_Value]) -> None:
        total: _Value = 0
        for each in words:
            if isinstance(each, int):
                each = each.bit_count()
            elif _bits(each) != 1:
                raise self._error("the bits of an unknown mask are counted")
            total = self.compute(_ADD, total, each)
        written = self.write(defined, total)
        self.write("scc", self.is_nonzero([written]))

    # Memory

    def _modifiers(self) -> tuple[tuple[str, ...], int]:
        """The cache policy bits of an access, and its offset in bytes."""
        assert self.instruction is not None
        bits, offset = list[str](), 0
        for each in self.instruction.modifiers:
            name, colon, number = each.partition(":")
            if each in _POLICY or (colon and name in _POLICY_FIELDS):
                bits.append(each)
            elif colon and name == "offset":
                offset = int(number, 0)
            else:
                raise self._error(f"'{each}' is not known")
        return tuple(bits), offset

    def _cache_bits(self) -> tuple[str, ...]:
        bits, offset = self._modifiers()
        assert self.instruction is not None
        if offset or self.instruction.operands:
            raise self._error("these operands are not known")
        return bits

    def _counts(self, mnemonic: str, operands: tuple[Operand, ...]) -> Mapping[str, int]:
        """The counts that a wait leaves outstanding, by the names of counters."""
        assert self.instruction is not None
        match operands:
            case (int(operand),) | ("null", int(operand)) if (
                split := read_wait(mnemonic, operand)
            ) is not None:
                return split.given
            case _:
                pass
        try:
            return wait_counts(
                (
                    each
                    for each in (*operands, *self.instruction.modifiers)
                    if not isinstance(each, Registers) and each != "&"
                ),
                self.generation,
            )
        except ValueError as problem:
            raise self._error(str(problem)) from None

    def _await(self, counts: Mapping[str, int]) -> None:
        """A wait, which scalar loads of arguments may have been for."""
        if 0 in (counts.get("lgkmcnt"), counts.get("kmcnt")):
            for name, held in self.state.items():
                if isinstance(held, _InFlight):
                    self.state[name] = held.value
                    if isinstance(held.value, int):
                        self._add(common.Move(name, held.value))
        executed = {name: self._executed(name, count) for name, count in counts.items()}
        for wait in machine.wait_instructions(executed):
            self._add(wait)

    def _executed(self, counter: str, count: int) -> int:
        """The number of the last ``count`` operations of a counter that are executed."""
        issued = self.issued.get(counter, ())
        return count and count - sum(not is_executed for is_executed in issued[-count:])

    def _issue(self, mnemonic: str, is_executed: bool = True) -> None:
        """An operation is in the counters of its row."""
        row = either_form(mnemonic)
        for counter in () if row is None else row.counters:
            if counter in self.issued:
                self.issued[counter].append(is_executed)

    def _issue_cache(self, mnemonic: str, bits: tuple[str, ...]) -> None:
        """Cache maintenance is in the counters that the machine counts it in.

        Only results are not executed, so that without them there is nothing to count.
        """
        if not self.launch.results:
            return
        known = self.launch.configuration
        configuration = CdnaConfiguration(self.function.chip) if known is None else known
        effect = configuration.cache_effect(mnemonic, bits)
        if effect.counts:
            for counter in configuration.counted(effect.counted_as, flat=False).counters:
                self.issued[counter].append(True)

    def _meet(self, mnemonic: str, operands: tuple[Operand, ...]) -> None:
        """A barrier, or a part of one."""
        m0 = self.state.get("m0")
        words = tuple("m0" if each == _M0 else str(each) for each in operands)
        known = m0 if isinstance(m0, int) else None
        made = machine.barrier_instruction(mnemonic, words, known)
        if made is None:
            raise self._error(f"the CDNA machine does not execute '{' '.join((mnemonic, *words))}'")
        self._add(made)
        if isinstance(made, machine.BarrierSignal) and made.first is not None:
            self._forget(made.first)
            self.state[made.first] = _Computed(made.first, 1)

    def _load_scalar(self, words: int, operands: tuple[Operand, ...]) -> None:
        bits, more = self._modifiers()
        if len(operands) != 3 or not isinstance(operands[0], Registers) or bits:
            raise self._error("these operands are not known")
        names = operands[0].names
        offset = self.words(operands[2], 1)[0]
        base = self._base(self.words(operands[1], 2))
        if len(names) != words or not isinstance(offset, int):
            raise self._error("these operands are not known")
        offset += base.offset + more
        for name in names:
            self.value(name)
        if not base.argument:
            assert self.instruction is not None
            for n, name in enumerate(names):
                loaded = self._argument(offset + 4 * n)
                self._forget(name)
                self.state[name] = _InFlight(loaded, self.instruction.line)
            return
        if words != 1:
            raise self._too_wide()
        self._add(machine.ScalarLoad(names[0], self._location(base.argument, offset)))
        self._forget(names[0])
        self.state[names[0]] = _Computed(names[0])

    def _argument(self, offset: int) -> _Value:
        """A word of the kernarg segment."""
        for each in self.function.arguments:
            within = offset - each.offset
            if 0 <= within < each.size and not each.is_hidden:
                if each.name in self.launch.values:
                    return self.launch.values[each.name] >> within * 8 & WORD_MASK
                return _HalfAddress(each.name, 0, within // 4)
        return _Unusable(f"nothing is bound to the argument at offset {offset}")

    def _base(self, halves: Sequence[_Value]) -> _HalfAddress:
        """The address that registers hold."""
        low = halves[0]
        if isinstance(low, _Unusable):
            raise self._error(low.reason)
        if not isinstance(low, _HalfAddress) or low.half:
            raise self._error("the address must be that of one of the test's locations")
        if len(halves) > 1 and halves[1] != replace(low, half=1, offset=0):
            raise self._error("the halves of the address do not belong together")
        return low

    def _location(self, argument: str, offset: int) -> str:
        location = self.launch.locations.get((argument, offset))
        if argument in self.launch.results:
            name = self.launch.results[argument]
            raise self._error(f"the argument bound to {name} may only be stored to")
        if location is None and offset and (argument, 0) in self.launch.locations:
            raise self._error("a location is one word: the offset must be 0")
        if location is None:
            raise self._error(f"no location is {offset} bytes behind argument '{argument}'")
        return location

    def _too_wide(self) -> UnreadableError:
        assert self.instruction is not None
        mnemonic = self.instruction.mnemonic
        return self._error(f"a location is {WORD_BITS} bits wide; {mnemonic} is not executed")

    def _copy(self, copy: rows.CopyRow, operands: tuple[Operand, ...]) -> None:
        """A copy between a location in memory and one in LDS, of a word each."""
        bits, offset = self._modifiers()
        lds, memory = self._tile(operands) if copy.is_tile else self._ends(copy, operands)
        if offset or copy.width != WORD_BITS or lds is None or memory is None:
            raise self._error(_TILE_ENDS if copy.is_tile else _COPY_ENDS)
        ends = (lds, memory) if copy.to_lds else (memory, lds)
        counter = Counter.TENSORCNT if copy.is_tile else Counter.ASYNCCNT
        self._add(machine.AsyncCopy(*ends, bits, counter))

    def _ends(
        self, copy: rows.CopyRow, operands: tuple[Operand, ...]
    ) -> tuple[str | None, str | None]:
        match operands if copy.to_lds else (*operands[1::-1], *operands[2:]):
            case Registers((lds,)), Registers((low, _)), "off":
                return self._location_in(lds), self._location_in(low)
            case _:
                return None, None

    def _tile(self, operands: tuple[Operand, ...]) -> tuple[str | None, str | None]:
        match operands:
            case Registers((_, lds, low, *_)), *_:
                return self._location_in(lds), self._location_in(low)
            case _:
                return None, None

    def _location_in(self, register: str) -> str | None:
        """The location whose address a register holds, or the lower half of it."""
        value = self.value(register)
        if not isinstance(value, _HalfAddress) or value.half:
            return None
        return self.launch.locations.get((value.argument, value.offset))

    def _access(self, access: rows.AccessRow, operands: tuple[Operand, ...]) -> bool:
        """An access; False for the store of a result, which is not executed."""
        bits, offset = self._modifiers()
        assert self.instruction is not None
        if access.space is AddressSpace.PRIVATE:
            raise self._error(f"the CDNA machine does not execute {self.instruction.mnemonic}")
        if access.width != WORD_BITS:
            raise self._too_wide()
        left = list(operands)
        results = len(left) - _operand_count(access)
        dst = None
        if results or access.operation is Operation.LOAD:
            first = left.pop(0) if left else None
            if results > 1 or not isinstance(first, Registers) or len(first.names) != 1:
                raise self._error("these operands are not known")
            dst = first.names[0]
        if not left or results < 0:
            raise self._error("these operands are not known")
        base, more = self._address(access, left)
        if access.operation is Operation.STORE and base.argument in self.launch.results:
            self._store_result(base, left, base.offset + offset + more)
            return False
        location = self._location(base.argument, base.offset + offset + more)
        data = tuple(self.operand(word) for each in left for word in self._data(each))
        instruction = access_instruction(access, location, data, dst, bits)
        if instruction is None:
            raise self._error("these operands are not known")
        self._add(instruction)
        if dst is not None:
            self.value(dst)
            self._forget(dst)
            self.state[dst] = _Computed(dst)
        return True

    def _store_result(self, base: _HalfAddress, left: list[Operand], offset: int) -> None:
        """The register of the outcome takes the value that is stored."""
        if offset:
            raise self._error("a location is one word: the offset must be 0")
        # Waits count the stores that are not executed, which only its own block can know.
        if not self.ends:
            raise self._error("a register is stored to in a block that ends the thread")
        ((value,),) = (self._data(each) for each in left)
        self._add(common.Move(self.launch.results[base.argument], self.operand(value)))

    def _data(self, operand: Operand) -> tuple[_Value, ...]:
        if not isinstance(operand, Registers):
            raise self._error("these operands are not known")
        return self.words(operand, len(operand.names))

    def _address(self, access: rows.AccessRow, left: list[Operand]) -> tuple[_HalfAddress, int]:
        """Take the address off the operands; with the offset that a vector register adds to a
        scalar one."""
        vector = left.pop(0)
        if access.space is AddressSpace.LOCAL:
            return self._base(self.words(vector, 1)), 0
        scalar = left.pop() if access.space is AddressSpace.GLOBAL else "off"
        if scalar == "off":
            return self._base(self.words(vector, 2)), 0
        added = self.words(vector, 1)[0]
        if not isinstance(added, int):
            raise self._error("the address must be that of one of the test's locations")
        return self._base(self.words(scalar, 2)), added

    # Branches

    def _jump(self, branch: meanings.Branch | None, number: int) -> None:
        assert self.instruction is not None
        (target,) = self.instruction.operands
        if not isinstance(target, str) or target not in self.of_label:
            raise self._error("the label is not in the function")
        at = self.of_label[target]
        if branch is None:
            self._go(at)
            return
        names = ("scc",) if branch.register == "scc" else self.mask(branch.register)
        condition = self.is_nonzero([self.usable(self.value(name)) for name in names])
        if isinstance(condition, int):
            if bool(condition) is branch.unless:
                self._go_on(number)
            else:
                self._go(at)
            return
        there = dict(self.state)
        self._learn(there, names, not branch.unless)
        place = _place(at, there)
        self.reached.append((place, there))
        origin = self._origin(self.usable(condition))
        self._add(common.Branch(_label(place), self.operand(origin), branch.unless))
        self._learn(self.state, names, branch.unless)
        self._go_on(number)

    def _learn(self, state: _State, names: tuple[str, ...], nonzero: bool) -> None:
        """Learn from a branch the register that it looked at, if that is one bit."""
        low, *rest = (state[name] for name in names)
        if not isinstance(low, _Computed) or low.may != 1 or any(each != 0 for each in rest):
            return
        known = {names[0]: nonzero}
        if low.like:
            known[low.like] = nonzero is not low.opposite
        for name, held in state.items():
            if isinstance(held, _Computed) and held.like in known:
                known.setdefault(name, known[held.like] is not held.opposite)
        for name, truth in known.items():
            held = state[name]
            if isinstance(held, _Computed) and held.may == 1:
                state[name] = int(truth)

    def _go(self, target: int) -> None:
        place = _place(target, self.state)
        self.reached.append((place, self.state))
        self._add(common.Branch(_label(place)))


_M0 = Registers(("m0",))
_SYMBOL = re.compile(r"(.+)@abs32@(lo|hi)")
"""Half of a symbol's address (LLVM AMDGPUUsage, Relocation Records: R_AMDGPU_ABS32_LO and _HI)."""
_COPY_ENDS = "a copy of one word is executed, between two of the test's locations"
_TILE_ENDS = (
    "a copy between two of the test's locations is executed: the second register of the "
    "descriptor has the address in LDS, the third and fourth that in memory"
)
_POLICY = frozenset({"sc0", "sc1", "nt", "glc", "slc", "dlc"})
_POLICY_FIELDS = frozenset({"scope", "th"})


def access_instruction(
    access: rows.AccessRow,
    location: str,
    data: tuple[common.Operand, ...],
    dst: str | None,
    bits: tuple[str, ...],
) -> CdnaInstruction | None:
    """An access with its operands in the order of the assembly; None if these are not its own."""
    segment = _SEGMENTS.get(access.space, machine.Segment.GLOBAL)
    bits = () if segment is machine.Segment.LDS else bits
    match access.operation, data:
        case Operation.LOAD, () if dst is not None:
            return machine.VectorLoad(dst, location, bits, segment)
        case Operation.STORE, (value,):
            return machine.VectorStore(location, value, bits, segment)
        case Operation.ATOMIC_RMW, (value,) if access.kind is not None:
            return machine.Atomic(access.kind, location, value, dst, bits, segment)
        case Operation.CMPXCHG, (a, b):
            compare, new = (a, b) if access.compares_first else (b, a)
            return machine.CompareSwap(location, compare, new, dst, bits, segment)
        case _:
            return None


_SEGMENTS = MappingProxyType(
    {AddressSpace.LOCAL: machine.Segment.LDS, AddressSpace.GENERIC: machine.Segment.FLAT}
)
_OPERANDS = MappingProxyType(
    {Operation.LOAD: 1, Operation.STORE: 2, Operation.ATOMIC_RMW: 2, Operation.CMPXCHG: 2}
)
"""The number of operands of an access without a scalar address and without its result."""


def _operand_count(access: rows.AccessRow) -> int:
    """The number of operands of an access, but for its result."""
    count = _OPERANDS[access.operation] + (access.space is AddressSpace.GLOBAL)
    lds_exchange = access.space is AddressSpace.LOCAL and access.operation is Operation.CMPXCHG
    return count + lds_exchange


def _label(place: _BlockStart) -> str:
    return f"b{place.block}.{place.active}"


def _anything(value: _Value) -> _Value:
    """A register that was not set on every path has some bits all the same."""
    if isinstance(value, _Unusable) and value.register:
        return _Computed(value.register)
    return value


def _masks(words: Sequence[_Value]) -> list[_Value]:
    """Lane masks that may be set for some lanes only, where an address was before.

    It is that of a word, so that the lane's bit is clear.
    """
    return [0 if isinstance(each, _HalfAddress) else each for each in words]


def _moved(kind: ArithmeticKind, a: _Value, b: _Value) -> _Value:
    """An address with something added to it."""
    if isinstance(b, _HalfAddress):
        a, b = b, a
    if kind is _ADD and isinstance(a, _HalfAddress) and isinstance(b, int):
        signed = b - (1 << WORD_BITS) if b & _SIGN else b
        return a if not b else replace(a, offset=a.offset + signed)
    return _Unusable("an address is computed that is not that of a location")


def _relation(kind: ArithmeticKind, a: _Value, b: _Value) -> tuple[str, bool]:
    """The register that the lowest bit of ``a kind b`` is like, and true if it is the opposite."""
    if isinstance(a, int):
        a, b = b, a
    if not isinstance(a, _Computed) or not isinstance(b, int):
        return "", False
    of = a.like or ("" if a.register.startswith(_TEMPORARY) else a.register)
    bit = a.may == 1 or kind in _BITWISE
    flips = {_XOR: b & 1 == 1, _AND: False, _OR: False, _EQ: b == 0, _NE: b == 1}
    lost = {_AND: not b & 1, _OR: b & 1 == 1}.get(kind, False)
    if not of or not bit or kind not in flips or lost:
        return "", False
    return of, a.opposite is not flips[kind]


def _simpler(kind: ArithmeticKind, a: _Value, b: _Value) -> _Value | None:
    """The value of ``a kind b`` without computing it, as far as the bits that may be set determine
    it."""
    if isinstance(a, int) and kind in (_ADD, _AND, _OR, _XOR, _EQ, _NE):
        a, b = b, a
    if not isinstance(b, int):
        return None
    may = _bits(a)
    match kind:
        case ArithmeticKind.AND if not may & b:
            return 0
        case ArithmeticKind.AND if not may & ~b:
            return a
        case ArithmeticKind.OR if not may & ~b:
            return b
        case ArithmeticKind.ADD | ArithmeticKind.SUB | ArithmeticKind.OR | ArithmeticKind.XOR if (
            not b
        ):
            return a
        case ArithmeticKind.EQ | ArithmeticKind.NE if b & ~may:
            return int(kind is _NE)
        case ArithmeticKind.NE if not b and may == 1:
            return a
        case ArithmeticKind.EQ if b == 1 and may == 1:
            return a
        case _:
            return None


def _bits_of(kind: ArithmeticKind, a: _Value, b: _Value) -> int:
    """The bits that may be set in ``a kind b``."""
    if kind in _COMPARISONS:
        return 1
    if kind is _AND:
        return _bits(a) & _bits(b)
    return _bits(a) | _bits(b) if kind in (_OR, _XOR) else WORD_MASK


# Unused results


def without_dead_code(code: ThreadCode, outcome: frozenset[str] = frozenset()) -> ThreadCode:
    """The code without register moves and arithmetic whose results are not used.

    Every register that it kept would be one more thing in which states differ. ``outcome`` are
    registers that are read at the end. A register that a load may be about to write stays written:
    the machine finds who did not wait for it.
    """
    code = _kept(code, _is_no_jump_to_the_next(code.instructions))
    loaded = {
        getattr(each, "dst", None) for each in code.instructions if not isinstance(each, _OWN)
    }
    while True:
        live = _live_after(code.instructions, outcome)
        used = [
            not isinstance(each, _OWN) or each.dst in later or each.dst in loaded
            for each, later in zip(code.instructions, live, strict=True)
        ]
        if all(used):
            return code
        code = _kept(code, used)


_OWN = common.Move | common.Arithmetic


def _kept(code: ThreadCode, chosen: Iterable[bool]) -> ThreadCode:
    """The instructions for which it is true, with their lines."""
    pairs = [
        pair
        for pair, is_kept in zip(
            zip(code.instructions, code.lines, strict=True), chosen, strict=True
        )
        if is_kept
    ]
    return ThreadCode(tuple(each for each, _ in pairs), tuple(line for _, line in pairs))


def _is_no_jump_to_the_next(code: Sequence[CdnaInstruction]) -> Iterator[bool]:
    for number, each in enumerate(code):
        following = code[number + 1] if number + 1 < len(code) else None
        yield not (isinstance(each, common.Branch) and following == common.Label(each.target))


_READ = ("value", "a", "b", "condition", "compare", "new")
"""The fields in which instructions name the registers that they read."""


def _live_after(code: Sequence[CdnaInstruction], outcome: frozenset[str]) -> list[frozenset[str]]:
    """The registers that are read after each instruction before they are written."""
    labels = {each.name: n for n, each in enumerate(code) if isinstance(each, common.Label)}
    following = [
        ((n + 1,) if each.condition is not None else ()) + (labels[each.target],)
        if isinstance(each, common.Branch)
        else (n + 1,)
        for n, each in enumerate(code)
    ]

    def before(number: int, after: frozenset[str]) -> frozenset[str]:
        each = code[number]
        read = (getattr(each, name, None) for name in _READ)
        return after - {getattr(each, "dst", None)} | {n for n in read if isinstance(n, str)}

    live = before_each(following, outcome, frozenset[str](), before)
    return [frozenset[str]().union(*(live[n] for n in after)) for after in following]
