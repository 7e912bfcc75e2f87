"""PTX: the mapping of every operation, what chips and versions lack, and where PTX is traps."""

from typing import Any

import pytest

from fencewright.lowering.lower import lower
from fencewright.lowering.ptx import atomics, rows
from fencewright.lowering.ptx.chip import (
    CHIPS,
    FORMS,
    VERSIONS,
    PtxChip,
    PtxForm,
    Version,
    default_version,
    forms_of,
    lowest_with,
)
from fencewright.lowering.ptx.select import (
    NO_ACQUIRE_FENCE_AFTER,
    NO_RELAXED_BARRIER,
    chip_named,
)
from fencewright.lowering.ptx.text import fill_places
from fencewright.lowering.sequence import Sequence, UnsupportedError
from fencewright.lowering.table import Table, TableError
from fencewright.lowering.targets import backend_of, known_targets
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Phase, RmwKind, Scope


def lines(**asked: Any) -> list[str]:
    """The instructions for a request, on sm_90 at agent scope in global memory by default."""
    defaults: dict[str, Any] = {"scope": "agent", "target": "sm_90"}
    if asked["op"] not in ("fence", "barrier"):
        defaults["space"] = "global"
    return lower(**{**defaults, **asked}).text.splitlines()


def memory_lines(**asked: Any) -> list[str]:
    """The mnemonics of memory instructions, fences and labels."""
    kept = ("ld", "st", "atom", "red", "fence", "{")
    return [line.split()[0] for line in lines(**asked) if line.startswith(kept)]


MAPPING = [
    ("load", "weak", ["ld.weak.global.b32 {dst}, [{addr}]"]),
    ("load", "relaxed", ["ld.relaxed.gpu.global.b32 {dst}, [{addr}]"]),
    ("load", "acquire", ["ld.acquire.gpu.global.b32 {dst}, [{addr}]"]),
    ("load", "seq_cst", ["fence.sc.gpu", "ld.acquire.gpu.global.b32 {dst}, [{addr}]"]),
    ("store", "weak", ["st.weak.global.b32 [{addr}], {data}"]),
    ("store", "relaxed", ["st.relaxed.gpu.global.b32 [{addr}], {data}"]),
    ("store", "release", ["st.release.gpu.global.b32 [{addr}], {data}"]),
    ("store", "seq_cst", ["fence.sc.gpu", "st.relaxed.gpu.global.b32 [{addr}], {data}"]),
    ("atomic_rmw", "relaxed", ["atom.relaxed.gpu.global.add.u32 {dst}, [{addr}], {data}"]),
    ("atomic_rmw", "acquire", ["atom.acquire.gpu.global.add.u32 {dst}, [{addr}], {data}"]),
    ("atomic_rmw", "release", ["atom.release.gpu.global.add.u32 {dst}, [{addr}], {data}"]),
    ("atomic_rmw", "acq_rel", ["atom.acq_rel.gpu.global.add.u32 {dst}, [{addr}], {data}"]),
    (
        "atomic_rmw",
        "seq_cst",
        ["fence.sc.gpu", "atom.acquire.gpu.global.add.u32 {dst}, [{addr}], {data}"],
    ),
    ("fence", "acquire", ["fence.acquire.gpu"]),
    ("fence", "release", ["fence.release.gpu"]),
    ("fence", "acq_rel", ["fence.acq_rel.gpu"]),
    ("fence", "seq_cst", ["fence.sc.gpu"]),
]


@pytest.mark.parametrize(("op", "ordering", "expected"), MAPPING)
def test_mapping(op: str, ordering: str, expected: list[str]):
    assert lines(op=op, ordering=ordering) == expected


@pytest.mark.parametrize("success", ["relaxed", "acquire", "release", "acq_rel", "seq_cst"])
@pytest.mark.parametrize("failure", ["relaxed", "acquire", "seq_cst"])
def test_native_compare_exchange_keeps_both_orderings(success: str, failure: str):
    merged = {
        ("relaxed", "relaxed"): "relaxed",
        ("relaxed", "acquire"): "acquire",
        ("acquire", "relaxed"): "acquire",
        ("acquire", "acquire"): "acquire",
        ("release", "relaxed"): "release",
        ("release", "acquire"): "acq_rel",
        ("acq_rel", "relaxed"): "acq_rel",
        ("acq_rel", "acquire"): "acq_rel",
    }.get((success, failure))
    expected = (
        ["fence.sc.gpu", "atom.acquire.gpu.global.cas.b32"]
        if merged is None
        else [f"atom.{merged}.gpu.global.cas.b32"]
    )
    assert memory_lines(op="cmpxchg", ordering=success, failure_ordering=failure) == expected


@pytest.mark.parametrize(
    ("scope", "qualifier"),
    [
        ("singlethread", "cta"),
        ("wavefront", "cta"),
        ("workgroup", "cta"),
        ("cluster", "cluster"),
        ("agent", "gpu"),
        ("system", "sys"),
    ],
)
def test_scopes(scope: str, qualifier: str):
    (line,) = lines(op="load", ordering="relaxed", scope=scope)
    assert line.startswith(f"ld.relaxed.{qualifier}.global")


def test_wavefront_is_widened_with_a_remark_and_nothing_else_is():
    for scope in Scope:
        sequence = lower(op="load", ordering="acquire", scope=scope, space="global", target="sm_90")
        assert bool(sequence.remarks) == (scope is Scope.WAVEFRONT)


def test_cluster_is_one_cta_before_sm_90():
    (line,) = lines(op="load", ordering="acquire", scope="cluster", target="sm_80")
    assert line.startswith("ld.acquire.cta.")
    assert lines(op="fence", ordering="seq_cst", scope="cluster", target="sm_80") == [
        "fence.sc.cta"
    ]


@pytest.mark.parametrize(("target", "qualifier"), [("sm_80", "cta"), ("sm_90", "cluster")])
def test_shared_accesses_are_clamped_and_their_fences_with_them(target: str, qualifier: str):
    """That it is enough, in every cycle of seq_cst operations, is for test_minimise_ptx.py."""
    assert memory_lines(
        op="store", ordering="seq_cst", scope="system", space="local", target=target
    ) == [f"fence.sc.{qualifier}", f"st.relaxed.{qualifier}.shared.b32"]


@pytest.mark.parametrize(
    ("target", "version", "scope", "expected"),
    [
        ("sm_80", None, "agent", "fence.acq_rel.cta"),
        ("sm_90", "8.5", "agent", "fence.acq_rel.cluster"),
        ("sm_90", "8.5", "workgroup", "fence.acq_rel.cta"),
    ],
)
def test_a_fence_of_shared_memory_alone_is_clamped(
    target: str, version: str | None, scope: str, expected: str
):
    """It orders through flags in its spaces only, and nobody beyond reaches those."""

    def fence(ordering: str, *spaces: str) -> str:
        return lower(
            op="fence",
            ordering=ordering,
            scope=scope,
            spaces=spaces,
            target=target,
            ptx_version=version,
        ).text

    assert fence("acq_rel", "local") == fence("acq_rel", "local", "private") == expected
    wide = "cta" if scope == "workgroup" else "gpu"
    assert fence("acq_rel", "local", "global") == fence("acq_rel", "generic")
    assert fence("acq_rel", "generic") == f"fence.acq_rel.{wide}"
    # seq_cst is one order of everything.
    assert fence("seq_cst", "local") == f"fence.sc.{wide}"


@pytest.mark.parametrize("scope", ["cluster", "agent", "system"])
def test_a_fence_of_shared_memory_alone_is_sync_restrict_where_there_is_one(scope: str):
    release = "fence.release.sync_restrict::shared::cta.cluster"
    acquire = "fence.acquire.sync_restrict::shared::cluster.cluster"

    def fence(
        ordering: str, *spaces: str, features: tuple[str, ...] = (NO_RELAXED_BARRIER,)
    ) -> tuple[str, tuple[str, ...]]:
        sequence = lower(
            op="fence",
            ordering=ordering,
            scope=scope,
            spaces=spaces,
            target="sm_90",
            features=features,
        )
        return sequence.text, sequence.remarks

    assert fence("release", "local") == (release, ())
    assert fence("acquire", "local") == (acquire, ())
    assert fence("acquire", "shared_cluster", "local") == (acquire, ())
    # What is acquired is released: the acquire comes first.
    assert fence("acq_rel", "local") == (f"{acquire}\n{release}", ())
    # A release of what was written to other CTAs' shared memory is none of .shared::cta.
    remark = (rows.ALL_SPACES_REMARK,)
    assert fence("release", "shared_cluster") == ("fence.release.cluster", remark)
    assert fence("acq_rel", "shared_cluster", "local") == ("fence.acq_rel.cluster", remark)
    # The barrier of a cluster is no object in shared memory.
    assert fence("release", "local", features=()) == ("fence.release.cluster", remark)


def test_sync_restrict_needs_more_than_a_work_group_and_ptx_8_6():
    for version, scope, expected in (
        ("8.6", "workgroup", "fence.release.cta"),
        ("8.5", "cluster", "fence.acq_rel.cluster"),
    ):
        sequence = lower(
            op="fence",
            ordering="release",
            scope=scope,
            spaces=["local"],
            target="sm_90",
            features=(NO_RELAXED_BARRIER,),
            ptx_version=version,
        )
        assert sequence.text == expected


@pytest.mark.parametrize("spaces", [["private"], ["constant", "private"]])
def test_a_fence_limited_to_what_nobody_shares_is_nothing(spaces: list[str]):
    assert lines(op="fence", ordering="acq_rel", spaces=spaces) == []
    assert lines(op="fence", ordering="seq_cst", spaces=spaces) == ["fence.sc.gpu"]


@pytest.mark.parametrize(
    ("target", "version", "semantics"),
    [
        ("sm_90", "8.6", "acquire"),
        ("sm_90", "8.5", "acq_rel"),
        ("sm_89", "9.0", "acq_rel"),
        ("sm_80", "8.6", "acq_rel"),
        ("sm_100", "8.6", "acquire"),
        ("sm_120", None, "acquire"),
    ],
)
def test_one_sided_fences_need_sm_90_and_ptx_8_6(target: str, version: str | None, semantics: str):
    expected = [f"fence.{semantics}.gpu"]
    assert lines(op="fence", ordering="acquire", target=target, ptx_version=version) == expected


def test_singlethread_synchronises_with_nobody_but_stays_atomic():
    for op, ordering in (("load", "seq_cst"), ("store", "release")):
        (line,) = lines(op=op, ordering=ordering, scope="singlethread")
        assert ".relaxed.cta." in line
    (line,) = lines(op="atomic_rmw", ordering="seq_cst", scope="singlethread")
    assert line.startswith("atom.relaxed.cta.")
    assert lines(op="fence", ordering="seq_cst", scope="singlethread") == []


def test_private_and_constant_accesses_are_weak():
    assert lines(op="load", ordering="seq_cst", space="private") == [
        "ld.weak.local.b32 {dst}, [{addr}]"
    ]
    assert lines(op="load", space="constant") == ["ld.weak.const.b32 {dst}, [{addr}]"]
    assert memory_lines(op="atomic_rmw", ordering="seq_cst", space="private") == [
        "ld.weak.local.b32",
        "st.weak.local.b32",
    ]


@pytest.mark.parametrize("space", ["generic", "global", "local", "shared_cluster"])
def test_spaces(space: str):
    suffix = {
        "generic": "",
        "global": ".global",
        "local": ".shared",
        "shared_cluster": ".shared::cluster",
    }[space]
    assert memory_lines(op="load", ordering="relaxed", scope="workgroup", space=space) == [
        f"ld.relaxed.cta{suffix}.b32"
    ]


# An unused result.


def test_an_unused_result_is_not_a_red_where_a_later_fence_may_acquire():
    """``red; fence.acquire`` is no acquire pattern, but a C++ read-modify-write and fence are."""
    for ordering in ("relaxed", "release"):
        assert lines(op="atomic_rmw", ordering=ordering, returns=False) == [
            f"atom.{ordering}.gpu.global.add.u32 _, [{{addr}}], {{data}}"
        ]


def test_an_unused_result_is_a_red_where_no_acquire_can_follow():
    features = (NO_ACQUIRE_FENCE_AFTER,)
    for ordering in ("relaxed", "release"):
        assert lines(op="atomic_rmw", ordering=ordering, returns=False, features=features) == [
            f"red.{ordering}.gpu.global.add.u32 [{{addr}}], {{data}}"
        ]
    for ordering in ("acquire", "acq_rel", "seq_cst"):
        last = lines(op="atomic_rmw", ordering=ordering, returns=False, features=features)[-1]
        assert last.startswith("atom.acq")
    (line,) = lines(
        op="atomic_rmw", kind="xchg", ordering="relaxed", returns=False, features=features
    )
    assert line.startswith("atom.relaxed.gpu.global.exch.b32 _")


def test_a_red_at_singlethread_scope_needs_no_promise():
    (line,) = lines(op="atomic_rmw", ordering="acq_rel", scope="singlethread", returns=False)
    assert line.startswith("red.relaxed.cta.")


# Loops.


def test_loop_reads_strongly_and_swaps_with_the_whole_ordering():
    assert memory_lines(op="atomic_rmw", kind="nand", ordering="acq_rel") == [
        "ld.relaxed.gpu.global.b32",
        "{retry}:",
        "atom.acq_rel.gpu.global.cas.b32",
    ]


def test_fence_sc_stays_in_front_of_the_loop():
    assert memory_lines(op="atomic_rmw", kind="add", width=8, ordering="seq_cst") == [
        "fence.sc.gpu",
        "ld.relaxed.gpu.global.b32",
        "{retry}:",
        "atom.acquire.gpu.global.cas.b32",
    ]


@pytest.mark.parametrize(
    ("success", "failure", "fences", "first", "swap"),
    [
        ("relaxed", "relaxed", [], "relaxed", "relaxed"),
        ("release", "relaxed", [], "relaxed", "release"),
        ("acquire", "relaxed", [], "relaxed", "acquire"),
        ("release", "acquire", [], "acquire", "acq_rel"),
        ("relaxed", "acquire", [], "acquire", "acquire"),
        ("acq_rel", "acquire", [], "acquire", "acq_rel"),
        ("release", "seq_cst", ["fence.sc.gpu"], "acquire", "acquire"),
        ("seq_cst", "relaxed", ["fence.sc.gpu"], "relaxed", "acquire"),
        ("seq_cst", "seq_cst", ["fence.sc.gpu"], "acquire", "acquire"),
    ],
)
def test_both_reads_that_can_fail_have_the_failure_ordering(
    success: str, failure: str, fences: list[str], first: str, swap: str
):
    """An 8-bit compare-exchange fails on its first read or on that of a failed swap."""
    assert memory_lines(op="cmpxchg", width=8, ordering=success, failure_ordering=failure) == [
        *fences,
        f"ld.{first}.gpu.global.b32",
        "{retry}:",
        f"atom.{swap}.gpu.global.cas.b32",
        "{done}:",
    ]


def test_swapping_a_word_around_a_narrow_value_is_remarked_on():
    sequence = lower(
        op="atomic_rmw", width=8, ordering="relaxed", scope="agent", space="global", target="sm_90"
    )
    assert sequence.remarks == (rows.SUBWORD_REMARK,)


def test_sixteen_bits_have_their_own_swap_since_ptx_6_3():
    for version, swapped in (("6.0", "b32"), ("6.3", "b16")):
        names = memory_lines(
            op="atomic_rmw", width=16, ordering="relaxed", target="sm_70", ptx_version=version
        )
        assert names[-1] == f"atom.relaxed.gpu.global.cas.{swapped}"


# Volatile and nontemporal.


def test_volatile_is_kept_also_where_the_access_is_ordered():
    """ptxas drops a dead ld.relaxed and a dead ld.acquire; .volatile it keeps."""
    assert memory_lines(op="load", volatile=True) == ["ld.volatile.global.b32"]
    assert memory_lines(op="load", ordering="relaxed", volatile=True) == ["ld.volatile.global.b32"]
    assert memory_lines(op="load", ordering="seq_cst", volatile=True) == [
        "fence.sc.gpu",
        "ld.volatile.global.b32",
        "fence.acquire.gpu",
    ]
    assert memory_lines(op="store", ordering="release", volatile=True, target="sm_80") == [
        "fence.acq_rel.gpu",
        "st.volatile.global.b32",
    ]
    assert memory_lines(op="store", ordering="seq_cst", volatile=True) == [
        "fence.sc.gpu",
        "st.volatile.global.b32",
    ]


def test_volatile_private_goes_through_a_generic_address():
    assert lines(op="store", space="private", volatile=True)[1:] == [
        "cvta.local.u64 {generic}, {addr}",
        "st.volatile.b32 [{generic}], {data}",
    ]


def test_nontemporal_is_a_hint_on_global_memory():
    assert memory_lines(op="load", nontemporal=True) == ["ld.weak.global.cs.b32"]
    assert memory_lines(op="load", nontemporal=True, space="local") == ["ld.weak.shared.b32"]


# Barriers.


@pytest.mark.parametrize(
    ("scope", "target", "version", "ordering", "expected", "remark"),
    [
        ("singlethread", "sm_90", None, "acq_rel", [], False),
        ("wavefront", "sm_90", None, "acq_rel", ["bar.warp.sync 0xffffffff"], False),
        ("workgroup", "sm_70", "6.0", "acq_rel", ["barrier.sync 0"], False),
        ("workgroup", "sm_90", None, "relaxed", ["barrier.sync 0"], True),
        ("cluster", "sm_80", None, "acq_rel", ["barrier.sync 0"], False),
        (
            "cluster",
            "sm_90",
            "8.0",
            "acq_rel",
            ["barrier.cluster.arrive.release", "barrier.cluster.wait.acquire"],
            False,
        ),
        (
            "cluster",
            "sm_90",
            "8.0",
            "relaxed",
            ["barrier.cluster.arrive.relaxed", "barrier.cluster.wait"],
            False,
        ),
        (
            "cluster",
            "sm_90",
            "7.8",
            "relaxed",
            ["barrier.cluster.arrive", "barrier.cluster.wait"],
            True,
        ),
    ],
)
def test_barriers(
    scope: str,
    target: str,
    version: str | None,
    ordering: str,
    expected: list[str],
    remark: bool,
):
    sequence = lower(
        op="barrier", ordering=ordering, scope=scope, target=target, ptx_version=version
    )
    assert sequence.text.splitlines() == expected
    assert bool(sequence.remarks) == remark


@pytest.mark.parametrize("scope", ["agent", "system"])
def test_no_barrier_is_wider_than_a_cluster(scope: str):
    with pytest.raises(UnsupportedError, match="grid barrier of atomics"):
        lower(op="barrier", ordering="acq_rel", scope=scope, target="sm_90")


# Remarks on what PTX cannot leave out.


def test_wider_than_asked_is_remarked_on():
    asked: dict[str, Any] = {
        "op": "fence", "ordering": "release", "scope": "agent", "target": "sm_90",
    }  # fmt: skip
    assert lower(**asked).remarks == ()
    assert lower(**asked, one_as=True).remarks == (rows.ALL_SPACES_REMARK,)
    assert lower(**asked, availability="none").remarks == (rows.AVAILABILITY_REMARK,)


# What is refused.

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"op": "load", "width": 128, "target": "sm_70", "ptx_version": "8.2"}, "128-bit", "sm_70 with PTX 8.3"),
    (
        {"op": "load", "ordering": "acquire", "scope": "system", "width": 128, "target": "sm_80",
         "ptx_version": "8.3"},
        "system scope", "sm_80 with PTX 8.4",
    ),
    ({"op": "atomic_rmw", "kind": "xchg", "ordering": "relaxed", "width": 128, "target": "sm_80"},
     "128-bit atomic", "sm_90 with PTX 8.3"),
    ({"op": "cmpxchg", "failure_ordering": "relaxed", "ordering": "relaxed", "width": 128,
      "target": "sm_89"}, "128-bit atomic", "sm_90 with PTX 8.3"),
    ({"op": "load", "space": "shared_cluster", "target": "sm_89"}, "shared::cluster",
     "sm_90 with PTX 7.8"),
    ({"op": "load", "target": "sm_70", "ptx_version": "9.0"}, "does not assemble", "sm_70 with PTX 6.0"),
    ({"op": "load", "target": "sm_90a", "ptx_version": "7.8"}, "does not assemble",
     "sm_90a with PTX 8.0"),
    ({"op": "load", "target": "sm_90", "ptx_version": "12.3"}, "does not assemble", "up to 9.5"),
    ({"op": "atomic_rmw", "kind": "fadd", "ordering": "relaxed", "width": 16}, "f16 or bf16", "type=bf16"),
    ({"op": "atomic_rmw", "kind": "add", "ordering": "relaxed", "width": 128}, "128 bits", "xchg"),
    ({"op": "load", "width": 96}, "96-bit", "i64"),
    ({"op": "load", "ordering": "acquire", "space": "constant"}, "constant", "global"),
    ({"op": "load", "volatile": True, "space": "constant"}, "constant", "global"),
    ({"op": "store", "space": "constant"}, "constant", "global"),
    ({"op": "load", "features": ("tgsplit",)}, "tgsplit", NO_ACQUIRE_FENCE_AFTER),
    ({"op": "load", "compat": "llvm"}, "CDNA", "no compat"),
    ({"op": "load", "l2_per_agent": "one"}, "CDNA", "many"),
    ({"op": "fence", "ordering": "acquire", "spaces": ["shared_cluster"], "target": "sm_80"},
     "shared::cluster", "sm_90 with PTX 7.8"),
    ({"op": "cmpxchg", "failure_ordering": "relaxed", "ordering": "relaxed", "width": 128,
      "space": "private"}, "private", "i64"),
    ({"op": "load", "target": "sm_60"}, "from sm_70 on", "sm_70"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "reason", "accepted"), REFUSED)
def test_refusals_say_what_would_do(asked: dict[str, Any], reason: str, accepted: str):
    with pytest.raises(UnsupportedError, match=reason) as caught:
        lines(**asked)
    assert accepted in caught.value.accepted


@pytest.mark.parametrize("form", PtxForm)
def test_the_lowest_that_is_named_has_the_form_and_nothing_lower_has(form: PtxForm):
    for chip in CHIPS:
        name, _, version = lowest_with(form, chip).partition(" with PTX ")
        able = chip_named(name)
        major, minor = version.split(".")
        lowest = (int(major), int(minor))
        assert form in forms_of(able, lowest)
        if chip.number >= FORMS[form].number:
            assert able is chip
        lower_versions = [v for v in VERSIONS if able.first <= v < lowest]
        assert all(form not in forms_of(able, v) for v in lower_versions)
        lower_chips = [each for each in CHIPS if each.number < able.number]
        if able is not chip:
            assert all(form not in forms_of(each, VERSIONS[-1]) for each in lower_chips)


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_the_default_version_lowers_as_the_newest(chip: PtxChip):
    newest: Version = chip.last or VERSIONS[-1]
    default = default_version(chip)
    assert chip.first <= default <= newest
    assert forms_of(chip, default) == forms_of(chip, newest)
    before = [v for v in VERSIONS if chip.first <= v < default]
    assert all(forms_of(chip, v) != forms_of(chip, newest) for v in before)


# The tables.

TABLES: list[Table[Any]] = [
    rows.SPACE,
    rows.SCOPE,
    rows.SEMANTICS,
    rows.FENCE,
    rows.BARRIER,
    rows.LEGAL,
    atomics.RMW,
    atomics.CMPXCHG,
    atomics.LOOP_WIDTH,
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_row_can_be_left_out_or_doubled(table: Table[Any]):
    for index, each in enumerate(table.rows):
        rest = [*table.rows[:index], *table.rows[index + 1 :]]
        with pytest.raises(TableError, match="no row covers"):
            Table(table.name, table.columns, rest)
        with pytest.raises(TableError, match="two rows cover"):
            Table(table.name, table.columns, [*table.rows, each])


def test_everything_has_a_source():
    for table in TABLES:
        assert all(len(each.source) > 5 for each in table.rows)
    assert all(since.source for since in FORMS.values())
    assert all(chip.source for chip in CHIPS)
    assert set(atomics.COMPUTE) == set(RmwKind)
    assert all(compute.source for compute in atomics.COMPUTE.values())
    assert set(FORMS) == set(PtxForm)


def test_every_instruction_has_its_source_and_phase():
    sequence = lower(
        op="atomic_rmw", kind="nand", ordering="seq_cst", scope="agent", space="global",
        target="sm_90",
    )  # fmt: skip
    assert all(each.source for each in sequence.instructions)
    assert sequence.instructions[0].phase is Phase.RELEASE
    assert {each.phase for each in sequence.instructions[1:]} == {Phase.ACCESS}


def test_every_scratch_register_is_declared_once_and_used():
    for kind in RmwKind:
        for width in (8, 16, 32, 64):
            for space in (AddressSpace.GLOBAL, AddressSpace.PRIVATE):
                for returns in (True, False):
                    _check_declarations(kind, width, space, returns)
    for width in (8, 16, 32):
        for space in ("global", "private"):
            _check_places(
                lower(
                    op="cmpxchg", ordering="acq_rel", failure_ordering="acquire", scope="agent",
                    width=width, space=space, target="sm_80", ptx_version="7.0",
                ),
                {"dst", "addr", "data", "compare"},
            )  # fmt: skip


def _check_declarations(kind: RmwKind, width: int, space: AddressSpace, returns: bool) -> None:
    try:
        sequence = lower(
            op="atomic_rmw", kind=kind, ordering=Ordering.ACQ_REL, scope="agent", width=width,
            space=space, returns=returns, target="sm_90",
        )  # fmt: skip
    except UnsupportedError:
        return
    _check_places(sequence, {"dst", "addr", "data"} if returns else {"addr", "data"})


def _check_places(sequence: Sequence, given: set[str]) -> None:
    declared: list[str] = []
    used: set[str] = set()
    for each in sequence.instructions:
        names = [part.split("}")[0] for part in each.text.split("{")[1:]]
        if each.mnemonic == ".reg":
            assert not used, "declarations come first"
            declared += names
        else:
            used |= set(names)
    assert len(declared) == len(set(declared))
    assert not given & set(declared)
    assert used == given | set(declared) | (used & {"retry", "done"})


def test_text_fills_places_and_makes_names_fresh():
    sequence = lower(
        op="atomic_rmw", kind="nand", ordering="relaxed", scope="agent", space="global",
        target="sm_90",
    )  # fmt: skip
    places = {"dst": "%r1", "addr": "%rd1", "data": "%r2"}
    text = "\n".join(fill_places(sequence.instructions, places, "n1"))
    assert "ld.relaxed.gpu.global.b32 %r1, [%rd1];" in text
    assert ".reg .b32 $n1_old, $n1_new;" in text
    assert "$n1_retry:\n" in text
    assert "@$n1_again bra $n1_retry;" in text
    assert "{" not in text


def test_targets():
    assert set(known_targets()) >= {chip.name for chip in CHIPS}
    target = backend_of("sm_90a")
    assert (target.chip, target.architecture) == ("sm_90a", "ptx")
    with pytest.raises(UnsupportedError):
        backend_of("sm_9000")


def test_ptx_versions_are_all_that_there_are():
    assert tuple(sorted(set(VERSIONS))) == VERSIONS
    assert CHIPS[0].first == VERSIONS[0]


def _half(kind: str, type_: str, target: str = "sm_90", **more: Any) -> str:
    asked: dict[str, Any] = {"ordering": "relaxed", "scope": "agent", "space": "global", **more}
    return lower(op="atomic_rmw", kind=kind, type=type_, target=target, **asked).text


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_halves_are_added_by_one_atom(type_: str):
    atom = f"relaxed.gpu.global.add.noftz.{type_}"
    assert _half("fadd", type_) == f"atom.{atom} {{dst}}, [{{addr}}], {{data}}"
    unused = _half("fadd", type_, returns=False, features=(NO_ACQUIRE_FENCE_AFTER,))
    assert unused == f"red.{atom} [{{addr}}], {{data}}"
    negated = f".reg .b16 {{negated}}\nneg.{type_} {{negated}}, {{data}}\n"
    assert _half("fsub", type_) == f"{negated}atom.{atom} {{dst}}, [{{addr}}], {{negated}}"


def test_the_sink_is_left_out_where_an_assembler_crashes_on_it():
    assert "_, [{addr}]" in _half("fadd", "f16", returns=False)
    assert _half("fadd", "bf16", returns=False).startswith(".reg .b16 {dst}\natom.")


@pytest.mark.parametrize(
    ("type_", "sum_"), [("f16x2", "add.rn.f16x2"), ("bf16x2", "fma.rn.bf16x2")]
)
def test_packed_halves_are_updated_as_a_whole_unless_each_will_do(type_: str, sum_: str):
    whole = _half("fadd", type_)
    assert sum_ in whole
    assert "atom.relaxed.gpu.global.cas.b32" in whole
    assert "noftz" not in whole
    sequence = lower(
        op="atomic_rmw", kind="fadd", type=type_, target="sm_90", ordering="relaxed",
        scope="agent", space="global", elementwise=True,
    )  # fmt: skip
    assert [each.mnemonic for each in sequence.instructions] == [
        f"atom.relaxed.gpu.global.add.noftz.{type_}"
    ]
    assert any("the pair is not" in each for each in sequence.remarks)


def test_bf16_before_its_atom_is_a_loop_that_rounds_once():
    assert "fma.rn.bf16 {new}, {data}, {unit}, {old}" in _half("fadd", "bf16", "sm_80")
    assert "mov.b16 {unit}, 0x3F80" in _half("fadd", "bf16", "sm_80")
    assert "mov.b16 {unit}, 0xBF80" in _half("fsub", "bf16", "sm_80")
    assert "noftz" not in _half("fadd", "bf16", "sm_90", ptx_version="7.8").replace(
        "add.noftz.bf16", ""
    )


@pytest.mark.parametrize("type_", ["f16", "bf16", "f16x2", "bf16x2"])
@pytest.mark.parametrize("kind", ["fmax", "fmin"])
def test_the_greater_and_lesser_half_take_a_loop(kind: str, type_: str):
    text = _half(kind, type_)
    assert f"{kind[1:]}.{type_} {{new}}, {{old}}, {{data}}" in text
    assert f"cas.b{32 if type_.endswith('x2') else 16}" in text


@pytest.mark.parametrize(
    ("asked", "reason", "accepted"),
    [
        ({"kind": "fadd", "type": "bf16", "target": "sm_75"}, "bf16", "sm_80 with PTX 7.0"),
        ({"kind": "fmax", "type": "f16", "target": "sm_75"}, "minimum", "sm_80 with PTX 7.0"),
        ({"kind": "fadd", "type": "f16", "target": "sm_70", "ptx_version": "6.2"}, "f16",
         "sm_70 with PTX 6.3"),
        ({"kind": "add", "type": "f16"}, "add is of integers", "fadd"),
        ({"kind": "fadd", "type": "i16"}, "floating-point", "bf16x2"),
        ({"kind": "fadd", "type": "half"}, "unknown type", "f16"),
        ({"kind": "fadd", "type": "f16", "width": 32}, "f16 has 16 bits, not 32", "width=16"),
        ({"kind": "fadd", "type": "f16", "elementwise": True}, "packed", "f16x2"),
    ],
)  # fmt: skip
def test_a_type_that_does_not_fit_says_what_would(
    asked: dict[str, Any], reason: str, accepted: str
):
    given: dict[str, Any] = {
        "ordering": "relaxed", "scope": "agent", "space": "global", "target": "sm_90", **asked
    }  # fmt: skip
    with pytest.raises(UnsupportedError, match=reason) as caught:
        lower(op="atomic_rmw", **given)
    assert accepted in caught.value.accepted


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_an_integer_type_is_its_width(width: int):
    for op in ("load", "store"):
        plain = lower(op=op, space="global", width=width, target="sm_90")
        assert lower(op=op, space="global", type=f"i{width}", target="sm_90") == plain
    assert lower(op="load", space="global", type="bf16", target="sm_90").text.startswith(
        "ld.weak.global.b16"
    )
