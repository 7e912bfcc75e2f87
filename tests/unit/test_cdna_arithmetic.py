"""CDNA arithmetic: each row against a definition for one lane, and against LLVM's constant folding."""

import random
import re
import struct
import subprocess
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pytest

from fencewright.lowering.cdna.access_names import access_name
from fencewright.lowering.cdna.code.text import Registers, read_assembly, read_instruction
from fencewright.lowering.cdna.instructions import (
    MEMORY_ROWS,
    PACKED_ROWS,
    SALU_ROWS,
    VALU_ROWS,
    operand_places,
)
from fencewright.lowering.vocabulary import Operation
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.execution.vectorised import Function, function_of
from fencewright.simulator.kernels.amd.kernel import program_of
from fencewright.simulator.kernels.amd.memory import compared_first
from fencewright.simulator.kernels.amd.registers import join, words
from fencewright.simulator.semantics.amd_rows import update_of
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

UNIFORM = {"s_mov_b32"}
"""What has no value of its own in each lane."""
ROWS = {row.mnemonic: row for row in (*VALU_ROWS, *SALU_ROWS) if row.mnemonic not in UNIFORM}


def update(mnemonic: str) -> Function:
    """The function of an atomic, which has one."""
    name = access_name(mnemonic)
    assert name is not None
    found = update_of(name)
    assert found is not None
    return function_of(found, (name.bits,) * (2 + name.compares))


# One lane, in Python


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


FORMATS = {16: "<eH", 32: "<fI", 64: "<dQ"}
FRACTION = {16: 10, 32: 23, 64: 52}


def number(value: int, bits: int) -> float:
    format = FORMATS[bits]
    return struct.unpack("<" + format[1], struct.pack("<" + format[2], value))[0]


def bits_of(value: float, bits: int) -> int:
    format = FORMATS[bits]
    try:
        packed = struct.pack("<" + format[1], value)
    except OverflowError:
        packed = struct.pack("<" + format[1], float("inf") if value > 0 else float("-inf"))
    return struct.unpack("<" + format[2], packed)[0]


def infinity(bits: int) -> int:
    return (1 << bits - 1) - (1 << FRACTION[bits])


def is_nan(value: int, bits: int) -> bool:
    return value & ~(1 << bits - 1) > infinity(bits)


def quiet(value: int, bits: int) -> int:
    return value | 1 << FRACTION[bits] - 1


def add(a: int, b: int, bits: int) -> int:
    for each in (a, b):
        if is_nan(each, bits):
            return quiet(each, bits)
    total = number(a, bits) + number(b, bits)
    return quiet(infinity(bits), bits) if total != total else bits_of(total, bits)


def subtract(a: int, b: int, bits: int) -> int:
    return add(a, b ^ 1 << bits - 1, bits)


def extreme(a: int, b: int, bits: int, *, largest: bool) -> int:
    for each in (a, b):
        if is_nan(each, bits) and quiet(each, bits) != each:
            return quiet(each, bits)
    if is_nan(a, bits) or is_nan(b, bits):
        return b if is_nan(a, bits) else a
    # Of two zeros the negative one is the lesser.
    by_value = [(number(each, bits), not each >> bits - 1, each) for each in (a, b)]
    return sorted(by_value)[largest][-1]


def flushed(value: int) -> int:
    return value if value & infinity(32) else value & 1 << 31


def single(operation: Callable[[int, int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: flushed(operation(flushed(a), flushed(b), 32))


def add_bf16(a: int, b: int) -> int:
    total = add(a << 16, b << 16, 32)
    if is_nan(total, 32):
        return total >> 16
    below, up = total & 0xFFFF, total >> 16
    return up + (below > 0x8000 or (below == 0x8000 and up & 1))


def field(a: int, first: int, width: int) -> int:
    return (a >> first % 32) % (1 << width % 32)


def signed_field(a: int, first: int, width: int) -> int:
    if width % 32 == 0:
        return 0
    return signed((signed(a, 32) >> first % 32) % (1 << width % 32), width % 32)


COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def as_signed(compare: Callable[[int, int], bool], bits: int) -> Callable[[int, int], bool]:
    return lambda a, b: compare(signed(a, bits), signed(b, bits))


def integers(bits: int) -> Mapping[str, Callable[[int, int], int]]:
    """Arithmetic that 32 and 64 bits have alike but for the ending of its name."""
    ending, letter, carry = (
        ("b64", "i64", "u64") if bits == 64 else ("b32_e32", "i32_e32", "u32_e32")
    )
    return {
        f"v_add_{carry}": lambda a, b: a + b,
        f"v_sub_{carry}": lambda a, b: a - b,
        "v_mul_u64" if bits == 64 else "v_mul_lo_u32": lambda a, b: a * b,
        f"v_and_{ending}": lambda a, b: a & b,
        f"v_or_{ending}": lambda a, b: a | b,
        f"v_xor_{ending}": lambda a, b: a ^ b,
        f"v_lshlrev_{ending}": lambda a, b: a << b % bits,
        f"v_lshrrev_{ending}": lambda a, b: a >> b % bits,
        f"v_ashrrev_{letter}": lambda a, b: signed(a, bits) >> b % bits,
        **{f"v_cmp_{name}_u{bits}_e64": compare for name, compare in COMPARISONS.items()},
        **{
            f"v_cmp_{name}_i{bits}_e64": as_signed(compare, bits)
            for name, compare in COMPARISONS.items()
            if name not in ("eq", "ne")
        },
    }


def at(operation: Callable[[int, int, int], int], bits: int) -> Callable[[int, int], int]:
    return lambda a, b: operation(a, b, bits)


FLOATS: Mapping[str, Callable[[int, int, int], int]] = {
    "add": add,
    "sub": subtract,
    "min": partial(extreme, largest=False),
    "max": partial(extreme, largest=True),
}

UNARY: Mapping[str, Callable[[int], int]] = {
    "v_mov_b32_e32": lambda a: a,
    "v_zext_mask_b32": lambda a: a,
    "v_sext_mask_b32": lambda a: -a,
    "v_zext_b32_b64": lambda a: a,
    "v_sext_b32_b64": lambda a: signed(a, 32),
    "s_mov_b32": lambda a: a,
    "s_mov_b64": lambda a: a,
}

BINARY: Mapping[str, Callable[[int, int], int]] = {
    **integers(32),
    **integers(64),
    **{f"v_{name}_f32_e32": single(operation) for name, operation in FLOATS.items()},
    **{f"v_{name}_f64": at(operation, 64) for name, operation in FLOATS.items()},
    "v_min_u32_e32": min,
    "v_max_u32_e32": max,
    "v_min_i32_e32": lambda a, b: min(signed(a, 32), signed(b, 32)),
    "v_max_i32_e32": lambda a, b: max(signed(a, 32), signed(b, 32)),
    "v_lshl_add_u64": lambda a, b: a + b,
    "s_and_b64": lambda a, b: a and b,
    "s_or_b64": lambda a, b: a or b,
    "s_xor_b64": lambda a, b: a != b,
    "s_andn2_b64": lambda a, b: a and not b,
    "s_xnor_b64": lambda a, b: a == b,
}

TERNARY: Mapping[str, Callable[[int, int, int], int]] = {
    "v_bfe_u32": field,
    "v_bfe_i32": signed_field,
    "v_cndmask_b32_e64": lambda mask, a, b: a if mask else b,
    "v_cndmask_b64": lambda mask, a, b: a if mask else b,
}

DEFINITION: Mapping[str, Callable[..., int]] = {**UNARY, **BINARY, **TERNARY}

MASKS = {"s_and_b64", "s_or_b64", "s_xor_b64", "s_andn2_b64", "s_xnor_b64"}
OF_MASKS = MASKS | {"v_zext_mask_b32", "v_sext_mask_b32"}
SHIFTS = {"v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"}


def operand_bits(mnemonic: str) -> tuple[int, ...]:
    """The bits of each operand; of a lane mask 1."""
    if mnemonic.startswith("v_cndmask"):
        bits = 64 if mnemonic.endswith("b64") else 32
        return 1, bits, bits
    if mnemonic in SHIFTS:
        return 64, 32
    if mnemonic in OF_MASKS:
        return (1, 1) if mnemonic in MASKS else (1,)
    if mnemonic.endswith("_b32_b64") or "bfe" in mnemonic:
        return (32,)
    bits = 64 if "64" in mnemonic.removesuffix("_e64") else 32
    return (bits,) if "_mov_" in mnemonic else (bits, bits)


def result_bits(mnemonic: str) -> int:
    if mnemonic.startswith("v_cmp") or mnemonic in MASKS:
        return 1
    return 64 if "64" in mnemonic.removesuffix("_e64") else 32


EDGES = (0, 1, 2, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF)
FLOAT_EDGES = {
    32: (0, 1 << 31, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF,
         0x7F800000, 0xFF800000, 0x7FC00001, 0x7F800001, 0xFFA00000),
    64: (0, 1 << 63, 1, (1 << 63) + 7, 1 << 52, 0x3FF << 52, 0x7FF << 52, 0xFFF << 52,
         (0x7FF << 52) - 1, (0xFFF << 52) + (1 << 51), (0x7FF << 52) + 5),
}  # fmt: skip


def some_operand(chance: random.Random, bits: int, mnemonic: str) -> int:
    if ("_f32" in mnemonic or "_f64" in mnemonic) and chance.random() < 0.5:
        return chance.choice(FLOAT_EDGES[bits])
    if chance.random() < 0.3:
        return chance.choice(EDGES) * chance.choice((1, 1 << 32, (1 << 32) + 1)) % (1 << bits)
    return chance.getrandbits(bits)


def some_operands(mnemonic: str, count: int) -> list[tuple[int, ...]]:
    chance = random.Random(mnemonic)
    bits = operand_bits(mnemonic)
    found: list[tuple[int, ...]] = []
    for _ in range(count):
        operands = [some_operand(chance, each, mnemonic) for each in bits]
        if len(operands) > 1 and chance.random() < 0.2 and len(set(bits)) == 1:
            operands[1] = operands[0]
        found.append(tuple(operands))
    return found


def some_immediates(mnemonic: str) -> tuple[tuple[int, ...], ...]:
    if "bfe" not in mnemonic:
        return ((),)
    return ((0, 8), (0, 16), (10, 10), (20, 12), (0, 31), (31, 1), (24, 20), (5, 0))


def code_of(mnemonic: str, immediates: tuple[int, ...]) -> str:
    """Assembly that loads the operands of each lane, computes, and stores the result."""
    row, bits = ROWS[mnemonic], operand_bits(mnemonic)
    names = operand_places(row)
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "v_and_b32_e32 v1, 0x3ff, v0",
             f"v_mul_u32_u24_e32 v2, {8 * len(names)}, v1", "v_lshlrev_b32_e32 v3, 3, v1",
             "s_waitcnt lgkmcnt(0)"]  # fmt: skip
    places = {f"{{imm{n}}}": str(each) for n, each in enumerate(immediates)}
    for n, name in enumerate(names):
        low = 10 + 2 * n
        lines.append(f"global_load_dwordx2 v[{low}:{low + 1}], v2, s[4:5] offset:{8 * n}")
        if bits[n] == 1:
            lines.append(f"v_cmp_ne_u32_e64 s[{low}:{low + 1}], 0, v{low}")
        file = "s" if bits[n] == 1 else "v"
        whole = f"v{low}" if bits[n] == 32 else f"{file}[{low}:{low + 1}]"
        places |= {
            f"{{{name}}}": whole,
            f"{{{name}.lo}}": f"v{low}",
            f"{{{name}.hi}}": f"v{low + 1}",
        }
    lines.append("v_mov_b32_e32 v31, 0")
    size = result_bits(mnemonic)
    places |= {"{dst}": {1: "s[30:31]", 32: "v30", 64: "v[30:31]"}[size], "{dst.lo}": "v30",
               "{dst.hi}": "v31"}  # fmt: skip
    for line in row.lines:
        for place, register in places.items():
            line = line.replace(place, register)
        lines.append(line)
    if size == 1:
        lines.append("v_cndmask_b32_e64 v30, 0, 1, s[30:31]")
    lines += ["global_store_dwordx2 v3, v[30:31], s[6:7]", "s_endpgm"]
    return "\n".join(lines)


KERNEL = """	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.type k,@function
k:
{}
.Lfunc_end0:
	.amdhsa_kernel k
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: in
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: out
        .offset: 8
        .size: 8
        .value_kind: global_buffer
    .name: k
...
	.end_amdgpu_metadata
"""


def computed(
    mnemonic: str, operands: list[tuple[int, ...]], immediates: tuple[int, ...]
) -> list[int]:
    """What lanes compute that execute the instructions of the row, each with operands of its own."""
    text = KERNEL.format(code_of(mnemonic, immediates))
    program = program_of(read_assembly(text).functions["k"])
    given = np.array(operands, dtype=np.uint64)
    launch = Launch((1, 1, 1), (len(operands), 1, 1), (given, np.zeros(len(operands), np.uint64)))
    memory = execute(program, launch, allocate(program, launch), lambda _: None)
    return memory.contents("out", np.uint64).tolist()


@pytest.mark.parametrize("mnemonic", sorted(ROWS))
def test_every_row_computes_what_one_lane_does(mnemonic: str) -> None:
    operands, bits = some_operands(mnemonic, 300), result_bits(mnemonic)
    for immediates in some_immediates(mnemonic):
        found = computed(mnemonic, operands, immediates)
        for given, value in zip(operands, found, strict=True):
            expected = int(DEFINITION[mnemonic](*given, *immediates)) % (1 << bits)
            assert value == expected, (mnemonic, *map(hex, given), *immediates)


# Atomics


WHAT_IS_STORED: Mapping[str, Callable[[int, int, int], int]] = {
    "swap": lambda old, new, bits: new,
    "add": lambda old, data, bits: old + data,
    "sub": lambda old, data, bits: old - data,
    "and": lambda old, data, bits: old & data,
    "or": lambda old, data, bits: old | data,
    "xor": lambda old, data, bits: old ^ data,
    "smax": lambda old, data, bits: max(signed(old, bits), signed(data, bits)),
    "smin": lambda old, data, bits: min(signed(old, bits), signed(data, bits)),
    "umax": lambda old, data, bits: max(old, data),
    "umin": lambda old, data, bits: min(old, data),
    "inc": lambda old, data, bits: 0 if old >= data else old + 1,
    "dec": lambda old, data, bits: data if old == 0 or old > data else old - 1,
}
DS_NAMES = {
    "wrxchg_b": "swap",
    "storexchg_b": "swap",
    "max_i": "smax",
    "min_i": "smin",
    "max_u": "umax",
    "min_u": "umin",
}


def packed(half: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    return lambda old, data, _: (
        half(old & 0xFFFF, data & 0xFFFF) | half(old >> 16, data >> 16) << 16
    )


def atomic_of(mnemonic: str) -> tuple[Callable[[int, int, int], int], int]:
    """What an atomic of one operand stores, and its bits, read off its name."""
    name = mnemonic.removeprefix("global_atomic_").removeprefix("flat_atomic_")
    name = name.removeprefix("ds_").replace("_rtn", "")
    if name.startswith("pk_add"):
        half = add_bf16 if name.endswith("bf16") else at(add, 16)
        return packed(half), 32
    if found := re.fullmatch(r"(add|min|max)(?:_num)?_f(32|64)", name):
        return FLOATS[found[1]], int(found[2])
    if found := re.fullmatch(r"(\w+_[biu])(32|64)", name):
        kind = DS_NAMES.get(found[1]) or found[1].partition("_")[0]
        return WHAT_IS_STORED[kind], int(found[2])
    return WHAT_IS_STORED[name.removesuffix("_x2")], 64 if name.endswith("_x2") else 32


ATOMICS = {
    row.mnemonic
    for (operation, *_), row in MEMORY_ROWS
    if operation in (Operation.ATOMIC_RMW, Operation.CMPXCHG)
} | {row.mnemonic for _, row in PACKED_ROWS}
ONE_OPERAND = sorted(each for each in ATOMICS if "cmp" not in each)


@pytest.mark.parametrize("mnemonic", ONE_OPERAND)
def test_every_atomic_stores_what_one_lane_does(mnemonic: str) -> None:
    definition, bits = atomic_of(mnemonic)
    chance = random.Random(mnemonic)
    name = f"f{bits}" if "_f" in mnemonic or "pk_add" in mnemonic else ""
    operands = [
        (some_operand(chance, bits, f"_{name}"), some_operand(chance, bits, f"_{name}"))
        for _ in range(300)
    ]
    old, data = (np.array(each, dtype=np.uint64) for each in zip(*operands, strict=True))
    with np.errstate(all="ignore"):
        found = update(mnemonic)(old, data)
    for given, value in zip(operands, found, strict=True):
        expected = definition(*given, bits) % (1 << bits)
        assert int(value) == expected, (mnemonic, *map(hex, given))


COMPARING = sorted(each for each in ATOMICS if "cmp" in each)


@pytest.mark.parametrize("mnemonic", COMPARING)
def test_a_compare_exchange_stores_the_new_value_where_the_old_is_as_expected(
    mnemonic: str,
) -> None:
    bits = 64 if mnemonic.endswith(("_x2", "64")) else 32
    old = np.array([5, 6, (1 << bits) - 1], dtype=np.uint64)
    compare = np.array([5, 5, (1 << bits) - 1], dtype=np.uint64)
    new = np.array([8, 8, 9], dtype=np.uint64)
    assert update(mnemonic)(old, compare, new).reshape(-1).tolist() == [8, 6, 9]


@pytest.mark.parametrize(
    ("mnemonic", "data"),
    [
        ("global_atomic_cmpswap", "v[2:3]"),
        ("ds_cmpst_b32", "v3, v2"),
        ("ds_cmpstore_b32", "v2, v3"),
    ],
)
def test_the_compared_value_comes_first(mnemonic: str, data: str) -> None:
    name, operands = access_name(mnemonic), read_instruction(f"{mnemonic} v0, {data}", 1).operands
    assert name is not None
    assert compared_first(name, operands[1:]) == (Registers(("v3",)), Registers(("v2",)))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_registers_of_a_value(count: int) -> None:
    registers = [np.array([[10 + n, 20 + n]], dtype=np.uint64) for n in range(count)]
    value = join(registers)
    assert value.shape == ((1, 2) if count <= 2 else (2, 1, 2))
    for found, given in zip(words(value, count), registers, strict=True):
        assert found.tolist() == given.tolist()


# LLVM


def with_amount(operation: str, bits: int) -> str:
    widened = "%w = zext i32 {b} to i64\n  %s = and i64 %w, 63" if bits == 64 else ""
    return f"{widened or '%s = and i32 {b}, 31'}\n  %r = {operation} i{bits} {{a}}, %s"


def compared(predicate: str, type: str) -> str:
    return f"%r = icmp {predicate} {type} {{a}}, {{b}}"


def called(name: str, type: str, result: str = "%r") -> str:
    return f"{result} = call {type} @llvm.{name}.{type}({type} {{a}}, {type} {{b}})"


def on_floats(body: str, bits: int) -> str:
    type = "float" if bits == 32 else "double"
    lines = [f"%{each} = bitcast i{bits} {{{each}}} to {type}" for each in "ab"]
    body = body.replace("{a}", "%a").replace("{b}", "%b")
    return "\n  ".join([*lines, body, f"%r = bitcast {type} %f to i{bits}"])


def llvm_of(mnemonic: str) -> str:
    """LLVM IR that computes the same: ``%r`` from ``{a}``, ``{b}`` and ``{c}``."""
    if mnemonic in WITHOUT_IR:
        return WITHOUT_IR[mnemonic]
    if found := re.fullmatch(r"v_cmp_(\w\w)_([ui])(32|64)_e64", mnemonic):
        name, letter, bits = found.groups()
        sign = "" if name in ("eq", "ne") else letter.replace("i", "s")
        return compared(sign + name, f"i{bits}")
    if found := re.fullmatch(r"v_(add|sub|min|max)_f(32|64)(_e32)?", mnemonic):
        name, bits, _ = found.groups()
        type = "float" if bits == "32" else "double"
        intrinsic = f"f{bits}"
        if name in ("add", "sub"):
            return on_floats(f"%f = f{name} {type} {{a}}, {{b}}", int(bits))
        call = called(f"{name}imumnum", type, "%f").replace(f".{type}(", f".{intrinsic}(")
        return on_floats(call, int(bits))
    if found := re.fullmatch(r"v_(min|max)_([ui])32_e32", mnemonic):
        return called(f"{found[2].replace('i', 's')}{found[1]}", "i32")
    if found := re.fullmatch(r"[sv]_(and|or|xor)_b(32|64)(_e32)?", mnemonic):
        type = "i1" if mnemonic.startswith("s_") else f"i{found[2]}"
        return f"%r = {found[1]} {type} {{a}}, {{b}}"
    raise KeyError(mnemonic)


WITHOUT_IR: Mapping[str, str] = {
    "v_add_u32_e32": "%r = add i32 {a}, {b}",
    "v_sub_u32_e32": "%r = sub i32 {a}, {b}",
    "v_mul_lo_u32": "%r = mul i32 {a}, {b}",
    "v_add_u64": "%r = add i64 {a}, {b}",
    "v_lshl_add_u64": "%r = add i64 {a}, {b}",
    "v_sub_u64": "%r = sub i64 {a}, {b}",
    "v_mul_u64": "%r = mul i64 {a}, {b}",
    "v_lshlrev_b32_e32": with_amount("shl", 32),
    "v_lshrrev_b32_e32": with_amount("lshr", 32),
    "v_ashrrev_i32_e32": with_amount("ashr", 32),
    "v_lshlrev_b64": with_amount("shl", 64),
    "v_lshrrev_b64": with_amount("lshr", 64),
    "v_ashrrev_i64": with_amount("ashr", 64),
    "v_bfe_u32": "%r = call i32 @llvm.amdgcn.ubfe.i32(i32 {a}, i32 {imm0}, i32 {imm1})",
    "v_bfe_i32": "%r = call i32 @llvm.amdgcn.sbfe.i32(i32 {a}, i32 {imm0}, i32 {imm1})",
    "v_cndmask_b32_e64": "%r = select i1 {a}, i32 {b}, i32 {c}",
    "v_cndmask_b64": "%r = select i1 {a}, i64 {b}, i64 {c}",
    "v_zext_mask_b32": "%r = zext i1 {a} to i32",
    "v_sext_mask_b32": "%r = sext i1 {a} to i32",
    "v_zext_b32_b64": "%r = zext i32 {a} to i64",
    "v_sext_b32_b64": "%r = sext i32 {a} to i64",
    "s_andn2_b64": "%n = xor i1 {b}, true\n  %r = and i1 {a}, %n",
    "s_xnor_b64": "%n = xor i1 {a}, {b}\n  %r = xor i1 %n, true",
}
"""Those whose IR does not follow from the name."""

NO_IR = {"v_mov_b32_e32", "s_mov_b64"}
"""Copies, of which LLVM IR has none."""


def is_open(given: tuple[int, ...], mnemonic: str) -> bool:
    """Whether LLVM leaves open what comes of an operand: of a NaN, of a denormal number in min and max."""
    found = re.search(r"_(\w\w\w)_f(32|64)", mnemonic)
    if found is None:
        return False
    may_flush = found[2] == "32" and found[1] in ("min", "max")
    return any(
        is_nan(each, int(found[2])) or (may_flush and flushed(each) != each) for each in given
    )


def test_llvm_folds_the_same_values() -> None:
    opt = find_llvm_tool("opt")
    if opt is None:
        pytest.skip(f"needs opt: {LLVM_HINT}")
    batches = {
        (mnemonic, immediates): [
            given for given in some_operands(mnemonic, 40) if not is_open(given, mnemonic)
        ]
        for mnemonic in sorted(ROWS.keys() - NO_IR)
        for immediates in some_immediates(mnemonic)
    }
    asked = [(*key, given) for key, operands in batches.items() for given in operands]
    computations = [
        value for key, operands in batches.items() for value in computed(key[0], operands, key[1])
    ]
    module = ['target triple = "amdgcn-amd-amdhsa"']
    for n, (mnemonic, immediates, given) in enumerate(asked):
        places = dict(zip("abc", given, strict=False))
        places |= {f"imm{k}": each for k, each in enumerate(immediates)}
        module.append(
            f"define i{result_bits(mnemonic)} @f{n}() #0 {{\n  {llvm_of(mnemonic).format(**places)}\n"
            f"  ret i{result_bits(mnemonic)} %r\n}}"
        )
    module.append('attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }')
    folded = subprocess.run(
        [opt, "-passes=instcombine", "-S"], input="\n".join(module), capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    results = re.findall(r"ret i\d+ (\S+)", folded)
    assert len(results) == len(asked)
    for (mnemonic, immediates, given), text, found in zip(
        asked, results, computations, strict=True
    ):
        value = {"true": 1, "false": 0}.get(text)
        value = int(text) if value is None else value
        bits = result_bits(mnemonic)
        assert found == value % (1 << bits), (mnemonic, *map(hex, given), *immediates)
