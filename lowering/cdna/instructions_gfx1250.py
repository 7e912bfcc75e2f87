"""The instructions of gfx1250 as rows, as ``instructions`` has those of the gfx9 chips.

Chips with the same letters for an instruction share its row (``instructions.INSTRUCTIONS``). Which
chip has which instruction is certified by ``llvm-mc`` in tests/unit/test_cdna_instructions.py.
"""

from collections.abc import Iterator

from fencewright.lowering.cdna.chips import CHIPS, SINGLE_OPERATIONS, Counter, InstructionSet
from fencewright.lowering.cdna.instruction_row import Access, InstructionRow, Kind, Packed
from fencewright.lowering.vocabulary import AddressSpace, Operation, RmwKind, ValueType

_CHIPS = frozenset(
    chip.name
    for chip in (*CHIPS.values(), *SINGLE_OPERATIONS.values())
    if InstructionSet.GFX1250 in chip.instruction_sets
)
_MEMORY = "LLVM 24 AMDGPU, FLATInstructions.td: gfx12 and gfx1250"
_DS = "LLVM 24 AMDGPU, DSInstructions.td: gfx12 and gfx1250"
_SOPP = "LLVM 24 AMDGPU, SOPInstructions.td: gfx12 and gfx1250"
_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX125x"

_LOADS = {8: "u8", 16: "u16", 32: "b32", 64: "b64", 96: "b96", 128: "b128"}
_STORES = _LOADS | {8: "b8", 16: "b16"}
_KINDS = {
    RmwKind.ADD: ("add", "u"),
    RmwKind.SUB: ("sub", "u"),
    RmwKind.AND: ("and", "b"),
    RmwKind.OR: ("or", "b"),
    RmwKind.XOR: ("xor", "b"),
    RmwKind.MAX: ("max", "i"),
    RmwKind.MIN: ("min", "i"),
    RmwKind.UMAX: ("max", "u"),
    RmwKind.UMIN: ("min", "u"),
    RmwKind.UINC_WRAP: ("inc", "u"),
    RmwKind.UDEC_WRAP: ("dec", "u"),
    RmwKind.FADD: ("add", "f"),
    RmwKind.FMIN: ("min_num", "f"),
    RmwKind.FMAX: ("max_num", "f"),
}
_VECTOR_KINDS = {RmwKind.XCHG: ("swap", "b"), **_KINDS}
_VECTOR_FORMATS = (("global", ", off", AddressSpace.GLOBAL), ("flat", "", AddressSpace.GENERIC))


_COUNTS = {
    Kind.LOAD: Counter.LOADCNT,
    Kind.ATOMIC_RETURN: Counter.LOADCNT,
    Kind.STORE: Counter.STORECNT,
    Kind.ATOMIC: Counter.STORECNT,
}


def _row(
    mnemonic: str,
    operands: str,
    kind: Kind,
    source: str,
    space: AddressSpace | None = None,
    counters: tuple[Counter, ...] = (),
) -> InstructionRow:
    if space is AddressSpace.LOCAL:
        counters = (Counter.DSCNT,)
    elif space is not None:
        flat = (Counter.DSCNT,) * (space is AddressSpace.GENERIC)
        counters = (_COUNTS[kind], *flat)
    return InstructionRow(mnemonic, operands, kind, counters, _CHIPS, source, space)


def _atomic(
    mnemonic: str, operands: str, returns: bool, source: str, space: AddressSpace
) -> InstructionRow:
    kind = Kind.ATOMIC_RETURN if returns else Kind.ATOMIC
    return _row(mnemonic, "{dst}, " * returns + operands, kind, source, space)


def _vector_accesses() -> Iterator[tuple[Access, InstructionRow]]:
    for prefix, tail, space in _VECTOR_FORMATS:
        for width, suffix in _LOADS.items():
            access = Operation.LOAD, space, width, None, True
            yield (
                access,
                _row(f"{prefix}_load_{suffix}", "{dst}, {addr}" + tail, Kind.LOAD, _MEMORY, space),
            )
        for width, suffix in _STORES.items():
            access = Operation.STORE, space, width, None, False
            operands = "{addr}, {data}" + tail
            yield access, _row(f"{prefix}_store_{suffix}", operands, Kind.STORE, _MEMORY, space)
        for width in (32, 64):
            for returns in (False, True):
                yield from _vector_atomics(prefix, "{addr}, {data}" + tail, space, width, returns)


def _vector_atomics(
    prefix: str, operands: str, space: AddressSpace, width: int, returns: bool
) -> Iterator[tuple[Access, InstructionRow]]:
    swap = f"{prefix}_atomic_cmpswap_b{width}"
    yield (
        (Operation.CMPXCHG, space, width, None, returns),
        _atomic(swap, operands, returns, _MEMORY, space),
    )
    for kind, (name, letter) in _VECTOR_KINDS.items():
        mnemonic = f"{prefix}_atomic_{name}_{letter}{width}"
        yield (
            (Operation.ATOMIC_RMW, space, width, kind, returns),
            _atomic(mnemonic, operands, returns, _MEMORY, space),
        )


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
            compare = f"ds_cmpstore{rtn}_b{width}"
            yield (
                (Operation.CMPXCHG, local, width, None, returns),
                _atomic(compare, "{addr}, {data}, {compare}", returns, _DS, local),
            )
            for kind, (name, letter) in _KINDS.items():
                mnemonic = f"ds_{name}{rtn}_{letter}{width}"
                yield (
                    (Operation.ATOMIC_RMW, local, width, kind, returns),
                    _atomic(mnemonic, "{addr}, {data}", returns, _DS, local),
                )


def _private_accesses() -> Iterator[tuple[Access, InstructionRow]]:
    private = AddressSpace.PRIVATE
    for width, suffix in _LOADS.items():
        access = Operation.LOAD, private, width, None, True
        yield (
            access,
            _row(f"scratch_load_{suffix}", "{dst}, {addr}, off", Kind.LOAD, _MEMORY, private),
        )
    for width, suffix in _STORES.items():
        access = Operation.STORE, private, width, None, False
        yield (
            access,
            _row(f"scratch_store_{suffix}", "{addr}, {data}, off", Kind.STORE, _MEMORY, private),
        )


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
                yield (
                    (space, RmwKind.FADD, type_, returns),
                    _atomic(mnemonic, operands, returns, _MEMORY, space),
                )
            mnemonic = f"ds_pk_add{'_rtn' * returns}_{name}"
            yield (
                (AddressSpace.LOCAL, RmwKind.FADD, type_, returns),
                _atomic(mnemonic, "{addr}, {data}", returns, _DS, AddressSpace.LOCAL),
            )


PACKED_ROWS: tuple[tuple[Packed, InstructionRow], ...] = (*_packed_additions(),)
"""Every packed read-modify-write with its instruction."""

_WAITS = (
    "s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_xcnt",
    "s_wait_asynccnt", "s_wait_tensorcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt",
)  # fmt: skip

OTHER_ROWS: tuple[InstructionRow, ...] = (
    _row("global_wb", "", Kind.CACHE, _MODEL, counters=(Counter.STORECNT,)),
    _row("global_inv", "", Kind.CACHE, _MODEL, counters=(Counter.LOADCNT,)),
    *(_row(mnemonic, "", Kind.WAIT, f"{_MODEL}, counters") for mnemonic in _WAITS),
    _row("s_barrier_signal", "", Kind.BARRIER, _SOPP),
    _row("s_barrier_signal_isfirst", "", Kind.BARRIER, f"{_SOPP}; writes SCC",
        counters=(Counter.KMCNT,)),
    _row("s_barrier_wait", "", Kind.BARRIER, _SOPP),
    InstructionRow("s_cbranch_scc0", "", Kind.BARRIER, (), frozenset({*CHIPS, *SINGLE_OPERATIONS}),
        f"{_SOPP}; steps over an instruction of the cluster's barrier"),
)  # fmt: skip
"""What is no access: caches, waits and barriers, whose operands are among their modifiers."""
