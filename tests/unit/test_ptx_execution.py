"""What is printed as PTX computes what the program means: random programs, executed line by line.

``Thread`` executes the text of a kernel for one thread; a register that is read before it is
written is an error, so that instruction selection, constants in place of operands and the
copies where control goes to a block are all tested. Memory is sequential here.
"""

import io
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from campaigns import Share, draws
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from test_cdna_execution import (
    ARGUMENT_VALUES,
    ARGUMENTS,
    BUFFER,
    HEAD,
    Memory,
    Reference,
    buffer_of,
    combine,
    context,
    parse,
    programs,
    signed,
)
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.parser import Parser

from fencewright.lowering.ptx.chip import CHIPS
from fencewright.mlir_dialects import ptx
from fencewright.passes.print import ptx as print_ptx
from fencewright.passes.print.ptx import PTXTarget
from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass


def ptx_context() -> Context:
    ctx = context()
    ctx.load_dialect(ptx.PTX)
    return ctx


def lower(text: str, chip: str) -> str:
    """The PTX of a module, which verifies and survives printing and parsing once converted."""
    module, ctx = parse(text), ptx_context()
    ConvertScopedToPTXPass(mcpu=chip).apply(ctx, module)
    module.verify()
    assert str(Parser(ptx_context(), str(module)).parse_module()) == str(module)
    output = io.StringIO()
    PTXTarget().emit(ctx, module, output)
    return output.getvalue()


WIDTHS = {"p": 1, "rs": 16, "r": 32, "rd": 64}
SPACES = ("global", "shared", "local")
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
ALU: dict[str, Callable[..., Any]] = {
    "mov": operator.pos,
    "neg": operator.neg,
    "not": operator.inv,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
    "min": min,
    "max": max,
    "shl": int.__lshift__,
    "shr": int.__rshift__,
}
ATOMIC = {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}


def typed(value: int, type: str) -> int:
    """A value as an instruction of this type sees it."""
    if type == "pred":
        return value & 1
    bits = int(type[1:])
    return signed(value, bits) if type[0] == "s" else value & ((1 << bits) - 1)


@dataclass
class Thread:
    """Runs one kernel from its first line to ``ret``."""

    text: str
    parameters: list[int]

    def __post_init__(self) -> None:
        self.memories = {space: Memory() for space in SPACES}
        self.registers: dict[str, int] = {}
        self.bits: dict[str, int] = {}
        self.addresses: dict[str, int] = {}
        self._declare()
        body = self.text.partition("\n{\n")[2]
        self.lines = [line.strip().rstrip(";") for line in body.splitlines()]
        self.labels = {line[:-1]: n for n, line in enumerate(self.lines) if line.endswith(":")}

    def _declare(self) -> None:
        end = {"shared": 0, "local": 0}
        pattern = r"\.(shared|local) \.align (\d+) \.b8 (\S+)\[(\d+)\]"
        for space, alignment, name, size in re.findall(pattern, self.text):
            self.addresses[name] = -(-end[space] // int(alignment)) * int(alignment)
            end[space] = self.addresses[name] + int(size)

    def run(self, limit: int = 50_000) -> Memory:
        at = 0
        for _ in range(limit):
            line = self.lines[at]
            if line == "ret":
                return self.memories["global"]
            target = self._step(line)
            at = at + 1 if target is None else self.labels[target]
        raise AssertionError("the kernel does not end")

    def _step(self, line: str) -> str | None:
        if line.endswith(":") or line.startswith((".local", "fence", "barrier")):
            return None
        if line.startswith("@"):
            predicate, _, line = line.partition(" ")
            if self.read(predicate[1:].lstrip("!")) == ("!" in predicate):
                return None
        mnemonic, _, rest = line.partition(" ")
        name, *words = mnemonic.split(".")
        operands = rest.split(", ")
        if name == "bra":
            return operands[0]
        if line.startswith(".reg"):
            for each in rest.partition(" ")[2].split(", "):
                self.bits[each] = 1 if ".pred" in rest else int(rest[2:4])
        elif name in ("ld", "st", "atom", "red"):
            self._memory(name, words, operands)
        else:
            self._alu(name, words, operands)
        return None

    def read(self, operand: str) -> int:
        if operand in self.addresses:
            return self.addresses[operand]
        if operand in ("%tid.x", "%ctaid.x"):
            return 0
        if re.fullmatch(r"-?\d+", operand):
            return int(operand)
        assert operand in self.registers, f"{operand} is read before it is written"
        return self.registers[operand]

    def write(self, register: str, value: int) -> None:
        found = re.fullmatch(r"%([a-z]+)\d+", register)
        bits = self.bits[register] if found is None else WIDTHS[found[1]]
        self.registers[register] = value & ((1 << bits) - 1)

    def _memory(self, name: str, words: list[str], operands: list[str]) -> None:
        size = int(words[-1][1:]) // 8
        if "param" in words:
            number = int(operands[1].rstrip("]").rpartition("_")[2])
            self.write(operands[0], self.parameters[number] & ((1 << 8 * size) - 1))
            return
        space = next((word for word in words if word in SPACES), "global")
        memory = self.memories[space]
        if name == "ld":
            self.write(operands[0], memory.read(self._address(operands[1], size), size))
            return
        if name == "st":
            memory.write(self._address(operands[0], size), self.read(operands[1]), size)
            return
        result, where, *values = operands if name == "atom" else ["_", *operands]
        address = self._address(where, size)
        old, mask = memory.read(address, size), (1 << 8 * size) - 1
        data = [self.read(value) & mask for value in values]
        kind = words[-2]
        if kind == "cas":
            new = data[1] if old == data[0] else old
        else:
            sign = "u" if words[-1][0] == "u" and kind in ("min", "max") else ""
            new = combine(ATOMIC.get(kind, sign + kind), old, data[0], 8 * size)
        memory.write(address, new, size)
        if result != "_":
            self.write(result, old)

    def _address(self, operand: str, size: int) -> int:
        address = self.read(operand.strip("[]"))
        assert address % size == 0, "misaligned"
        return address

    def _alu(self, name: str, words: list[str], operands: list[str]) -> None:
        to, *rest = operands
        values, type = [self.read(each) for each in rest], words[-1]
        if name == "setp":
            a, b = (typed(value, type) for value in values)
            result = int(COMPARE[words[0]](a, b))
        elif name == "selp":
            result = values[0] if values[2] else values[1]
        elif name == "cvt":
            result = typed(values[0], type)
        elif name == "bfe":
            result = typed(values[0] >> values[1], f"{type[0]}{values[2]}")
        elif name in ("shl", "shr"):
            result = ALU[name](typed(values[0], type), min(values[1], 64))
        else:
            result = ALU[name](*(typed(value, type) for value in values))
        self.write(to, result)


def outcome(text: str, arguments: list[int]) -> Memory:
    return Thread(text, [BUFFER, *arguments, BUFFER]).run()


def expected(text: str, arguments: list[int]) -> Memory:
    function = next(op for op in parse(text).ops if isinstance(op, func.FuncOp))
    return Reference({"pad": 0, "lds": 16}).run(function, [BUFFER, *arguments, BUFFER])


SLOW: list[HealthCheck] = [HealthCheck.too_slow, HealthCheck.data_too_large]
CHIP_NAMES = st.sampled_from([chip.name for chip in CHIPS])


@pytest.mark.parametrize("share", draws(10))
def test_random_programs_compute_what_they_mean(share: Share) -> None:
    @seed(share.number)
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=SLOW)
    @given(programs(), CHIP_NAMES, ARGUMENT_VALUES)
    def check(text: str, chip: str, arguments: list[int]) -> None:
        result = outcome(lower(text, chip), arguments)
        assert buffer_of(result) == buffer_of(expected(text, arguments))

    check()


def kernel(body: str) -> str:
    return f"{HEAD}{body}\nfunc.return\n}}\n"


@pytest.mark.parametrize(
    "body",
    [
        # An 8-bit value in a 16-bit register: what is above it must not count.
        "%x = arith.addi %d, %d : i8\n%y = arith.cmpi ult, %x, %d : i8\n"
        "%z = arith.extui %y : i1 to i32\nscoped.store weak %z, %global : i32, !llvm.ptr<1>",
        # Odd widths.
        "%x = arith.trunci %a : i64 to i5\n%y = arith.addi %x, %x : i5\n"
        "%z = arith.extsi %y : i5 to i32\nscoped.store weak %z, %global : i32, !llvm.ptr<1>",
        "%x = arith.trunci %a : i64 to i24\n%y = arith.addi %x, %x : i24\n"
        "%z = arith.extui %y : i24 to i64\nscoped.store weak %z, %global : i64, !llvm.ptr<1>",
        "%x = arith.trunci %a : i64 to i1\n%y = arith.extsi %x : i1 to i16\n"
        "scoped.store weak %y, %global : i16, !llvm.ptr<1>",
        # The old value of a compare-exchange, compared in as many bits as it has.
        "%x = arith.addi %b, %b : i32\n"
        "%o, %ok = scoped.cmpxchg relaxed relaxed agent %global, %x, %b : !llvm.ptr<1>, i32\n"
        "%z = arith.extui %ok : i1 to i32\nscoped.store weak %z, %global : i32, !llvm.ptr<1>",
    ],
)
def test_narrow_values(body: str):
    for arguments in ([255, 128, 3, 200, 1], [-1 & (1 << 64) - 1, 0, 0, 1, 0], [0] * 5):
        result = outcome(lower(kernel(body), "sm_90"), arguments)
        assert buffer_of(result) == buffer_of(expected(kernel(body), arguments))


SWAP = """
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%three = arith.constant 3 : i32
cf.br ^loop(%zero, %a, %one, %b, %three : i32, i64, i32, i32, i32)
^loop(%i: i32, %same: i64, %x: i32, %y: i32, %z: i32):
%n = arith.addi %i, %one : i32
%go = arith.cmpi ult, %n, %three : i32
cf.cond_br %go, ^loop(%n, %same, %z, %x, %y : i32, i64, i32, i32, i32), ^exit
^exit:
%xy = arith.muli %x, %y : i32
%r = arith.subi %xy, %z : i32
scoped.store weak %r, %global : i32, !llvm.ptr<1>
"""
"""A loop in which three values go round."""


def test_copies_are_made_all_at_once():
    arguments = [1, 40, 3, 4, 0]
    good = buffer_of(expected(kernel(SWAP), arguments))
    assert buffer_of(outcome(lower(kernel(SWAP), "sm_90"), arguments)) == good


def test_copies_one_after_the_other_are_caught(monkeypatch: pytest.MonkeyPatch):
    def one_after_the_other(printer: Any, values: list[Any], target: Any) -> None:
        for value, argument in zip(values, target.args, strict=True):
            register = ptx.register_of(argument)
            printer.lines.append(f"mov.{register} {printer.name(argument)}, {printer.name(value)};")

    printer = vars(print_ptx)["_Printer"]
    monkeypatch.setattr(printer, "_copy", one_after_the_other)
    arguments = [1, 40, 3, 4, 0]
    wrong = buffer_of(outcome(lower(kernel(SWAP), "sm_90"), arguments))
    assert wrong != buffer_of(expected(kernel(SWAP), arguments))


SIMPLE = kernel(
    "%0 = scoped.load weak %global : !llvm.ptr<1> -> i32\n%1 = arith.subi %0, %b : i32\n"
    "%2 = arith.shrui %1, %b : i32\nscoped.store weak %2, %global : i32, !llvm.ptr<1>"
)


@pytest.mark.parametrize(("right", "wrong"), [("sub.s32", "add.s32"), ("shr.u32", "shr.s32")])
def test_a_wrong_instruction_is_caught(right: str, wrong: str):
    text = lower(SIMPLE, "sm_90")
    arguments = [1, 2, 3, 4, 0]
    good = buffer_of(expected(SIMPLE, arguments))
    assert buffer_of(outcome(text, arguments)) == good
    assert right in text
    assert buffer_of(outcome(text.replace(right, wrong), arguments)) != good


def test_an_unwritten_register_is_caught():
    text = lower(SIMPLE, "sm_90")
    lines = [line for line in text.splitlines(keepends=True) if "sub.s32" not in line]
    with pytest.raises(AssertionError, match="read before it is written"):
        outcome("".join(lines), [1, 2, 3, 4, 0])


def test_the_generator_uses_every_argument():
    """The thread is given as many parameters as the programs have."""
    assert lower(SIMPLE, "sm_90").count(".param .b") == len(ARGUMENTS) + 2
