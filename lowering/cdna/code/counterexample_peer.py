"""Synchronisation as rows for chips without a lowering: the partner of a counterexample.

They are LLVM 24's sequences, with a wait after every load: the partner is to be right, not fast.
Sources: LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11; llc-24 -O0 for gfx1030 and gfx1100 emits
them; Memory Model GFX12, as llc-22 -O0 has it for gfx1200.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.cdna.chip import BareInstruction, Code
from fencewright.lowering.cdna.chips import ChipRow, Generation
from fencewright.lowering.cdna.generations.common import load_chip
from fencewright.lowering.table import Table, row
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Operation, Scope

_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11"
_MODEL_12 = "LLVM 24 AMDGPUUsage, Memory Model GFX12"
_RDNA = (Generation.GFX1030, Generation.GFX1100)
_GFX12 = Generation.GFX1200
_GENERATIONS = (*_RDNA, _GFX12)
_SCOPES = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
_WIDE = (Scope.AGENT, Scope.SYSTEM)


@dataclass(frozen=True, slots=True)
class PartnerStep:
    """One instruction: the access itself (``bits``), a wait for ``counts``, or any other."""

    mnemonic: str = ""
    bits: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()

    @property
    def is_access(self) -> bool:
        """True if it is the access, whose mnemonic is that of its width and space."""
        return not self.mnemonic


Steps = tuple[PartnerStep, ...]


def _waits(*counts: tuple[str, str]) -> Steps:
    return tuple(PartnerStep(mnemonic, counts=((name, 0),)) for mnemonic, name in counts)


_SE, _DEV, _SYS = (f"scope:SCOPE_{each}" for each in ("SE", "DEV", "SYS"))
_ALL_DONE_12 = (
    *_waits(("s_wait_storecnt", "storecnt")),
    PartnerStep("s_wait_loadcnt_dscnt", counts=(("loadcnt", 0), ("dscnt", 0))),
)

WRITE_BACKS: Table[Steps] = Table(
    "write-backs of a release",
    {"generation": _GENERATIONS, "scope": _SCOPES},
    [
        row((), f"{_MODEL}: a store needs no write-back", generation=_RDNA),
        row((), f"{_MODEL_12}: below SCOPE_SYS it can be left out",
            generation=_GFX12, scope=(Scope.WORKGROUP, Scope.AGENT)),
        row((PartnerStep("global_wb", (_SYS,)),),
            f"{_MODEL_12}: what the agent's L2 has for others",
            generation=_GFX12, scope=Scope.SYSTEM),
    ],
)  # fmt: skip
"""(generation, scope) -> the write-backs before the waits."""

RELEASES: Table[Steps] = Table(
    "waits of a release",
    {"generation": _GENERATIONS},
    [
        row((PartnerStep("s_waitcnt", counts=(("vmcnt", 0), ("lgkmcnt", 0))),
             *_waits(("s_waitcnt_vscnt", "vscnt"))),
            f"{_MODEL}: in WGP and in CU mode (llvm-project#161638)", generation=_RDNA),
        row(_ALL_DONE_12, f"{_MODEL_12}: in WGP and in CU mode; the partner samples no image",
            generation=_GFX12),
    ],
)  # fmt: skip
"""(generation) -> the waits before a release."""

ARRIVALS: Table[Steps] = Table(
    "waits for a load",
    {"generation": _GENERATIONS},
    [
        row((PartnerStep("s_waitcnt", counts=(("vmcnt", 0), ("lgkmcnt", 0))),), _MODEL,
            generation=_RDNA),
        row((_ALL_DONE_12[-1],), _MODEL_12, generation=_GFX12),
    ],
)  # fmt: skip
"""(generation) -> the instructions after a load, or an atomic that returns."""

BARRIERS: Table[Steps] = Table(
    "barriers of a work-group",
    {"generation": _GENERATIONS},
    [
        row((PartnerStep("s_barrier"),), _MODEL, generation=_RDNA),
        row((PartnerStep("s_barrier_signal", ("-1",)), PartnerStep("s_barrier_wait", ("-1",))),
            "LLVM 24 AMDGPUExecutionSynchronization", generation=_GFX12),
    ],
)  # fmt: skip
"""(generation) -> the instructions of a barrier."""

RETURN_BITS: Table[tuple[str, ...]] = Table(
    "bits of an atomic that returns",
    {"generation": _GENERATIONS},
    [
        row(("glc",), _MODEL, generation=_RDNA),
        row(("th:TH_ATOMIC_RETURN",), _MODEL_12, generation=_GFX12),
    ],
)
"""(generation) -> the bits that ask for the old value."""

SCOPE_BITS: Table[tuple[str, ...]] = Table(
    "bits of the scope of a store or an atomic",
    {"generation": _GENERATIONS, "scope": _SCOPES, "split": (False, True)},
    [
        row((), f"{_MODEL}: none", generation=_RDNA),
        row((), f"{_MODEL_12}: in CU mode a work-group has one L0", generation=_GFX12,
            scope=Scope.WORKGROUP, split=False),
        row((_SE,), _MODEL_12, generation=_GFX12, scope=Scope.WORKGROUP, split=True),
        row((_DEV,), _MODEL_12, generation=_GFX12, scope=Scope.AGENT),
        row((_SYS,), _MODEL_12, generation=_GFX12, scope=Scope.SYSTEM),
    ],
)  # fmt: skip
"""(generation, scope, in WGP mode) -> policy bits."""

LOAD_BITS: Table[tuple[str, ...]] = Table(
    "bits of an atomic load",
    {"generation": _GENERATIONS, "scope": _SCOPES, "split": (False, True)},
    [
        row((), f"{_MODEL}: in CU mode a work-group has one L0", scope=Scope.WORKGROUP,
            split=False),
        row(("glc",), f"{_MODEL}: misses the L0", generation=_RDNA, scope=Scope.WORKGROUP,
            split=True),
        row(("glc", "dlc"), f"{_MODEL}: misses the L0 and the shader array's L1",
            generation=Generation.GFX1030, scope=_WIDE),
        row(("glc",), f"{_MODEL}: misses the L0 and the shader array's L1",
            generation=Generation.GFX1100, scope=_WIDE),
        row((_SE,), _MODEL_12, generation=_GFX12, scope=Scope.WORKGROUP, split=True),
        row((_DEV,), _MODEL_12, generation=_GFX12, scope=Scope.AGENT),
        row((_SYS,), _MODEL_12, generation=_GFX12, scope=Scope.SYSTEM),
    ],
)  # fmt: skip
"""(generation, scope, in WGP mode) -> policy bits."""

INVALIDATES: Table[Steps] = Table(
    "invalidates of an acquire",
    {"generation": _GENERATIONS, "scope": _SCOPES, "split": (False, True)},
    [
        row((), f"{_MODEL}: in CU mode a work-group has one L0", scope=Scope.WORKGROUP,
            split=False),
        row((PartnerStep("buffer_gl0_inv"),), f"{_MODEL}: the L0 of the CU", generation=_RDNA,
            scope=Scope.WORKGROUP, split=True),
        row((PartnerStep("buffer_gl1_inv"), PartnerStep("buffer_gl0_inv")),
            f"{_MODEL}: the L1 first, from which the L0 would fetch what is stale",
            generation=_RDNA,
            scope=_WIDE),
        row((PartnerStep("global_inv", (_SE,)),), _MODEL_12, generation=_GFX12,
            scope=Scope.WORKGROUP, split=True),
        row((PartnerStep("global_inv", (_DEV,)),), _MODEL_12, generation=_GFX12, scope=Scope.AGENT),
        row((PartnerStep("global_inv", (_SYS,)),), _MODEL_12, generation=_GFX12,
            scope=Scope.SYSTEM),
    ],
)  # fmt: skip
"""(generation, scope, in WGP mode) -> the invalidates, in order."""

_ACQUIRES = frozenset({"acquire", "seq_cst", "acq_rel"})
_RELEASES = frozenset({"release", "seq_cst", "acq_rel"})


def invalidates_of(chip: ChipRow, scope: Scope, *, split: bool) -> Code:
    """The invalidates of an acquire on any chip, ``split``: in its mode of that name."""
    if chip.lowered:
        return load_chip(chip.name).invalidate[scope, split].value
    steps = INVALIDATES[chip.generation, scope, split].value
    return tuple(BareInstruction(each.mnemonic, each.bits) for each in steps)


def write_backs_of(chip: ChipRow, scope: Scope, l2_per_agent: L2PerAgent, *, split: bool) -> Code:
    """The write-backs of a release on any chip; ``split`` as ``invalidates_of`` has it."""
    if chip.lowered:
        return load_chip(chip.name).write_back[scope, split, l2_per_agent, None].value
    steps = WRITE_BACKS[chip.generation, scope].value
    return tuple(BareInstruction(each.mnemonic, each.bits) for each in steps)


def partner_steps(
    generation: Generation,
    operation: Operation,
    ordering: str,
    scope: Scope,
    space: AddressSpace | None,
    *,
    split: bool,
) -> Iterator[PartnerStep]:
    """The instructions of an access or a barrier; ``split``: in WGP mode."""
    if ordering in _RELEASES:
        yield from WRITE_BACKS[generation, scope].value
        yield from RELEASES[generation,].value
    if operation is Operation.BARRIER:
        yield from BARRIERS[generation,].value
    else:
        yield PartnerStep(bits=_bits(generation, operation, ordering, scope, space, split))
    if operation in (Operation.LOAD, Operation.ATOMIC_RMW):
        yield from ARRIVALS[generation,].value
    if ordering in _ACQUIRES and operation is not Operation.STORE:
        yield from INVALIDATES[generation, scope, split].value


def _bits(
    generation: Generation,
    operation: Operation,
    ordering: str,
    scope: Scope,
    space: AddressSpace | None,
    split: bool,
) -> tuple[str, ...]:
    if space is AddressSpace.LOCAL:
        return ()
    returned = RETURN_BITS[generation,].value if operation is Operation.ATOMIC_RMW else ()
    if ordering == "weak":
        return returned
    if operation is Operation.LOAD:
        return LOAD_BITS[generation, scope, split].value
    return (*SCOPE_BITS[generation, scope, split].value, *returned)
