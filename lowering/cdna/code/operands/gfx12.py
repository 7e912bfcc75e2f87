"""The registers that instructions of gfx1200 and gfx1201 define and use, by families of mnemonics.

Most are called as on gfx1250, and are its rows. Loads and atomics that return the old value count
in loadcnt, stores and other atomics in storecnt, image instructions that sample in samplecnt and
those that intersect rays in bvhcnt, LDS in dscnt, scalar memory and messages in kmcnt. A wave has
32 lanes or 64. What expcnt sees the end of (``export``, ``ds_param_load``) writes no memory;
``ds_direct_load`` and ``global_wbinv``, which no compiler emits, and ``s_waitcnt``, which waits for
everything here, have no row: they may do anything. Sources: LLVM 24 AMDGPUUsage, Memory Model
GFX12; LLVM 22's operand tables of gfx1200.
"""

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.operands import gfx9, gfx1250
from fencewright.lowering.cdna.code.operands.family import (
    EXEC,
    FLAT_SCRATCH,
    M0,
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

_OPERANDS = "LLVM 22, operands of gfx1200"
_COUNTERS = "LLVM 24 AMDGPUUsage, Memory Model GFX12; LLVM SIInsertWaitcnts, getVmemType"
_ROWS, _MEMORY = FamilyRows(_OPERANDS), FamilyRows(_COUNTERS)
_here, _control, _salu, _valu, _image = (
    _ROWS.here, _ROWS.control, _ROWS.salu, _ROWS.valu, _MEMORY.image
)  # fmt: skip

_LOADS = (CounterEvent(Counter.LOADCNT, _E.VECTOR),)
_STORES = (CounterEvent(Counter.STORECNT, _E.VECTOR),)
_SAMPLES = (CounterEvent(Counter.SAMPLECNT, _E.VECTOR),)
_RAYS = (CounterEvent(Counter.BVHCNT, _E.VECTOR),)
_IN_DSCNT = (CounterEvent(Counter.DSCNT, _E.LDS),)
_SCALAR = (CounterEvent(Counter.KMCNT, _E.SCALAR),)
# Flat accesses count in order with others (LLVM GCNSubtarget.h, hasFlatLgkmVMemCountInOrder).
_FLAT_LOADS, _FLAT_STORES = (*_LOADS, *_IN_DSCNT), (*_STORES, *_IN_DSCNT)
_RETURNS = frozenset(
    {"th:TH_ATOMIC_RETURN", "th:TH_ATOMIC_NT_RETURN", "th:TH_ATOMIC_CASCADE_RETURN"}
)


_WAITS = "s_wait_(load|store|sample|bvh|ds|km|exp)cnt|s_wait_(load|store)cnt_dscnt|s_wait_idle"

_SCALAR_CONTROL = (
    FamilyRow(_WAITS, _K.WAIT, 0, _COUNTERS),
    *_here(gfx1250.BARRIERS),
    *_here(each for each in gfx9.CONTROL_FLOW if each.kind is not _K.BARRIER),
    FamilyRow("s_swappc_b64|s_call_b64", _K.CALL, 1, _OPERANDS),
    FamilyRow("s_sendmsg|s_sendmsghalt", _K.SIGNAL, 0, _COUNTERS, uses=(*M0, *EXEC),
        events=_SCALAR),
    FamilyRow("s_sendmsg_rtn_b(32|64)", _K.SIGNAL, 1, _COUNTERS, events=_SCALAR),
    _control("s_nop|s_sleep|s_sleep_var|s_setprio|s_sethalt|s_setkill|s_trap|s_code_end|s_clause"
        "|s_delay_alu|s_wait_alu|s_waitcnt_depctr|s_wait_event|s_icache_inv|s_incperflevel|s_decperflevel|s_wakeup"
        "|s_version|s_round_mode|s_denorm_mode|s_ttracedata_imm", _K.COMPUTE),
    _control("s_ttracedata", _K.COMPUTE, M0),
    _control("s_atc_probe(_buffer)?|s_prefetch_\\w+|s_buffer_prefetch_data", _K.COMPUTE),
)  # fmt: skip


_SCALAR_ALU = (
    *_here(gfx1250.SCALAR_ALU),
    *_here(gfx1250.NAMED_BY_CARRY),
    _salu("s_(mov|brev|ff1|flbit|clz|ctz|cls|sext|getpc|getreg|movk|bitreplicate|bfm|pack|mul"
        "|mul_hi|add_nc|sub_nc|cvt|ceil|floor|trunc|rndne|add|sub|min|max|min_num|max_num|minimum"
        "|maximum|fmaak|fmamk)_\\w+"),
)  # fmt: skip


_VECTOR_ALU = (
    _valu("v_movrels_b32_dpp", 1, True, uses=(*EXEC, *M0)),
    _valu("v_interp_\\w+", 1, uses=(*EXEC, *M0)),
    *_here(gfx1250.VECTOR_ALU),
)


_IMAGES = (
    _image("image_(sample|gather4)\\w*|image_msaa_load|image_get_lod", _K.LOAD, 1, _SAMPLES),
    _image("image_bvh\\w+", _K.LOAD, 1, _RAYS),
    _image("image_atomic_\\w+", _K.RMW, 1, _LOADS, _RETURNS, _STORES),
    _image("image_store\\w*", _K.STORE, 0, _STORES),
    _image("image_\\w+", _K.LOAD, 1, _LOADS),
    FamilyRow("export", _K.COMPUTE, 0, _OPERANDS, uses=EXEC),
    FamilyRow("ds_param_load", _K.COMPUTE, 1, _OPERANDS, uses=(*EXEC, *M0)),
)


def _memory(
    prefix: str,
    space: AddressSpace | None,
    loads: tuple[CounterEvent, ...] = _LOADS,
    stores: tuple[CounterEvent, ...] = _STORES,
    uses: tuple[str, ...] = (),
) -> tuple[FamilyRow, ...]:
    # Half a register that a load writes is written alone, and LLVM has registers of that size.
    rows = gfx1250.vector_memory(prefix, space, loads, stores, uses, returns=_RETURNS, merges=False)
    return _here(rows)


_LOCAL_MEMORY = (
    FamilyRow("ds_bvh_stack_\\w+", _K.RMW, 2, _COUNTERS, True, uses=(*EXEC, *M0), space=_LDS,
        events=_IN_DSCNT),
    *_here(gfx1250.local_memory(_IN_DSCNT, merges=False)),
)  # fmt: skip

_UNKNOWN = FamilyRow("ds_direct_load", _K.OPAQUE, 0, _OPERANDS)

FAMILIES_GFX12 = (
    *_SCALAR_CONTROL,
    *_SCALAR_ALU,
    *_MEMORY.here(gfx1250.SCALAR_MEMORY),
    *_VECTOR_ALU,
    *_IMAGES,
    FamilyRow("global_inv", _K.CACHE, 0, _COUNTERS, uses=EXEC, events=_LOADS),
    FamilyRow("global_wb", _K.CACHE, 0, _COUNTERS, uses=EXEC, events=_STORES),
    *_MEMORY.here(gfx1250.OF_BLOCKS),
    *_memory("global", _GLOBAL),
    *_memory("scratch", _PRIVATE, uses=FLAT_SCRATCH),
    *_memory("flat", _GENERIC, _FLAT_LOADS, _FLAT_STORES, FLAT_SCRATCH),
    *_memory("t?buffer", None),
    _UNKNOWN,
    *_LOCAL_MEMORY,
)  # fmt: skip
"""Every family; the first that matches a mnemonic is its own."""
