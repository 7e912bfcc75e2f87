"""Read-modify-writes without an instruction of their own: loops, and plain code for private memory.

A loop reads once with a strong load, which acquires if a failing compare-exchange has to, and
then swaps with the ordering of the whole operation until the value swapped was the value
computed from. A seq_cst operation's ``fence.sc`` stays in front, outside the loop. Source:
PTX ISA, Memory Consistency Model: a weak first read would race, and every read that can end a
compare-exchange, the first one and that of a failed swap, must have the failure ordering.
"""

from dataclasses import dataclass, replace

from fencewright.lowering.ptx.atomics import WORD, Compute
from fencewright.lowering.sequence import Instruction, Placeholder
from fencewright.lowering.sequence import operands as read_operands
from fencewright.lowering.vocabulary import Operation, Phase


def instruction(mnemonic: str, operands: str, source: str) -> Instruction:
    """An instruction that belongs to the access itself."""
    return Instruction(mnemonic, read_operands(operands), phase=Phase.ACCESS, source=source)


def access(op: Operation, suffix: str, type_: str, source: str, at: str = "{addr}") -> Instruction:
    """A load into ``{dst}`` or a store of ``{data}``."""
    if op is Operation.LOAD:
        return instruction(f"ld{suffix}.{type_}", f"{{dst}}, [{at}]", source)
    return instruction(f"st{suffix}.{type_}", f"[{at}], {{data}}", source)


def generic_private(op: Operation, type_: str, source: str) -> list[Instruction]:
    """A volatile access to private memory, through a generic address."""
    return [
        instruction(".reg", ".b64 {generic}", source),
        instruction("cvta.local.u64", "{generic}, {addr}", source),
        access(op, ".volatile", type_, source, "{generic}"),
    ]


def negation(type_: str, bits: int, source: str) -> list[Instruction]:
    """``{negated}`` from ``{data}``; nothing where the operand is taken as it is."""
    if not type_:
        return []
    return [
        instruction(".reg", f".b{bits} {{negated}}", source),
        instruction(f"neg.{type_}", "{negated}, {data}", source),
    ]


@dataclass(frozen=True, slots=True)
class AtomicAccess:
    """The access of an atomic to memory: its ordering, that of a first read, scope and space."""

    semantics: str
    first_read: str
    place: str
    source: str

    def suffix(self, operation: str) -> str:
        """The suffix of ``atom`` or ``red``."""
        return f"{self.semantics}{self.place}.{operation}"

    def atom(
        self, name: str, operands: str, *, returns: bool, dst: str = "{dst}", at: str = "{addr}"
    ) -> Instruction:
        """One ``atom``; an unused result goes to the bit bucket."""
        result = dst if returns else "_"
        return instruction(f"atom{self.suffix(name)}", f"{result}, [{at}], {operands}", self.source)

    def read(self, bits: int, dst: str, at: str) -> Instruction:
        """The read in front of a loop."""
        mnemonic = f"ld{self.first_read}{self.place}.b{bits}"
        return instruction(mnemonic, f"{dst}, [{at}]", self.source)


class _LoopCode:
    """Instructions with one source, in order, after the registers that they declare."""

    def __init__(self, source: str):
        self._source = source
        self._registers: list[Instruction] = []
        self._body: list[Instruction] = []

    @property
    def lines(self) -> list[Instruction]:
        """Declarations, then instructions."""
        return [*self._registers, *self._body]

    def registers(self, type_: str, *names: str) -> None:
        declared = f".{type_} " + ", ".join(f"{{{name}}}" for name in names)
        self._registers.append(instruction(".reg", declared, self._source))

    def add(self, mnemonic: str, operands: str, guard: str = "") -> None:
        made = instruction(mnemonic, operands, self._source)
        self._body.append(replace(made, guard=(Placeholder(guard),)) if guard else made)

    def label(self, name: str) -> None:
        self.add("", f"{{{name}}}:")

    def append(self, made: Instruction) -> None:
        self._body.append(made)

    def compute(self, compute: Compute, bits: int, operand: str, old: str = "{old}") -> None:
        for mnemonic, operands in compute.steps:
            named = operands.replace("{operand}", operand).replace("{old}", old)
            self.add(mnemonic if compute.typed else f"{mnemonic}{bits}", named)


def _register_bits(width: int) -> int:
    return max(width, 16)


def _letter(compute: Compute) -> str:
    return "s" if compute.signed else "u"


def rmw(
    through: AtomicAccess, compute: Compute, width: int, swapped: int, returns: bool
) -> list[Instruction]:
    """A loop that computes on ``width`` bits, swapping ``swapped`` bits at a time."""
    if swapped != width:
        return _rmw_in_word(through, compute, width, returns)
    code = _LoopCode(through.source)
    code.registers(f"b{width}", "old", "new", *compute.scratch, *(() if returns else ("dst",)))
    code.registers("pred", "again", *(("wraps",) if compute.wraps else ()))
    code.append(through.read(width, "{dst}", "{addr}"))
    code.label("retry")
    code.add(f"mov.b{width}", "{old}, {dst}")
    code.compute(compute, width, "{data}")
    code.append(through.atom(f"cas.b{width}", "{old}, {new}", returns=True))
    code.add(f"setp.ne.b{width}", "{again}, {dst}, {old}")
    code.add("bra", "{retry}", guard="again")
    return code.lines


def _rmw_in_word(
    through: AtomicAccess, compute: Compute, width: int, returns: bool
) -> list[Instruction]:
    code = _LoopCode(through.source)
    code.registers(f"b{WORD}", "old", "new", "operand")
    code.registers("pred", "again", *(("wraps",) if compute.wraps else ()))
    _locate(code)
    letter = _letter(compute)
    code.add(f"cvt.{letter}32.{letter}{width}", "{operand}, {data}")
    code.append(through.read(WORD, "{expected}", "{word}"))
    code.label("retry")
    code.add(f"bfe.{letter}32", f"{{old}}, {{expected}}, {{shift}}, {width}")
    code.compute(compute, WORD, "{operand}")
    _swap_in_word(code, through, width)
    if returns:
        code.add(f"cvt.u16.u{width}", "{dst}, {old}")
    return code.lines


def _locate(code: _LoopCode) -> None:
    """``{word}``: the aligned word around ``{addr}``; ``{shift}``: where in it the value starts."""
    code.registers("b64", "word")
    code.registers(f"b{WORD}", "shift", "expected", "found")
    code.add("and.b64", "{word}, {addr}, -4")
    code.add("cvt.u32.u64", "{shift}, {addr}")
    code.add("and.b32", "{shift}, {shift}, 3")
    code.add("shl.b32", "{shift}, {shift}, 3")


def _swap_in_word(code: _LoopCode, through: AtomicAccess, width: int) -> None:
    """Put ``{new}`` into ``{expected}``, swap, and go back to ``{retry}`` unless that succeeded."""
    code.registers(f"b{WORD}", "merged")
    code.add("bfi.b32", f"{{merged}}, {{new}}, {{expected}}, {{shift}}, {width}")
    swap = through.atom(
        f"cas.b{WORD}", "{expected}, {merged}", returns=True, dst="{found}", at="{word}"
    )
    code.append(swap)
    code.add("setp.ne.b32", "{again}, {found}, {expected}")
    code.add("mov.b32", "{expected}, {found}")
    code.add("bra", "{retry}", guard="again")


def cmpxchg(through: AtomicAccess, width: int) -> list[Instruction]:
    """A strong compare-exchange on part of a word: it fails only if the value differs."""
    code = _LoopCode(through.source)
    code.registers(f"b{WORD}", "old", "comparand", "new")
    code.registers("pred", "again", "differs")
    _locate(code)
    code.add(f"cvt.u32.u{width}", "{comparand}, {compare}")
    code.add(f"cvt.u32.u{width}", "{new}, {data}")
    code.append(through.read(WORD, "{expected}", "{word}"))
    code.label("retry")
    code.add("bfe.u32", f"{{old}}, {{expected}}, {{shift}}, {width}")
    code.add("setp.ne.u32", "{differs}, {old}, {comparand}")
    code.add("bra", "{done}", guard="differs")
    _swap_in_word(code, through, width)
    code.label("done")
    code.add(f"cvt.u16.u{width}", "{dst}, {old}")
    return code.lines


_OWN = "no other thread reaches private memory: plain accesses"


def private_rmw(compute: Compute, width: int, returns: bool, source: str) -> list[Instruction]:
    """Load, compute, store: no other thread can interfere."""
    code = _LoopCode(f"{_OWN}; {source}")
    bits = width if width > 16 or compute.typed else WORD
    code.registers(f"b{bits}", "new", *compute.scratch)
    if compute.wraps:
        code.registers("pred", "wraps")
    if not returns:
        code.registers(f"b{_register_bits(width)}", "dst")
    code.add(f"ld.weak.local.b{width}", "{dst}, [{addr}]")
    old, operand = "{dst}", "{data}"
    if bits != width:
        old, operand, letter = "{old}", "{operand}", _letter(compute)
        code.registers(f"b{bits}", "old", "operand")
        code.add(f"cvt.{letter}32.{letter}{width}", "{old}, {dst}")
        code.add(f"cvt.{letter}32.{letter}{width}", "{operand}, {data}")
    code.compute(compute, bits, operand, old)
    code.add(f"st.weak.local.b{width}", "[{addr}], {new}")
    return code.lines


def private_cmpxchg(width: int, source: str) -> list[Instruction]:
    """Load, compare, store if equal: no other thread can interfere."""
    code = _LoopCode(f"{_OWN}; {source}")
    code.registers("pred", "equal")
    code.add(f"ld.weak.local.b{width}", "{dst}, [{addr}]")
    compared = "{compare}"
    if width < 16:
        compared = "{comparand}"
        code.registers("b16", "comparand")
        code.add(f"cvt.u16.u{width}", "{comparand}, {compare}")
    code.add(f"setp.eq.b{_register_bits(width)}", f"{{equal}}, {{dst}}, {compared}")
    code.add(f"st.weak.local.b{width}", "[{addr}], {data}", guard="equal")
    return code.lines
