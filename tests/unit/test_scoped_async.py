"""The asynchronous operations: what the verifier refuses, and every row through ptxas."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from ptxas import assemble, find_assemblers, knows
from test_insert_proxy_fences import HEAD, context, parse
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.ptx.async_rows import ROWS, AsyncRow, AsyncSince, Key, select
from fencewright.lowering.ptx.chip import CHIPS, Version
from fencewright.lowering.ptx.text import fill_places, read_line
from fencewright.lowering.sequence import UnsupportedError
from fencewright.mlir_dialects.scoped import Scoped
from fencewright.mlir_dialects.scoped_async import ASYNC_OPERATIONS
from fencewright.passes.to_ptx.convert_scoped_async_to_ptx import ASYNC_HANDLERS

ASSEMBLERS = find_assemblers()
CHIP = {chip.name: chip for chip in CHIPS}


def test_the_operations_belong_to_the_dialect_and_have_a_lowering() -> None:
    assert set(ASYNC_OPERATIONS) <= set(Scoped.operations)
    assert ASYNC_HANDLERS.keys() == {each.name for each in ASYNC_OPERATIONS}


# Verification


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("scoped.mbarrier_init %tile count 0 : !llvm.ptr<3>", "count must be at least 1, not 0"),
        ("scoped.mbarrier_inval %data : !llvm.ptr<1>", "mbarrier must be !llvm.ptr<3>"),
        (
            "scoped.mbarrier_arrive acquire workgroup %full : !llvm.ptr<3>",
            "an arrival cannot be acquire; accepted: relaxed, release",
        ),
        (
            "scoped.mbarrier_arrive release agent %full : !llvm.ptr<3>",
            "reached from its cluster only, not at agent scope",
        ),
        (
            "scoped.mbarrier_arrive release workgroup %full count 2 expect_tx 16 : !llvm.ptr<3>",
            "leave out count",
        ),
        (
            "scoped.mbarrier_arrive release workgroup %full spaces [local] : !llvm.ptr<3>",
            "spaces is for 'release cluster'",
        ),
        (
            "scoped.mbarrier_wait release workgroup %full, %n : !llvm.ptr<3>, i32",
            "a wait cannot be release; accepted: relaxed, acquire",
        ),
        (
            "scoped.mbarrier_wait acquire workgroup %full, %p : !llvm.ptr<3>, i1",
            "a parity .i32. or an arrival's token .i64., not i1",
        ),
        (
            "scoped.bulk_copy %tile, %data size 24 mbarrier %full"
            " : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>",
            "a multiple of 16 bytes, not 24",
        ),
        (
            "scoped.bulk_copy %tile, %data size 16 : !llvm.ptr<3>, !llvm.ptr<1>",
            "there is no such copy; accepted: .*with an mbarrier",
        ),
        (
            "scoped.async_copy %tile, %data size 2 : !llvm.ptr<3>, !llvm.ptr<1>",
            "4, 8 or 16 bytes, not 2",
        ),
        ("scoped.bulk_wait_group -1", "pending must not be negative"),
        ("scoped.named_barrier sync 16 threads 64", "barriers 0 to 15, not 16"),
        ("scoped.named_barrier arrive 1 threads 48", "a multiple of 32, not 48"),
        ("scoped.cluster_arrive acquire", "an arrival cannot be acquire"),
        ("scoped.cluster_fence relaxed async", "acquires or releases"),
        ("scoped.cluster_fence acquire tensor", "the generic or the async proxy"),
        ("scoped.tensormap_fence acquire agent", "an acquire names its map"),
        (
            'scoped.wgmma "m64n8k16.f32.f16.f16" "a b" registers 4 %d, %d',
            "'a b' is not a name",
        ),
    ],
)
def test_what_means_nothing_is_refused(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse(HEAD + line + "\nfunc.return\n}\n")


@pytest.mark.parametrize(
    "transformation", [CanonicalizePass(), CommonSubexpressionElimination(), DeadCodeElimination()]
)
def test_no_other_pass_moves_or_merges_them(transformation: ModulePass) -> None:
    lines = (
        "scoped.bulk_commit_group\n" * 2
        + "%t = scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3> -> i64\n"
        + "%c = scoped.mbarrier_try_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32\n"
        + "%r = scoped.tcgen05_load %tmem : !llvm.ptr<6> -> i32\n"
    )
    module = parse(HEAD + lines + "func.return\n}\n")
    before = [op.name for op in module.walk() if op.name.startswith("scoped.")]
    transformation.apply(context(), module)
    assert [op.name for op in module.walk() if op.name.startswith("scoped.")] == before


# Rows


def lowest(row: AsyncRow) -> tuple[str, Version]:
    """The first chip, and its lowest PTX version, that has a row."""
    for chip in CHIPS:
        version = row.since.lowest(chip)
        if version is not None:
            return chip.name, version
    raise AssertionError(row)


VARIANTS = [(key, row) for key, rows in ROWS.items() for row in rows]


def test_every_row_has_a_source_and_a_chip() -> None:
    for _, row in VARIANTS:
        assert row.source.startswith("PTX ISA")
        assert lowest(row)[0] in CHIP


def test_rows_of_one_operation_go_from_new_to_old() -> None:
    for key, rows in ROWS.items():
        ages = [(row.since.number, row.since.version) for row in rows]
        assert ages == sorted(ages, reverse=True), key


WORDS = {
    "count": "2", "bytes": "128", "expect_tx": "128", "size": "128", "pending": "0",
    "kind": "f16", "shape": "128x256b", "accumulator": "%acc0", "accumulators": "%acc0",
}  # fmt: skip
WIDTH = {
    **dict.fromkeys(
        ("rank", "phase", "value", "instruction", "source_size", "c0", "c1", "c2", "c3", "c4"), 32
    ),
    **dict.fromkeys(("a", "b", "pointer", "source", "destination", "map", "mbarrier"), 64),
    "dst": 64,
    "accumulate": 1,
}


def body(key: Key, row: AsyncRow, name: str = "k") -> str:
    """A kernel that consists of one row, with registers that fit."""
    words, widths = dict(WORDS), dict(WIDTH)
    if key[0] == "wgmma":
        words |= {"shape": "m64n8k16.f32.f16.f16", "accumulators": "%acc0, %acc1, %acc2, %acc3"}
    if key[0] == "wgmma_accumulator":
        words |= {"accumulators": "%fresh<4>"}
    if key[-1] == "token" and "wait" in key[0]:
        widths["phase"] = 64
    if key in (("store_async", "64"),) or key[0] == "tensormap_replace":
        widths["value"] = 64
    if key[0].startswith("tcgen05"):
        widths |= dict.fromkeys(("pointer", "destination"), 32)
    if "test_wait" in key[0] or "try_wait" in key[0] or key[0] == "elect":
        widths["dst"] = 1
    if key[0].startswith("multimem") or key[0] == "reduce_async":
        widths["dst"] = widths["value"] = int(key[-1][1:])
    if key[0] in ("tcgen05_load", "wgmma_read"):
        widths["dst"] = 32
    declared = "".join(
        f".reg .{'pred' if width == 1 else f'b{width}'} %{name};" for name, width in widths.items()
    )
    lines = [re.sub(r"\$(\w+)", lambda m: words[m[1]], line) for line in row.lines]
    text = "\n".join(fill_places(map(read_line, lines), {name: f"%{name}" for name in widths}, "s"))
    return f".visible .entry {name}() {{ {declared} .reg .b32 %acc<4>;\n{text}\nret; }}\n"


def kernels(rows: Iterable[tuple[Key, AsyncRow]]) -> str:
    return "\n".join(body(*each, f"k{number}") for number, each in enumerate(rows))


def variants_from(chip: str, version: Version) -> list[tuple[Key, AsyncRow]]:
    """Those whose lowest version this is."""
    return [each for each in VARIANTS if lowest(each[1]) == (chip, version)]


@cache
def are_accepted(ptxas: str, chip: str, version: Version) -> bool:
    """Whether they are, all in one module."""
    return assemble(ptxas, chip, version, kernels(variants_from(chip, version))).accepted


@pytest.mark.skipif(not ASSEMBLERS, reason="needs ptxas (make oracles)")
@pytest.mark.parametrize(
    ("key", "row"), VARIANTS, ids=["-".join(key) + f"-{n}" for n, (key, _) in enumerate(VARIANTS)]
)
def test_ptxas_accepts_every_row_from_its_lowest_version_on(key: Key, row: AsyncRow) -> None:
    chip, version = lowest(row)
    able = [each for each in ASSEMBLERS if knows(each, chip, version)]
    if not able:
        pytest.skip(f"needs a ptxas that knows {chip}")
    for ptxas in able:
        if not are_accepted(ptxas, chip, version):
            alone = assemble(ptxas, chip, version, body(key, row))
            assert alone.accepted, f"{body(key, row)}\n{alone.message}"


@pytest.mark.skipif(not ASSEMBLERS, reason="needs ptxas (make oracles)")
def test_one_row_that_is_wrong_is_noticed_among_others() -> None:
    (((chip, version), count),) = Counter(lowest(row) for _, row in VARIANTS).most_common(1)
    assert count > 20
    able = [each for each in ASSEMBLERS if knows(each, chip, version)]
    assert able
    (key, row), *others = variants_from(chip, version)
    rows = [*others, (key, replace(row, lines=(*row.lines, "mbarrier.nonsense")))]
    assert not any(assemble(each, chip, version, kernels(rows)).accepted for each in able)


@pytest.mark.parametrize(
    ("chip", "version", "key", "accepted"),
    [
        ("sm_80", (7, 1), "mbarrier_init_fence", "sm_90 with PTX 8.0"),
        ("sm_90", (8, 0), "mbarrier_arrive relaxed cluster local sink", "sm_90 with PTX 8.6"),
        ("sm_90", (8, 6), "wgmma_fence", "sm_90a with PTX 8.0"),
        ("sm_100a", (8, 6), "wgmma_fence", "sm_90a with PTX 8.0"),
        ("sm_100", (8, 6), "tcgen05_fence after", "sm_100a with PTX 8.6"),
        ("sm_120a", (8, 7), "tcgen05_fence after", "sm_100a with PTX 8.6"),
        ("sm_75", (7, 0), "async_copy 16", "sm_80 with PTX 7.0"),
        ("sm_90", (8, 0), "store_async 32", "sm_90 with PTX 8.1"),
        ("sm_80", (7, 0), "mbarrier_wait acquire workgroup parity", "sm_80 with PTX 7.1"),
        ("sm_100", (8, 6), "tensormap_replace local", "sm_90a with PTX 8.3"),
        ("sm_90", (8, 6), "store_bulk", "sm_100 with PTX 8.6"),
        ("sm_80", (8, 6), "elect", "sm_90 with PTX 8.0"),
        ("sm_80", (8, 6), "bulk_reduce global add i32", "sm_90 with PTX 8.0"),
        ("sm_90", (8, 0), "reduce_async add i32", "sm_90 with PTX 8.1"),
        ("sm_90", (8, 0), "multimem_reduce relaxed system add i32", "sm_90 with PTX 8.1"),
        ("sm_80", (7, 8), "prefetch bulk", "sm_90 with PTX 8.0"),
        ("sm_80", (7, 8), "mbarrier_complete_tx workgroup local", "sm_90 with PTX 8.0"),
    ],
)
def test_what_is_not_there_names_the_lowest_that_would_do(
    chip: str, version: Version, key: str, accepted: str
) -> None:
    with pytest.raises(UnsupportedError) as caught:
        select(CHIP[chip], version, tuple(key.split()))
    assert caught.value.accepted == (accepted,)
    assert select(CHIP[accepted.split()[0]], version_of(accepted), tuple(key.split()))


def version_of(text: str) -> Version:
    major, minor = text.rpartition(" ")[2].split(".")
    return int(major), int(minor)


@pytest.mark.parametrize(
    ("chip", "version", "line"),
    [
        ("sm_80", (7, 0), ".reg .b64 {state}"),
        ("sm_80", (7, 1), "mbarrier.arrive.shared.b64 _, [{mbarrier}]"),
        ("sm_90", (8, 0), "mbarrier.arrive.release.cta.shared::cta.b64 _, [{mbarrier}]"),
    ],
)
def test_the_best_form_is_taken(chip: str, version: Version, line: str) -> None:
    key = ("mbarrier_arrive", "release", "workgroup", "local", "sink")
    assert select(CHIP[chip], version, key).lines[0] == line


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="PTX has no such instruction"):
        select(CHIP["sm_90"], (8, 6), ("mbarrier_arrive", "acquire"))


@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        ("bulk_reduce shared_cluster fadd f32", "bulk_reduce shared_cluster umin i32"),
        ("reduce_async umin i64", "reduce_async add i64"),
        ("multimem_load weak fadd f16", "multimem_load weak fadd f32"),
    ],
)
def test_a_reduction_that_is_not_there_names_those_that_are(key: str, accepted: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        select(CHIP["sm_100a"], (8, 6), tuple(key.split()))
    assert "PTX has no such instruction" in str(caught.value)
    assert accepted in str(caught.value)


def test_a_chip_that_is_named_apart_has_it_alone() -> None:
    since = AsyncSince(100, (8, 6), ("sm_100a",))
    assert since.lowest(CHIP["sm_100a"]) == (8, 6)
    assert since.lowest(CHIP["sm_100"]) is None
    assert since.lowest(CHIP["sm_90a"]) is None


def test_operations_are_documented_with_their_names() -> None:
    text = (Path(__file__).parents[2] / "docs" / "async.md").read_text(encoding="utf-8")
    missing = [name for op in ASYNC_OPERATIONS if (name := operation_name(op)) not in text]
    assert missing == []


def operation_name(op: type[Operation]) -> str:
    return op.name
