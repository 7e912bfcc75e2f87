"""What synchronises on chips that nothing is lowered for, as rows: the partner of a counterexample.

They are LLVM 24's sequences, with a wait after every load: the partner is to be right, not fast.
Source: LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11; llc-24 -O0 for gfx1030 and gfx1100 emits them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.cdna.chip import CacheMaintenance, Code
from fencewright.lowering.cdna.chips import ChipRow, Generation
from fencewright.lowering.cdna.common import load_chip
from fencewright.lowering.table import Table, row
from fencewright.lowering.vocabulary import AddressSpace, Operation, Scope

_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11"
_GENERATIONS = (Generation.GFX1030, Generation.GFX1100)
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
        """Whether it is the access, whose mnemonic is that of its width and space."""
        return not self.mnemonic


_RELEASE = (
    PartnerStep("s_waitcnt", counts=(("vmcnt", 0), ("lgkmcnt", 0))),
    PartnerStep("s_waitcnt_vscnt", counts=(("vscnt", 0),)),
)
"""Before what releases, in WGP and in CU mode (llvm-project#161638); a store needs no write-back."""

_ARRIVED = PartnerStep("s_waitcnt", counts=(("vmcnt", 0), ("lgkmcnt", 0)))
"""After a load, or an atomic that returns."""

LOAD_BITS: Table[tuple[str, ...]] = Table(
    "bits of an atomic load",
    {"generation": _GENERATIONS, "scope": _SCOPES, "split": (False, True)},
    [
        row((), f"{_MODEL}: in CU mode a work-group has one L0", scope=Scope.WORKGROUP, split=False),
        row(("glc",), f"{_MODEL}: misses the L0", scope=Scope.WORKGROUP, split=True),
        row(("glc", "dlc"), f"{_MODEL}: misses the L0 and the shader array's L1",
            generation=Generation.GFX1030, scope=_WIDE),
        row(("glc",), f"{_MODEL}: misses the L0 and the shader array's L1",
            generation=Generation.GFX1100, scope=_WIDE),
    ],
)  # fmt: skip
"""(generation, scope, in WGP mode) -> policy bits."""

INVALIDATES: Table[tuple[str, ...]] = Table(
    "invalidates of an acquire",
    {"scope": _SCOPES, "split": (False, True)},
    [
        row((), f"{_MODEL}: in CU mode a work-group has one L0", scope=Scope.WORKGROUP, split=False),
        row(("buffer_gl0_inv",), f"{_MODEL}: the L0 of the CU", scope=Scope.WORKGROUP, split=True),
        row(("buffer_gl1_inv", "buffer_gl0_inv"),
            f"{_MODEL}: the L1 first, from which the L0 would fetch what is stale", scope=_WIDE),
    ],
)  # fmt: skip
"""(scope, in WGP mode) -> what is invalidated, in order."""

_RETURNS = ("glc",)
_ACQUIRES = frozenset({"acquire", "seq_cst", "acq_rel"})
_RELEASES = frozenset({"release", "seq_cst", "acq_rel"})


def invalidates_of(chip: ChipRow, scope: Scope, *, split: bool) -> Code:
    """What an acquire invalidates on any chip, ``split``: in its mode of that name."""
    if chip.lowered:
        return load_chip(chip.name).invalidate[scope, split].value
    return tuple(map(CacheMaintenance, INVALIDATES[scope, split].value))


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
        yield from _RELEASE
    if operation is Operation.BARRIER:
        yield PartnerStep("s_barrier")
    else:
        is_memory = space is not AddressSpace.LOCAL
        bits: tuple[str, ...] = ()
        if operation is Operation.ATOMIC_RMW and is_memory:
            bits = _RETURNS
        elif operation is Operation.LOAD and is_memory and ordering != "weak":
            bits = LOAD_BITS[generation, scope, split].value
        yield PartnerStep(bits=bits)
    if operation in (Operation.LOAD, Operation.ATOMIC_RMW):
        yield _ARRIVED
    if ordering in _ACQUIRES and operation is not Operation.STORE:
        for mnemonic in INVALIDATES[scope, split].value:
            yield PartnerStep(mnemonic)
