"""Registers that instructions of gfx10 and gfx11 define and use, as rows by families of mnemonics.

Those of gfx10 that are called as on gfx9 are its rows, those of gfx11 that are called as on gfx12
are gfx1250's. Loads count in vmcnt, those to LDS and atomics that return the old value among them;
stores and other atomics in vscnt; LDS, scalar memory and messages in lgkmcnt. A wave has 32 lanes
or 64: which registers a lane mask has is printed. ``s_subvector_loop_begin``, which runs code
twice, and ``lds_direct_load``, whose end expcnt sees, have no row: they may do anything.
Sources: RDNA2 and RDNA3 ISA; LLVM 22's operand tables of gfx1010, gfx1030, gfx1100 and gfx1150.
"""

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.operands import gfx9
from fencewright.lowering.cdna.code.operands import gfx1250 as gfx12
from fencewright.lowering.cdna.code.operands.family import (
    EXEC,
    FLAT_SCRATCH,
    M0,
    SCC,
    FamilyRow,
    FamilyRows,
)
from fencewright.lowering.cdna.counters.scoreboard import CounterEvent, CounterEventKind
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

_K = Kind
_E = CounterEventKind
_GLOBAL, _LDS = AddressSpace.GLOBAL, AddressSpace.LOCAL
_PRIVATE, _GENERIC, _CONSTANT = AddressSpace.PRIVATE, AddressSpace.GENERIC, AddressSpace.CONSTANT

_OPERANDS = "LLVM 22, operands of gfx10 and gfx11"
_COUNTERS = "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11; RDNA2 ISA 4.4, RDNA3 ISA 5.6"
_ROWS, _MEMORY = FamilyRows(_OPERANDS), FamilyRows(_COUNTERS)
_here, _control, _salu, _valu, _image = (
    _ROWS.here, _ROWS.control, _ROWS.salu, _ROWS.valu, _MEMORY.image
)  # fmt: skip

_LOADS = (CounterEvent(Counter.VMCNT, _E.VECTOR),)
_STORES = (CounterEvent(Counter.VSCNT, _E.VECTOR),)
_IN_LGKMCNT = (CounterEvent(Counter.LGKMCNT, _E.LDS),)
_SCALAR = (CounterEvent(Counter.LGKMCNT, _E.SCALAR),)
# Flat accesses count in order with others (LLVM GCNSubtarget.h, hasFlatLgkmVMemCountInOrder).
_FLAT_LOADS, _FLAT_STORES = (*_LOADS, *_IN_LGKMCNT), (*_STORES, *_IN_LGKMCNT)
_RETURNS = frozenset({"glc"})


_SCALAR_CONTROL = (
    FamilyRow("s_waitcnt|s_waitcnt_(vm|vs|lgkm|exp)cnt|s_wait_idle", _K.WAIT, 0, _COUNTERS),
    *_here(gfx9.CONTROL_FLOW),
    FamilyRow("s_swappc_b64|s_call_b64", _K.CALL, 1, _OPERANDS),
    FamilyRow("s_sendmsg|s_sendmsghalt", _K.SIGNAL, 0, _COUNTERS, uses=(*M0, *EXEC),
        events=_SCALAR),
    FamilyRow("s_sendmsg_rtn_b(32|64)", _K.SIGNAL, 1, _COUNTERS, events=_SCALAR),
    _control("s_nop|s_sleep|s_setprio|s_sethalt|s_setkill|s_trap|s_code_end|s_clause|s_delay_alu"
        "|s_waitcnt_depctr|s_wait_event|s_icache_inv|s_incperflevel|s_decperflevel|s_wakeup"
        "|s_version|s_round_mode|s_denorm_mode|s_inst_prefetch|s_set_inst_prefetch_distance"
        "|s_ttracedata_imm", _K.COMPUTE),
    _control("s_ttracedata", _K.COMPUTE, M0),
    FamilyRow("s_gl1_inv", _K.CACHE, 0, _COUNTERS, events=_SCALAR),
)  # fmt: skip
"""``s_waitcnt_depctr`` is about registers that the wave's own instructions read and write."""


_SCALAR_ALU = (
    *_here(gfx12.SCALAR_ALU),
    _salu("s_addk_i32", True, defines=SCC),
    _salu("s_(addc|subb)_u32", defines=SCC, uses=SCC),
    _salu("s_(add|sub)_[iu]32|s_lshl[1-4]_add_u32|s_(bcnt[01]|quadmask|wqm|not|abs)_\\w+"
        "|s_(min|max|absdiff|and|or|xor|nand|nor|xnor|andn2|orn2|and_not1|or_not1|lshl|lshr|ashr"
        "|bfe)_(i32|u32|b32|i64|u64|b64)", defines=SCC),
    _salu("s_(mov|brev|ff[01]|flbit|clz|ctz|cls|sext|getpc|getreg|movk|bitreplicate|bfm|pack|mul"
        "|mul_hi|cvt|ceil|floor|trunc|rndne|add|sub|min|max|fmaak|fmamk)_\\w+"),
)  # fmt: skip


_VECTOR_ALU = (
    _valu("v_clrexcp(_e32|_e64)?", 0, uses=()),
    _valu("v_(add|sub|subrev)_co_ci_u32_sdwa|v_mad_(u64_u32|i64_i32)", 2),
    _valu("v_(mac|dot\\d+c|dot2acc)_\\w+", 1, True),
    _valu("v_movrels_b32_(dpp|sdwa)", 1, True, uses=(*EXEC, *M0)),
    _valu("v_interp_p2_f32(_e32|_e64)?", 1, True, uses=(*EXEC, *M0)),
    _valu("v_interp_\\w+", 1, uses=(*EXEC, *M0)),
    *_here(gfx12.VECTOR_ALU),
)


_OTHER_MEMORY = (
    FamilyRow("buffer_gl[01]_inv", _K.CACHE, 0, _COUNTERS, uses=EXEC),
    _image("image_atomic_\\w+", _K.RMW, 1, _LOADS, _RETURNS, _STORES),
    _image("image_store\\w*", _K.STORE, 0, _STORES),
    _image("image_\\w+", _K.LOAD, 1, _LOADS),
    FamilyRow("exp", _K.COMPUTE, 0, _OPERANDS, uses=EXEC),
)


def _named_as_on_gfx9(
    prefix: str,
    space: AddressSpace | None,
    loads: tuple[CounterEvent, ...] = _LOADS,
    stores: tuple[CounterEvent, ...] = _STORES,
    uses: tuple[str, ...] = (),
) -> tuple[FamilyRow, ...]:
    return gfx9.memory_rows(prefix, space, loads, _COUNTERS, uses, stores)


def _named_as_on_gfx12(
    prefix: str,
    space: AddressSpace | None,
    loads: tuple[CounterEvent, ...] = _LOADS,
    stores: tuple[CounterEvent, ...] = _STORES,
    uses: tuple[str, ...] = (),
) -> tuple[FamilyRow, ...]:
    # Half a register that a load writes is written alone, and LLVM has registers of that size.
    rows = gfx12.vector_memory(prefix, space, loads, stores, uses, returns=_RETURNS, merges=False)
    return _here(rows)


FAMILIES_GFX10 = (
    *_SCALAR_CONTROL,
    *_SCALAR_ALU,
    FamilyRow("s_get_waveid_in_workgroup", _K.COMPUTE, 1, _COUNTERS, events=_SCALAR),
    *_here(gfx9.SCALAR_MEMORY),
    *_VECTOR_ALU,
    *_OTHER_MEMORY,
    *_named_as_on_gfx9("global", _GLOBAL),
    *_named_as_on_gfx9("scratch", _PRIVATE, uses=FLAT_SCRATCH),
    *_named_as_on_gfx9("flat", _GENERIC, _FLAT_LOADS, _FLAT_STORES, FLAT_SCRATCH),
    *_named_as_on_gfx9("t?buffer", None),
    *_here(gfx9.LOCAL_MEMORY),
)
"""Every family of gfx10; the first that matches a mnemonic is its own."""

FAMILIES_GFX11 = (
    *_SCALAR_CONTROL,
    *_SCALAR_ALU,
    FamilyRow("s_(buffer_)?load_(b\\d+|dword(x\\d+)?)", _K.LOAD, 1, _COUNTERS, space=_CONSTANT,
        events=_SCALAR),
    FamilyRow("s_dcache_inv", _K.CACHE, 0, _COUNTERS, events=_SCALAR),
    FamilyRow("s_atc_probe(_buffer)?", _K.COMPUTE, 0, _COUNTERS, events=_SCALAR),
    *_VECTOR_ALU,
    *_OTHER_MEMORY,
    FamilyRow("lds_param_load", _K.COMPUTE, 1, _OPERANDS, uses=(*EXEC, *M0)),
    *_named_as_on_gfx12("global", _GLOBAL),
    *_named_as_on_gfx12("scratch", _PRIVATE, uses=FLAT_SCRATCH),
    *_named_as_on_gfx12("flat", _GENERIC, _FLAT_LOADS, _FLAT_STORES, FLAT_SCRATCH),
    *_named_as_on_gfx12("t?buffer", None),
    FamilyRow("ds_gws_\\w+", _K.SIGNAL, 0, _COUNTERS, uses=(*EXEC, *M0), events=_SCALAR),
    FamilyRow("ds_ordered_count|ds_(add|sub)_gs_reg_rtn", _K.SIGNAL, 1, _COUNTERS,
              uses=(*EXEC, *M0), events=_SCALAR),
    FamilyRow("ds_bvh_stack_rtn_b32", _K.RMW, 2, _COUNTERS, True, uses=(*EXEC, *M0), space=_LDS,
        events=_IN_LGKMCNT),
    *_here(gfx12.local_memory(_IN_LGKMCNT, merges=False)),
)  # fmt: skip
"""Every family of gfx11; the first that matches a mnemonic is its own."""
