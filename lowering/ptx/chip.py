"""An NVIDIA chip with a PTX version as the lowering sees them: a name, and their forms.

PTX is one language for all chips: the rules are the same everywhere (rows.py, atomics.py),
and ``FORMS`` says what a pair of chip and PTX version lacks. A new chip is a row.
"""

from dataclasses import dataclass
from functools import cache

from fencewright.lowering.vocabulary import FastStrEnum

Version = tuple[int, int]
"""A PTX ISA version, (major, minor)."""

VERSIONS: tuple[Version, ...] = (
    *((6, minor) for minor in range(6)),
    *((7, minor) for minor in range(9)),
    *((8, minor) for minor in range(9)),
    *((9, minor) for minor in range(6)),
)
"""The PTX versions that have the memory consistency model, up to CUDA 13.5's."""


@dataclass(frozen=True, slots=True)
class PtxChip:
    """One chip: its name, its number, and the first and last PTX version that can name it.

    ``last`` is None where assemblers of today still know the chip.
    """

    name: str
    number: int
    first: Version
    last: Version | None
    source: str

    @property
    def is_plain(self) -> bool:
        """True if its code runs on later chips too: not of one chip (a) or family (f) alone."""
        return self.name[-1].isdigit()


_TARGETS = "PTX ISA, Release Notes and .target; certified by ptxas"
_DROPPED = f"{_TARGETS} 12.9; CUDA 13 (PTX 9.0) no longer assembles for Volta"

CHIPS: tuple[PtxChip, ...] = (
    PtxChip("sm_70", 70, (6, 0), (8, 8), _DROPPED),
    PtxChip("sm_72", 72, (6, 1), (8, 8), _DROPPED),
    PtxChip("sm_75", 75, (6, 3), None, _TARGETS),
    PtxChip("sm_80", 80, (7, 0), None, _TARGETS),
    PtxChip("sm_86", 86, (7, 1), None, _TARGETS),
    PtxChip("sm_87", 87, (7, 4), None, _TARGETS),
    # ptxas 13.0 also reads 7.3 and later for it, ptxas 13.4 only what the manual has.
    PtxChip("sm_88", 88, (9, 0), None, _TARGETS),
    PtxChip("sm_89", 89, (7, 8), None, _TARGETS),
    PtxChip("sm_90", 90, (7, 8), None, _TARGETS),
    PtxChip("sm_90a", 90, (8, 0), None, _TARGETS),
    PtxChip("sm_100", 100, (8, 6), None, _TARGETS),
    PtxChip("sm_100a", 100, (8, 6), None, _TARGETS),
    PtxChip("sm_100f", 100, (8, 8), None, _TARGETS),
    PtxChip("sm_103", 103, (8, 8), None, _TARGETS),
    PtxChip("sm_103a", 103, (8, 8), None, _TARGETS),
    PtxChip("sm_103f", 103, (8, 8), None, _TARGETS),
    PtxChip("sm_110", 110, (9, 0), None, _TARGETS),
    PtxChip("sm_110a", 110, (9, 0), None, _TARGETS),
    PtxChip("sm_110f", 110, (9, 0), None, _TARGETS),
    PtxChip("sm_120", 120, (8, 7), None, _TARGETS),
    PtxChip("sm_120a", 120, (8, 7), None, _TARGETS),
    PtxChip("sm_120f", 120, (8, 8), None, _TARGETS),
    PtxChip("sm_121", 121, (8, 8), None, _TARGETS),
    PtxChip("sm_121a", 121, (8, 8), None, _TARGETS),
    PtxChip("sm_121f", 121, (8, 8), None, _TARGETS),
)


class PtxForm(FastStrEnum):
    """A form that only some chips and PTX versions have; its value is its name in messages."""

    CLUSTER = "cluster scope and shared::cluster"
    CLUSTER_BARRIER_ORDERING = "barrier.cluster with an ordering"
    ONE_SIDED_FENCE = "fence.acquire and fence.release"
    RESTRICTED_FENCE = "fence.acquire and fence.release limited to shared memory"
    CAS_16 = "16-bit compare-and-swap"
    ACCESS_128 = "128-bit access"
    ACCESS_128_SYSTEM = "128-bit access at system scope"
    ATOMIC_F16 = "atomic addition of f16"
    ATOMIC_F16X2 = "atomic addition of f16x2"
    ATOMIC_BF16 = "atomic addition of bf16 and bf16x2"
    BF16_FMA = "multiply-add of bf16 and bf16x2"
    HALF_MIN_MAX = "minimum and maximum of f16 and bf16"
    ATOMIC_128 = "128-bit atomic"
    ATOMIC_128_SYSTEM = "128-bit atomic at system scope"


@dataclass(frozen=True, slots=True)
class Since:
    """The lowest chip number and PTX version that have a form, and where that is written."""

    number: int
    version: Version
    source: str


FORMS: dict[PtxForm, Since] = {
    PtxForm.CLUSTER: Since(90, (7, 8), "PTX ISA, ld, st, atom, fence: .cluster since 7.8, sm_90"),
    PtxForm.CLUSTER_BARRIER_ORDERING: Since(
        90, (8, 0), "PTX ISA, barrier.cluster: .release, .relaxed, .acquire since 8.0"
    ),
    # ptxas 12.9 and 13.0 accept these from sm_70 on, and write an illegal encoding.
    PtxForm.ONE_SIDED_FENCE: Since(
        90, (8, 6), "PTX ISA, fence: .acquire, .release since 8.6, sm_90; enforced by ptxas 13.4"
    ),
    PtxForm.RESTRICTED_FENCE: Since(90, (8, 6), "PTX ISA, fence: .sync_restrict since 8.6, sm_90"),
    PtxForm.CAS_16: Since(70, (6, 3), "PTX ISA, atom: .cas.b16 since 6.3, sm_70"),
    PtxForm.ATOMIC_F16: Since(70, (6, 3), "PTX ISA, atom, red: .add.noftz.f16 since 6.3, sm_70"),
    PtxForm.ATOMIC_F16X2: Since(
        60, (6, 2), "PTX ISA, atom, red: .add.noftz.f16x2 since 6.2, sm_60"
    ),
    PtxForm.ATOMIC_BF16: Since(
        90, (7, 8), "PTX ISA, atom, red: .add.noftz.bf16, .bf16x2 since 7.8, sm_90"
    ),
    PtxForm.BF16_FMA: Since(80, (7, 0), "PTX ISA, fma: .bf16, .bf16x2 since 7.0, sm_80"),
    PtxForm.HALF_MIN_MAX: Since(
        80, (7, 0), "PTX ISA, min, max: .f16, .bf16 and x2 since 7.0, sm_80"
    ),
    PtxForm.ACCESS_128: Since(70, (8, 3), "PTX ISA, ld, st: .b128 since 8.3, sm_70"),
    PtxForm.ACCESS_128_SYSTEM: Since(70, (8, 4), "PTX ISA, ld, st: .sys with .b128 since 8.4"),
    PtxForm.ATOMIC_128: Since(90, (8, 3), "PTX ISA, atom: .exch.b128, .cas.b128 since 8.3, sm_90"),
    PtxForm.ATOMIC_128_SYSTEM: Since(90, (8, 4), "PTX ISA, atom: .sys with .b128 since 8.4"),
}


@cache
def forms_of(chip: PtxChip, version: Version) -> frozenset[PtxForm]:
    """The forms that a chip has when assembled as a PTX version."""
    return frozenset(
        form
        for form, since in FORMS.items()
        if chip.number >= since.number and version >= since.version
    )


@cache
def default_version(chip: PtxChip) -> Version:
    """The lowest PTX version in which a chip has every form that it has in any.

    It lowers as the newest version does, and older assemblers still read it.
    """
    needed = (since.version for since in FORMS.values() if chip.number >= since.number)
    return max(chip.first, *needed)


def lowest_with(form: PtxForm, chip: PtxChip) -> str:
    """The least that has ``form``: this chip with a newer PTX version, or else a newer chip."""
    since = FORMS[form]
    able = next(each for each in (chip, *CHIPS) if each.number >= since.number)
    return with_version(able, max(able.first, since.version))


def with_version(chip: PtxChip, version: Version) -> str:
    """A chip and a PTX version as messages write them."""
    return f"{chip.name} with PTX {version[0]}.{version[1]}"
