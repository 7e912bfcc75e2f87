"""What fence-check finds in PTX: each rule on a bad and a good text, and each fence taken away.

The patterns of examples/async are what insert-proxy-fences makes of them: what it puts in is
owed by its own analysis of operations, so that taking it out has to be found here, by another
analysis of instructions.
"""

import re
from collections.abc import Sequence

import pytest
from test_ptx_reader import EXAMPLES, HEAD, lowered

from fencewright.checker.findings.finding import SURPLUS, Finding, Level, Rule, VerdictKind
from fencewright.checker.nvidia.findings import find_problems
from fencewright.checker.nvidia.guarantees import Guarantees
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.addresses import Overlap, Places, overlap
from fencewright.lowering.ptx.code.text import PtxFunction, read_ptx

pytest.importorskip("z3")

DECLARED = (
    ".reg .b32 r<20>; .reg .b64 d<9>; .reg .pred p<4>;\n"
    ".shared .align 128 .b8 sm[1024]; .shared .align 8 .b64 bar;\n"
    "ld.param.u64 d1, [a]; ld.param.u64 d2, [b]; mov.u32 r9, %tid.x; setp.eq.u32 p0, r9, 0;\n"
)
END = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
"""No kernel ends while a bulk store reads its shared memory."""


def module_of(body: str) -> str:
    return f"{HEAD}.entry k(.param .u64 a, .param .u64 b) {{\n{DECLARED}{body}\nret;\n}}\n"


def findings(body: str) -> list[Finding]:
    end = END if "bulk_group" in body and "bulk.wait_group" not in body else ""
    module = read_ptx(module_of(f"{body}\n{end}"), "k.ptx")
    found = sorted(find_problems(module, module.functions["k"]))
    # Who launches these kernels is not said: one thread may be enough.
    launches = re.compile(", only with |, where both write one value")
    return [each for each in found if not launches.search(each.message)]


def said(body: str) -> list[tuple[str, str]]:
    return [(str(each.rule), str(each.level)) for each in findings(body)]


STORE = "st.shared.b32 [sm], 1;\n"
FENCE = "fence.proxy.async.shared::cta;\n"
BULK_STORE = "@p0 cp.async.bulk.global.shared::cta.bulk_group [d1], [sm], 128;\n"
BULK_LOAD = (
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sm], [d1], 128, [bar];\n"
)
ROLES = "setp.lt.u32 p2, r9, 32;\n@p2 bra C;\n"
INIT = "@p0 mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
ONE_LOAD = f"@p0 {BULK_LOAD}"
MMA = "tcgen05.mma.cta_group::1.kind::f16 [r8], d3, d4, r2, p1;\n"
ARRIVE = "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n"
WAIT = "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [bar], 0; @!p1 bra W;\n"
POLL = "L: ld.acquire.gpu.global.b32 r1, [d2]; setp.eq.u32 p2, r1, 0; @p2 bra L;\n"
ERROR, WARNING, NOTE = "error", "warning", "note"


@pytest.mark.parametrize(
    ("bad", "good", "rule", "level"),
    [
        (STORE + "bar.sync 0;\n" + BULK_STORE, STORE + FENCE + "bar.sync 0;\n" + BULK_STORE,
            "proxy-fence", ERROR),
        (STORE + "bar.sync 0;\n" + BULK_STORE, STORE + "bar.sync 0;\n" + FENCE + BULK_STORE,
            "proxy-fence", ERROR),
        (INIT + STORE + ONE_LOAD, INIT + STORE + FENCE + ONE_LOAD, "proxy-fence", ERROR),
        (STORE + ARRIVE + WAIT + MMA, STORE + FENCE + ARRIVE + WAIT + MMA, "proxy-fence", WARNING),
        ("st.shared.b32 [sm+256], r1;\n" + BULK_STORE.replace("128", "512"),
            "st.shared.b32 [sm+256], r1;\n" + BULK_STORE, "proxy-fence", ERROR),
        (POLL + BULK_LOAD, POLL + "fence.proxy.async.global;\n" + BULK_LOAD,
            "proxy-acquire", WARNING),
        (POLL.replace("acquire", "relaxed") + "fence.acq_rel.gpu;\n" + BULK_LOAD,
            POLL.replace("acquire", "relaxed") + "fence.acq_rel.cta;\n" + BULK_LOAD,
            "proxy-acquire", WARNING),
        ("cp.async.ca.shared.global [sm], [d1], 4;\n" + FENCE + "cp.async.wait_all;\n" + BULK_STORE,
            "cp.async.ca.shared.global [sm], [d1], 4;\ncp.async.wait_all;\n" + FENCE + BULK_STORE,
            "proxy-fence", ERROR),
        ("@p2 " + FENCE + INIT + ONE_LOAD,
            INIT + STORE + FENCE + "bar.sync 0;\n" + ONE_LOAD, "surplus-proxy-fence", NOTE),
        ("@p0 " + FENCE + INIT + STORE + FENCE + "bar.sync 0;\n" + ONE_LOAD,
            INIT + STORE + FENCE + "bar.sync 0;\n" + ONE_LOAD, "surplus-proxy-fence", NOTE),
    ],
)  # fmt: skip
def test_proxy_fences(bad: str, good: str, rule: str, level: str) -> None:
    assert (rule, level) in said(bad)
    assert all(found[0] != rule for found in said(good))


def test_of_reads_there_is_one_note() -> None:
    read = "ld.shared.b32 r1, [sm];\nbar.sync 0;\n"
    assert said(read + BULK_LOAD) == [("proxy-reads", NOTE)]
    assert said(read.replace("bar.sync", FENCE + "bar.sync") + BULK_LOAD) == []
    loads = "".join(BULK_LOAD.replace("[sm]", f"[sm+{at}]") for at in (0, 128, 256))
    every = findings(read.replace("[sm]", "[r2]") + loads)
    (found,) = (each for each in every if each.rule is Rule.PROXY_READS)
    assert found.level is Level.NOTE
    assert "line 8 comes before the write of line 10, and 2 more like it, by" in found.message


def test_a_guarded_fence_counts_for_the_same_guard_alone() -> None:
    guarded = STORE + "bar.sync 0;\n@{} " + FENCE + BULK_STORE
    assert said(guarded.format("p0")) == []
    assert said(guarded.format("p2")) == [("proxy-fence", ERROR)]


def test_a_fence_of_another_space_does_not_count() -> None:
    other = STORE + "fence.proxy.async.global;\n" + BULK_STORE
    assert said(other) == [("proxy-fence", ERROR)]


def test_a_fence_on_one_path_is_not_enough() -> None:
    jumped = STORE + "@p2 bra X;\n" + FENCE + "X:\n" + BULK_STORE
    assert said(jumped) == [("proxy-fence", ERROR)]


def test_variables_that_are_apart_do_not_conflict() -> None:
    assert said("st.shared.b64 [bar], 1;\n" + BULK_STORE) == []


def test_what_may_be_of_other_bytes_is_less() -> None:
    """Of shared memory that is read a warning; parameters do not alias, and a copy overwrites
    mostly another buffer."""
    unknown = STORE.replace("[sm]", "[r7]")
    assert said(unknown + BULK_STORE) == [("proxy-fence", WARNING)]
    assert said(unknown + BULK_LOAD) == []
    assert said(INIT + "@p0 st.global.b32 [d2], 1;\n" + ONE_LOAD) == []
    assert said(INIT + "@p0 st.global.b32 [d1], 1;\n" + ONE_LOAD) == [("proxy-fence", ERROR)]


def test_what_another_warp_wrote_comes_through_its_mbarrier() -> None:
    """Where the writing and the copying threads take paths of their own."""
    writer = ROLES + "setp.eq.u32 p3, r9, 40;\n@p3 " + STORE + "{}@p3 " + ARRIVE + "bra E;\n"
    text = INIT + writer + "C:\n" + WAIT + BULK_STORE + "E:\n"
    assert said(text.format(FENCE)) == []
    assert said(text.format("")) == [("proxy-fence", ERROR)]
    relaxed = text.replace("release.cta", "relaxed.cta")
    assert said(relaxed.format("")) == [("mbarrier-order", ERROR)]
    assert said(relaxed.format(FENCE)) == [("mbarrier-order", ERROR)]


def test_what_another_warp_wrote_comes_through_a_named_barrier() -> None:
    text = ROLES + STORE + "{}bar.arrive 1, 64; bra E;\nC: bar.sync 1, 64;\n" + BULK_STORE + "E:\n"
    assert said(text.format(FENCE)) == []
    assert said(text.format("")) == [("proxy-fence", ERROR)]
    assert said(text.format("").replace("bar.sync 1", "bar.sync 2")) == []


def test_threads_that_take_barriers_in_turn_are_one_group() -> None:
    """As the specialised warps of Triton, which meet at one barrier at several places."""
    early = "bar.sync 2, 128;\n"
    text = STORE + early + FENCE + "L: " + early + BULK_STORE + "@p2 bra L;\n"
    assert ("proxy-fence", ERROR) not in said(text)
    assert ("proxy-fence", WARNING) not in said(text)
    apart = ROLES + STORE + early + "bra E;\nC: " + early + BULK_STORE + "E:\n"
    assert said(apart) == [("proxy-fence", WARNING)]


def test_what_a_tensor_core_reads_may_come_from_copies() -> None:
    """Into the same array, which then has more than one thing in it."""
    mma = MMA.replace("d3", "d6")
    address = "mov.u32 r10, sm;\ncvt.u64.u32 d5, r10;\nadd.s64 d6, d5, d4;\n"
    load = BULK_LOAD.replace("[sm]", "[sm+512]")
    assert said(address + STORE + "bar.sync 0;\n" + mma) == [("proxy-fence", WARNING)]
    text = address + load + STORE + "bar.sync 0;\n" + WAIT + mma
    assert [each for each in said(text) if each[1] != NOTE] == []
    assert ("proxy-fence", NOTE) in said(text)
    stores = BULK_STORE.replace("[sm]", "[r11]")
    text = "add.s32 r11, r10, r9;\n" + stores
    assert ("proxy-fence", WARNING) in said(address + load + WAIT + STORE + "bar.sync 0;\n" + text)


def test_a_fence_of_the_waiting_thread_after_a_barrier_of_all_counts() -> None:
    """As in the prologues of Triton's kernels, where the arrival comes before the fence."""
    early = "@p0 " + ARRIVE.replace("arrive", "arrive.expect_tx").replace("bar]", "bar], 128")
    text = STORE + early + "{}" + WAIT + MMA
    assert said(text.format("bar.sync 0;\n" + FENCE)) == []
    assert said(text.format(FENCE)) == [("proxy-fence", WARNING)]
    assert said(text.format("@p2 bar.sync 0;\n" + FENCE)) == [("proxy-fence", WARNING)]
    assert said(text.format(FENCE + "bar.sync 0;\n")) == []
    again = text.format("bar.sync 0;\n" + FENCE + STORE.replace("sm", "sm+4"))
    assert said(again) == [("proxy-fence", WARNING)]


# mbarriers and barriers of a cluster

PUSH = "mapa.shared::cluster.u32 r4, r3, r11;\n@p0 st.shared::cluster.b32 [r4], 1;\n"
REMOTE = (
    "mapa.shared::cluster.u32 r6, r5, r11;\n@p0 mbarrier.arrive{}.shared::cluster.b64 _, [r6];\n"
)
CLUSTER_WAIT = (
    "W: mbarrier.try_wait.parity.acquire.{}.shared::cta.b64 p1, [r5], 0; @!p1 bra W;\n"
    "ld.shared.b32 r2, [sm];\n"
)
MET = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
START = (
    "mov.u32 r3, sm;\nmov.u32 r5, bar;\nmov.u32 r10, %cluster_ctarank;\nxor.b32 r11, r10, 1;\n"
    "@p0 mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n" + MET
)


@pytest.mark.parametrize(
    ("arrival", "wait", "found"),
    [
        (".release.cluster", "cluster", []),
        ("", "cluster", [("mbarrier-scope", ERROR)]),
        (".release.cta", "cluster", [("mbarrier-scope", ERROR)]),
        (".relaxed.cluster", "cluster", [("mbarrier-scope", ERROR)]),
        (".release.cluster", "cta", [("mbarrier-scope", ERROR)]),
    ],
)
def test_arrivals_in_another_work_group(
    arrival: str, wait: str, found: list[tuple[str, str]]
) -> None:
    assert said(START + PUSH + REMOTE.format(arrival) + CLUSTER_WAIT.format(wait) + MET) == found


def test_a_fence_makes_a_relaxed_arrival_a_release() -> None:
    handed = REMOTE.format(".relaxed.cluster") + CLUSTER_WAIT.format("cluster") + MET
    for fence, found in (
        ("fence.acq_rel.cluster;\n", []),
        ("fence.release.gpu;\n", []),
        ("fence.acq_rel.cta;\n", [("mbarrier-scope", ERROR)]),
        ("@p2 fence.acq_rel.cluster;\n", [("mbarrier-scope", ERROR)]),
    ):
        assert said(START + PUSH + fence + handed) == found


def test_an_arrival_that_publishes_nothing_may_be_narrow() -> None:
    """As the one by which a consumer says that a buffer is empty."""
    assert said(START + "ld.shared.b32 r1, [sm];\n" + REMOTE.format("") + MET) == []


@pytest.mark.parametrize(
    ("ordering", "found"),
    [("", []), (".release", []), (".relaxed", [("cluster-barrier", ERROR)])],
)
def test_cluster_barriers(ordering: str, found: list[tuple[str, str]]) -> None:
    barrier = f"barrier.cluster.arrive{ordering};\nbarrier.cluster.wait;\n"
    assert said(START + PUSH + barrier + "ld.shared.b32 r2, [sm];\n" + MET) == found
    assert said(START + barrier) == []


def test_own_memory_that_others_read_after_a_relaxed_cluster_barrier() -> None:
    pull = "mapa.shared::cluster.u32 r4, r3, 1;\nld.shared::cluster.b32 r2, [r4];\n"
    barrier = "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"
    end = barrier.replace(".relaxed", "")
    assert said(START + STORE + barrier + pull + end) == [("cluster-barrier", ERROR)]
    assert said(START + STORE + barrier) == []


# What is surplus


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("fence.acq_rel.gpu;\nfence.acq_rel.gpu;", ["surplus-fence"]),
        ("membar.gl;\nadd.s32 r1, r1, r2;\nmembar.gl;", ["surplus-fence"]),
        ("fence.acq_rel.cta;\nfence.acq_rel.gpu;", ["surplus-fence"]),
        ("fence.sc.gpu;\nfence.release.cta;", ["surplus-fence"]),
        ("fence.acquire.gpu;\nfence.release.gpu;", []),
        ("fence.acq_rel.gpu;\nfence.sc.cta;", []),
        ("fence.acq_rel.gpu;\nst.relaxed.gpu.global.b32 [d1], r1;\nfence.acq_rel.gpu;", []),
        ("fence.acq_rel.gpu;\nst.release.gpu.global.b32 [d1], r1;", ["surplus-release"]),
        ("fence.acq_rel.cta;\nst.release.gpu.global.b32 [d1], r1;", []),
        ("fence.acquire.gpu;\nst.release.gpu.global.b32 [d1], r1;", []),
        (
            "fence.sc.gpu;\natom.acq_rel.gpu.global.add.u32 r1, [d1], 1;",
            ["surplus-acquire", "surplus-release"],
        ),
        ("ld.acquire.gpu.global.b32 r1, [d1];\nfence.acq_rel.gpu;", ["surplus-acquire"]),
        ("red.release.gpu.global.add.u32 [d1], 1;\nfence.acq_rel.gpu;", ["surplus-release"]),
        (
            "st.global.b32 [d2], 1;\nred.release.gpu.global.add.u32 [d1], 1;\nfence.acq_rel.gpu;",
            [],
        ),
        ("fence.release.sync_restrict::shared::cta.cluster;\nfence.acq_rel.gpu;", []),
    ],
)
def test_surplus(body: str, found: list[str]) -> None:
    notes = findings(body)
    assert [str(each.rule) for each in notes] == found
    assert all(each.level is Level.NOTE for each in notes)


def test_a_surplus_fence_has_its_price() -> None:
    (found,) = findings("fence.acq_rel.gpu;\nfence.acq_rel.gpu;")
    assert found.line == 9
    assert found.about == (8,)
    assert "it costs 272 cycles" in found.message


def test_of_two_proxy_fences_one_is_surplus() -> None:
    assert said(STORE + FENCE + FENCE + "bar.sync 0;\n" + BULK_STORE) == [
        ("surplus-proxy-fence", NOTE)
    ]


def test_nothing_is_surplus_without_a_proof() -> None:
    assert said(STORE + FENCE) == [("surplus-proxy-fence", NOTE)]
    assert said(STORE + FENCE + "call helper, ();") == []
    assert said("call helper, ();\n" + STORE + FENCE) == []


def test_what_is_not_known_is_said_once() -> None:
    assert said("frobnicate.x;\nfrobnicate.x;") == [("unknown-instruction", WARNING)]


@pytest.mark.parametrize(
    "body",
    [
        "UNKNOWN\ncp.async.wait_group 1;",
        "UNKNOWN\nbar.sync 0;",
        "bar.sync 0;\nUNKNOWN",
        "UNKNOWN\nld.acquire.gpu.global.b32 r1, [d1];",
        "st.release.gpu.global.b32 [d1], r1;\nUNKNOWN",
    ],
)
def test_nothing_is_surplus_that_an_unknown_instruction_comes_before_or_after(body: str) -> None:
    """It may copy what is waited for, and access what is ordered."""
    (known,) = said(body.replace("UNKNOWN", "add.s32 r1, r1, r2;"))
    assert known[0].startswith("surplus-")
    assert said(body.replace("UNKNOWN", "frobnicate.x;")) == [("unknown-instruction", WARNING)]


# Our own code

_PROXY_FENCE = re.compile(r"^.*\bfence\.proxy\.async(?!::generic).*\n", re.M)


def problems(text: str) -> list[Finding]:
    # The examples are for one thread of each block.
    alone = re.sub(r"(\.entry [^{]*)\{", r"\1.reqntid 1 {", text)
    module = read_ptx(alone, "k.ptx")
    functions = module.functions.values()
    found = [each for function in functions for each in find_problems(module, function)]
    return [each for each in found if each.level is not Level.NOTE or each.rule in SURPLUS]


@pytest.mark.parametrize("example", [path.stem for path in EXAMPLES])
def test_our_own_patterns_are_right_and_every_proxy_fence_is_missed(example: str) -> None:
    text = lowered(example)
    assert problems(text) == []
    for fence in _PROXY_FENCE.finditer(text):
        without = text[: fence.start()] + text[fence.end() :]
        rules = {each.rule for each in problems(without)}
        assert rules & {Rule.PROXY_FENCE, Rule.PROXY_ACQUIRE}, fence[0]


@pytest.mark.parametrize("example", [path.stem for path in EXAMPLES])
def test_a_fence_put_in_twice_is_surplus(example: str) -> None:
    text = lowered(example)
    for fence in _PROXY_FENCE.finditer(text):
        twice = text[: fence.start()] + fence[0] + text[fence.start() :]
        assert [each.rule for each in problems(twice)] == [Rule.SURPLUS_PROXY_FENCE]


def test_scopes_of_our_own_arrivals_are_needed() -> None:
    text = lowered("cluster_remote_arrive")
    for word in ("arrive.release", "acquire"):
        assert f"{word}.cluster" in text
        weaker = text.replace(f"{word}.cluster", f"{word}.cta")
        assert {each.rule for each in problems(weaker)} == {Rule.MBARRIER_SCOPE}


# What is provided


def lift(body: str) -> list[str]:
    module = read_ptx(module_of(body), "k.ptx")
    return [each.text for each in Guarantees(module.functions["k"]).lines()]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("st.release.gpu.global.u32 [d1], r1;",
            ["st.release.gpu.global.u32 [d1], r1 -> store release agent global"]),
        ("@!p1 atom.global.cas.b32 r1, [d1], r2, r3;",
            ["@!p1 atom.global.cas.b32 r1, [d1], r2, r3 -> cmpxchg relaxed agent global if !p1"]),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [r1], r2, [r3];",
            ["red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [r1], r2, "
             "[r3] -> red.async relaxed cluster"]),
        ("ld.local.u32 r1, [d1];\nadd.s32 r1, r1, r2;", []),
        ("ld.volatile.u32 r1, [d1];", ["ld.volatile.u32 r1, [d1] -> load volatile relaxed system generic"]),
        (BULK_LOAD, [f"{BULK_LOAD[:-2]} -> cp.async.bulk weak async-reads global async-writes local"]),
    ],
)  # fmt: skip
def test_what_an_instruction_provides(body: str, lines: list[str]) -> None:
    assert lift(body) == lines


def test_fences_and_what_is_late() -> None:
    body = (
        "st.global.u32 [d1], r1;\n"
        "fence.acq_rel.gpu;\n"
        "st.global.u32 [d1+4], r1;\n"
        "st.relaxed.sys.global.u32 [d2], r2;"
    )
    assert lift(body)[-1] == (
        "st.relaxed.sys.global.u32 [d2], r2 -> store relaxed system global; "
        "release agent by the fence of line 9; pending at agent: line 10"
    )
    jumped = "@p2 bra X;\nfence.acq_rel.gpu;\nX:\nst.relaxed.gpu.global.u32 [d2], r2;"
    assert lift(jumped)[-1].endswith("-> store relaxed agent global")
    guarded = "@p2 fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [d2], r2;"
    assert lift(guarded)[-1].endswith("-> store relaxed agent global")


def test_a_fence_makes_the_reads_before_it_acquires() -> None:
    body = POLL.replace("acquire", "relaxed") + "fence.acquire.gpu;\nld.global.u32 r2, [d1];"
    lines = lift(body)
    assert lines[0].endswith("load relaxed agent global; acquire agent by the fence of line 9")
    assert lines[-1].endswith("-> load weak global")
    red = "red.relaxed.gpu.global.add.u32 [d1], 1;\nfence.acq_rel.gpu;"
    assert lift(red)[0].endswith("-> atomic_rmw add relaxed agent global")


# Places


def places_of(body: str) -> tuple[PtxFunction, Places, Sequence[Overlap]]:
    module = read_ptx(module_of(body), "k.ptx")
    kernel = module.functions["k"]
    places = Places(module, kernel)
    found = [places.of(a) for each in kernel.instructions for a in each.statement.accesses]
    return kernel, places, [overlap(found[0], other) for other in found[1:]]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("st.shared.b32 [sm], r1; st.shared.b32 [sm+4], r1; st.shared.b64 [sm], d3;",
            [Overlap.NO, Overlap.SURE]),
        ("st.shared.b32 [sm], r1; mov.u32 r3, sm; add.s32 r4, r3, 2; st.shared.b32 [r4], r1;",
            [Overlap.SURE]),
        ("st.shared.b32 [sm], r1; mov.u32 r3, sm; add.s32 r4, r3, r9; st.shared.b32 [r4], r1;",
            [Overlap.MAYBE]),
        ("st.shared.b32 [sm], r1; mov.u32 r3, bar; add.s32 r4, r3, r9; st.shared.b32 [r4], r1;",
            [Overlap.NO]),
        # A generic address of shared memory is made in the kernel, or there is none.
        ("st.shared.b32 [sm], r1; st.b32 [d1], r1; st.b32 [d5], r1;", [Overlap.NO, Overlap.NO]),
        ("cvta.shared.u64 d6, d3; st.shared.b32 [sm], r1; st.b32 [d1], r1; st.b32 [d5], r1;",
            [Overlap.NO, Overlap.MAYBE]),
        ("call other; st.shared.b32 [sm], r1; st.b32 [d5], r1;", [Overlap.MAYBE]),
        ("call (r3), vprintf, (d3, d4); st.shared.b32 [sm], r1; st.b32 [d5], r1;", [Overlap.NO]),
        ("st.global.b32 [d1], r1; st.global.b32 [d1+4], r1; st.global.b32 [d2], r1;",
            [Overlap.MAYBE, Overlap.MAYBE]),
        ("st.shared.b32 [sm], r1; st.global.b32 [d5], r1;", [Overlap.NO]),
    ],
)  # fmt: skip
def test_overlap(body: str, found: list[Overlap]) -> None:
    assert places_of(body)[2] == found


def test_a_function_that_is_called_has_no_surplus_proxy_fence() -> None:
    text = f"{HEAD}.func f() {{ fence.proxy.async; ret; }}\n"
    module = read_ptx(text, "k.ptx")
    assert [*find_problems(module, module.functions["f"])] == []
    module = read_ptx(text.replace(".func", ".entry"), "k.ptx")
    (found,) = find_problems(module, module.functions["f"])
    assert found.rule is Rule.SURPLUS_PROXY_FENCE


def test_a_grid_barrier_whose_counter_is_waited_against() -> None:
    """As cooperative groups do it: the loop acquires, the counter's result is what it compares with."""
    meet = (
        "mul.wide.u32 d3, r9, 4; mov.u32 r12, %ctaid.x; mul.wide.u32 d4, r12, 4096;\n"
        "add.s64 d5, d2, d3; add.s64 d5, d5, d4;\n"
        "st.global.b32 [d5], r9;\nbarrier.sync 0;\n@!p0 bra MEET;\natom.add.release.gpu.u32 r3, [d1], 1;\n"
        "SPIN: ld.acquire.gpu.u32 r4, [d1];\nxor.b32 r5, r4, r3;\nsetp.gt.s32 p1, r5, -1;\n"
        "@p1 bra SPIN;\nMEET:\nbarrier.sync 0;\nxor.b32 r13, r12, 1; mul.wide.u32 d6, r13, 4096;\n"
        "add.s64 d7, d2, d6; ld.global.b32 r6, [d7];\n"
    )
    assert said(meet) == []
    for weaker in (("ld.acquire", "ld.relaxed"), ("add.release", "add.relaxed")):
        module = read_ptx(module_of(meet.replace(*weaker)), "k.ptx")
        verdict = judge(kernel_of(module, module.functions["k"]))
        assert verdict.kind is VerdictKind.NOT_JUDGED
