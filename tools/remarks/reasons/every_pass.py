"""Reasons for each pass's action on an operation, or for none: a row for every pass that minimises.

The reasons are found with the analysis that the pass itself decides by. One cause is given, the
nearest on some path; where a fact would help that only the caller can know, it is named.
"""

from collections.abc import Mapping
from types import MappingProxyType

from fencewright.tools.remarks.reasons import cdna, ptx, scoped
from fencewright.tools.remarks.remarks import Change, Reasons

LOWERINGS = frozenset({"convert-scoped-to-cdna", "convert-scoped-to-ptx", "lower-scoped-llvm-ir"})
"""The passes that turn ``scoped`` operations into others."""


def _named(
    gone: str = "", changed: str = "", moved: str = "", kept: str = ""
) -> Mapping[Change, str]:
    names = {Change.GONE: gone, Change.CHANGED: changed, Change.MOVED: moved, Change.KEPT: kept}
    return MappingProxyType({change: name for change, name in names.items() if name})


_FORM = _named(changed="Reduction", kept="CheaperFormMissed")

REASONS: Mapping[str, Reasons] = MappingProxyType(
    {
        "infer-address-spaces": Reasons(
            _named(changed="AddressSpaceInferred", kept="AddressSpaceKept"),
            scoped.spaces_inferred,
            plain=True,
        ),
        "relax-cuda-atomics": Reasons(
            _named(changed="AtomicRelaxed", kept="AtomicOrdered"), ptx.cuda_atomics
        ),
        "acquire-on-success": Reasons(_named(changed="AcquireOnSuccess"), scoped.on_success),
        "clamp-scopes": Reasons(
            _named(changed="ScopeClamped", kept="ScopeKept"), scoped.clamped_scopes
        ),
        "merge-fences": Reasons(
            _named(gone="FenceMerged", changed="FenceHalved", kept="FenceKept"), scoped.merged
        ),
        "fold-fences": Reasons(_named(gone="FenceFolded"), scoped.folded, priced=False),
        "convert-scoped-to-ptx": Reasons(_FORM, ptx.converted),
        "lower-scoped-llvm-ir": Reasons(_FORM, ptx.lowered_in_llvm_ir),
        "merge-ptx-fences": Reasons(
            _named(gone="FenceMerged", changed="AccessLoosened"), ptx.merged
        ),
        "clamp-caches": Reasons(
            _named(gone="CacheClamped", changed="CacheClamped"), cdna.clamped_caches
        ),
        "store-through": Reasons(_named(changed="StoreThrough"), cdna.through, plain=True),
        "drop-write-backs": Reasons(
            _named(gone="WriteBackDropped", kept="WriteBackKept"), cdna.write_backs
        ),
        "elect-release": Reasons(
            _named(gone="WriteBackElected", moved="WriteBackElected", kept="WriteBackOfEveryWave"),
            cdna.elected,
            priced=False,
        ),
        "hoist-write-backs": Reasons(
            _named(gone="WriteBackHoisted", moved="WriteBackHoisted"), cdna.hoisted
        ),
        "drop-invalidates": Reasons(
            _named(gone="InvalidateDropped", kept="InvalidateKept"), cdna.invalidates
        ),
        "sink-invalidates": Reasons(_named(moved="InvalidateSunk"), cdna.sunk),
        "drop-last-waits": Reasons(_named(gone="WaitDropped"), cdna.last_waits),
        "sink-waits": Reasons(_named(moved="WaitSunk"), cdna.sunk_waits),
        "loosen-waits": Reasons(
            _named(gone="WaitDropped", changed="WaitLoosened", kept="WaitKept"), cdna.waits
        ),
        "loosen-releases": Reasons(
            _named(gone="WaitDropped", changed="WaitLoosened", kept="WaitKept"),
            cdna.loosened_releases,
        ),
        "await-values": Reasons(
            _named(gone="WaitDropped", changed="WaitLoosened", kept="WaitKept"), cdna.awaited
        ),
        "insert-waits": Reasons(
            _named(gone="WaitDropped", changed="WaitLoosened"), cdna.covered_waits
        ),
    }
)
"""The remarks of each pass, with their reasons."""
