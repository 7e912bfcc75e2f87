"""What is printed computes what the program means: random programs, executed instruction by instruction.

``Lane`` executes the assembly of a kernel for one lane. A loaded value arrives in its register
only when an ``s_waitcnt`` covers it, and touching the register before that is an error, so that
instruction selection, waits and register allocation are all tested. ``Reference`` evaluates the
same program's ``arith``, ``cf``, ``llvm`` and ``scoped`` operations. Memory is sequential here;
orderings between waves are the simulator's business. The same programs are run by the executor of
``simulator.performance``.
"""

import io
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest
from campaigns import Share, draws
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from lane_kernels import programs_of
from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, gpu, llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.kernel import entry_registers
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.cdna import CDNA
from fencewright.passes.cdna.allocate_registers import AllocateRegistersPass
from fencewright.passes.cdna.waits.insert_waits import InsertWaitsPass
from fencewright.passes.print.cdna import CDNAAssemblyTarget
from fencewright.passes.to_cdna.builder import bits_of
from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import BufferOfSize, Launch, allocate
from fencewright.tools.llvm_tools import find_llvm_tool

EXECUTED = sorted(name for name, chip in CHIPS.items() if not chip.splits_counters)
"""The chips whose instructions ``Lane`` executes."""

KERNARG = 0x1000
BUFFER = 0x100000
SCRATCH = 0x7000
WAVE_OFFSET = 0x2000
LANE = 5


class TooEarly(AssertionError):
    """A register was touched before the load into it had been waited for."""


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


_TOKEN = re.compile(r"^([vs])(?:(\d+)|\[(\d+):(\d+)\])$")

UNARY: Mapping[str, Callable[[int], int]] = {
    "v_mov_b32_e32": lambda a: a,
    "s_mov_b32": lambda a: a,
    "s_mov_b64": lambda a: a,
}

BINARY_ALU: Mapping[str, Callable[[int, int], int]] = {
    "v_add_u32_e32": lambda a, b: a + b,
    "v_sub_u32_e32": lambda a, b: a - b,
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: (a * b) >> 32,
    "v_and_b32_e32": lambda a, b: a & b,
    "v_or_b32_e32": lambda a, b: a | b,
    "v_xor_b32_e32": lambda a, b: a ^ b,
    "v_min_u32_e32": lambda a, b: min(a, b),
    "v_max_u32_e32": lambda a, b: max(a, b),
    "v_min_i32_e32": lambda a, b: min(signed(a, 32), signed(b, 32)),
    "v_max_i32_e32": lambda a, b: max(signed(a, 32), signed(b, 32)),
    "v_lshlrev_b32_e32": lambda a, b: b << (a & 31),
    "v_lshrrev_b32_e32": lambda a, b: b >> (a & 31),
    "v_ashrrev_i32_e32": lambda a, b: signed(b, 32) >> (a & 31),
    "v_lshlrev_b64": lambda a, b: b << (a & 63),
    "v_lshrrev_b64": lambda a, b: b >> (a & 63),
    "v_ashrrev_i64": lambda a, b: signed(b, 64) >> (a & 63),
    "s_and_b64": lambda a, b: a & b,
    "s_or_b64": lambda a, b: a | b,
    "s_xor_b64": lambda a, b: a ^ b,
    "s_xnor_b64": lambda a, b: ~(a ^ b),
    "s_andn2_b64": lambda a, b: a & ~b,
}

TERNARY: Mapping[str, Callable[[int, int, int], int]] = {
    "v_bfe_u32": lambda a, o, w: (a >> o) & ((1 << w) - 1),
    "v_bfe_i32": lambda a, o, w: signed(a >> o, w),
    "v_lshl_add_u64": lambda a, n, b: (a << n) + b,
    "v_cndmask_b32_e64": lambda a, b, mask: b if mask & 1 else a,
}

ALU: Mapping[str, Callable[..., int]] = {**UNARY, **BINARY_ALU, **TERNARY}

COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def combine(kind: str, old: int, data: int, width: int) -> int:
    """What a read-modify-write stores, by LLVM's name of its kind."""
    mask = (1 << width) - 1
    match kind:
        case "xchg":
            new = data
        case "add":
            new = old + data
        case "sub":
            new = old - data
        case "and":
            new = old & data
        case "nand":
            new = ~(old & data)
        case "or":
            new = old | data
        case "xor":
            new = old ^ data
        case "max":
            new = max(signed(old, width), signed(data, width))
        case "min":
            new = min(signed(old, width), signed(data, width))
        case "umax":
            new = max(old, data)
        case "umin":
            new = min(old, data)
        case "uinc_wrap":
            new = 0 if old >= data else old + 1
        case "udec_wrap":
            new = data if old == 0 or old > data else old - 1
        case _:
            raise AssertionError(f"unknown kind {kind}")
    return new & mask


_ATOMIC_KIND = {
    "swap": "xchg",
    "wrxchg": "xchg",
    "smax": "max",
    "smin": "min",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
}


@dataclass
class Memory:
    """Bytes that read as zero until they are written."""

    data: dict[int, int] = field(default_factory=dict[int, int])

    def read(self, address: int, size: int) -> int:
        return sum(self.data.get(address + n, 0) << 8 * n for n in range(size))

    def write(self, address: int, value: int, size: int) -> None:
        for n in range(size):
            self.data[address + n] = (value >> 8 * n) & 0xFF


ELEMENT = 4
"""Bytes of one lane that lie together in the private segment of chips that have a buffer for it.

Source: LLVM SIInstrInfo, getScratchRsrcWords23: an element size is for GFX8 and older;
SIISelLowering, max-private-element-size-4.
"""

LANES_OF_STRIDE = {0: 8, 1: 16, 2: 32, 3: 64}
_SWIZZLE, _STRIDE, _ADD_LANE = 63, 117, 119
PRIVATE_SEGMENT_BUFFER = SCRATCH | 1 << _SWIZZLE | 0xFFFFFFFF << 64 | 3 << _STRIDE | 1 << _ADD_LANE
"""The descriptor that a wave starts with. Source: LLVM AMDGPUUsage, Private Segment Buffer;
MI200 ISA 9.1, Buffer Resource Descriptor."""


def place_in_buffer(descriptor: int, offset: int) -> int:
    """The address of a byte of this lane's. Source: MI200 ISA 9.1, Buffer Addressing, swizzled."""
    assert descriptor >> _SWIZZLE & descriptor >> _ADD_LANE & 1
    element, byte = divmod(offset, ELEMENT)
    lanes = LANES_OF_STRIDE[descriptor >> _STRIDE & 3]
    return (descriptor & (1 << 48) - 1) + (element * lanes + LANE) * ELEMENT + byte


@dataclass
class WaveScratch(Memory):
    """What the buffer for private memory reaches: the elements of each lane, side by side.

    A byte that belongs to another lane is another one's, and stays so.
    """

    def read(self, address: int, size: int) -> int:
        return sum(
            (self.data.get(address + n, 0) if self._is_own(address + n) else 0xA5) << 8 * n
            for n in range(size)
        )

    def write(self, address: int, value: int, size: int) -> None:
        for n in range(size):
            if self._is_own(address + n):
                self.data[address + n] = (value >> 8 * n) & 0xFF

    def _is_own(self, address: int) -> bool:
        element = (address - SCRATCH - WAVE_OFFSET) // ELEMENT
        return element >= 0 and element % LANES_OF_STRIDE[3] == LANE


Pending = tuple[str, tuple[str, ...], Callable[[], None]]
"""The unit, the registers in flight, and what delivers them."""


class Lane:
    """Runs one kernel from its first instruction to ``s_endpgm``."""

    def __init__(self, assembly: str, chip: str, kernarg: bytes, uses_scratch: bool):
        self.registers: dict[str, int] = {}
        self.memory, self.lds, self.scratch = Memory(), Memory(), Memory()
        self.wave_scratch = WaveScratch()
        self.pending: list[Pending] = []
        self.carry = 0
        self.vcc = 0
        self.lines: list[str] = []
        self.labels: dict[str, int] = {}
        self._read_program(assembly)
        for n, byte in enumerate(kernarg):
            self.memory.write(KERNARG + n, byte, 1)
        entry = entry_registers(chip, 0, uses_scratch)
        self.write(f"s[{entry.kernarg}:{entry.kernarg + 1}]", KERNARG)
        for index in range(entry.kernarg + 2, entry.kernarg + 8):
            self.registers[f"s{index}"] = 0
        for index in range(3):
            self.registers[f"v{index}"] = 0
        if entry.resource is not None:
            self.write(f"s[{entry.resource}:{entry.resource + 3}]", PRIVATE_SEGMENT_BUFFER)
            self.write(f"s{entry.scratch_offset}", WAVE_OFFSET)

    def _read_program(self, assembly: str) -> None:
        body = assembly.split("@function\n", 1)[1].split("_end:", 1)[0]
        for line in body.splitlines()[1:]:
            text = line.partition(";")[0].strip()
            if text.endswith(":"):
                self.labels[text[:-1]] = len(self.lines)
            elif text and not text.startswith(".L"):
                self.lines.append(text)

    # Registers

    def _names(self, token: str) -> list[str]:
        match = _TOKEN.match(token)
        if match is None:
            return []
        file, single, first, last = match.groups()
        if single is not None:
            return [f"{file}{single}"]
        return [f"{file}{n}" for n in range(int(first), int(last) + 1)]

    def _check_arrived(self, names: list[str], pending: list[Pending] | None = None) -> None:
        for _, waited, _ in self.pending if pending is None else pending:
            if not set(names).isdisjoint(waited):
                raise TooEarly(f"{names} before the load has been waited for")

    def read(self, token: str) -> int:
        if token == "vcc":
            return self.vcc
        if token == "exec":
            return 1
        names = self._names(token)
        if not names:
            return int(token, 0) & 0xFFFFFFFFFFFFFFFF
        self._check_arrived(names)
        return sum(self.registers[name] << 32 * n for n, name in enumerate(names))

    def write(self, token: str, value: int) -> None:
        if token == "vcc":
            self.vcc = value & 0xFFFFFFFFFFFFFFFF
            return
        names = self._names(token)
        self._check_arrived(names)
        for n, name in enumerate(names):
            self.registers[name] = (value >> 32 * n) & 0xFFFFFFFF

    # Execution

    def run(self, limit: int = 20000) -> Memory:
        """The global memory once the kernel has ended."""
        counter = 0
        for _ in range(limit):
            line = self.lines[counter]
            mnemonic, _, rest = line.partition(" ")
            if mnemonic == "s_endpgm":
                return self.memory
            counter = self._branch(mnemonic, rest, counter + 1)
            self._step(mnemonic, rest.split(", "))
        raise AssertionError("the kernel does not end")

    def _branch(self, mnemonic: str, target: str, following: int) -> int:
        if mnemonic == "s_branch":
            return self.labels[target]
        if mnemonic == "s_cbranch_vccnz":
            return self.labels[target] if self.vcc else following
        if mnemonic == "s_cbranch_vccz":
            return following if self.vcc else self.labels[target]
        return following

    def _step(self, mnemonic: str, operands: list[str]) -> None:
        if mnemonic in ALU:
            self.write(operands[0], ALU[mnemonic](*map(self.read, operands[1:])))
        elif mnemonic.startswith("v_cmp_"):
            self._compare(mnemonic, operands)
        elif "_co_" in mnemonic or mnemonic in ("s_add_u32", "s_addc_u32"):
            self._carry(mnemonic, operands)
        elif mnemonic == "s_waitcnt":
            self._wait(operands[0])
        elif mnemonic.startswith(("s_load", "ds_", "global_", "flat_", "scratch_", "buffer_")):
            if "wb" not in mnemonic and "inv" not in mnemonic:
                self._access(mnemonic, operands)
        elif not mnemonic.startswith(("s_nop", "s_barrier", "s_branch", "s_cbranch")):
            raise AssertionError(f"unknown instruction {mnemonic}")

    def _compare(self, mnemonic: str, operands: list[str]) -> None:
        _, _, predicate, kind, _ = mnemonic.split("_")
        a, b = map(self.read, operands[1:])
        width = int(kind[1:])
        if kind[0] == "i":
            a, b = signed(a, width), signed(b, width)
        self.write(operands[0], int(COMPARE[predicate](a, b)))

    def _carry(self, mnemonic: str, operands: list[str]) -> None:
        if mnemonic.startswith("s_"):
            total = self.read(operands[1]) + self.read(operands[2])
            total += self.carry if mnemonic == "s_addc_u32" else 0
            self.carry = total >> 32
            self.write(operands[0], total)
            return
        carry = self.vcc & 1 if len(operands) == 5 else 0
        a, b = self.read(operands[2]), self.read(operands[3])
        total = a - b - carry if "sub" in mnemonic else a + b + carry
        self.write(operands[0], total)
        self.vcc = int(not 0 <= total < 1 << 32)

    def _wait(self, counts: str) -> None:
        for name, count in re.findall(r"(vmcnt|lgkmcnt)\((\d+)\)", counts):
            units = {"vmcnt": ("vector", "flat"), "lgkmcnt": ("lds", "scalar", "flat")}[name]
            mine = [each for each in self.pending if each[0] in units]
            done = mine[: max(len(mine) - int(count), 0)]
            if int(count):
                # Scalar loads come out of order, flat ones in any order with both units.
                done = [each for each in done if each[0] not in ("scalar", "flat")]
            for each in done:
                self.pending.remove(each)
            for _, _, deliver in done:
                deliver()

    def _access(self, mnemonic: str, operands: list[str]) -> None:
        offset = sum(int(each) for each in re.findall(r"offset:(\d+)", operands[-1]))
        operands = [each.partition(" ")[0] for each in operands]
        unit, memory = "vector", self.memory
        if mnemonic.startswith("ds_"):
            unit, memory = "lds", self.lds
        elif mnemonic.startswith("s_load"):
            unit, offset = "scalar", int(operands[2], 0)
        elif mnemonic.startswith("flat_"):
            unit = "flat"
        elif mnemonic.startswith("scratch_"):
            memory = self.scratch
        elif mnemonic.startswith("buffer_"):
            memory = self.wave_scratch
        if mnemonic.startswith("buffer_store"):
            operands[0], operands[1] = operands[1], operands[0]
        if "_load_" in mnemonic or "_read_" in mnemonic:
            address = self._place(mnemonic, operands[1:], offset)
            self._deliver(unit, operands[0], memory.read(address, bytes_of(mnemonic)))
        elif "_store_" in mnemonic or "_write_" in mnemonic:
            address = self._place(mnemonic, operands, offset)
            memory.write(address, self.read(operands[1]), bytes_of(mnemonic))
            self.pending.append((unit, (), lambda: None))
        else:
            self._atomic(unit, memory, mnemonic, operands, offset)

    def _place(self, mnemonic: str, operands: list[str], offset: int) -> int:
        """Where an access begins; its address is the first of ``operands``."""
        address = self.read(operands[0]) + offset
        if not mnemonic.startswith("buffer_"):
            return address
        return place_in_buffer(self.read(operands[-2]), address)

    def _deliver(self, unit: str, token: str, value: int) -> None:
        names = self._names(token)
        # One unit returns in order, so that a later load may overwrite an earlier one's result.
        others = [each for each in self.pending if each[0] != unit or unit in ("flat", "scalar")]
        self._check_arrived(names, others)

        def arrive() -> None:
            for n, name in enumerate(names):
                self.registers[name] = (value >> 32 * n) & 0xFFFFFFFF

        for name in names:
            self.registers[name] = 0xDEADBEEF
        self.pending.append((unit, tuple(names), arrive))

    def _atomic(
        self, unit: str, memory: Memory, mnemonic: str, operands: list[str], offset: int
    ) -> None:
        operands = [each for each in operands if each != "off"]
        compares = "cmpswap" in mnemonic or "cmpst" in mnemonic
        wanted = 3 if "cmpst" in mnemonic else 2
        result = operands.pop(0) if len(operands) > wanted else None
        size = 8 if mnemonic.endswith(("_x2", "64")) else 4
        width = 8 * size
        address = self.read(operands[0]) + offset
        data = self.read(operands[1])
        old = memory.read(address, size)
        if "cmpst" in mnemonic:
            compare, data = data, self.read(operands[2])
        else:
            compare, data = data >> width, data & ((1 << width) - 1)
        if compares:
            new = data if old == compare else old
        else:
            new = combine(_kind(mnemonic), old, data, width)
        memory.write(address, new, size)
        if result is None:
            self.pending.append((unit, (), lambda: None))
        else:
            self._deliver(unit, result, old)


def bytes_of(mnemonic: str) -> int:
    suffix = mnemonic.rsplit("_", 1)[1]
    sizes = {"ubyte": 1, "byte": 1, "ushort": 2, "short": 2, "dword": 4}
    if suffix in sizes:
        return sizes[suffix]
    if suffix.startswith("dwordx"):
        return 4 * int(suffix.removeprefix("dwordx"))
    return int(suffix[1:]) // 8


def _kind(mnemonic: str) -> str:
    parts = [p for p in mnemonic.split("_")[1:] if p not in ("atomic", "rtn", "x2")]
    name = parts[0]
    if mnemonic.startswith("ds_") and len(parts) > 1 and name in ("max", "min"):
        return name if parts[1][0] == "i" else f"u{name}"
    return _ATOMIC_KIND.get(name, name)


_REFERENCE: Mapping[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "shli": lambda a, b, w: a << b,
    "shrui": lambda a, b, w: a >> b,
    "shrsi": lambda a, b, w: signed(a, w) >> b,
}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def width(value: SSAValue) -> int:
    bits = bits_of(value.type)
    assert bits is not None
    return bits


class Reference:
    """The values and memories of one run."""

    def __init__(self, lds: Mapping[str, int]):
        self.values: dict[SSAValue, int] = {}
        self.memories = {space: Memory() for space in AddressSpace}
        self.lds = lds
        self.stack = 0

    def run(self, function: Operation, arguments: list[int], limit: int = 5000) -> Memory:
        block = function.regions[0].blocks[0]
        self.values.update(zip(block.args, arguments, strict=True))
        for _ in range(limit):
            for op in block.ops:
                self._step(op)
            last = block.last_op
            if isinstance(last, cf.BranchOp):
                target, values = last.successor, last.arguments
            elif isinstance(last, cf.ConditionalBranchOp):
                taken = self.values[last.cond]
                target = last.then_block if taken else last.else_block
                values = last.then_arguments if taken else last.else_arguments
            else:
                return self.memories[AddressSpace.GLOBAL]
            incoming = [self.values[value] for value in values]
            self.values.update(zip(target.args, incoming, strict=True))
            block = target
        raise AssertionError("the function does not end")

    def _set(self, value: SSAValue, number: int) -> None:
        self.values[value] = number & ((1 << width(value)) - 1)

    def _step(self, op: Operation) -> None:
        name = op.name.partition(".")[2]
        operands = [self.values[each] for each in op.operands]
        if name in _REFERENCE:
            bits = width(op.results[0])
            a, b = operands
            self._set(op.results[0], _REFERENCE[name](a, b, bits))
        elif isinstance(op, arith.ConstantOp):
            self._set(op.result, cast(IntegerAttr, op.value).value.data)
        elif isinstance(op, arith.CmpiOp):
            self._compare(op, operands)
        elif isinstance(op, arith.SelectOp):
            self._set(op.result, operands[1] if operands[0] else operands[2])
        elif isinstance(op, arith.ExtSIOp):
            self._set(op.results[0], signed(operands[0], width(op.operands[0])))
        elif isinstance(op, arith.ExtUIOp | arith.TruncIOp):
            self._set(op.results[0], operands[0])
        elif isinstance(op, llvm.GEPOp):
            self._pointer(op, operands)
        elif isinstance(op, llvm.AllocaOp):
            self._set(op.res, self.stack)
            self.stack += 256
        elif isinstance(op, llvm.AddressOfOp):
            self._set(op.result, self.lds[op.global_name.root_reference.data])
        elif isinstance(op, scoped.AccessOperation):
            self._access(op, operands)

    def _compare(self, op: arith.CmpiOp, operands: list[int]) -> None:
        predicate = PREDICATES[op.predicate.value.data]
        a, b = operands
        if predicate[0] == "s":
            bits = width(op.lhs)
            a, b = signed(a, bits), signed(b, bits)
        name = predicate if predicate in COMPARE else predicate[1:]
        self._set(op.result, int(COMPARE[name](a, b)))

    def _pointer(self, op: llvm.GEPOp, operands: list[int]) -> None:
        size = (bits_of(op.elem_type) or 0) // 8
        if op.ssa_indices:
            index = signed(operands[1], width(op.ssa_indices[0]))
        else:
            index = int(op.rawConstantIndices.get_values()[0])
        self._set(op.result, operands[0] + index * size)

    def _access(self, op: scoped.AccessOperation, operands: list[int]) -> None:
        space = op.space
        memory = self.memories[AddressSpace.GLOBAL if space is AddressSpace.GENERIC else space]
        bits = bits_of(op.value_type) or 0
        if isinstance(op, scoped.LoadOp):
            self._set(op.value, memory.read(operands[0], bits // 8))
        elif isinstance(op, scoped.StoreOp):
            memory.write(self.values[op.pointer], self.values[op.value], bits // 8)
        elif isinstance(op, scoped.AtomicRmwOp):
            old = memory.read(operands[0], bits // 8)
            memory.write(operands[0], combine(op.kind.data, old, operands[1], bits), bits // 8)
            self._set(op.old, old)
        elif isinstance(op, scoped.CmpxchgOp):
            address, compare, new = operands
            old = memory.read(address, bits // 8)
            self._set(op.old, old)
            self._set(op.success, int(old == compare))
            memory.write(address, new if old == compare else old, bits // 8)


# Programs


def context() -> Context:
    ctx = Context()
    for dialect in (
        builtin.Builtin, func.Func, arith.Arith, cf.Cf, llvm.LLVM, gpu.GPU, CDNA, scoped.Scoped,
    ):  # fmt: skip
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def lower(text: str, chip: str) -> tuple[str, ModuleOp]:
    """The assembly of a module; every stage is verified, and survives printing and parsing."""
    module, ctx = parse(text), context()
    steps = (ConvertScopedToCDNAPass(mcpu=chip), InsertWaitsPass(), AllocateRegistersPass())
    for step in steps:
        step.apply(ctx, module)
        module.verify()
        assert str(Parser(context(), str(module)).parse_module()) == str(module)
    output = io.StringIO()
    CDNAAssemblyTarget().emit(ctx, module, output)
    return output.getvalue(), module


INTEGERS = ("i8", "i16", "i32", "i64")
BINARY = ("addi", "subi", "muli", "andi", "ori", "xori")
SHIFTS = ("shli", "shrui", "shrsi")
KINDS = (
    "xchg", "add", "sub", "and", "or", "xor", "max", "min", "umax", "umin",
    "uinc_wrap", "udec_wrap",
)  # fmt: skip
POINTERS = {
    "global": "!llvm.ptr<1>",
    "generic": "!llvm.ptr",
    "lds": "!llvm.ptr<3>",
    "stack": "!llvm.ptr<5>",
}
SLOTS = 4
ARGUMENTS = (("%a", "i64"), ("%b", "i32"), ("%c", "i16"), ("%d", "i8"), ("%e", "i1"))


@dataclass
class Program:
    """Lines of MLIR and the values in scope, drawn step by step."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list[str])
    scope: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    count: int = 0

    def fresh(self, type: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.scope.setdefault(type, []).append(name)
        return name

    def temporary(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, type: str) -> str:
        return self.draw(st.sampled_from(self.scope[type]))

    def one_of(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def constant(self) -> None:
        type = self.one_of(*INTEGERS)
        bits = int(type[1:])
        value = self.draw(st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
        self.lines.append(f"{self.fresh(type)} = arith.constant {value} : {type}")

    def binary(self) -> None:
        type = self.one_of("i1", *INTEGERS)
        a, b, op = self.pick(type), self.pick(type), self.one_of(*BINARY)
        self.lines.append(f"{self.fresh(type)} = arith.{op} {a}, {b} : {type}")

    def shift(self) -> None:
        type = self.one_of(*INTEGERS)
        a, op, amount = self.pick(type), self.one_of(*SHIFTS), self.temporary()
        bits = self.draw(st.integers(0, int(type[1:]) - 1))
        self.lines.append(f"{amount} = arith.constant {bits} : {type}")
        self.lines.append(f"{self.fresh(type)} = arith.{op} {a}, {amount} : {type}")

    def compare(self) -> None:
        type = self.one_of(*INTEGERS)
        a, b, predicate = self.pick(type), self.pick(type), self.one_of(*PREDICATES)
        self.lines.append(f"{self.fresh('i1')} = arith.cmpi {predicate}, {a}, {b} : {type}")

    def select(self) -> None:
        type = self.one_of("i1", *INTEGERS)
        mask, a, b = self.pick("i1"), self.pick(type), self.pick(type)
        self.lines.append(f"{self.fresh(type)} = arith.select {mask}, {a}, {b} : {type}")

    def resize(self) -> None:
        source, to = self.one_of("i1", *INTEGERS), self.one_of("i1", *INTEGERS)
        if source == to:
            return
        wider = int(to[1:]) > int(source[1:])
        op = self.one_of("extui", "extsi") if wider else "trunci"
        value = self.pick(source)
        self.lines.append(f"{self.fresh(to)} = arith.{op} {value} : {source} to {to}")

    def address(self) -> tuple[str, str]:
        """A pointer to one of a few slots of eight bytes, and its type."""
        space = self.one_of(*POINTERS)
        type, slot = POINTERS[space], self.draw(st.integers(0, SLOTS - 1))
        pointer = self.temporary()
        if self.draw(st.booleans()):
            self.lines.append(
                f"{pointer} = llvm.getelementptr %{space}[{slot}] : ({type}) -> {type}, i64"
            )
        else:
            index, index_type = self.temporary(), self.one_of("i32", "i64")
            self.lines.append(f"{index} = arith.constant {slot} : {index_type}")
            self.lines.append(
                f"{pointer} = llvm.getelementptr %{space}[{index}] : ({type}, {index_type}) -> {type}, i64"
            )
        return pointer, type

    def load(self) -> None:
        pointer, pointer_type = self.address()
        type = self.one_of(*INTEGERS)
        how = self.one_of("weak", "relaxed agent", "acquire workgroup", "seq_cst agent")
        value = self.fresh(type)
        self.lines.append(f"{value} = scoped.load {how} {pointer} : {pointer_type} -> {type}")

    def store(self) -> None:
        pointer, pointer_type = self.address()
        type = self.one_of(*INTEGERS)
        how = self.one_of("weak", "relaxed agent", "release system", "seq_cst workgroup")
        value = self.pick(type)
        self.lines.append(f"scoped.store {how} {value}, {pointer} : {type}, {pointer_type}")

    def rmw(self) -> None:
        pointer, pointer_type = self.address()
        type, kind = self.one_of("i32", "i64"), self.one_of(*KINDS)
        how = self.one_of("relaxed agent", "acq_rel workgroup", "seq_cst system")
        value = self.pick(type)
        old = self.fresh(type) if self.draw(st.booleans()) else self.temporary()
        self.lines.append(
            f"{old} = scoped.atomic_rmw {kind} {how} {pointer}, {value} : {pointer_type}, {type}"
        )

    def cmpxchg(self) -> None:
        pointer, pointer_type = self.address()
        type = self.one_of("i32", "i64")
        how = self.one_of("relaxed relaxed agent", "acq_rel acquire workgroup")
        compare, new = self.pick(type), self.pick(type)
        if self.draw(st.booleans()):
            compare = self.temporary()
            self.lines.append(
                f"{compare} = scoped.load relaxed agent {pointer} : {pointer_type} -> {type}"
            )
        used = self.draw(st.booleans())
        old = self.fresh(type) if used else self.temporary()
        ok = self.fresh("i1") if used else self.temporary()
        self.lines.append(
            f"{old}, {ok} = scoped.cmpxchg {how} {pointer}, {compare}, {new} : {pointer_type}, {type}"
        )

    def fence(self) -> None:
        self.lines.append(self.one_of("scoped.fence acq_rel agent", "scoped.barrier workgroup"))

    def straight(self) -> None:
        steps = (
            self.constant, self.binary, self.binary, self.shift, self.compare, self.select,
            self.resize, self.load, self.store, self.rmw, self.cmpxchg, self.fence,
        )  # fmt: skip
        for _ in range(self.draw(st.integers(1, 10))):
            self.draw(st.sampled_from(steps))()

    def diamond(self, number: int) -> None:
        """Two paths to a block that takes two values from each, some of them crossed over."""
        mask, type = self.pick("i1"), self.one_of("i1", "i32", "i64")
        pairs = [(self.pick(type), self.pick(type)) for _ in range(2)]
        before = {key: list(values) for key, values in self.scope.items()}
        self.lines.append(f"cf.cond_br {mask}, ^t{number}, ^f{number}")
        for side, (first, second) in zip("tf", pairs, strict=True):
            self.scope = {key: list(values) for key, values in before.items()}
            self.lines.append(f"^{side}{number}:")
            self.straight()
            values = f"{first}, {second} : {type}, {type}"
            self.lines.append(f"cf.br ^j{number}({values})")
        self.scope = before
        a, b = self.fresh(type), self.fresh(type)
        self.lines.append(f"^j{number}({a}: {type}, {b}: {type}):")

    def loop(self, number: int) -> None:
        """A loop of a few rounds in which two values swap places."""
        type = self.one_of("i1", "i32", "i64")
        first, second = self.pick(type), self.pick(type)
        zero, one, limit, i, n, go = (self.temporary() for _ in range(6))
        rounds = self.draw(st.integers(1, 3))
        for name, value in ((zero, 0), (one, 1), (limit, rounds)):
            self.lines.append(f"{name} = arith.constant {value} : i32")
        a, b = self.fresh(type), self.fresh(type)
        self.lines.append(f"cf.br ^l{number}({zero}, {first}, {second} : i32, {type}, {type})")
        self.lines.append(f"^l{number}({i}: i32, {a}: {type}, {b}: {type}):")
        self.straight()
        self.lines.append(f"{n} = arith.addi {i}, {one} : i32")
        self.lines.append(f"{go} = arith.cmpi ult, {n}, {limit} : i32")
        self.lines.append(
            f"cf.cond_br {go}, ^l{number}({n}, {b}, {a} : i32, {type}, {type}), ^x{number}"
        )
        self.lines.append(f"^x{number}:")

    def finish(self) -> None:
        """Store what is in scope, so that no result goes unnoticed."""
        offset = 8 * SLOTS
        for type in ("i1", *INTEGERS):
            for value in self.scope[type][-6:]:
                stored, stored_type = value, type
                if type == "i1":
                    stored, stored_type = self.temporary(), "i8"
                    self.lines.append(f"{stored} = arith.extui {value} : i1 to i8")
                pointer = self.temporary()
                self.lines.append(
                    f"{pointer} = llvm.getelementptr %global[{offset}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8"
                )
                self.lines.append(
                    f"scoped.store weak {stored}, {pointer} : {stored_type}, !llvm.ptr<1>"
                )
                offset += 8


HEAD = """
llvm.mlir.global internal @pad() {addr_space = 3 : i32} : !llvm.array<3 x i32>
llvm.mlir.global internal @lds() {addr_space = 3 : i32} : !llvm.array<8 x i64>
func.func @k(%global: !llvm.ptr<1>, %a: i64, %b: i32, %c: i16, %d: i8, %e: i1, %generic: !llvm.ptr)
    attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
%eight = arith.constant 8 : i32
%lds = llvm.mlir.addressof @lds : !llvm.ptr<3>
%stack = llvm.alloca %eight x i64 {alignment = 8 : i64} : (i32) -> !llvm.ptr<5>
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A kernel of straight code, diamonds and loops on arguments and four address spaces."""
    program = Program(draw)
    for name, type in ARGUMENTS:
        program.scope[type] = [name]
    parts = draw(st.lists(st.sampled_from(("straight", "diamond", "loop")), min_size=1, max_size=4))
    for number, part in enumerate(parts):
        if part == "straight":
            program.straight()
        elif part == "diamond":
            program.diamond(number)
        else:
            program.loop(number)
    program.finish()
    return HEAD + "\n".join(program.lines) + "\nfunc.return\n}\n"


def outcome(assembly: str, chip: str, arguments: list[int], uses_scratch: bool) -> Memory:
    a, b, c, d, e = arguments
    kernarg = BUFFER.to_bytes(8, "little") + a.to_bytes(8, "little") + b.to_bytes(4, "little")
    kernarg += c.to_bytes(2, "little") + d.to_bytes(1, "little") + e.to_bytes(1, "little")
    kernarg += BUFFER.to_bytes(8, "little")
    lane = Lane(assembly, chip, kernarg, uses_scratch)
    return lane.run()


def buffer_of(memory: Memory) -> dict[int, int]:
    return {a: byte for a, byte in memory.data.items() if a >= BUFFER and byte}


ARGUMENT_VALUES = st.tuples(
    *(st.integers(0, (1 << int(type[1:])) - 1) for _, type in ARGUMENTS)
).map(list)


@pytest.mark.parametrize("share", draws(9))
def test_random_programs_compute_what_they_mean(share: Share) -> None:
    @seed(share.number)
    @settings(
        max_examples=5,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(programs(), st.sampled_from(EXECUTED), ARGUMENT_VALUES)
    def check(text: str, chip: str, arguments: list[int]) -> None:
        a, b, c, d, e = arguments
        reference = Reference({"pad": 0, "lds": 16})
        function = next(op for op in parse(text).ops if isinstance(op, func.FuncOp))
        expected = reference.run(function, [BUFFER, a, b, c, d, e, BUFFER])
        assembly, _ = lower(text, chip)
        found = outcome(assembly, chip, arguments, uses_scratch=True)
        assert buffer_of(found) == buffer_of(expected)

    check()


BYTES = 1 << 12
"""Of the two buffers that the executor is given: more than a program touches."""


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(programs(), st.sampled_from(EXECUTED), ARGUMENT_VALUES)
def test_the_executor_of_lanes_computes_the_same(text: str, chip: str, arguments: list[int]):
    module = parse(text)
    for step in (ConvertScopedToCDNAPass(mcpu=chip), InsertWaitsPass(), AllocateRegistersPass()):
        step.apply(context(), module)
    (program,) = programs_of(module)
    launch = Launch((1, 1, 1), (1, 1, 1), (BufferOfSize(BYTES), *arguments, BufferOfSize(BYTES)))
    memory = allocate(program, launch)
    first, *_, last = memory.values
    reference = Reference({"pad": 0, "lds": 16})
    function = next(op for op in parse(text).ops if isinstance(op, func.FuncOp))
    expected = reference.run(function, [first, *arguments, last])
    left = execute(program, launch, memory, lambda executed: None)
    for name, address in (("global", first), ("generic", last)):
        found = left.contents(name).tolist()
        assert found == [expected.data.get(address + n, 0) for n in range(BYTES)]


LLVM_MC = find_llvm_tool("llvm-mc")
LD_LLD = find_llvm_tool("ld.lld")


@pytest.mark.skipif(LLVM_MC is None or LD_LLD is None, reason="llvm-mc or ld.lld is not installed")
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(programs(), st.sampled_from(EXECUTED))
def test_random_programs_assemble_and_link(
    tmp_path_factory: pytest.TempPathFactory, text: str, chip: str
):
    assert LLVM_MC is not None
    assert LD_LLD is not None
    folder = tmp_path_factory.mktemp("asm")
    source, object_file = folder / "k.s", folder / "k.o"
    source.write_text(lower(text, chip)[0])
    flags = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=obj"]
    subprocess.run([LLVM_MC, *flags, str(source), "-o", str(object_file)], check=True)
    subprocess.run([LD_LLD, "-shared", str(object_file), "-o", str(folder / "k.hsaco")], check=True)


SIMPLE = (
    HEAD
    + """%0 = scoped.load weak %global : !llvm.ptr<1> -> i32
%1 = arith.addi %0, %b : i32
scoped.store weak %1, %global : i32, !llvm.ptr<1>
func.return
}
"""
)


def test_a_missing_wait_is_caught():
    assembly, _ = lower(SIMPLE, "gfx942")
    lines = assembly.splitlines()
    waits = [n for n, line in enumerate(lines) if "s_waitcnt" in line]
    assert waits
    for n in waits:
        broken = "\n".join(lines[:n] + lines[n + 1 :])
        with pytest.raises(TooEarly):
            outcome(broken, "gfx942", [1, 2, 3, 4, 0], uses_scratch=True)


def test_a_wrong_instruction_is_caught():
    assembly, _ = lower(SIMPLE, "gfx942")
    wrong = assembly.replace("v_add_u32_e32", "v_sub_u32_e32")
    results = [
        buffer_of(outcome(each, "gfx942", [1, 2, 3, 4, 0], uses_scratch=True))
        for each in (assembly, wrong)
    ]
    assert results[0] == {BUFFER: 2}
    assert results[1] != results[0]


PRIVATE = (
    HEAD
    + """%one = arith.constant 1 : i64
%two = arith.constant 2 : i64
%p = llvm.getelementptr %stack[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i64
scoped.store weak %a, %p : i64, !llvm.ptr<5>
%q = llvm.getelementptr %stack[%one] : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>, i64
%0 = scoped.load weak %q : !llvm.ptr<5> -> i64
scoped.store weak %0, %global : i64, !llvm.ptr<1>
%1 = scoped.atomic_rmw add acq_rel agent %p, %0 : !llvm.ptr<5>, i64
%r = llvm.getelementptr %stack[12] : (!llvm.ptr<5>) -> !llvm.ptr<5>, i8
%2 = scoped.load weak %r : !llvm.ptr<5> -> i32
%s = llvm.getelementptr %global[%one] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
scoped.store weak %2, %s : i32, !llvm.ptr<1>
%t = llvm.getelementptr %stack[%two] : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>, i64
%3, %ok = scoped.cmpxchg relaxed relaxed agent %t, %1, %0 : !llvm.ptr<5>, i64
%u = llvm.getelementptr %global[%two] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
scoped.store weak %3, %u : i64, !llvm.ptr<1>
func.return
}
"""
)
VALUE = 0x0123456789ABCDEF
WANTED = Memory()
WANTED.write(BUFFER, VALUE, 8)
WANTED.write(BUFFER + 8, 2 * VALUE >> 32, 4)


@pytest.mark.parametrize("chip", EXECUTED)
def test_a_value_in_private_memory_is_whole(chip: str):
    """Also where the address is needed for nothing after the load."""
    assembly, _ = lower(PRIVATE, chip)
    memory = outcome(assembly, chip, [VALUE, 2, 3, 4, 0], uses_scratch=True)
    assert buffer_of(memory) == buffer_of(WANTED)


_PAIR = re.compile(
    r"(buffer_(?:load|store)_dword) v(\d+), (v\d+, .* offen)\n(?:\ts_nop 0\n)?.*offset:4\n"
)


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a"])
def test_one_instruction_for_two_elements_of_a_buffer_is_caught(chip: str):
    """The second element would be the next lane's."""
    assembly, _ = lower(PRIVATE, chip)

    def whole(pair: re.Match[str]) -> str:
        first = int(pair[2])
        return f"{pair[1]}x2 v[{first}:{first + 1}], {pair[3]}\n"

    wide, count = _PAIR.subn(whole, assembly)
    assert count == 6
    memory = outcome(wide, chip, [VALUE, 2, 3, 4, 0], uses_scratch=True)
    assert buffer_of(memory) != buffer_of(WANTED)
