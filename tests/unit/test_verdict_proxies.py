"""Asynchronous accesses and proxies in verdicts: each mechanism proved where it is right, and each of
its fences and waits taken away.

A kernel without one of them is a race, or is not judged; it is never proved.
"""

import re
from functools import cache

import pytest

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Agent, Kernel, Region, Relation, Verdict, VerdictKind
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Payload, Signal, holds
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Ordering, Scope

pytest.importorskip("z3")

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 data, .param .u64 flag, .param .u64 out)
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<8>;
.shared .align 1024 .b8 tile[4096];
.shared .align 1024 .b8 other[4096];
.shared .align 8 .b64 bar;
mov.b64 %rd1, map;
cvta.param.u64 %rd2, %rd1;
ld.param.u64 %rd3, [data];
ld.param.u64 %rd4, [flag];
ld.param.u64 %rd5, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r4, tile;
mov.u32 %r5, bar;
setp.ne.u32 %p1, %r1, 0;
shl.b32 %r6, %r1, 2;
add.u32 %r7, %r4, %r6;
mul.wide.u32 %rd6, %r2, 4096;
add.s64 %rd7, %rd5, %rd6;
mul.wide.u32 %rd8, %r1, 4;
add.s64 %rd9, %rd7, %rd8;
"""
RACE, FREE, UNJUDGED = VerdictKind.RACE, VerdictKind.RACE_FREE, VerdictKind.NOT_JUDGED


def kernel(body: str) -> Kernel:
    file = read_ptx(f"{HEAD}{body}\nret;\n}}\n")
    return kernel_of(file, file.functions["k"])


@cache
def verdict(body: str) -> Verdict:
    """The verdict of a kernel with a body, of which several tests are made."""
    return judge(kernel(body))


def missing(body: str) -> str:
    """The order that the first race of a kernel lacks; "" if it has none."""
    found = verdict(body)
    return found.conflicts[0].missing if found.conflicts else ""


BULK_STORE = """
st.shared.u32 [%r7], 1;
fence.proxy.async.shared::cta;
bar.sync 0;
@%p1 bra NEXT;
cp.async.bulk.global.shared::cta.bulk_group [%rd7], [%r4], 4096;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
NEXT:
bar.sync 1;
st.shared.u32 [%r7], 2;
"""
COPIED = """
cp.async.ca.shared.global [%r7], [%rd3], 4;
cp.async.commit_group;
cp.async.wait_group 0;
fence.proxy.async;
bar.sync 0;
@%p1 bra NEXT;
cp.async.bulk.global.shared::cta.bulk_group [%rd7], [%r4], 4096;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
NEXT:
"""
INIT = """
@%p1 bra INIT;
mbarrier.init.shared::cta.b64 [%r5], 1;
fence.mbarrier_init.release.cluster;
INIT:
bar.sync 0;
"""
LOADED = """
@%p1 bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 4096;
mov.u32 %r8, 0;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd2, {%r8, %r8}], [%r5];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
@!%p2 bra WAIT;
"""
DESCRIPTORS = """
and.b32 %r9, %r4, 262128;
shr.u32 %r10, %r9, 4;
cvt.u64.u32 %rd10, %r10;
or.b64 %rd11, %rd10, 4611686293305294848;
add.s64 %rd12, %rd11, 64;
"""
MULTIPLIED = """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd11, %rd12, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
AGAIN = "bar.sync 1;\nst.shared.u32 [%r7], 2;\n"
PRODUCT = (
    DESCRIPTORS
    + "st.shared.u32 [%r7], 1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    + MULTIPLIED
    + AGAIN
)
TENSOR_LOAD = INIT + LOADED + "ld.shared.u32 %r11, [%r7];\n"
PIPELINE = INIT + LOADED + DESCRIPTORS + MULTIPLIED + AGAIN
PUBLISHED = """
@%p1 bra DONE;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra READER;
cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r4], 128;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
st.release.gpu.global.u32 [%rd4], 1;
bra DONE;
READER:
setp.ne.u32 %p3, %r2, 1;
@%p3 bra DONE;
SPIN:
ld.acquire.gpu.global.u32 %r12, [%rd4];
setp.eq.u32 %p4, %r12, 0;
@%p4 bra SPIN;
ld.global.u32 %r13, [%rd5];
DONE:
"""
RECEIVED = """
@%p1 bra DONE;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra READER;
st.global.u32 [%rd3], 1;
st.release.gpu.global.u32 [%rd4], 1;
bra DONE;
READER:
setp.ne.u32 %p3, %r2, 1;
@%p3 bra DONE;
SPIN:
ld.acquire.gpu.global.u32 %r12, [%rd4];
setp.eq.u32 %p4, %r12, 0;
@%p4 bra SPIN;
fence.proxy.async.global;
mbarrier.init.shared::cta.b64 [%r5], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3], 128, [%r5];
DONE:
"""
REPLACED = """
@%p1 bra DONE;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra DONE;
tensormap.replace.tile.global_address.global.b1024.b64 [%rd3], %rd5;
fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
mov.u32 %r8, 0;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3, {%r8, %r8}], [%r5];
DONE:
"""
EMPTIED = """
ld.shared.u32 %r11, [%r7];
bar.sync 0;
@%p1 bra DONE;
mov.u32 %r8, 0;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd2, {%r8, %r8}], [%r5];
DONE:
"""
CLUSTER_INIT = """
@%p1 mbarrier.init.shared::cta.b64 [%r5], 1;
@%p1 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait.acquire.aligned;
mov.u32 %r8, %cluster_ctarank;
xor.b32 %r9, %r8, 1;
mapa.shared::cluster.u32 %r10, %r5, %r9;
@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.aligned;
""".replace("@%p1", "@!%p1")


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        (BULK_STORE, ["fence.proxy", "bar.sync 0", "cp.async.bulk.wait_group", "bar.sync 1"]),
        (BULK_STORE, ["cp.async.bulk.commit_group"]),
        (COPIED, ["cp.async.wait_group", "fence.proxy", "bar.sync 0", "cp.async.commit_group"]),
        (COPIED, ["cp.async.bulk.wait_group", "cp.async.bulk.commit_group"]),
        (PRODUCT, ["fence.proxy", "bar.sync 0", "wgmma.wait_group", "wgmma.commit", "bar.sync 1"]),
        (TENSOR_LOAD, ["bar.sync 0", "mbarrier.arrive.expect_tx", "@!%p2 bra WAIT"]),
        (PIPELINE, ["bar.sync 0", "@!%p2 bra WAIT", "wgmma.wait_group", "bar.sync 1"]),
        (PUBLISHED, ["cp.async.bulk.wait_group", "cp.async.bulk.commit_group", "@%p4 bra SPIN"]),
        (RECEIVED, ["fence.proxy.async.global", "@%p4 bra SPIN"]),
        (REPLACED, ["fence.proxy.tensormap::generic.release", "fence.proxy.tensormap::generic.acq"]),
        (EMPTIED, ["bar.sync 0"]),
        (CLUSTER_INIT, ["@!%p1 fence.mbarrier_init", "barrier.cluster.wait.acquire"]),
    ],
)  # fmt: skip
def test_each_fence_and_wait_is_needed(body: str, needed: list[str]) -> None:
    assert verdict(body).kind is FREE
    for line in needed:
        (whole,) = [each for each in body.splitlines() if each.startswith(line)]
        assert verdict(body.replace(f"{whole}\n", "")).kind is not FREE, line


@pytest.mark.parametrize(
    ("body", "line", "reason"),
    [
        (BULK_STORE, "fence.proxy.async.shared::cta;\n", "no fence between the proxies"),
        (BULK_STORE, "bar.sync 0;\n", "no barrier between"),
        (BULK_STORE, "cp.async.bulk.wait_group.read 0;\n", "the copy is not waited for"),
        (PRODUCT, "fence.proxy.async.shared::cta;\n", "no fence between the proxies"),
        (PRODUCT, "bar.sync 0;\n", "no barrier between"),
        (PRODUCT, "wgmma.wait_group.sync.aligned 0;\n", "the copy is not waited for"),
        (RECEIVED, "fence.proxy.async.global;\n", "no fence between the proxies"),
        (REPLACED, "fence.proxy.tensormap::generic.release.gpu;\n", "no fence between the proxies"),
    ],
)
def test_what_is_missing_is_a_race_with_its_reason(body: str, line: str, reason: str) -> None:
    assert reason in missing(body.replace(line, ""))


@pytest.mark.parametrize(
    "fence", ["fence.proxy.async.global;", "@%p2 fence.proxy.async;", "fence.acq_rel.gpu;"]
)
def test_a_fence_of_other_memory_or_other_threads_is_none(fence: str) -> None:
    known = "setp.eq.u32 %p2, %r1, 3;\n" + BULK_STORE
    assert "no fence" in missing(known.replace("fence.proxy.async.shared::cta;", fence))


def test_a_fence_may_stand_on_either_side_and_under_its_sides_condition() -> None:
    after = BULK_STORE.replace("fence.proxy.async.shared::cta;\nbar.sync 0;\n@%p1 bra NEXT;\n",
        "bar.sync 0;\n@!%p1 fence.proxy.async;\n@%p1 bra NEXT;\n")  # fmt: skip
    assert verdict(after).kind is FREE
    writer = BULK_STORE.replace(
        "st.shared.u32 [%r7], 1;\nfence", "@%p1 st.shared.u32 [%r7], 1;\n@%p1 fence"
    )
    assert verdict(writer).kind is FREE
    # The writers' condition says nothing of the one that issues.
    late = writer.replace("@%p1 fence.proxy.async.shared::cta;\nbar.sync 0;\n",
        "bar.sync 0;\n@%p1 fence.proxy.async.shared::cta;\n")  # fmt: skip
    assert "no fence" in missing(late)


def test_a_copy_that_is_fenced_before_it_is_done_is_no_proof() -> None:
    early = COPIED.replace(
        "cp.async.wait_group 0;\nfence.proxy.async;\n",
        "fence.proxy.async;\ncp.async.wait_group 0;\n",
    )
    assert verdict(early).kind is not FREE


def test_sources_are_free_before_what_is_written_is_done() -> None:
    early = PUBLISHED.replace("cp.async.bulk.wait_group 0", "cp.async.bulk.wait_group.read 0")
    assert verdict(early).kind is not FREE


def test_a_copy_that_overwrites_what_was_read_is_a_note() -> None:
    assert verdict(EMPTIED).notes


def test_matrices_have_the_bytes_of_their_descriptors() -> None:
    found = kernel(DESCRIPTORS + MULTIPLIED).accesses
    places = [each.place for each in found if each.agent is Agent.PRODUCT]
    offsets = [each.offset.constant for each in places if each.offset is not None]
    assert [each.root.name for each in places] == ["tile", "tile"]
    assert offsets == [0, 1024]
    # 64 rows in groups of 8, each 1024 bytes from the next.
    assert {each.size for each in found} == {8 * 1024 + 1024}
    far = PRODUCT.replace("mov.u32 %r4, tile;", "").replace("[%r7]", "[%r20]")
    apart = "mov.u32 %r14, other;\nadd.u32 %r20, %r14, %r6;\n" + far.replace(
        "fence.proxy.async.shared::cta;\n", ""
    )
    assert verdict(apart).kind is FREE


@pytest.mark.parametrize("descriptor", ["ld.global.u64 %rd11, [%rd3];", "shl.b64 %rd11, %rd10, 1;"])
def test_a_descriptor_that_is_not_computed_from_an_address_may_be_of_any_memory(
    descriptor: str,
) -> None:
    unknown = PRODUCT.replace("or.b64 %rd11, %rd10, 4611686293305294848;", descriptor)
    roots = {
        each.place.root.region for each in kernel(unknown).accesses if each.agent is Agent.PRODUCT
    }
    assert roots == {Region.UNKNOWN}
    assert verdict(unknown.replace("fence.proxy.async.shared::cta;", "")).kind is UNJUDGED


def test_a_copy_to_several_ctas_is_one_of_the_cluster() -> None:
    name = ".mbarrier::complete_tx::bytes"
    several = TENSOR_LOAD.replace(name, f"{name}.multicast::cluster").replace(
        "[%r5];\nWAIT", "[%r5], 3;\nWAIT"
    )
    assert "multicast" in several
    assert verdict(several).kind is not FREE


def test_stores_to_an_mbarrier_are_of_the_generic_proxy() -> None:
    def lemma(proxy: Proxy) -> Lemma:
        met = Half(Signal(Ordering.ACQ_REL, Scope.WORKGROUP, is_barrier=True))
        later = Payload(True, Agent.TRANSACTION, proxy)
        return Lemma(Relation.CTA, Payload(True), met, met, later)

    assert holds(lemma(Proxy.GENERIC))
    assert not holds(lemma(Proxy.ASYNC))


def test_what_a_thread_stored_it_does_not_read_as_read_only() -> None:
    own = "st.global.u32 [%rd9], 1;\nld{}.global.u32 %r11, [%rd9];\n"
    assert verdict(own.format("")).kind is FREE
    assert "ld.global.nc" in missing(own.replace("ld{}.global", "ld.global.nc"))


def test_a_grid_that_waits_for_the_one_before_accesses_nothing_earlier() -> None:
    write = "st.global.u32 [%rd9], 1;\n"
    assert verdict("griddepcontrol.wait;\n" + write).kind is FREE
    assert verdict(write + "griddepcontrol.wait;\n").kind is UNJUDGED
    assert verdict("@%p1 griddepcontrol.wait;\n" + write).kind is UNJUDGED
    arms = "@%p1 bra OTHER;\ngriddepcontrol.wait;\nbra BOTH;\nOTHER:\n{0}\nBOTH:\n" + write
    assert verdict(arms.format("griddepcontrol.wait;")).kind is FREE
    assert verdict(arms.format("")).kind is UNJUDGED


def test_a_warp_copies_a_tensor_map_once() -> None:
    body = (
        "@%p1 bra DONE;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra DONE;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd3], [%r4], 128;\nDONE:\n"
    )
    written = [each for each in kernel(body).accesses if each.writes]
    assert [each.size for each in written] == [128]
    assert verdict(body).kind is FREE


def test_a_copy_is_waited_for_before_another_one_overwrites_its_source() -> None:
    early = """
@%p1 bra DONE;
mbarrier.init.shared::cta.b64 [%r5], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 128;
cp.async.bulk.global.shared::cta.bulk_group [%rd7], [%r4], 128;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3], 128, [%r5];
DONE:
"""
    assert verdict(early).kind is FREE
    assert (
        missing(early.replace("wait_group.read 0", "wait_group.read 1"))
        == "the copy is not waited for"
    )


def ring(stages: int) -> str:
    """A copy of each round is waited for so many rounds later, in a ring of so many places."""
    return f"""
setp.ge.u32 %p3, %r1, 256;
@%p3 bra DONE;
mov.u32 %r15, 0;
ROUND:
and.b32 %r16, %r15, 3;
shl.b32 %r17, %r16, 10;
add.u32 %r18, %r7, %r17;
cp.async.ca.shared.global [%r18], [%rd3], 4;
cp.async.commit_group;
cp.async.wait_group {stages};
add.u32 %r19, %r15, {4 - stages};
and.b32 %r20, %r19, 3;
shl.b32 %r21, %r20, 10;
add.u32 %r22, %r7, %r21;
ld.shared.u32 %r23, [%r22];
add.u32 %r15, %r15, 1;
setp.lt.u32 %p4, %r15, 16;
@%p4 bra ROUND;
DONE:
"""


def test_of_copies_of_more_rounds_than_are_told_apart_nothing_is_said() -> None:
    assert verdict(ring(1)).kind is FREE
    assert verdict(ring(3)).kind is UNJUDGED


STORE_AND_END = """
@%p1 bra DONE;
cp.async.bulk{}.global.shared::cta{}.bulk_group [{}], [%r4]{};
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
DONE:
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (STORE_AND_END.format("", "", "%rd7", ", 128"), FREE),
        # Of a tensor copy it is not known what it overwrites of the tensor.
        (STORE_AND_END.format(".tensor.1d", "", "%rd2, {%r1}", ""), UNJUDGED),
    ],
)
def test_no_thread_ends_while_a_copy_reads_its_shared_memory(body: str, kind: VerdictKind) -> None:
    assert verdict(body).kind is kind
    early = verdict(body.replace("cp.async.bulk.wait_group.read 0;", ""))
    assert early.kind is RACE
    assert early.conflicts[0].second.text == "the end of the kernel"
    # Threads that have not issued it may end, and what waits forever does not.
    ended = body.replace("@%p1 bra DONE;", "@%p1 ret;")
    assert verdict(ended).kind is kind
    issued = ended.replace("cp.async.bulk.commit_group;", "cp.async.bulk.commit_group;\n@%p1 ret;")
    assert verdict(issued).kind is kind
    assert (
        verdict(issued.replace("commit_group;\n@%p1 ret", "commit_group;\n@!%p1 ret")).kind is RACE
    )


@pytest.mark.parametrize("writes", [False, True])
def test_both_ends_of_a_copy_are_done_with_the_phase_that_counts_its_bytes(writes: bool) -> None:
    def lemma(*, counts: bool) -> Lemma:
        arrival = Half(Signal(Ordering.RELEASE, Scope.WORKGROUP, is_phase=True), counts=counts)
        wait = Half(Signal(Ordering.ACQUIRE, Scope.WORKGROUP, is_phase=True))
        earlier = Payload(writes, Agent.TRANSACTION, Proxy.ASYNC)
        return Lemma(Relation.CTA, earlier, arrival, wait, Payload(writes=True))

    assert holds(lemma(counts=True))
    assert not holds(lemma(counts=False))


REPLACED_AFTER = """
@%p1 bra DONE;
setp.ne.u32 %p3, %r2, 0;
@%p3 bra DONE;
mbarrier.init.shared::cta.b64 [%r5], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 4096;
mov.u32 %r8, 0;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3, {%r8, %r8}], [%r5];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
@!%p2 bra WAIT;
tensormap.replace.tile.global_address.global.b1024.b64 [%rd3], %rd5;
DONE:
"""


def test_a_tensor_map_is_changed_after_the_copies_by_it() -> None:
    assert verdict(REPLACED_AFTER).kind is FREE
    assert verdict(REPLACED_AFTER.replace("@!%p2 bra WAIT;\n", "")).kind is not FREE
    uncounted = re.sub(r"arrive.expect_tx(.*), 4096;", r"arrive\1;", REPLACED_AFTER)
    assert "mbarrier.arrive.shared" in uncounted
    assert verdict(uncounted).kind is not FREE
    assert verdict(re.sub(r"mbarrier.arrive.*\n", "", REPLACED_AFTER)).kind is not FREE
    early, _, late = REPLACED_AFTER.partition("WAIT:\n")
    assert verdict(f"{early}{late.partition('bra WAIT;')[2]}").kind is RACE


STORES = """
setp.ge.u32 %p3, %r1, 256;
@%p3 bra DONE;
mov.u32 %r15, 0;
ROUND:
and.b32 %r16, %r15, 1;
shl.b32 %r17, %r16, 10;
add.u32 %r18, %r7, %r17;
add.u32 %r19, %r4, %r17;
mul.wide.u32 %rd13, %r15, 1024;
add.s64 %rd14, %rd7, %rd13;
@%p1 bra MEET;
cp.async.bulk.wait_group.read 1;
MEET:
bar.sync 0;
st.shared.u32 [%r18], %r15;
fence.proxy.async.shared::cta;
bar.sync 1;
@%p1 bra NEXT;
cp.async.bulk.global.shared::cta.bulk_group [%rd14], [%r19], 1024;
cp.async.bulk.commit_group;
NEXT:
add.u32 %r15, %r15, 1;
setp.lt.u32 %p4, %r15, 4;
@%p4 bra ROUND;
@%p1 bra DONE;
cp.async.bulk.wait_group.read 0;
DONE:
"""
"""Two buffers in turn: each is filled while the copy of the other one reads."""


def test_a_ring_of_bulk_stores_needs_each_of_its_orders() -> None:
    assert verdict(STORES).kind is FREE
    for line, reason in (
        ("cp.async.bulk.wait_group.read 1;", "the copy is not waited for"),
        ("bar.sync 0;", "no barrier between"),
        ("fence.proxy.async.shared::cta;", "no fence between the proxies"),
        ("bar.sync 1;", "no barrier between"),
        ("cp.async.bulk.commit_group;", "the copy is not waited for"),
        ("cp.async.bulk.wait_group.read 0;", "the copy is not waited for"),
    ):
        assert reason in missing(STORES.replace(f"{line}\n", "")), line
    assert missing(STORES.replace("wait_group.read 1", "wait_group.read 2"))


UNKNOWN_MATRIX = (
    "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd11, %rd12, 1, 1, 1, 0, 0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
)
ASYNC_FENCE = "fence.proxy.async.shared::cta;\n"
ARRIVED = "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
WAITED = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;\n"
SMALL_COPY = "cp.async.ca.shared.global [%r7], [%rd9], 4;\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("st.shared.b32 [%r7], 1;\n", ""),
        ("st.shared.b32 [%r7], 1;\n", "bar.sync 0;\n"),
        ("call helper, ();\nst.shared.b32 [%r7], 1;\n", "bar.sync 0;\n"),
        ("st.shared.b32 [%r30], 1;\n", "bar.sync 0;\n"),
        ("st.shared.b32 [%r7], 1;\n", ARRIVED + WAITED),
        ("@%p1 bra C;\nst.shared.b32 [%r7], 1;\n", ARRIVED + "bra E;\nC: " + WAITED),
        (
            "@%p1 bra C;\nst.shared.b32 [%r7], 1;\n",
            "bar.arrive 1, 64;\nbra E;\nC: bar.sync 1, 64;\n",
        ),
        (SMALL_COPY + "cp.async.wait_all;\n", "bar.sync 0;\n"),
    ],
)
def test_a_way_without_a_fence_is_none_whatever_matrix_is_read(before: str, after: str) -> None:
    """Findings of pairs that are not judged, by each way to a matrix that is not known."""

    def is_missing(body: str) -> bool:
        found = verdict(body + UNKNOWN_MATRIX + "E:\n")
        assert all(each.finding is Rule.PROXY_FENCE and each.is_sure for each in found.sides)
        assert found.kind is UNJUDGED or not found.sides
        return bool(found.sides)

    assert is_missing(before + after)
    assert not is_missing(before + ASYNC_FENCE + after)
    assert not is_missing(before + after + ASYNC_FENCE)
    assert is_missing(before + "@%p3 " + ASYNC_FENCE + after)
    assert is_missing(before + "fence.proxy.async.global;\n" + after)


def test_copies_that_arrive_at_an_mbarrier_are_fenced_by_who_waits() -> None:
    arrives = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"
    body = "@%p1 bra C;\n" + SMALL_COPY + "{}" + arrives + "{}bra E;\nC: "
    for fences, is_missing in (
        (("", "", ""), True),
        ((ASYNC_FENCE, "", ""), True),
        (("", ASYNC_FENCE, ""), True),
        (("", "", ASYNC_FENCE), False),
    ):
        writer, reader = body.format(*fences[:2]), WAITED + fences[2]
        found = verdict(writer + reader + UNKNOWN_MATRIX + "E:\n")
        assert [each.finding is Rule.PROXY_FENCE for each in found.sides] == [True] * is_missing


def test_where_copies_write_the_matrix_a_store_is_less() -> None:
    """It may be of another part of the array."""
    load = "@%p2 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd3], 128, [bar];\n"
    body = "st.shared.b32 [%r7], 1;\nbar.sync 0;\n" + UNKNOWN_MATRIX
    (side,) = verdict(load + WAITED + body).sides
    assert side.finding is Rule.PROXY_FENCE
    assert not side.is_sure


def test_a_parameter_may_have_the_name_of_a_space() -> None:
    body = (
        "@%p1 bra E;\nst.global.b32 [%rd3], 1;\nfence.proxy.async.shared::cta;\n"
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd3], 128, [bar];\nE:\n"
    )
    file = read_ptx(f"{HEAD}{body}\nret;\n}}\n".replace("data", "shared"))
    assert judge(kernel_of(file, file.functions["k"])).kind is RACE
