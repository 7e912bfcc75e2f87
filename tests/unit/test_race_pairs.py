"""Races by execution: pairs of a right kernel and one that lacks one thing, and pitfalls of detectors."""

from dataclasses import dataclass

import pytest

from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.race.detector import Detector
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.race.verdict import Judgement, Verdict, judge
from fencewright.simulator.threads.launch import Module, execute, parse_launch

_HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
_BEGIN = """
.reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .pred %p<8>;
.shared .align 128 .b32 tile[128]; .shared .align 8 .b64 bar; .shared .b32 last;
ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag]; ld.param.u64 %rd3, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd3, %rd4; mov.u32 %r20, tile; shl.b32 %r21, %r1, 2;
add.u32 %r22, %r20, %r21;
"""
ARGUMENTS = "(i32[4096]=iota, i32[64], i32[4096])"


def kernel(body: str) -> str:
    """A kernel ``k`` on data, flag and out."""
    parameters = ".param .u64 data, .param .u64 flag, .param .u64 out"
    return f"{_HEAD}.visible .entry k({parameters})\n{{{_BEGIN}{body}\n}}\n"


def verdict(body: str, sizes: str = "2, 32") -> Verdict:
    """The verdict on a launch."""
    text = kernel(body)
    return judge(Module(read_ptx(text, "k.ptx")), parse_launch(f"k<<<{sizes}>>>{ARGUMENTS}"))


def kinds(body: str, sizes: str = "2, 32") -> set[str]:
    """The kinds of the errors in a launch that comes to its end, or hangs."""
    found = verdict(body, sizes)
    assert not found.problem, found.problem
    return {each.kind for each in found.findings if each.is_error}


@dataclass(frozen=True)
class Pair:
    """A kernel with ``@`` for what the wrong twin lacks or has in another form."""

    name: str
    body: str
    right: str
    wrong: str
    kind: str
    sizes: str = "2, 32"


_FIRST = "setp.ne.u32 %p1, %r1, 0; @%p1 ret; setp.ne.u32 %p2, %r2, 0; @%p2 bra READ;\n"
_MESSAGE = (
    _FIRST
    + """
st.global.u32 [%rd1], 42; {write} ret;
READ: {read} setp.eq.u32 %p3, %r3, 0; @%p3 bra READ; {after}
ld.global.u32 %r4, [%rd1]; st.global.u32 [%rd3], %r4; ret;"""
)


def _message(write: str, read: str, after: str = "") -> str:
    return _MESSAGE.format(write=write, read=read, after=after)


_RELAXED = "st.relaxed.gpu.global.u32 [%rd2], 1;"
_POLL = "ld.relaxed.gpu.global.u32 %r3, [%rd2];"

_LOCK = """
setp.ne.u32 %p1, %r1, 0; @%p1 ret;
L: atom.acquire.gpu.global.cas.b32 %r3, [%rd2], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;
ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;
@ ret;"""

_LAST = """
setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
mul.wide.u32 %rd7, %r2, 4; add.s64 %rd7, %rd1, %rd7; st.global.u32 [%rd7], %r2;
fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r3, [%rd2], 1; @
mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1; set.eq.u32.u32 %r5, %r3, %r4; st.shared.u32 [last], %r5;
MEET: bar.sync 0; ld.shared.u32 %r6, [last]; setp.eq.u32 %p2, %r6, 0; @%p2 ret;
setp.gt.u32 %p3, %r1, 1; @%p3 ret; ld.global.u32 %r7, [%rd5]; st.global.u32 [%rd6], %r7; ret;"""

_EXCHANGE = """
st.shared.u32 [%r22], %r1; @ xor.b32 %r3, %r21, {mask}; add.u32 %r3, %r20, %r3;
ld.shared.u32 %r4, [%r3]; setp.ne.u32 %p1, %r2, 0; @!%p1 st.global.u32 [%rd6], %r4; ret;"""

_AGAIN = """
mov.u32 %r5, 0;
L: add.u32 %r6, %r1, %r5; st.shared.u32 [%r22], %r6; bar.sync 0;
xor.b32 %r3, %r21, 128; add.u32 %r3, %r20, %r3; ld.shared.u32 %r4, [%r3]; @
add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra L; ret;"""

_COPY = """
cp.async.ca.shared.global [%r22], [%rd5], 4; cp.async.commit_group; @ bar.sync 0;
ld.shared.u32 %r4, [%r22]; ret;"""

_LOAD = """
setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET; mbarrier.init.shared::cta.b64 [bar], 1;
MEET: bar.sync 0; @%p1 bra WAIT; {arrive}
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bar];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra WAIT;
ld.shared.u32 %r4, [%r22]; ret;"""

_STORE = """
st.shared.u32 [%r22], %r1; @ bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
mul.wide.u32 %rd7, %r2, 128; add.s64 %rd7, %rd3, %rd7;
cp.async.bulk.global.shared::cta.bulk_group [%rd7], [tile], 128; cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
MEET: ret;"""

_REUSE = """
st.shared.u32 [%r22], %r1; fence.proxy.async.shared::cta; bar.sync 0;
setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
mul.wide.u32 %rd7, %r2, 128; add.s64 %rd7, %rd3, %rd7;
cp.async.bulk.global.shared::cta.bulk_group [%rd7], [tile], 128; cp.async.bulk.commit_group; @
MEET: bar.sync 0; st.shared.u32 [%r22], 7; cp.async.bulk.wait_group 0; ret;"""

_CLUSTER = """
mov.u32 %r5, %cluster_ctarank; st.shared.u32 [%r22], %r5; {first}
xor.b32 %r6, %r5, 1; mapa.shared::cluster.u32 %r7, %r22, %r6; ld.shared::cluster.u32 %r8, [%r7];
{last} ret;"""
_MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"

PAIRS = (
    Pair("message", _message("@ " + _RELAXED, _POLL, "fence.acq_rel.gpu;"), "fence.acq_rel.gpu;", "",
         "write-read"),
    Pair("message without acquire", _message("fence.acq_rel.gpu; " + _RELAXED, _POLL, "@"),
         "fence.acq_rel.gpu;", "", "write-read"),
    Pair("scope", _message("st.release.@.global.u32 [%rd2], 1;", "ld.acquire.@.global.u32 %r3, [%rd2];"),
         "gpu", "cta", "scope"),
    Pair("read-only path", _message("st.release.gpu.global.u32 [%rd2], 1;",
         "ld.acquire.gpu.global.u32 %r3, [%rd2];").replace("ld.global.u32 %r4", "ld.global@.u32 %r4"),
         "", ".nc", "read-only"),
    Pair("barrier", _EXCHANGE.format(mask=252), "bar.sync 0;", "", "write-read", "1, 64"),
    Pair("warp", _EXCHANGE.format(mask=4), "bar.warp.sync -1;", "", "write-read"),
    Pair("write after read", _AGAIN, "bar.sync 0;", "", "write-read", "1, 64"),
    Pair("lock", _LOCK, "st.release.gpu.global.u32 [%rd2], 0;", "st.relaxed.gpu.global.u32 [%rd2], 0;",
         "write-read", "4, 32"),
    Pair("last block", _LAST, "fence.acq_rel.gpu;", "", "write-read", "2, 32"),
    Pair("cp.async", _COPY, "cp.async.wait_group 0;", "", "copy not waited for"),
    Pair("bulk copy", _LOAD.format(arrive="mbarrier.arrive@.shared::cta.b64 _, [bar]%;"),
         ".expect_tx", "", "copy not waited for"),
    Pair("proxy fence", _STORE, "fence.proxy.async.shared::cta;", "", "proxy"),
    Pair("source reused", _REUSE, "cp.async.bulk.wait_group.read 0;", "", "source reused too early"),
    Pair("cluster", _CLUSTER.format(first="@", last=_MEET), _MEET, "bar.sync 0;", "write-read",
         "2, 32, 0, 2"),
    Pair("cluster exit", _CLUSTER.format(first=_MEET, last="@"), _MEET, "", "peer-exit", "2, 32, 0, 2"),
)  # fmt: skip


def filled(pair: Pair, what: str) -> str:
    """The body of a pair with one of its two forms."""
    # An arrival that expects bytes says how many.
    return pair.body.replace("@%", "\0").replace("@!", "\1").replace("@", what).replace("]%;", (
        "], 128;" if what else "];")).replace("\0", "@%").replace("\1", "@!")  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_right_twin_has_no_race(pair: Pair) -> None:
    found = verdict(filled(pair, pair.right), pair.sizes)
    assert str(found).startswith("no race in this launch"), [each.text for each in found.findings]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_wrong_twin_has_one(pair: Pair) -> None:
    found = verdict(filled(pair, pair.wrong), pair.sizes)
    assert found.judgement is Judgement.RACE, str(found)
    assert pair.kind in {each.kind for each in found.findings}


# Pitfalls


@pytest.mark.parametrize(
    ("wait", "found"), [("", {"copy not waited for"}), ("cp.async.wait_all;", set[str]())]
)
def test_the_zeros_of_a_copy_are_writes(wait: str, found: set[str]) -> None:
    assert kinds(_COPY.replace("], 4;", "], 4, 0;").replace("@", wait)) == found


def test_the_async_proxy_does_not_see_what_threads_know() -> None:
    """The barrier orders the writes before the copy, and the proxy has not seen them all the same."""
    (pair,) = (each for each in PAIRS if each.name == "proxy fence")
    assert kinds(filled(pair, "")) == {"proxy"}


def test_a_second_read_of_a_message_may_acquire_it() -> None:
    body = _message("st.release.gpu.global.u32 [%rd2], 1;", _POLL,
                    "ld.acquire.gpu.global.u32 %r3, [%rd2];")  # fmt: skip
    assert kinds(body) == set()


def test_a_failed_cas_goes_on_with_a_release() -> None:
    """It writes what it read, as a read-modify-write does, and the lock is held by others again."""
    assert kinds(filled(PAIRS[7], PAIRS[7].right), "8, 32") == set()


def test_a_fence_after_the_barrier_is_no_acquire_of_another_thread() -> None:
    body = _LAST.replace("@\n", "\n").replace(
        "ld.shared.u32 %r6, [last];", "fence.acq_rel.gpu; ld.shared.u32 %r6, [last];"
    )
    assert kinds(body) == {"write-read"}


@pytest.mark.parametrize(("fence", "found"), [("sc", set[str]()), ("acq_rel", {"write-read"})])
def test_a_fence_sc_after_the_barrier_comes_after_those_before_all_tickets(
    fence: str, found: set[str]
) -> None:
    body = _LAST.replace("fence.acq_rel.gpu", f"fence.{fence}.gpu").replace("@\n", "\n")
    body = body.replace(
        "ld.shared.u32 %r6, [last];", f"ld.shared.u32 %r6, [last]; fence.{fence}.gpu;"
    )
    assert kinds(body, "4, 32") == found


@pytest.mark.parametrize(("fence", "found"), [("sc", set[str]()), ("acq_rel", {"write-read"})])
def test_the_fence_sc_of_each_thread_of_a_large_block_is_carried(
    fence: str, found: set[str]
) -> None:
    """A last block as people write it: ``__threadfence()`` by all, a barrier, the ticket."""
    body = f"""
mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd7, %r4, 4;
add.s64 %rd7, %rd1, %rd7; st.global.u32 [%rd7], %r2; fence.{fence}.gpu; bar.sync 0;
setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET; atom.relaxed.gpu.global.add.u32 %r5, [%rd2], 1;
mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1; set.eq.u32.u32 %r5, %r5, %r6;
st.shared.u32 [last], %r5;
MEET: bar.sync 0; ld.shared.u32 %r6, [last]; setp.eq.u32 %p2, %r6, 0; @%p2 ret; fence.{fence}.gpu;
mul.wide.u32 %rd7, %r1, 4; add.s64 %rd7, %rd1, %rd7; ld.global.u32 %r7, [%rd7]; ret;"""
    assert kinds(body, "4, 256") == found


def test_a_relaxed_write_goes_on_with_an_earlier_release() -> None:
    body = _message("st.release.gpu.global.u32 [%rd2], 0; st.relaxed.gpu.global.u32 [%rd2], 1;",
                    "ld.acquire.gpu.global.u32 %r3, [%rd2];")  # fmt: skip
    assert kinds(body) == set()
    assert kinds(body.replace("st.release", "st.relaxed")) == {"write-read"}


def test_a_remote_arrival_needs_cluster_scope() -> None:
    body = """
    setp.ne.u32 %p1, %r1, 0; @%p1 ret; mov.u32 %r5, %cluster_ctarank;
    mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster; {meet}
    mov.u32 %r6, 0; mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, %r7, %r6;
    setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    st.global.u32 [%rd1], 5; mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r8]; bra END;
    WAIT: mbarrier.try_wait.parity.acquire.SCOPE.shared::cta.b64 %p3, [bar], 0; @!%p3 bra WAIT;
    ld.global.u32 %r9, [%rd1];
    END: {meet} ret;""".replace("{meet}", _MEET)
    assert kinds(body.replace("SCOPE", "cluster"), "2, 32, 0, 2") == set()
    assert "write-read" in kinds(body.replace("SCOPE", "cta"), "2, 32, 0, 2")


def test_an_unpublished_mbarrier_is_a_race() -> None:
    body = """
    setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT; mbarrier.init.shared::cta.b64 [bar], 32;
    WAIT: @ mbarrier.arrive.shared::cta.b64 _, [bar]; ret;"""
    assert kinds(body.replace("@ ", "bar.sync 0; ")) == set()
    assert kinds(body.replace("@ ", "")) == {"initialisation"}


def test_writes_of_one_value_are_apart() -> None:
    body = "st.global.u32 [%rd1], 7; ret;"
    found = verdict(body)
    assert str(found).startswith("race of equal values in this launch")
    assert [(each.kind, each.is_error) for each in found.findings] == [
        ("write-write of the same value", False)
    ]
    assert verdict(body, "1, 32").findings == ()
    assert kinds("st.global.u32 [%rd1], %r1; ret;", "1, 32") == {"write-write"}


def test_tensor_memory_is_allocated_by_a_warp_at_once() -> None:
    body = """tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 32; bar.sync 0;
    ld.shared.b32 %r3, [tile]; ret;"""
    assert kinds(body, "1, 32") == set()
    assert kinds(body.replace("bar.sync 0;", ""), "1, 32") == {"write-read"}


def test_small_accesses_refine_a_word() -> None:
    body = "add.s64 %rd7, %rd1, %rd7; cvt.u64.u32 %rd7, %r1; add.s64 %rd7, %rd1, %rd7; "
    assert kinds(body + "st.global.u8 [%rd7], %r1; ret;", "1, 32") == set()
    both = "ld.global.u32 %r3, [%rd1+64]; st.global.u8 [%rd7], %r1; ret;"
    assert kinds(body + both, "1, 128") == {"write-read"}


def test_a_size_of_its_own_is_a_race() -> None:
    body = _message("st.release.gpu.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u64 %rd9, [%rd2]; "
                    "cvt.u32.u64 %r3, %rd9;")  # fmt: skip
    assert "size" in kinds(body)


def test_a_counter_of_many_is_checked_once() -> None:
    assert kinds("red.relaxed.cta.global.add.u32 [%rd1], 1; ret;", "4, 64") == {"scope"}
    assert kinds("red.relaxed.gpu.global.add.u32 [%rd1], 1; ret;", "4, 64") == set()


PRODUCT = (
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd7, %rd8, %r1, 0, "
    "1, 1, 1, 0, 0;"
)

MULTICAST = "multimem.ld_reduce.relaxed.gpu.global.add.u32"


@pytest.mark.parametrize(
    "instruction", [PRODUCT, "foo.bar.u32 %r5, [%rd1];", f"{MULTICAST} %r5, [%rd1];"]
)
def test_what_may_access_memory_unseen_is_not_judged(instruction: str) -> None:
    """The operands of a sparse product lie in shared memory; what is not known may read and write anything."""
    declared = ".reg .f32 %f<4>; mov.u64 %rd7, 0; mov.u64 %rd8, 0;"
    found = verdict(f"{declared} {instruction} ret;", "1, 128")
    assert str(found).startswith(f"not judged: what {instruction.partition(' ')[0]} does to memory")
    skipped = verdict(f"{declared} bra end; {instruction} end: ret;", "1, 128")
    assert str(skipped).startswith("no race in this launch")


def test_a_hang_says_who_waits_where() -> None:
    found = verdict(
        "L: ld.acquire.gpu.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; ret;"
    )
    assert str(found).startswith("hang in this launch")
    (finding,) = found.findings
    assert "64 threads (first thread 0 of block 0) poll at k.ptx:12 (ld.acquire" in finding.text


def test_what_nearly_orders_is_said() -> None:
    found = verdict(_message(_RELAXED, _POLL))
    (finding,) = found.findings
    assert finding.text.startswith(
        "race (write-read): thread 0 of block 1 reads data[0] at k.ptx:16 (ld.global.u32); "
        "thread 0 of block 0 wrote it at k.ptx:14 (st.global.u32): the value written at k.ptx:14 "
        "(st.relaxed.gpu.global.u32) and read at k.ptx:15 (ld.relaxed.gpu.global.u32) would order "
        "them, but the write is no release and no fence of scope gpu or wider comes before it and "
        "the read is no acquire and no fence of scope gpu or wider follows it: make the write "
        "release.gpu and the read acquire.gpu"
    )


def test_only_the_side_that_lacks_something_is_named() -> None:
    found = verdict(filled(PAIRS[8], ""))
    (finding,) = found.findings
    assert finding.text.endswith(
        "would order them, but the read is no acquire and no fence of scope gpu or wider follows it: "
        "make the read acquire.gpu, or put fence.acq_rel.gpu after the read, in the same thread"
    )


def test_an_earlier_link_of_a_chain_nearly_orders_too() -> None:
    """The last block reads what the first one wrote, whose ticket two others have come after."""
    body = _LAST.replace("@\n", "\n").replace("fence.acq_rel.gpu;", "")
    found = verdict(body, "4, 32")
    (finding,) = found.findings
    assert (
        "(atom.relaxed.gpu.global.add.u32) would order them, but the write is no rel"
        in finding.text
    )


def test_a_partial_warp_is_a_warning() -> None:
    found = verdict("and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 ret; bar.sync 0; ret;")
    assert [each.kind for each in found.findings] == ["barrier divergence"]
    assert found.judgement is Judgement.NO_RACE


@pytest.mark.parametrize(
    ("step", "word"), [("0", Judgement.NO_RACE), ("4", Judgement.EQUAL_VALUES)]
)
def test_equal_values_in_other_rounds_are_a_race(step: str, word: Judgement) -> None:
    """Lanes of a warp that write one place at once do so in one instruction, in a loop as well."""
    body = f"""
    mul.wide.u32 %rd6, %r1, {step};
    add.s64 %rd6, %rd6, %rd1;
    mov.u32 %r3, 0;
NEXT:
    st.global.u32 [%rd6], 7;
    add.s64 %rd6, %rd6, 4;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 4;
    @%p1 bra NEXT;
    ret;"""
    assert verdict(body, "1, 2").judgement is word


def test_findings_of_one_line_are_one() -> None:
    """All of a macro, or of an unrolled loop, is one line of the source, and one cause."""
    body = (
        _FIRST.replace("\n", "")
        + """ .loc 1 7 1
    st.global.u32 [%rd1], 1;
    st.global.u32 [%rd1+4], 1; ret;
READ: .loc 1 7 9
    ld.global.u32 %r3, [%rd1];
    ld.global.u32 %r4, [%rd1+4]; ret;"""
    )
    text = kernel(body) + '.file 1 "/src/macro.cuh"\n'
    found = judge(Module(read_ptx(text, "k.ptx")), parse_launch(f"k<<<2, 32>>>{ARGUMENTS}"))
    texts = [each.text for each in found.findings if each.kind == "write-read"]
    assert len(texts) == 1
    assert "at macro.cuh:7 (ld.global.u32)" in texts[0]
    assert texts[0].endswith("(3 more pairs of lines like this)")


def test_lines_of_the_source_are_one_finding() -> None:
    body = (
        _FIRST.replace("\n", "")
        + """ .loc 1 7 1
    st.global.u32 [%rd1], 1;
    st.global.u32 [%rd1+4], 1; ret;
READ: .loc 1 8 9
    ld.global.u32 %r3, [%rd1];
    ld.global.u32 %r4, [%rd1+4]; ret;"""
    )
    text = kernel(body) + '.file 1 "/src/two.cuh"\n'
    found = judge(Module(read_ptx(text, "k.ptx")), parse_launch(f"k<<<2, 32>>>{ARGUMENTS}"))
    assert [each.kind for each in found.findings] == ["write-read"]


def test_the_order_of_execution_is_no_order() -> None:
    """A reader that comes first by luck races as well: both schedules find it."""
    body = _FIRST + "st.global.u32 [%rd1], 42; ret; READ: ld.global.u32 %r4, [%rd1]; ret;"
    text = kernel(body)
    module = Module(read_ptx(text, "k.ptx"))
    found: list[set[str]] = []
    for schedule in ORDERS:
        detector = Detector()
        execute(module, parse_launch(f"k<<<2, 32>>>{ARGUMENTS}"), detector, schedule=schedule)
        found.append({each.kind for each in detector.races.values()})
    assert found == [{"write-read"}, {"read-write"}]


def test_coverage_is_what_was_executed() -> None:
    found = verdict("setp.eq.u32 %p1, %r1, 99; @%p1 ld.global.u32 %r3, [%rd5]; st.global.u32 [%rd5], %r1; ret;",
                    "1, 32")  # fmt: skip
    assert (
        str(found)
        == "no race in this launch (1 block x 32 threads, 2 schedules, 1 of 2 accesses executed)"
    )
    assert [each.name for each in found.missed] == ["ld.global.u32"]
