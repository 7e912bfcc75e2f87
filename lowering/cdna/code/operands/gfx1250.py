"""Registers that instructions of gfx1250 and gfx1251 define and use, as rows by families.

No manual of these chips is public: the rows are those of LLVM 22's operand tables, and of the
counters those of LLVM 24 AMDGPUUsage, Memory Model GFX125x. What registers are called after an
``s_set_vgpr_msb`` is ``vector.msbs``'s. ``global_wbinv``, which no compiler emits, has no row: it
may do anything. Names of older chips that the assembler accepts (``s_load_dword``) share the rows.
"""

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.operands.family import (
    EXEC,
    FLAT_SCRATCH,
    M0,
    SCC,
    VCC,
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

_OPERANDS = "LLVM 22, operands of gfx1250"
_COUNTERS = "LLVM 24 AMDGPUUsage, Memory Model GFX125x; LLVM 22, operands of gfx1250"

_LOADS = (CounterEvent(Counter.LOADCNT, _E.VECTOR),)
_STORES = (CounterEvent(Counter.STORECNT, _E.VECTOR),)
_IN_DSCNT = (CounterEvent(Counter.DSCNT, _E.LDS),)
_SCALAR = (CounterEvent(Counter.KMCNT, _E.SCALAR),)
_ASYNC = (CounterEvent(Counter.ASYNCCNT, _E.VECTOR),)
_ASYNC_STORES = (CounterEvent(Counter.ASYNCCNT, _E.FROM_LDS),)
_TENSOR = (CounterEvent(Counter.TENSORCNT, _E.VECTOR),)
_TENSOR_STORES = (CounterEvent(Counter.TENSORCNT, _E.FROM_LDS),)
# Flat accesses count in order with others (LLVM GCNSubtarget.h, hasFlatLgkmVMemCountInOrder).
_FLAT_LOADS, _FLAT_STORES = (*_LOADS, *_IN_DSCNT), (*_STORES, *_IN_DSCNT)

_RETURNS = frozenset({"th:TH_ATOMIC_RETURN", "th:TH_ATOMIC_NT_RETURN", "th:TH_ATOMIC_RT_RETURN"})


_ROWS = FamilyRows(_OPERANDS)
_control, _valu = _ROWS.control, _ROWS.valu


def _salu(pattern: str, results: int, accumulates: bool = False, *, defines: tuple[str, ...] = (),
    uses: tuple[str, ...] = ()) -> FamilyRow:  # fmt: skip
    return _ROWS.salu(pattern, accumulates, results=results, defines=defines, uses=uses)


_WAITS = "s_wait_(load|store|ds|km|async|tensor|x)cnt|s_wait_(load|store)cnt_dscnt|s_wait_idle"

BARRIERS = (
    # The signal is where the others may go on; the wait for them orders no memory by itself.
    FamilyRow("s_barrier_signal_isfirst", _K.BARRIER, 0, _COUNTERS, defines=SCC),
    FamilyRow("s_barrier_signal", _K.BARRIER, 0, _COUNTERS),
    _control("s_barrier_wait|s_barrier_join", _K.COMPUTE),
    FamilyRow("s_barrier_leave", _K.COMPUTE, 0, _OPERANDS, defines=SCC),
    _control("s_barrier_init|s_wakeup_barrier", _K.COMPUTE, M0),
    FamilyRow("s_get_barrier_state", _K.COMPUTE, 1, _OPERANDS, uses=M0, events=_SCALAR),
)
"""Barriers, with the names that gfx12 has too."""

_SCALAR_CONTROL = (
    FamilyRow(_WAITS, _K.WAIT, 0, _COUNTERS),
    *BARRIERS,
    _control("s_endpgm|s_endpgm_saved", _K.END),
    _control("s_branch", _K.JUMP),
    _control("s_cbranch_scc[01]", _K.BRANCH, SCC),
    _control("s_cbranch_vccn?z", _K.BRANCH, VCC),
    _control("s_cbranch_execn?z", _K.BRANCH, EXEC),
    _control("s_set_pc_i64|s_setpc_b64|s_rfe_i64|s_rfe_b64|s_add_pc_i64", _K.JUMP),
    FamilyRow("s_swap_pc_i64|s_swappc_b64|s_call_i64|s_call_b64", _K.CALL, 1, _OPERANDS),
    FamilyRow("s_sendmsg|s_sendmsghalt", _K.SIGNAL, 0, _OPERANDS, uses=(*M0, *EXEC),
        events=_SCALAR),
    FamilyRow("s_sendmsg_rtn_b(32|64)", _K.SIGNAL, 1, _OPERANDS, events=_SCALAR),
    _control("s_nop|s_sleep|s_sleep_var|s_setprio|s_setprio_inc_wg|s_sethalt|s_trap|s_code_end"
        "|s_clause|s_delay_alu|s_wait_alu|s_waitcnt_depctr|s_wait_event|s_icache_inv|s_incperflevel|s_decperflevel"
        "|s_wakeup|s_set_vgpr_msb|s_version|s_round_mode|s_denorm_mode|s_monitor_sleep|s_ttracedata_imm",
        _K.COMPUTE),
    _control("s_ttracedata", _K.COMPUTE, M0),
    _control("s_atc_probe(_buffer)?|s_prefetch_\\w+|s_buffer_prefetch_data", _K.COMPUTE),
)  # fmt: skip

SCALAR_ALU = (
    _salu("s_cmpk?_\\w+|s_bitcmp[01]_\\w+", 0, defines=SCC),
    _salu("s_setreg_(imm32_)?b32", 0),
    _salu("s_cmovk_i32", 1, uses=SCC),
    _salu("s_mulk_i32|s_bitset[01]_b(32|64)|s_fmac_f(16|32)", 1, True),
    _salu("s_(cselect|cmov)_b(32|64)", 1, uses=SCC),
    _salu("s_\\w+_(saveexec|wrexec)_b(32|64)", 1, defines=(*SCC, *EXEC), uses=EXEC),
    _salu("s_movrels_b(32|64)", 1, uses=M0),
    _salu("s_movreld_b(32|64)|s_movrelsd_2_b32", 0, uses=M0),
)
"""Scalar instructions with the same names on gfx10 and gfx11."""

NAMED_BY_CARRY = (
    _salu("s_alloc_vgpr", 0, defines=SCC),
    _salu("s_addk(_co)?_i32", 1, True, defines=SCC),
    _salu("s_(add|sub)_co_ci_u32|s_(addc|subb)_u32", 1, defines=SCC, uses=SCC),
    _salu("s_(add|sub)(_co)?_[iu]32|s_lshl[1-4]_add_u32|s_(bcnt[01]|quadmask|wqm|not|abs)_\\w+"
        "|s_(min|max|absdiff|and|or|xor|nand|nor|xnor|andn2|orn2|and_not1|or_not1|lshl|lshr|ashr"
        "|bfe)_"
        "(i32|u32|b32|i64|u64|b64)", 1, defines=SCC),
)  # fmt: skip
"""Arithmetic that writes the carry, with the names that gfx12 has too."""

_SCALAR_ALU = (
    *SCALAR_ALU,
    *NAMED_BY_CARRY,
    _salu("s_(mov|brev|ff1|flbit|clz|ctz|cls|sext|get_pc|getpc|get_shader_cycles|getreg|movk"
        "|bitreplicate|bfm|pack|mul|mul_hi|add_nc|sub_nc|cvt|ceil|floor|trunc|rndne|add|sub|min"
        "|max|min_num|max_num|minimum|maximum|fmaak|fmamk)_\\w+", 1),
)  # fmt: skip

SCALAR_MEMORY = (
    FamilyRow("s_(buffer_)?load_([biu]\\d+|dword(x\\d+)?)", _K.LOAD, 1, _COUNTERS, space=_CONSTANT,
        events=_SCALAR),
    FamilyRow("s_dcache_inv", _K.CACHE, 0, _COUNTERS, events=_SCALAR),
)  # fmt: skip
"""Scalar memory, with the names that gfx12 has too."""

VECTOR_ALU = (
    _valu("v_nop(_e32|_e64)?|v_pipeflush(_e32|_e64)?", 0, uses=()),
    _valu("v_cmpx_\\w+", 0, defines=EXEC),
    _valu("v_cmp_\\w+", 1),
    _valu("v_(add|sub|subrev)_co(_ci)?_u32(_e64)?_dpp", 2, True),
    _valu("v_(add|sub|subrev)_co(_ci)?_u32(_e32|_e64)?", 2),
    _valu("v_div_scale_f(32|64)|v_mad_co_(u64_u32|i64_i32)", 2),
    _valu("v_div_fmas_f(32|64)", 1, uses=(*EXEC, *VCC)),
    _valu("v_swap_b(16|32)|v_swaprel_b32|v_permlane16_swap_b32(_e32|_e64)?", 2, True),
    _valu("v_readlane_b32", 1, uses=()),
    _valu("v_writelane_b32", 1, True, uses=()),
    _valu("v_(fmac|pk_fmac|dot2c|swmmac|dual_fmac|dual_dot2acc)_\\w+", 1, True),
    _valu(
        "v_fma_mix(lo|hi)_\\w+|v_cvt_sr_(?!pk_(bf|f)16)\\w+"
        "|v_cvt_pk_(fp8|bf8)_f32(_e64)?|v_permlanex?16_(var_)?b32",
        1,
        True,
    ),
    _valu("v_\\w+_dpp", 1, True),
    _valu("v_movrels_b32(_e32|_e64)?", 1, uses=(*EXEC, *M0)),
    _valu("v_movrels?d(_2)?_b32(_e32|_e64)?", 0, uses=(*EXEC, *M0)),
    _valu("v_dual_cndmask_b32", 1, uses=(*EXEC, *VCC)),
    _valu("v_\\w+", 1),
)
"""The last row has every other vector instruction: one result, all others are read."""


def vector_memory(
    prefix: str,
    space: AddressSpace | None,
    loads: tuple[CounterEvent, ...],
    stores: tuple[CounterEvent, ...],
    uses: tuple[str, ...] = (),
    *,
    returns: frozenset[str] = _RETURNS,
    merges: bool = True,
) -> tuple[FamilyRow, ...]:
    """Loads, stores and atomics of vector memory whose mnemonics begin with ``prefix``.

    ``returns``: as ``FamilyRow`` has it. ``merges``: a load of half a register reads the other
    half.
    """
    every = (*EXEC, *uses)
    together = "buffer" in prefix
    return (
        FamilyRow(f"{prefix}_load_(d16_\\w+|\\w+_d16(_hi)?)", _K.LOAD, 1, _COUNTERS, merges,
            uses=every, space=space, events=loads),
        FamilyRow(f"{prefix}_load_\\w+", _K.LOAD, 1, _COUNTERS, uses=every, space=space,
            events=loads),
        FamilyRow(f"{prefix}_store_\\w+", _K.STORE, 0, _COUNTERS, uses=every, space=space,
            events=stores),
        FamilyRow(f"{prefix}_atomic_\\w+", _K.RMW, 1, _COUNTERS, together, uses=every,
            space=space, events=loads, returns=returns, without_result=stores),
    )  # fmt: skip


OF_BLOCKS = (
    FamilyRow("global_load_block", _K.LOAD, 1, _COUNTERS, uses=(*EXEC, *M0), space=_GLOBAL,
        events=_LOADS),
    FamilyRow("global_store_block", _K.STORE, 0, _COUNTERS, uses=(*EXEC, *M0), space=_GLOBAL,
        events=_STORES),
    FamilyRow("scratch_load_block", _K.LOAD, 1, _COUNTERS, uses=(*EXEC, *M0, *FLAT_SCRATCH),
        space=_PRIVATE, events=_LOADS),
    FamilyRow("scratch_store_block", _K.STORE, 0, _COUNTERS, uses=(*EXEC, *M0, *FLAT_SCRATCH),
        space=_PRIVATE, events=_STORES),
)  # fmt: skip
"""Accesses of several registers that M0 names, as gfx12 has them too."""

_VECTOR_MEMORY = (
    FamilyRow("global_load_async_to_lds_\\w+", _K.COPY, 0, _COUNTERS, uses=EXEC,
        space=_GLOBAL, events=_ASYNC),
    FamilyRow("cluster_load_async_to_lds_\\w+", _K.COPY, 0, _COUNTERS,
        uses=(*EXEC, *M0), space=_GLOBAL, events=_ASYNC),
    FamilyRow("global_store_async_from_lds_\\w+", _K.STORE, 0, _COUNTERS, uses=EXEC,
        space=_GLOBAL, events=_ASYNC_STORES),
    FamilyRow("tensor_load_to_lds", _K.COPY, 0, _COUNTERS, uses=EXEC, space=_GLOBAL,
        events=_TENSOR),
    FamilyRow("tensor_store_from_lds", _K.STORE, 0, _COUNTERS, uses=EXEC, space=_GLOBAL,
        events=_TENSOR_STORES),
    FamilyRow("tensor_(save|stop)", _K.COMPUTE, 0, _OPERANDS, uses=EXEC),
    FamilyRow("global_inv", _K.CACHE, 0, _COUNTERS, uses=EXEC, events=_LOADS),
    FamilyRow("global_wb", _K.CACHE, 0, _COUNTERS, uses=EXEC, events=_STORES),
    FamilyRow("cluster_load_b\\d+", _K.LOAD, 1, _COUNTERS, uses=(*EXEC, *M0), space=_GLOBAL,
        events=_LOADS),
    *OF_BLOCKS,
    FamilyRow("global_prefetch_b8", _K.COMPUTE, 0, _OPERANDS, uses=EXEC),
    FamilyRow("(scratch|flat)_prefetch_b8", _K.COMPUTE, 0, _OPERANDS, uses=(*EXEC, *FLAT_SCRATCH)),
    *vector_memory("global", _GLOBAL, _LOADS, _STORES),
    *vector_memory("scratch", _PRIVATE, _LOADS, _STORES, FLAT_SCRATCH),
    *vector_memory("flat", _GENERIC, _FLAT_LOADS, _FLAT_STORES, FLAT_SCRATCH),
    *vector_memory("t?buffer", None, _LOADS, _STORES),
)  # fmt: skip


def local_memory(events: tuple[CounterEvent, ...], merges: bool = True) -> tuple[FamilyRow, ...]:
    """Instructions that access LDS; ``merges`` as for ``vector_memory``."""

    def lds(pattern: str, kind: Kind, results: int, accumulates: bool = False,
        uses: tuple[str, ...] = ()) -> FamilyRow:  # fmt: skip
        return FamilyRow(pattern, kind, results, _COUNTERS, accumulates, uses=(*EXEC, *uses),
            space=_LDS, events=events)  # fmt: skip

    return (
        FamilyRow("ds_nop", _K.COMPUTE, 0, _OPERANDS, uses=EXEC),
        FamilyRow(
            "ds_(b?permute(_fi)?|swizzle)_b32", _K.LANES, 1, _COUNTERS, uses=EXEC, events=events
        ),
        lds("ds_(load|read)_\\w+_d16(_hi)?", _K.LOAD, 1, merges),
        lds("ds_(load|read)_addtid_b32", _K.LOAD, 1, uses=M0),
        lds("ds_(store|write)_addtid_b32", _K.STORE, 0, uses=M0),
        lds("ds_(load_|read)\\w+", _K.LOAD, 1),
        lds("ds_storexchg_\\w+", _K.RMW, 1),
        lds("ds_(store_|write)\\w+", _K.STORE, 0),
        lds("ds_(append|consume)", _K.RMW, 1, uses=M0),
        lds("ds_\\w+_rtn_\\w+", _K.RMW, 1),
        lds("ds_\\w+", _K.RMW, 0),
    )


_LOCAL_MEMORY = (
    FamilyRow(
        "ds_atomic_async_barrier_arrive_b64",
        _K.RMW,
        0,
        _COUNTERS,
        uses=EXEC,
        space=_LDS,
        events=_ASYNC,
    ),
    *local_memory(_IN_DSCNT),
)

FAMILIES = (
    *_SCALAR_CONTROL,
    *_SCALAR_ALU,
    *SCALAR_MEMORY,
    *VECTOR_ALU,
    *_VECTOR_MEMORY,
    *_LOCAL_MEMORY,
)
"""Every family; the first that matches a mnemonic is its own."""
