"""The instructions of gfx1250 as rows, as ``instructions`` has those of the gfx9 chips.

Chips with the same letters for an instruction share its row (``instructions.INSTRUCTIONS``). Which
chip has which instruction is certified by ``llvm-mc`` in tests/unit/test_cdna_instructions.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from fencewright.lowering.cdna.access_names import INTEGER_VERBS
from fencewright.lowering.cdna.chips import CHIPS, Counter, InstructionSet
from fencewright.lowering.cdna.instruction_row import Access, InstructionRow, Packed, Unit
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, Operation, RmwKind, ValueType

_CHIPS = frozenset(
    name for name, chip in CHIPS.items() if InstructionSet.GFX1250 in chip.instruction_sets
)
_MEMORY = "LLVM 24 AMDGPU, FLATInstructions.td: gfx12 and gfx1250"
_DS = "LLVM 24 AMDGPU, DSInstructions.td: gfx12 and gfx1250"
_SOPP = "LLVM 24 AMDGPU, SOPInstructions.td: gfx12 and gfx1250"
_SYNC = "LLVM 24 AMDGPUExecutionSynchronization"
_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX125x"

_LOADS = {8: "u8", 16: "u16", 32: "b32", 64: "b64", 96: "b96", 128: "b128"}
_STORES = _LOADS | {8: "b8", 16: "b16"}
_KINDS = {
    **INTEGER_VERBS,
    RmwKind.FADD: ("add", "f"),
    RmwKind.FMIN: ("min_num", "f"),
    RmwKind.FMAX: ("max_num", "f"),
}
_VECTOR_KINDS = {RmwKind.XCHG: ("swap", "b"), **_KINDS}
_VECTOR_FORMATS = (("global", ", off", AddressSpace.GLOBAL), ("flat", "", AddressSpace.GENERIC))


_COUNTS = {False: Counter.STORECNT, True: Counter.LOADCNT}
"""By whether an access has a result."""


def _row(
    mnemonic: str,
    operands: str,
    kind: Kind,
    source: str,
    space: AddressSpace | None = None,
    counters: tuple[Counter, ...] = (),
    unit: Unit | None = None,
) -> InstructionRow:
    if space is AddressSpace.LOCAL:
        counters = (Counter.DSCNT,)
    elif space is not None:
        flat = (Counter.DSCNT,) * (space is AddressSpace.GENERIC)
        counters = (_COUNTS[operands.startswith("{dst}")], *flat)
    return InstructionRow(mnemonic, operands, kind, counters, _CHIPS, source, space, unit=unit)


def _atomic(
    mnemonic: str, operands: str, returns: bool, source: str, space: AddressSpace
) -> InstructionRow:
    return _row(mnemonic, "{dst}, " * returns + operands, Kind.RMW, source, space)


def _vector_accesses() -> Iterator[tuple[Access, InstructionRow]]:
    for prefix, tail, space in _VECTOR_FORMATS:
        for width, suffix in _LOADS.items():
            operands = "{dst}, {addr}" + tail
            load = _row(f"{prefix}_load_{suffix}", operands, Kind.LOAD, _MEMORY, space)
            yield (Operation.LOAD, space, width, None, True), load
        for width, suffix in _STORES.items():
            operands = "{addr}, {data}" + tail
            store = _row(f"{prefix}_store_{suffix}", operands, Kind.STORE, _MEMORY, space)
            yield (Operation.STORE, space, width, None, False), store
        for width in (32, 64):
            for returns in (False, True):
                yield from _vector_atomics(prefix, "{addr}, {data}" + tail, space, width, returns)


def _vector_atomics(
    prefix: str, operands: str, space: AddressSpace, width: int, returns: bool
) -> Iterator[tuple[Access, InstructionRow]]:
    swap = _atomic(f"{prefix}_atomic_cmpswap_b{width}", operands, returns, _MEMORY, space)
    yield (Operation.CMPXCHG, space, width, None, returns), swap
    for kind, (name, letter) in _VECTOR_KINDS.items():
        mnemonic = f"{prefix}_atomic_{name}_{letter}{width}"
        row = _atomic(mnemonic, operands, returns, _MEMORY, space)
        yield (Operation.ATOMIC_RMW, space, width, kind, returns), row


def _lds_accesses() -> Iterator[tuple[Access, InstructionRow]]:
    local = AddressSpace.LOCAL
    for width, suffix in _LOADS.items():
        access = Operation.LOAD, local, width, None, True
        yield access, _row(f"ds_load_{suffix}", "{dst}, {addr}", Kind.LOAD, _DS, local)
    for width, suffix in _STORES.items():
        access = Operation.STORE, local, width, None, False
        yield access, _row(f"ds_store_{suffix}", "{addr}, {data}", Kind.STORE, _DS, local)
    for width in (32, 64):
        exchange = _atomic(
            f"ds_storexchg_rtn_b{width}", "{addr}, {data}", True,
            f"{_DS}: exchange always returns", local,
        )  # fmt: skip
        for returns in (False, True):
            rtn = "_rtn" * returns
            yield (Operation.ATOMIC_RMW, local, width, RmwKind.XCHG, returns), exchange
            operands = "{addr}, {data}, {compare}"
            compare = _atomic(f"ds_cmpstore{rtn}_b{width}", operands, returns, _DS, local)
            yield (Operation.CMPXCHG, local, width, None, returns), compare
            for kind, (name, letter) in _KINDS.items():
                mnemonic = f"ds_{name}{rtn}_{letter}{width}"
                row = _atomic(mnemonic, "{addr}, {data}", returns, _DS, local)
                yield (Operation.ATOMIC_RMW, local, width, kind, returns), row


def _private_accesses() -> Iterator[tuple[Access, InstructionRow]]:
    private = AddressSpace.PRIVATE
    row = partial(_row, source=_MEMORY, space=private)
    for width, suffix in _LOADS.items():
        load = row(f"scratch_load_{suffix}", "{dst}, {addr}, off", Kind.LOAD)
        yield (Operation.LOAD, private, width, None, True), load
    for width, suffix in _STORES.items():
        store = row(f"scratch_store_{suffix}", "{addr}, {data}, off", Kind.STORE)
        yield (Operation.STORE, private, width, None, False), store


MEMORY_ROWS: tuple[tuple[Access, InstructionRow], ...] = (
    *_vector_accesses(),
    *_lds_accesses(),
    *_private_accesses(),
)
"""Every memory access with its instruction."""


def _packed_additions() -> Iterator[tuple[Packed, InstructionRow]]:
    for type_ in (ValueType.F16X2, ValueType.BF16X2):
        name = type_.removesuffix("x2")
        for returns in (False, True):
            for prefix, tail, space in _VECTOR_FORMATS:
                mnemonic, operands = f"{prefix}_atomic_pk_add_{name}", "{addr}, {data}" + tail
                row = _atomic(mnemonic, operands, returns, _MEMORY, space)
                yield (space, RmwKind.FADD, type_, returns), row
            mnemonic, local = f"ds_pk_add{'_rtn' * returns}_{name}", AddressSpace.LOCAL
            row = _atomic(mnemonic, "{addr}, {data}", returns, _DS, local)
            yield (local, RmwKind.FADD, type_, returns), row


PACKED_ROWS: tuple[tuple[Packed, InstructionRow], ...] = (*_packed_additions(),)
"""Every packed read-modify-write with its instruction."""

_WAITS = (
    "s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_xcnt",
    "s_wait_asynccnt", "s_wait_tensorcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt",
)  # fmt: skip

_KEPT = frozenset(
    (
        "s_endpgm", "s_branch", "s_cbranch_vccnz", "s_cbranch_vccz", "s_mov_b32",
        "s_mov_b64",
        "v_mov_b32_e32", "v_mul_lo_u32", "v_and_b32_e32", "v_or_b32_e32", "v_xor_b32_e32",
        "v_min_i32_e32", "v_max_i32_e32", "v_min_u32_e32", "v_max_u32_e32",
        "v_lshlrev_b32_e32", "v_lshrrev_b32_e32", "v_ashrrev_i32_e32", "v_cndmask_b32_e64",
        "v_add_f32_e32", "v_sub_f32_e32", "v_bfe_u32", "v_bfe_i32", "v_lshl_add_u64",
        *(f"v_cmp_{name}_{letter}{width}_e64"
          for name in ("eq", "ne", "lt", "le", "gt",
                       "ge") for letter in "ui" for width in (32, 64)),
        "v_and_b64", "v_or_b64", "v_xor_b64", "v_cndmask_b64", "v_zext_mask_b32", "v_sext_mask_b32",
        "v_zext_b32_b64", "v_sext_b32_b64",
    )
)  # fmt: skip


def kept(row: InstructionRow) -> InstructionRow:
    """A row of gfx9, which is one of these chips too if they have the same instruction."""
    return replace(row, chips=row.chips | _CHIPS) if row.mnemonic in _KEPT else row


IN_PLACE_OF: Mapping[str, str] = MappingProxyType(
    {
        "v_add_u32_e32": "v_add_nc_u32_e32",
        "v_sub_u32_e32": "v_sub_nc_u32_e32",
        "v_sub_u64": "v_sub_nc_u64_e32",
        "v_mul_u64": "v_mul_u64_e32",
        "v_lshlrev_b64": "v_lshlrev_b64_e64",
        "v_lshrrev_b64": "v_lshrrev_b64_e64",
        "v_ashrrev_i64": "v_ashrrev_i64_e64",
        "v_min_f32_e32": "v_min_num_f32_e32",
        "v_max_f32_e32": "v_max_num_f32_e32",
        "v_add_f64": "v_add_f64_e64",
        "v_sub_f64": "v_sub_f64_e64",
        "v_min_f64": "v_min_num_f64_e64",
        "v_max_f64": "v_max_num_f64_e64",
        "s_and_b64": "s_and_b32",
        "s_or_b64": "s_or_b32",
        "s_xor_b64": "s_xor_b32",
        "s_andn2_b64": "s_and_not1_b32",
        "s_xnor_b64": "s_xnor_b32",
        "s_load_dword": "s_load_b32",
        "s_load_dwordx2": "s_load_b64",
        "s_load_dwordx4": "s_load_b128",
    }
)
"""Mnemonics that take the place of gfx9's on these chips; a mask of 32 lanes is one register."""

_VOP = "LLVM 24 AMDGPU, VOP2Instructions.td, VOP3Instructions.td: gfx12 and gfx1250"
_SOP = "LLVM 24 AMDGPU, SOPInstructions.td: gfx12 and gfx1250"
_SMEM = "LLVM 24 AMDGPU, SMInstructions.td: gfx12; with XNACK it must not overwrite its address"
_IDS = (
    "LLVM 24 SITargetLowering, lowerWorkGroupId: ttmp9 and ttmp7 have the ids of clusters, or of "
    "work-groups where there are none, ttmp6 those within the cluster"
)
_TWO, _SHIFT = "{dst}, {a}, {b}", "{dst}, {b}, {a}"
_DIMENSIONS = (
    ("x", "s_mov_b32 {dst}, ttmp9", "0x40000"),
    ("y", "s_and_b32 {dst}, ttmp7, 0xffff", "0x40004"),
    ("z", "s_lshr_b32 {dst}, ttmp7, 16", "0x40008"),
)


def _arithmetic() -> Iterator[InstructionRow]:
    valu = partial(_row, kind=Kind.COMPUTE, source=_VOP, unit=Unit.VALU)
    for mnemonic in ("v_add_nc_u32_e32", "v_sub_nc_u32_e32", "v_sub_nc_u64_e32", "v_mul_u64_e32"):
        yield valu(mnemonic, _TWO)
    for mnemonic in ("v_lshlrev_b64_e64", "v_lshrrev_b64_e64", "v_ashrrev_i64_e64"):
        yield valu(mnemonic, _SHIFT)
    for mnemonic in ("v_min_num_f32_e32", "v_max_num_f32_e32", "v_add_f64_e64"):
        yield valu(mnemonic, _TWO)
    for mnemonic in ("v_min_num_f64_e64", "v_max_num_f64_e64"):
        yield valu(mnemonic, _TWO)
    subtract = valu("v_sub_f64_e64", "", source=f"{_VOP}; a pseudo instruction")
    yield replace(subtract, expansion=("v_add_f64_e64 {dst}, {a}, -{b}",))
    for mnemonic in ("s_and_b32", "s_or_b32", "s_xor_b32", "s_and_not1_b32", "s_xnor_b32"):
        yield _row(mnemonic, _TWO, Kind.COMPUTE, _SOP, unit=Unit.SALU)
    for dimension, whole, part in _DIMENSIONS:
        alone = _row(f"s_workgroup_id_{dimension}", "", Kind.COMPUTE, _IDS, unit=Unit.SALU)
        yield replace(alone, expansion=(whole,))
        # vcc is free but between a branch and its test.
        yield replace(
            alone,
            mnemonic=f"s_workgroup_id_{dimension}_of_clusters",
            expansion=(
                whole,
                "s_mul_i32 {dst}, {dst}, {imm0}",
                f"s_bfe_u32 vcc_lo, ttmp6, {part}",
                "s_add_co_i32 {dst}, {dst}, vcc_lo",
            ),
        )


def _scalar_loads() -> Iterator[InstructionRow]:
    for width in (32, 64, 128, 256, 512):
        row = _row(f"s_load_b{width}", "{dst}, {addr}, {offset}", Kind.LOAD, _SMEM)
        yield replace(
            row, space=AddressSpace.CONSTANT, counters=(Counter.KMCNT,), early_clobber=True
        )


_ASYNC = "LLVM 24 AMDGPUUsage, asynchronous operations; FLATInstructions.td: gfx1250"
_TDM = "LLVM 24 AMDGPUUsage, DMA operations; MIMGInstructions.td: gfx1250"


def _asynchronous() -> Iterator[InstructionRow]:
    for width in (8, 32, 64, 128):
        for mnemonic, operands, into_lds in (
            (f"global_load_async_to_lds_b{width}", "{lds}, {addr}, off", True),
            (f"global_store_async_from_lds_b{width}", "{addr}, {lds}, off", False),
        ):
            yield _copy(mnemonic, operands, Counter.ASYNCCNT, _ASYNC, into_lds)
    for mnemonic, into_lds in (("tensor_load_to_lds", True), ("tensor_store_from_lds", False)):
        row = _copy(mnemonic, "{a}, {b}", Counter.TENSORCNT, _TDM, into_lds)
        yield row
        groups = "{a}, {b}, {c}, {d}"
        yield replace(
            row, mnemonic=f"{mnemonic}_d4", operands=groups, expansion=(f"{mnemonic} {groups}",)
        )


def _copy(
    mnemonic: str, operands: str, counter: Counter, source: str, into_lds: bool
) -> InstructionRow:
    return InstructionRow(
        mnemonic, operands, Kind.COPY, (counter,), _CHIPS, source, AddressSpace.GLOBAL,
        into_lds=into_lds,
    )  # fmt: skip


OTHER_ROWS: tuple[InstructionRow, ...] = (
    *_arithmetic(),
    *_scalar_loads(),
    *_asynchronous(),
    _row("global_wb", "", Kind.CACHE, _MODEL, counters=(Counter.STORECNT,)),
    _row("global_inv", "", Kind.CACHE, _MODEL, counters=(Counter.LOADCNT,)),
    *(_row(mnemonic, "", Kind.WAIT, f"{_MODEL}, counters") for mnemonic in _WAITS),
    _row("s_barrier_signal", "", Kind.BARRIER, _SOPP),
    _row("s_barrier_signal_isfirst", "", Kind.BARRIER, f"{_SOPP}; writes SCC",
        counters=(Counter.KMCNT,)),
    _row("s_barrier_wait", "", Kind.BARRIER, _SOPP),
    *(
        _row(f"s_barrier_{what}", "", Kind.BARRIER, f"{_SYNC}: named barriers")
        for what in ("init", "join", "leave")
    ),
    InstructionRow("s_cbranch_scc0", "", Kind.BARRIER, (), frozenset(CHIPS),
        f"{_SOPP}; steps over an instruction of the cluster's barrier"),
)  # fmt: skip
"""Instructions that access no memory shared by threads; the operands of caches, waits and barriers
are among their modifiers."""
