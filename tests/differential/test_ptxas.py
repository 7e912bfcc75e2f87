"""What we emit for PTX, assembled by NVIDIA's own ptxas; and ptxas's own limits against ours.

The whole matrix, every chip with every PTX version, takes half an hour: FENCEWRIGHT_FULL=1.
Assemblers other than the one found are named by FENCEWRIGHT_PTXAS, separated as in PATH.
``ptxas_matrix.txt`` is this project's record of the lowest PTX version with which ptxas
12.9, 13.0 and 13.4 (a/b/c where they disagree) accept a form for a chip.
"""

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from campaigns import Share, shares, some_of
from ptxas import (
    Point,
    assemble,
    chip_named,
    covering,
    every_point,
    find_assemblers,
    knows,
    lowered,
    module,
    versions_of,
)

from fencewright.lowering.ptx.chip import (
    CHIPS,
    FORMS,
    VERSIONS,
    PtxChip,
    PtxForm,
    Version,
    default_version,
    forms_of,
)
from fencewright.lowering.ptx.select import NO_RELAXED_BARRIER
from fencewright.lowering.sequence import Sequence
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Operation,
    Ordering,
    RmwKind,
    Scope,
    ValueType,
)

ASSEMBLERS = find_assemblers()
FULL = bool(os.environ.get("FENCEWRIGHT_FULL"))
needs_ptxas = pytest.mark.skipif(
    not ASSEMBLERS, reason="needs ptxas (pip install nvidia-cuda-nvcc)"
)

FEW = [(chip, chip.first) for chip in CHIPS if chip.is_plain] + [
    (chip_named(name), default_version(chip_named(name))) for name in ("sm_70", "sm_80", "sm_90")
]
ALL = [(chip, version) for chip in CHIPS for version in versions_of(chip, VERSIONS)]
_FEW_KINDS = (RmwKind.SUB, RmwKind.NAND, RmwKind.UDEC_WRAP, RmwKind.FMAX)


def _few(point: Point) -> bool:
    """A selection that has every kind of sequence, but not every combination."""
    usual = point.width == 32 or point.space is AddressSpace.GLOBAL
    if not usual and point.scope not in (Scope.WORKGROUP, Scope.SYSTEM):
        return False
    return point.op is not Operation.ATOMIC_RMW or (
        (point.kind in _FEW_KINDS or point.type is not None)
        and point.ordering in (Ordering.RELEASE, Ordering.SEQ_CST)
    )


@cache
def _sequences(
    forms: frozenset[PtxForm], chip: PtxChip, version: Version
) -> tuple[tuple[Point, Sequence], ...]:
    points = every_point() if FULL else filter(_few, every_point())
    return tuple(covering(points, chip, version))


@cache
def _representative(forms: frozenset[PtxForm]) -> tuple[PtxChip, Version]:
    return next(each for each in ALL if forms_of(*each) == forms)


def _covering(chip: PtxChip, version: Version) -> tuple[tuple[Point, Sequence], ...]:
    """What is emitted depends on the forms alone."""
    forms = forms_of(chip, version)
    return _sequences(forms, *_representative(forms))


def _label(value: object) -> str:
    return value.name if isinstance(value, PtxChip) else str(value).strip("()").replace(", ", ".")


def _target_label(target: tuple[PtxChip, Version]) -> str:
    return "-".join(map(_label, target))


@needs_ptxas
@pytest.mark.parametrize("share", shares(6))
@pytest.mark.parametrize("target", ALL if FULL else some_of(FEW, 3), ids=_target_label)
def test_everything_is_accepted(target: tuple[PtxChip, Version], share: Share):
    """Each sequence is in a share for some chip, and each chip in every share."""
    chip, version = target
    able = [ptxas for ptxas in ASSEMBLERS if knows(ptxas, chip.name, version)]
    if not able:
        pytest.skip(f"needs a ptxas that knows {chip.name}")
    text = module(share.of(_covering(chip, version), CHIPS.index(chip)))
    for ptxas in able:
        verdict = assemble(ptxas, chip.name, version, text)
        assert verdict.accepted, f"{ptxas}: {verdict.message}"


@pytest.mark.parametrize("share", shares(5))
def test_what_is_emitted_depends_on_the_forms_alone(share: Share):
    points = [point for n, point in enumerate(every_point()) if n % 97 == 0]
    for chip, version in share.of(ALL[::5]):
        same = _representative(forms_of(chip, version))
        for point in points:
            assert lowered(point, chip, version) == lowered(point, *same)


_LOAD = Point(Operation.LOAD, Ordering.RELAXED, Scope.AGENT, AddressSpace.GLOBAL)
_CAS = replace(_LOAD, op=Operation.CMPXCHG, failure_ordering=Ordering.RELAXED)


def _half(kind: RmwKind, type_: ValueType) -> Point:
    return replace(_LOAD, op=Operation.ATOMIC_RMW, kind=kind, type=type_, width=type_.bits)


SAMPLES: dict[PtxForm, Point] = {
    PtxForm.CLUSTER: replace(_LOAD, scope=Scope.CLUSTER),
    PtxForm.CLUSTER_BARRIER_ORDERING: Point(Operation.BARRIER, Ordering.RELAXED, Scope.CLUSTER),
    PtxForm.ONE_SIDED_FENCE: Point(Operation.FENCE, Ordering.ACQUIRE, Scope.AGENT),
    PtxForm.RESTRICTED_FENCE: Point(
        Operation.FENCE,
        Ordering.RELEASE,
        Scope.CLUSTER,
        spaces=(AddressSpace.LOCAL,),
        features=(NO_RELAXED_BARRIER,),
    ),
    PtxForm.CAS_16: replace(_CAS, width=16),
    PtxForm.ACCESS_128: replace(_LOAD, width=128),
    PtxForm.ACCESS_128_SYSTEM: replace(_LOAD, width=128, scope=Scope.SYSTEM),
    PtxForm.ATOMIC_F16: _half(RmwKind.FADD, ValueType.F16),
    PtxForm.ATOMIC_F16X2: replace(_half(RmwKind.FADD, ValueType.F16X2), elementwise=True),
    PtxForm.ATOMIC_BF16: _half(RmwKind.FADD, ValueType.BF16),
    PtxForm.BF16_FMA: _half(RmwKind.FADD, ValueType.BF16X2),
    PtxForm.HALF_MIN_MAX: _half(RmwKind.FMAX, ValueType.F16),
    PtxForm.ATOMIC_128: replace(_CAS, width=128),
    PtxForm.ATOMIC_128_SYSTEM: replace(_CAS, width=128, scope=Scope.SYSTEM),
}
LAX: dict[PtxForm, str] = {PtxForm.ONE_SIDED_FENCE: "ptxas before 13.4 writes an illegal encoding"}


@needs_ptxas
@pytest.mark.parametrize("form", PtxForm)
def test_ptxas_rejects_a_form_below_its_row(form: PtxForm):
    """Emitted one chip or one version too early, each form is an error: no row is too strict."""
    able = next(each for each in ALL if form in forms_of(*each))
    newest = max(able[1], default_version(able[0]))
    sequence, other = (lowered(each, able[0], newest) for each in (SAMPLES[form], _LOAD))
    assert sequence is not None
    assert other is not None
    text = module([(_LOAD, other), (SAMPLES[form], sequence), (_LOAD, other)])
    asked = 0
    for ptxas in ASSEMBLERS:
        if form in LAX and not _knows_94(ptxas):
            continue
        for chip, version in ALL:
            nearby = chip.number >= 75 and version >= max(chip.first, (8, 0))
            if (
                form in forms_of(chip, version)
                or not nearby
                or not knows(ptxas, chip.name, version)
            ):
                continue
            asked += 1
            assert not assemble(ptxas, chip.name, version, text).accepted, (chip.name, version)
            if asked > 8:
                return


def _knows_94(ptxas: str) -> bool:
    return knows(ptxas, "sm_90", (9, 4))


MATRIX_COLUMNS = ("60", "70", "75", "80", "90", "90a", "100", "100a", "103a", "120", "120a")
MATRIX_FORMS: dict[PtxForm, tuple[str, ...]] = {
    PtxForm.CLUSTER: (
        "ld.relaxed.cluster",
        "st.release.cluster",
        "atom.acq_rel.cluster",
        "red.release.cluster",
        "fence.sc.cluster",
        "ld.weak.shared::cluster",
        "atom.shared::cluster",
        "red.shared::cluster",
        "barrier.cluster.arrive",
        "barrier.cluster.wait",
    ),
    PtxForm.CLUSTER_BARRIER_ORDERING: (
        "barrier.cluster.arrive.relaxed",
        "barrier.cluster.arrive.release",
        "barrier.cluster.wait.acquire",
    ),
    PtxForm.ONE_SIDED_FENCE: ("fence.acquire.cta", "fence.release.gpu", "fence.acquire.sys"),
    PtxForm.RESTRICTED_FENCE: ("fence.acquire.sync_restrict", "fence.release.sync_restrict"),
    PtxForm.CAS_16: ("atom.acq_rel.gpu.cas.b16",),
    PtxForm.ACCESS_128: ("ld.acquire.gpu.b128", "ld.weak.b128", "st.release.gpu.b128"),
    PtxForm.ACCESS_128_SYSTEM: ("ld.acquire.sys.b128",),
    PtxForm.ATOMIC_F16: ("atom.add.noftz.f16",),
    PtxForm.ATOMIC_F16X2: ("atom.add.noftz.f16x2",),
    PtxForm.ATOMIC_BF16: ("atom.add.noftz.bf16",),
    # The matrix is of memory instructions; these are of arithmetic.
    PtxForm.BF16_FMA: (),
    PtxForm.HALF_MIN_MAX: (),
    PtxForm.ATOMIC_128: ("atom.acq_rel.gpu.cas.b128", "atom.acq_rel.gpu.exch.b128"),
    PtxForm.ATOMIC_128_SYSTEM: ("atom.acq_rel.sys.cas.b128",),
}


@cache
def _matrix() -> dict[str, dict[str, Version | None]]:
    """form -> chip -> the lowest version that the newest assembler accepts, None for none."""
    lines = (Path(__file__).parent / "ptxas_matrix.txt").read_text().splitlines()[1:]
    matrix: dict[str, dict[str, Version | None]] = {}
    for line in lines:
        form, *cells = line.split()
        newest = [cell.split("/")[-1] for cell in cells[-len(MATRIX_COLUMNS) :]]
        matrix[form] = {
            f"sm_{column}": None if cell == "-" else _version(cell)
            for column, cell in zip(MATRIX_COLUMNS, newest, strict=True)
        }
    return matrix


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


RECORDED = [chip for chip in CHIPS if chip.name.removeprefix("sm_") in MATRIX_COLUMNS]


@pytest.mark.parametrize("chip", RECORDED, ids=_label)
def test_forms_are_those_of_the_recorded_matrix(chip: PtxChip):
    assert _matrix()["ld.relaxed.cta"][chip.name] == chip.first
    for form, names in MATRIX_FORMS.items():
        if form in LAX and chip.number < 75:
            continue  # only ptxas 12.9 still knows the chip
        since = FORMS[form]
        ours = max(chip.first, since.version) if chip.number >= since.number else None
        for name in names:
            assert _matrix()[name][chip.name] == ours, (form, name)


def test_every_form_is_recorded_and_sampled():
    assert set(MATRIX_FORMS) == set(SAMPLES) == set(FORMS) == set(PtxForm)


def _recorded_name(mnemonic: str) -> str | None:
    """The matrix's name for an instruction: its qualifiers and scope, without space and type."""
    parts = mnemonic.split(".")
    if parts[0] not in ("ld", "st", "atom", "red", "fence") or parts[1] in ("weak", "volatile"):
        return mnemonic if parts[0] in ("barrier", "bar") else None
    return ".".join(parts[:3])


@pytest.mark.parametrize("chip", some_of(RECORDED, 3), ids=_label)
def test_nothing_is_emitted_that_the_recorded_matrix_rejects(chip: PtxChip):
    for version in {chip.first, default_version(chip)}:
        names = {
            _recorded_name(each.mnemonic)
            for _, sequence in _covering(chip, version)
            for each in sequence.instructions
        }
        checked = 0
        for name in names & set(_matrix()):
            lowest = _matrix()[name or ""][chip.name]
            assert lowest is not None, name
            assert lowest <= version, name
            checked += 1
        assert checked > 25
