"""Every operation x ordering x scope x address space, ours against LLVM's own PTX.

Each difference must be one that ``lowering.ptx.differences`` names, and each of its rows
must be met somewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache

import pytest
from campaigns import some_of
from nvptx_oracle import Point, llvm_sequences, matrix, normal_form

from fencewright.lowering.lower import lower
from fencewright.lowering.ptx.chip import PtxForm, Version, forms_of
from fencewright.lowering.ptx.differences import DIFFERENCES, PtxDifference, Whose
from fencewright.lowering.ptx.select import chip_named
from fencewright.lowering.vocabulary import AddressSpace, Scope

TARGETS: list[tuple[str, Version]] = [
    ("sm_70", (6, 3)),
    ("sm_80", (8, 6)),
    ("sm_90", (8, 3)),
    ("sm_90", (8, 6)),
    ("sm_120", (8, 7)),
]
POINTS = list(matrix())
SUFFIX = {AddressSpace.GENERIC: "", AddressSpace.GLOBAL: ".global", AddressSpace.LOCAL: ".shared"}
QUALIFIER = {
    Scope.SINGLETHREAD: "",
    Scope.WAVEFRONT: "",
    Scope.WORKGROUP: "cta",
    Scope.CLUSTER: "cluster",
    Scope.AGENT: "gpu",
    Scope.SYSTEM: "sys",
}
Tokens = tuple[str, ...]


def _ours(point: Point, cpu: str, version: Version) -> Tokens:
    sequence = lower(**asdict(point), target=cpu, ptx_version=f"{version[0]}.{version[1]}")
    return normal_form(each.text for each in sequence.instructions)


def _columns(point: Point, forms: frozenset[PtxForm]) -> dict[str, object]:
    return {
        **asdict(point),
        "ordering": point.merged,
        "clusters": PtxForm.CLUSTER in forms,
        "one_sided": PtxForm.ONE_SIDED_FENCE in forms,
    }


def _matches(row: PtxDifference, columns: dict[str, object]) -> bool:
    return all(columns[name] in values for name, values in row.where.items())


def _theirs(row: PtxDifference, columns: dict[str, object], point: Point) -> Tokens | None:
    scope = QUALIFIER[point.scope]
    one_sided = columns["one_sided"]
    places = {
        "semantics": str(point.merged),
        "scope": scope,
        "space": SUFFIX[point.space] if point.space is not None else "",
        "release": f"fence.{'release' if one_sided else 'acq_rel'}.{scope}",
        "acquire": f"fence.{'acquire' if one_sided else 'acq_rel'}.{scope}",
    }
    return tuple(each.format(**places) for each in row.theirs) or None


LLVMS = [row for row in DIFFERENCES if row.whose is Whose.LLVM]


@dataclass
class Comparison:
    """What no row explains, and which of LLVM's rows were met."""

    unexplained: list[str]
    met: set[int]


def _compare(cpu: str, version: Version, rows: Sequence[PtxDifference]) -> Comparison:
    forms = forms_of(chip_named(cpu), version)
    result = Comparison([], set())
    for point, llvms in _llvm(cpu, version).items():
        ours = _ours(point, cpu, version)
        if ours == llvms:
            continue
        columns = _columns(point, forms)
        found = {
            index
            for index, row in enumerate(rows)
            if _matches(row, columns) and _theirs(row, columns, point) == llvms
        }
        result.met |= found
        if len(found) != 1:
            result.unexplained.append(f"{point}: ours {ours}, LLVM's {llvms}, rows {found}")
    return result


@cache
def _llvm(cpu: str, version: Version) -> Mapping[Point, Tokens | None]:
    return llvm_sequences(POINTS, cpu, version)


@pytest.mark.parametrize("target", some_of(TARGETS, 3))
def test_every_difference_is_named(target: tuple[str, Version]):
    unexplained = _compare(*target, LLVMS).unexplained
    assert not unexplained, "\n".join(unexplained)


def test_every_row_is_met():
    met: set[int] = set()
    for cpu, version in TARGETS:
        if len(met) < len(LLVMS):
            met |= _compare(cpu, version, LLVMS).met
    missing = [LLVMS[index] for index in range(len(LLVMS)) if index not in met]
    assert not missing


@pytest.mark.parametrize("index", range(len(LLVMS)))
def test_a_missing_row_is_noticed(index: int):
    """Without any one row, some difference has no name."""
    rest = [*LLVMS[:index], *LLVMS[index + 1 :]]
    assert any(_compare(cpu, version, rest).unexplained for cpu, version in TARGETS)


@pytest.mark.parametrize(
    "row", [row for row in DIFFERENCES if row.whose is not Whose.LLVM], ids=lambda row: row.name
)
def test_ours_is_not_theirs(row: PtxDifference):
    """The mappings that cannot be asked: ours is another wherever their row says so."""
    met = 0
    for cpu, version in TARGETS:
        forms = forms_of(chip_named(cpu), version)
        for point in POINTS:
            columns = _columns(point, forms)
            if _matches(row, columns):
                assert _ours(point, cpu, version) != _theirs(row, columns, point)
                met += 1
    assert met


def test_every_row_has_a_reason():
    assert all(len(row.reason) > 20 for row in DIFFERENCES)
