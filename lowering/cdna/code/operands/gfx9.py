"""Registers that instructions of gfx9 define and use, as rows by families of mnemonics.

Those of gfx10 are alike in much (``cdna_operands_gfx10``). Which registers are read through an
index (``s_set_gpr_idx_on``, ``s_movrels_b32``) is not in the text.
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
from fencewright.lowering.cdna.counters.scoreboard import (
    SPACE_EVENTS,
    CounterEvent,
    CounterEventKind,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

_GLOBAL, _LDS = AddressSpace.GLOBAL, AddressSpace.LOCAL
_PRIVATE, _GENERIC, _CONSTANT = AddressSpace.PRIVATE, AddressSpace.GENERIC, AddressSpace.CONSTANT
_IN_VMCNT, _IN_BOTH = SPACE_EVENTS[_GLOBAL], SPACE_EVENTS[_GENERIC]
_IN_LGKMCNT, _SCALAR = SPACE_EVENTS[_LDS], SPACE_EVENTS[_CONSTANT]
UNORDERED = (CounterEvent(Counter.LGKMCNT, CounterEventKind.SCALAR),)
"""Messages and global data share: in lgkmcnt, in no order with anything (MI300 ISA 4.4)."""

_RETURNS = frozenset({"glc", "sc0"})
_K = Kind

_SOP1, _SOP2, _SOPK = "MI300 ISA 12.3, SOP1", "MI300 ISA 12.1, SOP2", "MI300 ISA 12.2, SOPK"
_SOPC, _SOPP = "MI300 ISA 12.4, SOPC", "MI300 ISA 12.5, SOPP"
_SMEM, _DS = "MI300 ISA 12.6, SMEM", "MI300 ISA 12.13, LDS and GDS"
_VOP1, _VOP2, _VOP3 = "MI300 ISA 12.8, VOP1", "MI300 ISA 12.7, VOP2", "MI300 ISA 12.10, VOP3"
_VOPC, _VOP3P, _DPP = "MI300 ISA 12.9, VOPC", "MI300 ISA 12.11, VOP3P", "MI300 ISA 6.7, DPP"
_BUFFER, _FLAT = "MI300 ISA 12.14 and 12.15, MUBUF and MTBUF", "MI300 ISA 12.16, FLAT"
_IMAGE, _INTERPOLATION = "MI100 ISA, MIMG", "MI100 ISA, VINTRP"


def _salu(
    pattern: str,
    results: int,
    source: str,
    accumulates: bool = False,
    defines: tuple[str, ...] = (),
    uses: tuple[str, ...] = (),
) -> FamilyRow:
    rows = FamilyRows(source)
    return rows.salu(pattern, accumulates, results=results, defines=defines, uses=uses)


def _valu(
    pattern: str,
    results: int,
    source: str,
    accumulates: bool = False,
    defines: tuple[str, ...] = (),
    uses: tuple[str, ...] = EXEC,
) -> FamilyRow:
    return FamilyRows(source).valu(pattern, results, accumulates, defines=defines, uses=uses)


def _control(pattern: str, kind: Kind, uses: tuple[str, ...] = ()) -> FamilyRow:
    return FamilyRow(pattern, kind, 0, _SOPP, uses=uses)


CONTROL_FLOW = (
    _control("s_barrier", _K.BARRIER),
    _control("s_endpgm|s_endpgm_saved|s_endpgm_ordered_ps_done", _K.END),
    _control("s_branch", _K.JUMP),
    _control("s_cbranch_scc[01]", _K.BRANCH, SCC),
    _control("s_cbranch_vccn?z", _K.BRANCH, VCC),
    _control("s_cbranch_execn?z", _K.BRANCH, EXEC),
    _control("s_cbranch_cdbg\\w+", _K.BRANCH),
    _control("s_setpc_b64|s_rfe_b64", _K.JUMP),
)
"""Barriers, jumps and ends, as gfx10 and gfx11 have them too."""

_SCALAR_CONTROL = (
    _control("s_waitcnt", _K.WAIT),
    *CONTROL_FLOW,
    FamilyRow("s_swappc_b64", _K.CALL, 1, _SOP1),
    FamilyRow("s_call_b64", _K.CALL, 1, _SOPK),
    FamilyRow("s_sendmsg|s_sendmsghalt", _K.SIGNAL, 0, _SOPP, uses=(*M0, *EXEC),
        events=UNORDERED),
    _control("s_nop|s_sleep|s_setprio|s_sethalt|s_setkill|s_trap|s_code_end", _K.COMPUTE),
    _control("s_icache_inv|s_incperflevel|s_decperflevel|s_wakeup", _K.COMPUTE),
    _control("s_ttracedata", _K.COMPUTE, M0),
    _control("s_cbranch_(g_fork|i_fork|join)|s_rfe_restore_b64", _K.OPAQUE),
)  # fmt: skip

_SCALAR_ALU = (
    _salu("s_cmpk?_\\w+|s_bitcmp[01]_\\w+|s_setvskip", 0, _SOPC, defines=SCC),
    _salu("s_setreg_(imm32_)?b32", 0, _SOPK),
    _salu("s_set_gpr_idx_(idx|on)", 0, _SOPC, defines=M0, uses=M0),
    _salu("s_set_gpr_idx_mode", 0, _SOPP, defines=M0),
    _salu("s_set_gpr_idx_off", 0, _SOPP),
    _salu("s_cmovk_i32", 1, _SOPK, uses=SCC),
    _salu("s_addk_i32", 1, _SOPK, accumulates=True, defines=SCC),
    _salu("s_mulk_i32", 1, _SOPK, accumulates=True),
    _salu("s_bitset[01]_b(32|64)", 1, _SOP1, accumulates=True),
    _salu("s_(cselect|cmov)_b(32|64)", 1, _SOP1, uses=SCC),
    _salu("s_(addc|subb)_u32", 1, _SOP2, defines=SCC, uses=SCC),
    _salu("s_\\w+_saveexec_b64", 1, _SOP1, defines=(*SCC, *EXEC), uses=EXEC),
    _salu("s_andn[12]_wrexec_b64", 1, _SOP1, defines=(*SCC, *EXEC), uses=EXEC),
    _salu("s_movrels_b(32|64)", 1, _SOP1, uses=M0),
    _salu("s_movreld_b(32|64)", 0, _SOP1, uses=M0),
    _salu("s_(mov|brev|ff[01]|flbit|sext|getpc|getreg|movk|bitreplicate)_\\w+", 1, _SOP1),
    _salu("s_(bfm|pack_\\w\\w|mul|mul_hi)_\\w+", 1, _SOP2),
    _salu("s_(abs|not|wqm|quadmask|bcnt[01])_\\w+", 1, _SOP1, defines=SCC),
    _salu("s_(add|sub|min|max|absdiff|and|or|xor|andn2|orn2|nand|nor|xnor|lshl|lshr|ashr|bfe)_"
        "(i32|u32|b32|i64|u64|b64)", 1, _SOP2, defines=SCC),
    _salu("s_lshl[1-4]_add_u32", 1, _SOP2, defines=SCC),
)  # fmt: skip


def _scalar_memory(pattern: str, kind: Kind, results: int, accumulates: bool = False) -> FamilyRow:
    returns = frozenset({"glc"}) if kind is _K.RMW else frozenset[str]()
    return FamilyRow(
        pattern,
        kind,
        results,
        _SMEM,
        accumulates,
        space=_CONSTANT,
        events=_SCALAR,
        returns=returns,
    )


SCALAR_MEMORY = (
    _scalar_memory("s_(buffer_)?load_dword(x\\d+)?", _K.LOAD, 1),
    FamilyRow("s_scratch_load_dword(x\\d+)?", _K.LOAD, 1, _SMEM, uses=FLAT_SCRATCH,
        space=_PRIVATE, events=_SCALAR),
    FamilyRow("s_scratch_store_dword(x\\d+)?", _K.STORE, 0, _SMEM, uses=FLAT_SCRATCH,
        space=_PRIVATE, events=_SCALAR),
    _scalar_memory("s_(buffer_)?store_dword(x\\d+)?", _K.STORE, 0),
    _scalar_memory("s_(buffer_)?atomic_\\w+", _K.RMW, 1, accumulates=True),
    FamilyRow("s_memtime|s_memrealtime", _K.COMPUTE, 1, _SMEM, events=_SCALAR),
    FamilyRow("s_dcache_(inv|wb)(_vol)?|s_dcache_discard(_x2)?", _K.CACHE, 0, _SMEM,
        events=_SCALAR),
    FamilyRow("s_atc_probe(_buffer)?", _K.COMPUTE, 0, _SMEM, events=_SCALAR),
)  # fmt: skip

_CARRIES = "v_(add|sub|subrev|addc|subb|subbrev)_co_u32"

_VECTOR_ALU = (
    _valu("v_nop(_e32|_e64)?|v_clrexcp(_e32|_e64)?", 0, _VOP1, uses=()),
    _valu("v_mfma_ld_scale_b32", 0, _VOP3P),
    _valu("v_cmpx_\\w+", 1, _VOPC, defines=EXEC),
    _valu("v_cmp_\\w+", 1, _VOPC),
    _valu(f"{_CARRIES}_dpp", 2, _DPP, accumulates=True),
    _valu(f"{_CARRIES}(_e32|_e64|_sdwa)?", 2, _VOP2),
    _valu("v_div_scale_f(32|64)|v_mad_(u64_u32|i64_i32)", 2, _VOP3),
    _valu("v_div_fmas_f(32|64)", 1, _VOP3, uses=(*EXEC, *VCC)),
    _valu("v_swap_b32(_e32)?|v_permlane(16|32)_swap_b32(_e32|_e64)?", 2, _VOP1, accumulates=True),
    _valu("v_readlane_b32", 1, _VOP3, uses=()),
    _valu("v_writelane_b32", 1, _VOP3, accumulates=True, uses=()),
    _valu("v_interp_(p1_f32|mov_f32)(_e32|_e64)?|v_interp_p1l[lv]_f16|v_interp_p2(_legacy)?_f16",
        1, _INTERPOLATION, uses=(*EXEC, *M0)),
    _valu("v_interp_p2_f32(_e32|_e64)?", 1, _INTERPOLATION, accumulates=True,
        uses=(*EXEC, *M0)),
    _valu("v_(f?mac|pk_fmac|dot\\d+c)_\\w+", 1, _VOP2, accumulates=True),
    _valu("v_\\w+_dpp", 1, _DPP, accumulates=True),
    _valu("v_fma_mix(lo|hi)_f16|v_smfmac_\\w+", 1, _VOP3P, accumulates=True),
    _valu("v_cvt_sr_\\w+|v_cvt_scalef32_sr_(?!pk32)\\w+|v_cvt_pk_(fp8|bf8)_f32(_e64)?", 1, _VOP3,
        accumulates=True),
    _valu("v_cvt_scalef32_(f16_(bf8|fp8)|pk_(bf8|fp8|fp4)_(f16|bf16|f32))", 1, _VOP3,
        accumulates=True),
    _valu("v_\\w+", 1, _VOP3),
)  # fmt: skip
"""The last row has every other vector instruction: one result, all others are read."""


def memory_rows(
    prefix: str,
    space: AddressSpace | None,
    events: tuple[CounterEvent, ...],
    source: str,
    uses: tuple[str, ...] = (),
    stores: tuple[CounterEvent, ...] | None = None,
) -> tuple[FamilyRow, ...]:
    """Loads, stores and atomics of vector memory whose mnemonics begin with ``prefix``.

    ``stores``: what stores, and atomics without a result, count as, if not as ``events``.
    """

    def access(
        pattern: str,
        kind: Kind,
        results: int,
        accumulates: bool = False,
    ) -> FamilyRow:
        is_atomic, is_store = kind is _K.RMW, kind is _K.STORE
        return FamilyRow(
            f"{prefix}_{pattern}",
            kind,
            results,
            source,
            accumulates,
            uses=(*EXEC, *uses),
            space=space,
            events=stores if is_store and stores is not None else events,
            returns=_RETURNS if is_atomic else frozenset(),
            without_result=stores if is_atomic else None,
        )

    # The data of a returning buffer atomic are in the register of its result.
    together = "buffer" in prefix
    halves = "|".join(f"{prefix}_load_{name}_d16(_hi)?" for name in ("[su]byte", "short"))
    return (
        FamilyRow(halves, _K.LOAD, 1, source, True, uses=(*EXEC, *uses), space=space,
            events=events),
        access("load_\\w+", _K.LOAD, 1),
        access("store_\\w+", _K.STORE, 0),
        access("atomic_\\w+", _K.RMW, 1, accumulates=together),
    )  # fmt: skip


def _to_lds(pattern: str, space: AddressSpace | None, source: str, kind: Kind) -> FamilyRow:
    return FamilyRow(pattern, kind, 0, source, uses=(*EXEC, *M0), space=space, events=_IN_VMCNT)


_VECTOR_MEMORY = (
    _to_lds("global_load_lds_\\w+", _GLOBAL, _FLAT, _K.COPY),
    _to_lds("scratch_load_lds_\\w+", _PRIVATE, _FLAT, _K.COPY),
    _to_lds("buffer_store_lds_dword", None, _BUFFER, _K.STORE),
    *memory_rows("global", _GLOBAL, _IN_VMCNT, _FLAT),
    *memory_rows("scratch", _PRIVATE, _IN_VMCNT, _FLAT, FLAT_SCRATCH),
    *memory_rows("flat", _GENERIC, _IN_BOTH, _FLAT, FLAT_SCRATCH),
    *memory_rows("t?buffer", None, _IN_VMCNT, _BUFFER),
    FamilyRow("buffer_(wbl2|inv|invl2|wbinvl1|wbinvl1_vol)", _K.CACHE, 0, _BUFFER, uses=EXEC),
    FamilyRow("image_atomic_\\w+", _K.RMW, 1, _IMAGE, accumulates=True, uses=EXEC,
        space=_GLOBAL, events=_IN_VMCNT),
    FamilyRow("image_store\\w*", _K.STORE, 0, _IMAGE, uses=EXEC, space=_GLOBAL,
        events=_IN_VMCNT),
    FamilyRow("image_\\w+", _K.LOAD, 1, _IMAGE, uses=EXEC, space=_GLOBAL, events=_IN_VMCNT),
)  # fmt: skip


def _lds(pattern: str, kind: Kind, results: int, uses: tuple[str, ...] = ()) -> FamilyRow:
    return FamilyRow(
        pattern, kind, results, _DS, uses=(*EXEC, *uses), space=_LDS, events=_IN_LGKMCNT
    )


LOCAL_MEMORY = (
    _lds("ds_nop", _K.COMPUTE, 0),
    FamilyRow("ds_gws_\\w+", _K.SIGNAL, 0, _DS, uses=(*EXEC, *M0), events=UNORDERED),
    FamilyRow("ds_ordered_count", _K.SIGNAL, 1, _DS, uses=(*EXEC, *M0), events=UNORDERED),
    FamilyRow("ds_(b?permute|swizzle)_b32", _K.LANES, 1, _DS, uses=EXEC, events=_IN_LGKMCNT),
    FamilyRow("ds_read_u\\d+_d16(_hi)?|ds_read_i8_d16(_hi)?", _K.LOAD, 1, _DS, accumulates=True,
        uses=EXEC, space=_LDS, events=_IN_LGKMCNT),
    _lds("ds_read_addtid_b32", _K.LOAD, 1, M0),
    _lds("ds_write_addtid_b32", _K.STORE, 0, M0),
    _lds("ds_(append|consume)", _K.RMW, 1, M0),
    _lds("ds_read\\w+", _K.LOAD, 1),
    _lds("ds_\\w+_src2_\\w+", _K.RMW, 0, M0),
    _lds("ds_write\\w+", _K.STORE, 0),
    _lds("ds_\\w+_rtn_\\w+", _K.RMW, 1),
    _lds("ds_\\w+", _K.RMW, 0),
)  # fmt: skip

FAMILIES = (
    *_SCALAR_CONTROL,
    *_SCALAR_ALU,
    *SCALAR_MEMORY,
    *_VECTOR_ALU,
    *_VECTOR_MEMORY,
    *LOCAL_MEMORY,
)
"""Every family; the first that matches a mnemonic is its own."""
