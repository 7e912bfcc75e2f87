"""Effects of instructions on the caches, as far as write-backs and invalidates depend on them.

The rows say for every generation, whatever its mode (a row that depends on tgsplit or on how many
L2s an agent has, holds in all of them): in which caches an access may find something stale,
how far what it writes gets by itself, and what cache maintenance covers. The simulator has
rows of its own; that the two agree is for the tests of the passes to find out.
On gfx10 and gfx11 the L1 is the L0 of a CU, and what stands for the L2s is the read-only L1 of a
shader array, which loads find stale and nothing ever leaves dirty; their L2 is where all agents
meet. On gfx12 the L1 is the L0 of a CU and the L2 the agent's one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag
from functools import cache
from types import MappingProxyType

from fencewright.lowering.cdna.chips import KNOWN_CHIPS, Generation
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.table import Row, Table, row


class Caches(IntFlag):
    """Caches in which a wave may find an older value than another wave has released.

    L1: its CU's vector L1. AGENT: its L2, as far as other L2s of its agent write. SYSTEM: its
    L2, as far as other agents write.
    """

    NONE = 0
    L1 = 1
    AGENT = 2
    SYSTEM = 4
    ALL = 7


class Visibility(IntEnum):
    """The reach of a store whose instruction has completed: the threads that can surely load it.

    ``CLUSTER`` differs from a work-group's on chips with clusters alone.
    """

    WORKGROUP = 0
    CLUSTER = 1
    AGENT = 2
    SYSTEM = 3


ACCESS_NOUNS: Mapping[Kind, str] = MappingProxyType(
    {Kind.LOAD: "load", Kind.STORE: "store", Kind.RMW: "atomic"}
)
"""The accesses to global memory, flat ones too, whose policy bits differ, by pages' names."""

ACCESS_KINDS = tuple(ACCESS_NOUNS)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an instruction on the caches.

    ``reads``: the caches in which it may find something stale. ``stores``: how far what it
    stores gets; None if it stores nothing. ``writes_back``: how far it gets all earlier
    stores; None if nowhere. ``invalidates``: the caches in which nothing stale is left.
    """

    reads: Caches = Caches.NONE
    stores: Visibility | None = None
    writes_back: Visibility | None = None
    invalidates: Caches = Caches.NONE


_NEW = Generation.GFX942
_OLD = (Generation.GFX908, Generation.GFX90A)
_SCOPED = Generation.GFX1250
_GFX12 = Generation.GFX1200
_GFX10, _GFX11 = _RDNA = (Generation.GFX1030, Generation.GFX1100)
_HINTS = frozenset({"nt", "slc", "th:TH_LOAD_NT", "th:TH_STORE_NT", "th:TH_ATOMIC_RETURN"})
_SC_BITS, _DLC_BITS = ("sc0", "sc1", "sc0 sc1"), ("dlc", "dlc glc")
_GFX9_BITS = ("", *_SC_BITS, "glc")
_SE, _DEV, _SYS = _SCOPES = ("scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")
_BITS = (*_GFX9_BITS, *_DLC_BITS, *_SCOPES)
_L, _S, _A = ACCESS_KINDS
_CONTROL = "CDNA4 ISA, load and store control by sc1 sc0"
_ATOMICS = "MI300 ISA: an atomic takes sc1 for the system, sc0 for the old value"
_OLD_MODEL = "LLVM AMDGPUUsage, Memory Model GFX6-GFX90A: one L2 per agent; stores have no scope"
_FOREIGN = "bits that the chip does not have: taken as none"
_NO_SCOPE = ("glc", *_DLC_BITS, *_SCOPES)
_UNSCOPED = (*_GFX9_BITS, *_DLC_BITS)
_PLAIN = ("", *_SC_BITS, *_SCOPES)
_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX125x"
_RDNA_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11"
_GFX12_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX12"

WRITE_BACKS = frozenset({"buffer_wbl2", "global_wb"})
"""The instructions that write caches back and invalidate none."""

_ACCESS_ROWS: list[Row[Effect]] = [
    row(Effect(reads=Caches.ALL), _CONTROL, generation=_NEW, access=_L, bits=("", "sc0")),
    row(Effect(reads=Caches.SYSTEM), f"{_CONTROL}: misses the L1; one L2 is the agent's point of "
        "coherence, many are bypassed", generation=_NEW, access=_L, bits="sc1"),
    row(Effect(), f"{_CONTROL}: bypasses L1 and L2", generation=_NEW, access=_L, bits="sc0 sc1"),
    row(Effect(stores=Visibility.WORKGROUP), f"{_CONTROL}: leaves a dirty line in L2",
        generation=_NEW, access=_S, bits=("", "sc0")),
    row(Effect(stores=Visibility.AGENT), _CONTROL, generation=_NEW, access=_S, bits="sc1"),
    row(Effect(stores=Visibility.SYSTEM), _CONTROL, generation=_NEW, access=_S, bits="sc0 sc1"),
    row(Effect(reads=Caches.SYSTEM, stores=Visibility.AGENT), _ATOMICS,
        generation=_NEW, access=_A, bits=("", "sc0")),
    row(Effect(stores=Visibility.SYSTEM), _ATOMICS, generation=_NEW, access=_A,
        bits=("sc1", "sc0 sc1")),
    row(Effect(reads=Caches.ALL), _FOREIGN, generation=_NEW, access=_L, bits=_NO_SCOPE),
    row(Effect(stores=Visibility.WORKGROUP), _FOREIGN, generation=_NEW, access=_S, bits=_NO_SCOPE),
    row(Effect(reads=Caches.SYSTEM, stores=Visibility.AGENT), _FOREIGN,
        generation=_NEW, access=_A, bits=_NO_SCOPE),
    row(Effect(reads=Caches.ALL), f"{_MODEL}: may hit the WGP$",
        generation=_SCOPED, access=_L, bits=_UNSCOPED),
    row(Effect(reads=Caches.AGENT | Caches.SYSTEM), f"{_MODEL}: passes the WGP$",
        generation=_SCOPED, access=_L, bits=_SE),
    row(Effect(reads=Caches.SYSTEM), f"{_MODEL}: passes what is not the agent's",
        generation=_SCOPED, access=_L, bits=_DEV),
    row(Effect(), f"{_MODEL}: passes all caches", generation=_SCOPED, access=_L, bits=_SYS),
    row(Effect(stores=Visibility.WORKGROUP),
        f"{_MODEL}: a cache of its scope or wider may absorb it, and "
        "may report it complete", generation=_SCOPED, access=_S, bits=_UNSCOPED),
    row(Effect(stores=Visibility.CLUSTER),
        f"{_MODEL}: passes the WGP$; what comes after it may absorb it",
        generation=_SCOPED, access=_S, bits=_SE),
    row(Effect(stores=Visibility.AGENT), _MODEL, generation=_SCOPED, access=_S, bits=_DEV),
    row(Effect(stores=Visibility.SYSTEM), _MODEL, generation=_SCOPED, access=_S, bits=_SYS),
    row(Effect(reads=Caches.AGENT | Caches.SYSTEM, stores=Visibility.WORKGROUP),
        f"{_MODEL}: a cache of its scope or wider may perform it",
        generation=_SCOPED, access=_A, bits=_UNSCOPED),
    row(Effect(reads=Caches.AGENT | Caches.SYSTEM, stores=Visibility.CLUSTER),
        f"{_MODEL}: passes the WGP$, but a cache of its scope or wider may perform it",
        generation=_SCOPED, access=_A, bits=_SE),
    row(Effect(reads=Caches.SYSTEM, stores=Visibility.AGENT), _MODEL,
        generation=_SCOPED, access=_A, bits=_DEV),
    row(Effect(stores=Visibility.SYSTEM), _MODEL, generation=_SCOPED, access=_A, bits=_SYS),
    row(Effect(reads=Caches.L1 | Caches.SYSTEM), _OLD_MODEL,
        generation=_OLD, access=_L, bits=(*_PLAIN, "dlc")),
    row(Effect(reads=Caches.SYSTEM), f"{_OLD_MODEL}: glc misses the L1",
        generation=_OLD, access=_L, bits=("glc", "dlc glc")),
    row(Effect(stores=Visibility.AGENT), _OLD_MODEL, generation=_OLD, access=_S),
    row(Effect(reads=Caches.SYSTEM, stores=Visibility.AGENT), f"{_OLD_MODEL}: atomics go to the L2",
        generation=_OLD, access=_A),
    row(Effect(reads=Caches.ALL), f"{_RDNA_MODEL}: may hit the L0; of dlc alone nothing is said",
        generation=_RDNA, access=_L, bits=(*_PLAIN, "dlc")),
    row(Effect(reads=Caches.AGENT | Caches.SYSTEM),
        f"{_RDNA_MODEL}: glc misses the L0, and dlc beside "
        "it the shader array's L1", generation=_GFX10, access=_L, bits="glc"),
    row(Effect(), f"{_RDNA_MODEL}: misses the L0 and the shader array's L1",
        generation=_GFX10, access=_L, bits="dlc glc"),
    row(Effect(), f"{_RDNA_MODEL}: glc misses the L0 and the shader array's L1",
        generation=_GFX11, access=_L, bits=("glc", "dlc glc")),
    row(Effect(stores=Visibility.SYSTEM),
        f"{_RDNA_MODEL}: no scope bits; what is outside the L2 is written "
        "through, and the L2 is coherent with other agents or bypassed", generation=_RDNA,
        access=_S),
    row(Effect(stores=Visibility.SYSTEM),
        f"{_RDNA_MODEL}: performed in the L2; glc returns the old value",
        generation=_RDNA, access=_A),
    row(Effect(reads=Caches.L1 | Caches.SYSTEM), f"{_GFX12_MODEL}: may hit the L0",
        generation=_GFX12, access=_L, bits=_UNSCOPED),
    row(Effect(reads=Caches.SYSTEM), f"{_GFX12_MODEL}: passes the L0, to the agent's L2",
        generation=_GFX12, access=_L, bits=(_SE, _DEV)),
    row(Effect(), f"{_GFX12_MODEL}: passes all caches", generation=_GFX12, access=_L, bits=_SYS),
    row(Effect(stores=Visibility.AGENT),
        f"{_GFX12_MODEL}: the L0 writes through; global_wb can be left out "
        "below SCOPE_SYS", generation=_GFX12, access=_S, bits=(*_UNSCOPED, _SE, _DEV)),
    row(Effect(stores=Visibility.SYSTEM), _GFX12_MODEL, generation=_GFX12, access=_S, bits=_SYS),
    row(Effect(reads=Caches.SYSTEM, stores=Visibility.AGENT),
        f"{_GFX12_MODEL}: performed in the L2",
        generation=_GFX12, access=_A, bits=(*_UNSCOPED, _SE, _DEV)),
    row(Effect(stores=Visibility.SYSTEM), _GFX12_MODEL, generation=_GFX12, access=_A, bits=_SYS),
]  # fmt: skip

ACCESSES: Table[Effect] = Table(
    "caches of an access",
    {"generation": Generation, "access": ACCESS_KINDS, "bits": _BITS},
    _ACCESS_ROWS,
)
"""(generation, access, policy bits but hints) -> effect."""

_MAINTENANCE = "MI300 ISA, buffer_wbl2 and buffer_inv"
_WBL2, _INV, _INVL2 = "buffer_wbl2", "buffer_inv", "buffer_invl2"
_VOL = "buffer_wbinvl1_vol"
_GLOBAL_WB, _GLOBAL_INV = "global_wb", "global_inv"
_GL0, _GL1 = _OF_RDNA = ("buffer_gl0_inv", "buffer_gl1_inv")
_OF_GFX9 = (_WBL2, _INV, _INVL2, _VOL)

_MAINTENANCE_ROWS: list[Row[Effect]] = [
    row(Effect(), f"{_MAINTENANCE}: nothing at wave and group scope",
        generation=_NEW, mnemonic=_WBL2, bits=("", "sc0", *_NO_SCOPE)),
    row(Effect(writes_back=Visibility.AGENT), _MAINTENANCE, generation=_NEW, mnemonic=_WBL2,
        bits="sc1"),
    row(Effect(writes_back=Visibility.SYSTEM), _MAINTENANCE,
        generation=_NEW, mnemonic=_WBL2, bits="sc0 sc1"),
    row(Effect(), f"{_MAINTENANCE}: nothing at wave scope",
        generation=_NEW, mnemonic=_INV, bits=("", *_NO_SCOPE)),
    row(Effect(invalidates=Caches.L1), f"{_MAINTENANCE}: L1, in tgsplit",
        generation=_NEW, mnemonic=_INV, bits="sc0"),
    row(Effect(invalidates=Caches.L1 | Caches.AGENT), _MAINTENANCE,
        generation=_NEW, mnemonic=_INV, bits="sc1"),
    row(Effect(invalidates=Caches.ALL), _MAINTENANCE, generation=_NEW, mnemonic=_INV,
        bits="sc0 sc1"),
    row(Effect(), "not on this chip", generation=_NEW, mnemonic=(_INVL2, _VOL)),
    row(Effect(writes_back=Visibility.SYSTEM), "LLVM AMDGPUUsage, Memory Model GFX90A",
        generation=Generation.GFX90A, mnemonic=_WBL2),
    row(Effect(invalidates=Caches.SYSTEM), "LLVM AMDGPUUsage, Memory Model GFX90A",
        generation=Generation.GFX90A, mnemonic=_INVL2),
    row(Effect(), "not on this chip", generation=Generation.GFX908, mnemonic=(_WBL2, _INVL2)),
    row(Effect(invalidates=Caches.L1), _OLD_MODEL, generation=_OLD, mnemonic=_VOL),
    row(Effect(), "not on this chip", generation=_OLD, mnemonic=_INV),
    row(Effect(), "not on this chip", generation=(_NEW, *_OLD), mnemonic=(_GLOBAL_WB, _GLOBAL_INV)),
    row(Effect(), "not on this chip", generation=_SCOPED, mnemonic=_OF_GFX9),
    row(Effect(), f"{_MODEL}, global_wb: SCOPE_CU has nothing below",
        generation=_SCOPED, mnemonic=_GLOBAL_WB, bits=_UNSCOPED),
    row(Effect(writes_back=Visibility.CLUSTER), f"{_MODEL}, global_wb: earlier stores of SCOPE_CU",
        generation=_SCOPED, mnemonic=_GLOBAL_WB, bits=_SE),
    row(Effect(writes_back=Visibility.AGENT), f"{_MODEL}, global_wb",
        generation=_SCOPED, mnemonic=_GLOBAL_WB, bits=_DEV),
    row(Effect(writes_back=Visibility.SYSTEM), f"{_MODEL}, global_wb",
        generation=_SCOPED, mnemonic=_GLOBAL_WB, bits=_SYS),
    row(Effect(), f"{_MODEL}, global_inv: SCOPE_CU has nothing below",
        generation=_SCOPED, mnemonic=_GLOBAL_INV, bits=_UNSCOPED),
    row(Effect(invalidates=Caches.L1), f"{_MODEL}, global_inv: the WGP$",
        generation=_SCOPED, mnemonic=_GLOBAL_INV, bits=_SE),
    row(Effect(invalidates=Caches.L1 | Caches.AGENT), f"{_MODEL}, global_inv",
        generation=_SCOPED, mnemonic=_GLOBAL_INV, bits=_DEV),
    row(Effect(invalidates=Caches.ALL), f"{_MODEL}, global_inv",
        generation=_SCOPED, mnemonic=_GLOBAL_INV, bits=_SYS),
    row(Effect(), "not on this chip", generation=_GFX12, mnemonic=_OF_GFX9),
    row(Effect(), f"{_GFX12_MODEL}, global_wb: can be left out below SCOPE_SYS",
        generation=_GFX12, mnemonic=_GLOBAL_WB, bits=(*_UNSCOPED, _SE)),
    row(Effect(writes_back=Visibility.AGENT),
        f"{_GFX12_MODEL}, global_wb: can be left out below SCOPE_SYS",
        generation=_GFX12, mnemonic=_GLOBAL_WB, bits=_DEV),
    row(Effect(writes_back=Visibility.SYSTEM), f"{_GFX12_MODEL}, global_wb",
        generation=_GFX12, mnemonic=_GLOBAL_WB, bits=_SYS),
    row(Effect(), f"{_GFX12_MODEL}, global_inv: SCOPE_CU has nothing below",
        generation=_GFX12, mnemonic=_GLOBAL_INV, bits=_UNSCOPED),
    row(Effect(invalidates=Caches.L1), f"{_GFX12_MODEL}, global_inv: the L0 of the CU",
        generation=_GFX12, mnemonic=_GLOBAL_INV, bits=_SE),
    row(Effect(invalidates=Caches.L1 | Caches.AGENT),
        f"{_GFX12_MODEL}, global_inv: the L0; the agent has "
        "one L2", generation=_GFX12, mnemonic=_GLOBAL_INV, bits=_DEV),
    row(Effect(invalidates=Caches.ALL), f"{_GFX12_MODEL}, global_inv",
        generation=_GFX12, mnemonic=_GLOBAL_INV, bits=_SYS),
    row(Effect(), "not on this chip",
        generation=(_NEW, *_OLD, _GFX12, _SCOPED), mnemonic=_OF_RDNA),
    row(Effect(), "not on this chip",
        generation=_RDNA, mnemonic=(*_OF_GFX9, _GLOBAL_WB, _GLOBAL_INV)),
    row(Effect(invalidates=Caches.L1), f"{_RDNA_MODEL}: the L0 of the CU",
        generation=_RDNA, mnemonic=_GL0),
    row(Effect(invalidates=Caches.AGENT | Caches.SYSTEM), f"{_RDNA_MODEL}: the shader array's L1",
        generation=_RDNA, mnemonic=_GL1),
]  # fmt: skip

MAINTENANCE: Table[Effect] = Table(
    "caches of cache maintenance",
    {
        "generation": Generation,
        "mnemonic": (*_OF_GFX9, _GLOBAL_WB, _GLOBAL_INV, *_OF_RDNA),
        "bits": _BITS,
    },
    _MAINTENANCE_ROWS,
)
"""(generation, mnemonic, policy bits) -> effect."""


def access_effect(
    chip: str, access: Kind, modifiers: Iterable[str], *, clusters: bool = False
) -> Effect:
    """The effect of an access to global memory; ``KeyError`` for bits that no chip has.

    ``clusters``: whether a cluster's reach differs from a work-group's. A caller for the agent or
    the system need not distinguish them, and takes the narrower one.
    """
    return _effect(ACCESSES, chip, access, tuple(modifiers), clusters)


def maintenance_effect(
    chip: str, mnemonic: str, modifiers: Iterable[str], *, clusters: bool = False
) -> Effect:
    """The effect of a cache instruction; ``KeyError`` for one without a row.

    ``clusters``: as ``access_effect`` has it.
    """
    return _effect(MAINTENANCE, chip, mnemonic, tuple(modifiers), clusters)


@cache
def _effect(
    table: Table[Effect], chip: str, of: Kind | str, modifiers: tuple[str, ...], clusters: bool
) -> Effect:
    effect = table[KNOWN_CHIPS[chip].generation, of, _policy(modifiers)].value
    return effect if clusters else _without_clusters(effect)


def _without_clusters(effect: Effect) -> Effect:
    """The effect on a chip where the reach of a cluster is no farther than that of a work-group."""
    if effect.stores is Visibility.CLUSTER:
        effect = replace(effect, stores=Visibility.WORKGROUP)
    return replace(effect, writes_back=None) if effect.writes_back is Visibility.CLUSTER else effect


def _policy(modifiers: tuple[str, ...]) -> str:
    return " ".join(sorted(set(modifiers) - _HINTS))
