"""CDNA instructions as rows: operands, counters, and the chips that have them.

A row is what the assembler text, the wait insertion and the register allocation need to
know about an instruction. Operand places in braces: ``{dst}``, ``{addr}``, ``{lds}``, ``{data}``,
``{compare}``, ``{resource}``, ``{offset}`` of a memory access; ``{a}``, ``{b}``, ``{c}`` and
``{imm0}``, ``{imm1}`` of arithmetic; a register pair also has ``.lo`` and ``.hi``, a wider value
``[n]`` for its n-th register. ``{offset+4}`` is the offset of an access and as many bytes more.
Which chip has which instruction is certified by ``llvm-mc`` in
tests/unit/test_cdna_instructions.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial

from fencewright.lowering.cdna import instructions_gfx1250
from fencewright.lowering.cdna.access_names import FLOAT_VERBS, INTEGER_VERBS, SIGNED_VERBS
from fencewright.lowering.cdna.chips import CHIPS, KNOWN_CHIPS, Counter, InstructionSet
from fencewright.lowering.cdna.instruction_row import Access, InstructionRow, Packed, Unit
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.table import Table
from fencewright.lowering.table import row as table_row
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Operation, RmwKind, ValueType


def _chips_with(wanted: InstructionSet) -> frozenset[str]:
    return frozenset(name for name, chip in KNOWN_CHIPS.items() if wanted in chip.instruction_sets)


_ALL = _chips_with(InstructionSet.GFX9)
_GFX90A_ON = _chips_with(InstructionSet.GFX90A)
_GFX942_ON = _chips_with(InstructionSet.GFX940)
_BEFORE_GFX942 = _chips_with(InstructionSet.BEFORE_GFX940)
_GFX10, _GFX11 = _chips_with(InstructionSet.GFX10), _chips_with(InstructionSet.GFX11)
_GFX12 = _chips_with(InstructionSet.GFX12)

_VM = (Counter.VMCNT,)
_LGKM = (Counter.LGKMCNT,)
_BOTH = (Counter.VMCNT, Counter.LGKMCNT)

_FLAT = "MI300 ISA 10.2, flat, global and scratch instructions"
_DS = "MI300 ISA 11, LDS instructions"
_BUFFER = "MI200 ISA 9.1, buffer instructions"
_SMEM = "MI300 ISA 7, scalar memory"
_SOPP = "MI300 ISA 4.1, program control"
_RDNA = "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11"
_VOP = "MI300 ISA 6, vector ALU"
_SOP = "MI300 ISA 5, scalar ALU"

_LOAD_SUFFIX = {8: "ubyte", 16: "ushort", 32: "dword", 64: "dwordx2", 96: "dwordx3", 128: "dwordx4"}
_STORE_SUFFIX = _LOAD_SUFFIX | {8: "byte", 16: "short"}
_DS_LOAD_SUFFIX = {8: "u8", 16: "u16", 32: "b32", 64: "b64", 96: "b96", 128: "b128"}
_DS_STORE_SUFFIX = _DS_LOAD_SUFFIX | {8: "b8", 16: "b16"}

_ATOMIC_SUFFIX = {RmwKind.XCHG: "swap"} | {
    kind: {"i": "s", "u": "u"}[letter] + verb if verb in SIGNED_VERBS else verb
    for kind, (verb, letter) in INTEGER_VERBS.items()
}

# (prefix, text after the operands, counters, address space) of the two vector-memory formats.
_VECTOR_FORMATS = (
    ("global", ", off", _VM, AddressSpace.GLOBAL),
    ("flat", "", _BOTH, AddressSpace.GENERIC),
)

# (space, kind, width) -> chips with the form that returns nothing, chips with the other.
_FLOAT_ATOMICS = {
    (AddressSpace.GLOBAL, RmwKind.FADD, 32): (_ALL, _GFX90A_ON),
    (AddressSpace.GLOBAL, RmwKind.FADD, 64): (_GFX90A_ON, _GFX90A_ON),
    (AddressSpace.GLOBAL, RmwKind.FMIN, 64): (_GFX90A_ON, _GFX90A_ON),
    (AddressSpace.GLOBAL, RmwKind.FMAX, 64): (_GFX90A_ON, _GFX90A_ON),
    (AddressSpace.GENERIC, RmwKind.FADD, 32): (_GFX942_ON, _GFX942_ON),
    (AddressSpace.GENERIC, RmwKind.FADD, 64): (_GFX90A_ON, _GFX90A_ON),
    (AddressSpace.GENERIC, RmwKind.FMIN, 64): (_GFX90A_ON, _GFX90A_ON),
    (AddressSpace.GENERIC, RmwKind.FMAX, 64): (_GFX90A_ON, _GFX90A_ON),
}
_DS_FLOAT_ATOMICS = {
    (RmwKind.FADD, 32): _ALL,
    (RmwKind.FMIN, 32): _ALL,
    (RmwKind.FMAX, 32): _ALL,
    (RmwKind.FADD, 64): _GFX90A_ON,
    (RmwKind.FMIN, 64): _ALL,
    (RmwKind.FMAX, 64): _ALL,
}

_Entry = tuple[Access, InstructionRow]


def _vector_accesses() -> Iterator[_Entry]:
    for prefix, tail, counters, space in _VECTOR_FORMATS:
        row = partial(InstructionRow, counters=counters, chips=_ALL, source=_FLAT, space=space)
        for width, suffix in _LOAD_SUFFIX.items():
            load = row(f"{prefix}_load_{suffix}", "{dst}, {addr}" + tail, Kind.LOAD)
            yield (Operation.LOAD, space, width, None, True), load
        for width, suffix in _STORE_SUFFIX.items():
            store = row(f"{prefix}_store_{suffix}", "{addr}, {data}" + tail, Kind.STORE)
            yield (Operation.STORE, space, width, None, False), store
        for width, x2 in ((32, ""), (64, "_x2")):
            mnemonic = f"{prefix}_atomic_cmpswap{x2}"
            yield from _vector_atomic(Operation.CMPXCHG, space, width, None, mnemonic, _ALL, _ALL)
            for kind, suffix in _ATOMIC_SUFFIX.items():
                yield from _vector_atomic(
                    Operation.ATOMIC_RMW, space, width, kind,
                    f"{prefix}_atomic_{suffix}{x2}", _ALL, _ALL,
                )  # fmt: skip
    for (space, kind, width), (chips, returning) in _FLOAT_ATOMICS.items():
        prefix = "global" if space is AddressSpace.GLOBAL else "flat"
        yield from _vector_atomic(
            Operation.ATOMIC_RMW, space, width, kind,
            f"{prefix}_atomic_{FLOAT_VERBS[kind]}_f{width}", chips, returning,
        )  # fmt: skip


def _vector_atomic(
    operation: Operation,
    space: AddressSpace,
    width: int,
    kind: RmwKind | None,
    mnemonic: str,
    chips: frozenset[str],
    returning: frozenset[str],
) -> Iterator[_Entry]:
    tail, counters = (", off", _VM) if space is AddressSpace.GLOBAL else ("", _BOTH)
    operands = "{addr}, {data}" + tail
    for returns, dst, own in ((False, "", chips), (True, "{dst}, ", returning)):
        row = InstructionRow(mnemonic, dst + operands, Kind.RMW, counters, own, _FLAT, space)
        yield (operation, space, width, kind, returns), row


def _lds_accesses() -> Iterator[_Entry]:
    local = AddressSpace.LOCAL
    row = partial(InstructionRow, counters=_LGKM, chips=_ALL, source=_DS, space=local)
    for width, suffix in _DS_LOAD_SUFFIX.items():
        load = row(f"ds_read_{suffix}", "{dst}, {addr}", Kind.LOAD)
        yield (Operation.LOAD, local, width, None, True), load
    for width, suffix in _DS_STORE_SUFFIX.items():
        store = row(f"ds_write_{suffix}", "{addr}, {data}", Kind.STORE)
        yield (Operation.STORE, local, width, None, False), store
    for width in (32, 64):
        exchange = InstructionRow(
            f"ds_wrxchg_rtn_b{width}", "{dst}, {addr}, {data}",
            Kind.RMW, _LGKM, _ALL, f"{_DS}: exchange always returns", local,
        )  # fmt: skip
        for returns in (False, True):
            yield (Operation.ATOMIC_RMW, local, width, RmwKind.XCHG, returns), exchange
            yield from _lds_atomic(
                Operation.CMPXCHG, width, None, "cmpst", "b", returns, _ALL, "{compare}, {data}"
            )
            for kind, (name, type_letter) in INTEGER_VERBS.items():
                yield from _lds_atomic(
                    Operation.ATOMIC_RMW, width, kind, name, type_letter, returns, _ALL
                )
    for (kind, width), chips in _DS_FLOAT_ATOMICS.items():
        for returns in (False, True):
            yield from _lds_atomic(
                Operation.ATOMIC_RMW, width, kind, FLOAT_VERBS[kind], "f", returns, chips
            )


def _lds_atomic(
    operation: Operation,
    width: int,
    kind: RmwKind | None,
    name: str,
    type_letter: str,
    returns: bool,
    chips: frozenset[str],
    data: str = "{data}",
) -> Iterator[_Entry]:
    mnemonic = f"ds_{name}{'_rtn' if returns else ''}_{type_letter}{width}"
    operands = f"{'{dst}, ' if returns else ''}{{addr}}, {data}"
    row = InstructionRow(mnemonic, operands, Kind.RMW, _LGKM, chips, _DS, AddressSpace.LOCAL)
    yield (operation, AddressSpace.LOCAL, width, kind, returns), row


_WIDEST_ELEMENT = 32
"""Bits of private memory that lie together where it is a buffer: then comes the next lane's.

Source: LLVM AMDGPUUsage, Private Segment Buffer, element size of 4 bytes; SIISelLowering,
max-private-element-size-4.
"""


def _private_accesses() -> Iterator[_Entry]:
    formats = (
        ("scratch", "", ", off", _GFX942_ON, _FLAT),
        ("buffer", "{resource}", ", {resource}, 0 offen", _BEFORE_GFX942, _BUFFER),
    )
    for prefix, resource, tail, chips, source in formats:
        for operation, kind, suffixes in (
            (Operation.LOAD, Kind.LOAD, _LOAD_SUFFIX),
            (Operation.STORE, Kind.STORE, _STORE_SUFFIX),
        ):
            for width, suffix in suffixes.items():
                access = operation, AddressSpace.PRIVATE, width, None, operation is Operation.LOAD
                is_wide = bool(resource) and width > _WIDEST_ELEMENT
                mnemonic = f"{'private' if is_wide else prefix}_{operation}_{suffix}"
                operands = _private_operands(operation, bool(resource)) + tail
                row = InstructionRow(
                    mnemonic, operands, kind, _VM, chips, source, AddressSpace.PRIVATE
                )
                if is_wide:
                    row = _by_elements(row, f"{prefix}_{operation}_dword", width // _WIDEST_ELEMENT)
                yield access, row


def _private_operands(operation: Operation, is_buffer: bool) -> str:
    if operation is Operation.LOAD:
        return "{dst}, {addr}"
    return "{data}, {addr}" if is_buffer else "{addr}, {data}"


def _by_elements(wide: InstructionRow, mnemonic: str, count: int) -> InstructionRow:
    """A wide access of a private buffer as ``count`` accesses of one element, by ``mnemonic``.

    It counts as one: to wait for fewer than there are waits for more than need be.
    """
    lines: list[str] = []
    for n in range(count):
        operands = wide.operands.replace("{dst}", f"{{dst[{n}]}}").replace(
            "{data}", f"{{data[{n}]}}"
        )
        offset = f" offset:{{offset+{4 * n}}}" if n else ""
        lines.append(f"{mnemonic} {operands}{offset}")
    return replace(
        wide,
        operands="",
        expansion=tuple(lines),
        early_clobber=wide.kind is Kind.LOAD,
        source=f"{wide.source}; LLVM AMDGPUUsage, Private Segment Buffer: elements of 4 bytes",
    )


def _other(
    mnemonic: str,
    operands: str,
    kind: Kind,
    source: str,
    chips: frozenset[str] = _ALL,
    counters: tuple[Counter, ...] = (),
    expansion: tuple[str, ...] = (),
    early_clobber: bool = False,
    unit: Unit | None = None,
) -> InstructionRow:
    return InstructionRow(
        mnemonic, operands, kind, counters, chips, source, None, expansion, early_clobber, unit
    )


SCALAR_LOAD_ROWS = tuple(
    InstructionRow(
        f"s_load_{suffix}",
        "{dst}, {addr}, {offset}",
        Kind.LOAD,
        _LGKM,
        _ALL,
        f"{_SMEM}; with XNACK it may be replayed, so it must not overwrite its address",
        AddressSpace.CONSTANT,
        early_clobber=True,
    )
    for suffix in ("dword", "dwordx2", "dwordx4", "dwordx8", "dwordx16")
)


class Counts(FastStrEnum):
    """The certainty that an instruction increments a counter; MAY if undocumented or not alike."""

    YES = "yes"
    MAY = "may"
    NO = "no"


CACHE_COUNTS: Table[Counts] = Table(
    "cache maintenance in vmcnt",
    {
        "mnemonic": (
            "buffer_wbl2", "buffer_inv", "buffer_invl2", "buffer_wbinvl1_vol", "buffer_gl0_inv",
            "buffer_gl1_inv",
        )
    },
    (
        table_row(Counts.YES, "llvm-project#178316", mnemonic="buffer_wbl2"),
        table_row(Counts.MAY, "llvm-project#220694; nothing older than LLVM 23 says so",
            mnemonic="buffer_inv"),
        table_row(Counts.MAY, "MI200 ISA: nothing says that it counts, nor that it does not",
            mnemonic=("buffer_invl2", "buffer_wbinvl1_vol")),
        table_row(Counts.MAY, "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11: nothing says that "
                              "they count, nor that they do not; LLVM takes them for no access",
            mnemonic=("buffer_gl0_inv", "buffer_gl1_inv")),
    ),
)  # fmt: skip
"""(mnemonic) -> whether it counts. Who uses it chooses the safe side and says which that is."""


def _cache(mnemonic: str, source: str, chips: frozenset[str]) -> InstructionRow:
    counters = () if CACHE_COUNTS[mnemonic,].value is Counts.NO else _VM
    return _other(mnemonic, "", Kind.CACHE, source, chips, counters)


_MAINTENANCE = "MI300 ISA, buffer_wbl2 and buffer_inv"

CONTROL_ROWS = (
    _cache("buffer_wbl2", _MAINTENANCE, _GFX90A_ON),
    _cache("buffer_inv", _MAINTENANCE, _GFX942_ON),
    _cache("buffer_invl2", "MI200 ISA", _GFX90A_ON & _BEFORE_GFX942),
    _cache("buffer_wbinvl1_vol", "MI200 ISA", _BEFORE_GFX942),
    _cache("buffer_gl0_inv", _RDNA, _GFX10 | _GFX11),
    _cache("buffer_gl1_inv", _RDNA, _GFX10 | _GFX11),
    _other("s_waitcnt", "", Kind.WAIT, "MI300 ISA 4.4, wait counters"),
    _other("s_waitcnt_vscnt", "", Kind.WAIT, _RDNA, _GFX10 | _GFX11),
    _other("s_barrier", "", Kind.BARRIER, "MI300 ISA 4.3"),
    _other("s_endpgm", "", Kind.END, _SOPP),
    _other("s_branch", "{target}", Kind.BRANCH, _SOPP),
    _other("s_cbranch_vccnz", "{target}", Kind.BRANCH, _SOPP),
    _other("s_cbranch_vccz", "{target}", Kind.BRANCH, _SOPP),
)  # fmt: skip

_TWO = "{dst}, {a}, {b}"
_SHIFT = "{dst}, {b}, {a}"
_PREDICATES = (
    ("eq", "eq", "u"), ("ne", "ne", "u"),
    ("slt", "lt", "i"), ("sle", "le", "i"), ("sgt", "gt", "i"), ("sge", "ge", "i"),
    ("ult", "lt", "u"), ("ule", "le", "u"), ("ugt", "gt", "u"), ("uge", "ge", "u"),
)  # fmt: skip

# Shared with the 32-bit instruction when both halves are computed apart.
_HALVES = {"and": "v_and_b32_e32", "or": "v_or_b32_e32", "xor": "v_xor_b32_e32"}


def _valu(mnemonic: str, operands: str, chips: frozenset[str] = _ALL) -> InstructionRow:
    return _other(mnemonic, operands, Kind.COMPUTE, _VOP, chips, unit=Unit.VALU)


def _pseudo(mnemonic: str, *expansion: str, early_clobber: bool = False) -> InstructionRow:
    source = f"{_VOP}; a pseudo instruction"
    return _other(
        mnemonic, "", Kind.COMPUTE, source,
        expansion=expansion, early_clobber=early_clobber, unit=Unit.VALU,
    )  # fmt: skip


def _salu(mnemonic: str, operands: str) -> InstructionRow:
    return _other(mnemonic, operands, Kind.COMPUTE, _SOP, unit=Unit.SALU)


VALU_ROWS = (
    _valu("v_mov_b32_e32", "{dst}, {a}"),
    _valu("v_add_u32_e32", _TWO),
    _valu("v_sub_u32_e32", _TWO),
    _valu("v_mul_lo_u32", _TWO),
    _valu("v_and_b32_e32", _TWO),
    _valu("v_or_b32_e32", _TWO),
    _valu("v_xor_b32_e32", _TWO),
    _valu("v_min_i32_e32", _TWO),
    _valu("v_max_i32_e32", _TWO),
    _valu("v_min_u32_e32", _TWO),
    _valu("v_max_u32_e32", _TWO),
    _valu("v_lshlrev_b32_e32", _SHIFT),
    _valu("v_lshrrev_b32_e32", _SHIFT),
    _valu("v_ashrrev_i32_e32", _SHIFT),
    _valu("v_lshlrev_b64", _SHIFT),
    _valu("v_lshrrev_b64", _SHIFT),
    _valu("v_ashrrev_i64", _SHIFT),
    _valu("v_cndmask_b32_e64", "{dst}, {c}, {b}, {a}"),
    *(_valu(f"v_{name}_f32_e32", _TWO) for name in ("add", "sub", "min", "max")),
    *(_valu(f"v_{name}_f64", _TWO) for name in ("add", "min", "max")),
    _pseudo("v_sub_f64", "v_add_f64 {dst}, {a}, -{b}"),
    _valu("v_bfe_u32", "{dst}, {a}, {imm0}, {imm1}"),
    _valu("v_bfe_i32", "{dst}, {a}, {imm0}, {imm1}"),
    _valu("v_lshl_add_u64", "{dst}, {a}, 0, {b}", _GFX942_ON),
    *(
        _valu(f"v_cmp_{name}_{type_letter}{width}_e64", _TWO)
        for width in (32, 64)
        for _, name, type_letter in _PREDICATES
    ),
    _pseudo(
        "v_add_u64",
        "v_add_co_u32_e32 {dst.lo}, vcc, {a.lo}, {b.lo}",
        "v_addc_co_u32_e32 {dst.hi}, vcc, {a.hi}, {b.hi}, vcc",
    ),
    _pseudo(
        "v_sub_u64",
        "v_sub_co_u32_e32 {dst.lo}, vcc, {a.lo}, {b.lo}",
        "v_subb_co_u32_e32 {dst.hi}, vcc, {a.hi}, {b.hi}, vcc",
    ),
    _pseudo(
        "v_mul_u64",
        "v_mul_lo_u32 {dst.lo}, {a.hi}, {b.lo}",
        "v_mul_lo_u32 {dst.hi}, {a.lo}, {b.hi}",
        "v_add_u32_e32 {dst.hi}, {dst.hi}, {dst.lo}",
        "v_mul_hi_u32 {dst.lo}, {a.lo}, {b.lo}",
        "v_add_u32_e32 {dst.hi}, {dst.hi}, {dst.lo}",
        "v_mul_lo_u32 {dst.lo}, {a.lo}, {b.lo}",
        early_clobber=True,
    ),
    *(
        _pseudo(
            f"v_{name}_b64",
            f"{half} {{dst.lo}}, {{a.lo}}, {{b.lo}}",
            f"{half} {{dst.hi}}, {{a.hi}}, {{b.hi}}",
        )
        for name, half in _HALVES.items()
    ),
    _pseudo(
        "v_cndmask_b64",
        "v_cndmask_b32_e64 {dst.lo}, {c.lo}, {b.lo}, {a}",
        "v_cndmask_b32_e64 {dst.hi}, {c.hi}, {b.hi}, {a}",
    ),
    _pseudo("v_zext_mask_b32", "v_cndmask_b32_e64 {dst}, 0, 1, {a}"),
    _pseudo("v_sext_mask_b32", "v_cndmask_b32_e64 {dst}, 0, -1, {a}"),
    _pseudo(
        "v_zext_b32_b64",
        "v_mov_b32_e32 {dst.lo}, {a}",
        "v_mov_b32_e32 {dst.hi}, 0",
    ),
    _pseudo(
        "v_sext_b32_b64",
        "v_mov_b32_e32 {dst.lo}, {a}",
        "v_ashrrev_i32_e32 {dst.hi}, 31, {dst.lo}",
    ),
)  # fmt: skip

SALU_ROWS = (
    _salu("s_mov_b32", "{dst}, {a}"),
    _salu("s_mov_b64", "{dst}, {a}"),
    _salu("s_and_b64", _TWO),
    _salu("s_or_b64", _TWO),
    _salu("s_xor_b64", _TWO),
    _salu("s_andn2_b64", _TWO),
    _salu("s_xnor_b64", _TWO),
)

PSEUDO_SALU_ROWS = (
    _other(
        "s_add_scratch_offset", "", Kind.COMPUTE,
        "LLVM SIFrameLowering: the scratch resource moves to the wave's own part, in place",
        _BEFORE_GFX942,
        expansion=("s_add_u32 {dst.lo}, {a.lo}, {b}", "s_addc_u32 {dst.hi}, {a.hi}, 0"),
        unit=Unit.SALU,
    ),
)  # fmt: skip

MEMORY_ROWS: tuple[tuple[Access, InstructionRow], ...] = (
    *_vector_accesses(),
    *_lds_accesses(),
    *_private_accesses(),
    *instructions_gfx1250.MEMORY_ROWS,
)
"""Every memory access with its instruction, which ``chips`` of the row have."""


_NOT_FINE_GRAINED = "not for fine-grained memory before gfx942 (LLVM SIISelLowering)"

# (space, type) -> chips with the form that returns nothing, chips with the other.
_PACKED_ADDITIONS = {
    (AddressSpace.GLOBAL, ValueType.F16X2): (_ALL, _GFX90A_ON),
    (AddressSpace.GLOBAL, ValueType.BF16X2): (_GFX942_ON, _GFX942_ON),
    (AddressSpace.GENERIC, ValueType.F16X2): (_GFX942_ON, _GFX942_ON),
    (AddressSpace.GENERIC, ValueType.BF16X2): (_GFX942_ON, _GFX942_ON),
}


def _packed_additions() -> Iterator[tuple[Packed, InstructionRow]]:
    for (space, type_), (chips, returning) in _PACKED_ADDITIONS.items():
        prefix = "global" if space is AddressSpace.GLOBAL else "flat"
        mnemonic = f"{prefix}_atomic_pk_add_{type_.removesuffix('x2')}"
        for (*_, returns), row in _vector_atomic(
            Operation.ATOMIC_RMW, space, 32, RmwKind.FADD, mnemonic, chips, returning
        ):
            limited = replace(row, source=f"{row.source}; {_NOT_FINE_GRAINED}")
            yield (space, RmwKind.FADD, type_, returns), limited
    for type_ in (ValueType.F16X2, ValueType.BF16X2):
        for returns in (False, True):
            mnemonic = f"ds_pk_add{'_rtn' if returns else ''}_{type_.removesuffix('x2')}"
            operands = f"{'{dst}, ' if returns else ''}{{addr}}, {{data}}"
            local = AddressSpace.LOCAL
            row = InstructionRow(mnemonic, operands, Kind.RMW, _LGKM, _GFX942_ON, _DS, local)
            yield (local, RmwKind.FADD, type_, returns), row


PACKED_ROWS: tuple[tuple[Packed, InstructionRow], ...] = (
    *_packed_additions(),
    *instructions_gfx1250.PACKED_ROWS,
)
"""Every packed read-modify-write with its instruction, which ``chips`` of the row have."""


def _unique(rows: Iterable[InstructionRow]) -> dict[tuple[str, bool], InstructionRow]:
    index: dict[tuple[str, bool], InstructionRow] = {}
    for row in rows:
        key = row.mnemonic, row.returns
        known = index.setdefault(key, row)
        if known is not row:
            index[key] = _of_both(known, row)
    return index


def _of_both(one: InstructionRow, other: InstructionRow) -> InstructionRow:
    """The row of an instruction that two generations have, called alike and with like operands."""
    same = replace(other, counters=one.counters, chips=one.chips, source=one.source)
    if one.chips & other.chips or same != one:
        raise AssertionError(f"two rows for {one.mnemonic}")
    return replace(one, chips=one.chips | other.chips, counters=(*one.counters, *other.counters))


INSTRUCTIONS: dict[tuple[str, bool], InstructionRow] = _unique(
    (
        *(row for _, row in MEMORY_ROWS),
        *(row for _, row in PACKED_ROWS),
        *SCALAR_LOAD_ROWS,
        *map(instructions_gfx1250.kept, CONTROL_ROWS),
        *map(instructions_gfx1250.kept, VALU_ROWS),
        *map(instructions_gfx1250.kept, SALU_ROWS),
        *PSEUDO_SALU_ROWS,
        *instructions_gfx1250.OTHER_ROWS,
    )
)
"""Every instruction by its mnemonic and whether it is an atomic that returns the old value."""


_JUMPS = frozenset({"s_endpgm", "s_branch", "s_cbranch_vccnz", "s_cbranch_vccz"})
_JOINT = _JUMPS | {"s_waitcnt", "s_barrier"}
_SPLIT = _JUMPS | {
    "s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_loadcnt_dscnt",
    "s_wait_storecnt_dscnt", "s_barrier_signal", "s_barrier_wait", "global_inv", "global_wb",
}  # fmt: skip
_LIKE_GFX1250 = _chips_with(InstructionSet.GFX1250)
_READ_AS: Mapping[frozenset[str], tuple[frozenset[str], frozenset[str]]] = {
    _GFX10: (_ALL, _JOINT),
    _GFX11: (_LIKE_GFX1250, _JOINT),
    _GFX12: (_LIKE_GFX1250, _SPLIT),
}
"""Chips that are only read: those whose names of accesses of integers and scalar loads they share,
and their own.
"""

_FLOATS = frozenset(FLOAT_VERBS)
_SHARED_SPACES = (AddressSpace.GLOBAL, AddressSpace.GENERIC, AddressSpace.LOCAL)


@cache
def _read_on(chip: str) -> frozenset[tuple[str, bool]]:
    """Instructions of other chips on a chip whose code is read but not generated."""
    known = next((each for chips, each in _READ_AS.items() if chip in chips), None)
    if known is None:
        return frozenset()
    like, more = known
    accesses = {
        (row.mnemonic, row.returns)
        for (_, space, _, kind, _), row in MEMORY_ROWS
        if space in _SHARED_SPACES and kind not in _FLOATS and like <= row.chips
    }
    scalar = {key for key, row in INSTRUCTIONS.items() if row.is_scalar_load and like <= row.chips}
    return frozenset(accesses | scalar | {(mnemonic, False) for mnemonic in more})


def has_instruction(chip: str, row: InstructionRow) -> bool:
    """True where a chip has the instruction of ``row``; of one only read, as far as known."""
    return chip in row.chips or (row.mnemonic, row.returns) in _read_on(chip)


WITH_S_WAITCNT: tuple[InstructionRow, ...] = tuple(
    row for row in INSTRUCTIONS.values() if row.chips & _ALL
)
"""Those of chips that wait for all counters with one instruction."""


def _by_access() -> dict[tuple[str, Access], InstructionRow]:
    index: dict[tuple[str, Access], InstructionRow] = {}
    for access, row in MEMORY_ROWS:
        for chip in row.chips:
            if (chip, access) in index:
                raise AssertionError(f"{chip}: two rows for {access}")
            index[chip, access] = row
    return index


_BY_ACCESS = _by_access()


_PACKED = {(chip, packed): row for packed, row in PACKED_ROWS for chip in row.chips}

OPERAND_PLACES = ("addr", "lds", "compare", "data", "resource", "a", "b", "c", "d")
"""The operand places of a row, in the order in which an operation lists its operands."""


@cache
def operand_places(row: InstructionRow) -> tuple[str, ...]:
    """The names of the register operands that ``row`` reads, in the order of ``OPERAND_PLACES``."""
    places = {name for line in row.code for name in line.names}
    return tuple(name for name in OPERAND_PLACES if name in places)


IN_PLACE_OF: Mapping[InstructionSet, Mapping[str, str]] = {
    InstructionSet.GFX1250: instructions_gfx1250.IN_PLACE_OF
}
"""Mnemonics of an instruction set that take the place of gfx9's, by gfx9's mnemonic."""


@cache
def spelled(chip: str, mnemonic: str) -> str:
    """``chip``'s mnemonic for the arithmetic that gfx9 calls ``mnemonic``, or its substitute."""
    sets = CHIPS[chip].instruction_sets
    own = (
        names[mnemonic] for each, names in IN_PLACE_OF.items() if each in sets and mnemonic in names
    )
    return next(own, mnemonic)


def instruction(mnemonic: str, returns: bool = False) -> InstructionRow | None:
    """The row of an instruction; ``returns`` asks for an atomic's form with a result."""
    return INSTRUCTIONS.get((mnemonic, returns))


def either_form(mnemonic: str) -> InstructionRow | None:
    """The row of an instruction, for properties independent of an atomic's result."""
    return instruction(mnemonic) or instruction(mnemonic, returns=True)


def memory_instruction(
    chip: str,
    op: Operation,
    space: AddressSpace,
    width: int,
    kind: RmwKind | None = None,
    returns: bool = True,
) -> InstructionRow | None:
    """The instruction of ``chip`` for a memory access of ``width`` bits, None if it has none.

    ``kind`` matters to a read-modify-write only, ``returns`` to it and to compare-exchange.
    Constant memory is read like global memory. The compare-exchange of vector memory takes
    the pair new:compare as ``{data}``, that of LDS ``{compare}`` and ``{data}``. The cache
    policy bits, among them the one that asks an atomic for the old value, are not part of it.
    """
    if space is AddressSpace.CONSTANT:
        if op is not Operation.LOAD:
            return None
        space = AddressSpace.GLOBAL
    if op is Operation.LOAD:
        return _BY_ACCESS.get((chip, (op, space, width, None, True)))
    if op is Operation.STORE:
        return _BY_ACCESS.get((chip, (op, space, width, None, False)))
    kind = kind if op is Operation.ATOMIC_RMW else None
    return _BY_ACCESS.get((chip, (op, space, width, kind, returns)))


def packed_instruction(
    chip: str, space: AddressSpace, kind: RmwKind, type_: ValueType, returns: bool
) -> InstructionRow | None:
    """The instruction of ``chip`` for a packed read-modify-write, None if it has none."""
    return _PACKED.get((chip, (space, kind, type_, returns)))
