"""Rings of mbarriers: pipelines of bulk copies proved, and every deletion from them seen."""

from collections.abc import Callable

import pytest

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Verdict, VerdictKind
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx

pytest.importorskip("z3")

Form = Callable[[int, int], dict[str, str]]
RACE, FREE, UNJUDGED = VerdictKind.RACE, VerdictKind.RACE_FREE, VerdictKind.NOT_JUDGED

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid {threads}, 1, 1
{{
.reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<9>;
.shared .align 128 .b8 tile[1024];
.shared .align 8 .b64 full[8];
.shared .align 8 .b64 empty[8];
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, tile;
mov.u32 %r4, full;
mov.u32 %r5, empty;
setp.ne.u32 %p1, %r2, 0;
"""
INITS = """
@%p1 bra READY;
{inits}
READY:
bar.sync 0;
"""
PRODUCER = """
setp.ne.u32 %p2, %r2, 32;
@%p2 bra CONSUMER;
mov.u32 %r6, 0;
{start}
PRODUCE:
{slot}
shl.b32 %r10, %r8, 3;
add.u32 %r11, %r5, %r10;
add.u32 %r12, %r4, %r10;
shl.b32 %r13, %r8, 7;
add.u32 %r13, %r3, %r13;
FREE:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r9;
@!%p3 bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 128;
mul.wide.u32 %rd3, %r6, 128;
add.u64 %rd3, %rd1, %rd3;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd3], 128, [%r12];
{step}
add.u32 %r6, %r6, 1;
setp.lt.u32 %p4, %r6, %r1;
@%p4 bra PRODUCE;
ret;
"""
CONSUMER = """
CONSUMER:
setp.gt.u32 %p2, %r2, 31;
@%p2 bra DONE;
mov.u32 %r6, 0;
{start}
CONSUME:
{slot}
shl.b32 %r10, %r8, 3;
add.u32 %r11, %r4, %r10;
add.u32 %r12, %r5, %r10;
shl.b32 %r13, %r8, 7;
add.u32 %r13, %r3, %r13;
shl.b32 %r14, %r2, 2;
add.u32 %r13, %r13, %r14;
FULL:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r9;
@!%p3 bra FULL;
ld.shared.u32 %r15, [%r13];
{arrive}
{step}
add.u32 %r6, %r6, 1;
setp.lt.u32 %p4, %r6, %r1;
@%p4 bra CONSUME;
DONE:
ret;
"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%r12];"
ELECTED = f"""bar.warp.sync -1;
setp.ne.u32 %p5, %r2, 0;
@%p5 bra NEXT;
{ARRIVE}
NEXT:"""


def inits(size: int, count: int) -> str:
    return "".join(
        f"mbarrier.init.shared::cta.b64 [%r4+{8 * slot}], 1;\n"
        f"mbarrier.init.shared::cta.b64 [%r5+{8 * slot}], {count};\n"
        for slot in range(size)
    )


def by_registers(size: int, phase: int) -> dict[str, str]:
    """An index and a phase bit in registers: ``i = i+1 == size ? 0 : i+1; phase ^= i == 0``."""
    return {
        "start": f"mov.u32 %r8, 0; mov.u32 %r9, {phase};",
        "slot": "",
        "step": f"""add.u32 %r16, %r8, 1; setp.eq.u32 %p6, %r16, {size};
selp.u32 %r17, 1, 0, %p6; xor.b32 %r9, %r9, %r17; selp.b32 %r8, 0, %r16, %p6;""",
    }


def by_division(size: int, phase: int) -> dict[str, str]:
    """An index and a phase of the iteration: ``k % size`` and ``k / size & 1``."""
    return {
        "start": "",
        "slot": f"""rem.u32 %r8, %r6, {size}; div.u32 %r9, %r6, {size};
add.u32 %r9, %r9, {phase}; and.b32 %r9, %r9, 1;""",
        "step": "",
    }


def by_masks(size: int, phase: int) -> dict[str, str]:
    """The same by shifts and masks, of a size that is a power of two."""
    parity = "not.b32 %r9, %r9;" if phase else ""
    return {
        "start": "",
        "slot": f"""and.b32 %r8, %r6, {size - 1}; shr.u32 %r9, %r6, {size.bit_length() - 1};
{parity} and.b32 %r9, %r9, 1;""",
        "step": "",
    }


def pipeline(
    size: int = 4, arrive: str = ARRIVE, count: int = 32, form: Form = by_registers
) -> str:
    """One thread copies tiles into a ring, and a warp reads them."""
    head = HEAD.format(threads=64) + INITS.format(inits=inits(size, count))
    produce = PRODUCER.format(**form(size, 1))
    return head + produce + CONSUMER.format(arrive=arrive, **form(size, 0)) + "}\n"


def verdict(text: str) -> Verdict:
    file = read_ptx(text)
    return judge(kernel_of(file, file.functions["k"]))


@pytest.mark.parametrize(
    ("size", "form"),
    [(1, by_masks), (4, by_masks), (4, by_registers), (3, by_registers), (3, by_division)],
)
def test_a_pipeline_is_proved_whatever_counts_its_slots(size: int, form: Form) -> None:
    found = verdict(pipeline(size, form=form))
    assert found.kind is FREE, found.obstacles
    assert "mbarrier" in " ".join(found.by)


def test_a_copy_after_another_one_is_no_read_before_a_write() -> None:
    text = pipeline()
    line = 1 + next(n for n, own in enumerate(text.splitlines()) if own.startswith("cp.async"))
    notes = [str(each) for each in verdict(text).notes]
    assert notes
    assert not any(f"read of line {line} " in each for each in notes)


def test_more_readers_than_an_mbarrier_counts_are_not_proved() -> None:
    """Two warps read, and the slot is free when one of them has: the other may still."""
    text = pipeline().replace(".reqntid 64", ".reqntid 96")
    readers = "setp.gt.u32 %p2, %r2, 31;"
    both = text.replace(readers, "setp.eq.u32 %p2, %r2, 32;")
    assert readers in text
    assert verdict(text).kind is FREE
    assert verdict(both).kind is not FREE


def test_threads_of_a_launch_are_counted() -> None:
    text = pipeline(arrive=ARRIVE, count=32).replace(".reqntid 64, 1, 1", "")
    text = text.replace("setp.gt.u32 %p2, %r2, 31;", "setp.eq.u32 %p2, %r2, 32;")
    assert verdict(text).kind is not FREE  # More than 32 may arrive, in a CTA of more threads.
    assert verdict(text.replace("\n{", "\n.maxntid 33\n{", 1)).kind is FREE


def test_a_lane_arrives_for_its_warp_after_a_barrier_of_it() -> None:
    good = pipeline(arrive=ELECTED, count=1)
    assert verdict(good).kind is FREE
    assert verdict(good.replace("bar.warp.sync -1;", "")).kind is RACE


EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 128;"
_WAITS = {
    "empty": "FREE:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r9;\n@!%p3 bra FREE;\n",
    "full": "FULL:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r9;\n@!%p3 bra FULL;\n",
}
EARLIER = "for an earlier phase"
BROKEN = {
    "no wait for empty": (_WAITS["empty"], "", EARLIER),
    "no wait for full": (_WAITS["full"], "", ""),
    "no bytes": (EXPECT, "mbarrier.arrive.shared::cta.b64 _, [%r12];", "expects the bytes"),
    "too few bytes": (EXPECT, EXPECT.replace("128", "64"), "expects the bytes"),
    "producer's parity": ("mov.u32 %r9, 1;", "mov.u32 %r9, 0;", ""),
    "consumer's parity": ("mov.u32 %r8, 0; mov.u32 %r9, 0;", "mov.u32 %r8, 0; mov.u32 %r9, 1;",
                          EARLIER),
    "parity that stays": ("xor.b32 %r9, %r9, %r17;", "", EARLIER),
    "relaxed wait": (_WAITS["full"], _WAITS["full"].replace("parity", "parity.relaxed.cta"),
                     "nothing acquires"),
    "early arrival": (f"ld.shared.u32 %r15, [%r13];\n{ARRIVE}",
                      f"{ARRIVE}\nld.shared.u32 %r15, [%r13];", EARLIER),
    "stale mbarrier": ("add.u32 %r11, %r4, %r10;", "mov.u32 %r11, %r4;",
                       "no wait is at the mbarrier"),
    "other slot": ("add.u32 %r12, %r5, %r10;", "mov.u32 %r12, %r5;", ""),
    "fewer counted": ("[%r5+8], 32", "[%r5+8], 31", ""),
    "fewer counted everywhere": ("], 32;", "], 31;", ""),
    "no init": ("mbarrier.init.shared::cta.b64 [%r5+8], 32;\n", "", ""),
    "no barrier after init": ("READY:\nbar.sync 0;", "READY:", "no barrier"),
    "arrival for good": (ARRIVE, ARRIVE.replace("arrive", "arrive_drop"), ""),
}  # fmt: skip
"""What is put in the place of what, and what a race lacks; "": not proved, for what reason ever."""


@pytest.mark.parametrize("name", BROKEN)
def test_each_piece_of_a_pipeline_is_needed(name: str) -> None:
    right, wrong, missing = BROKEN[name]
    text = pipeline()
    assert right in text
    found = verdict(text.replace(right, wrong))
    assert found.kind is not FREE
    if missing:
        assert found.kind is RACE, found.obstacles
        assert any(missing in each.missing for each in found.conflicts)
    if missing == EARLIER:
        # Without a wait a copy also meets the next one to its slot.
        others = {Rule.ASYNC_UNWAITED} if name.startswith("no wait") else set[Rule]()
        findings = {each.finding for each in found.conflicts}
        assert findings - others == {Rule.MBARRIER_PHASE}


def mailbox(acknowledged: bool = True) -> str:
    """One thread stores words that a warp reads; both loops begin with what they wait for."""
    wait = "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], %r9;\n@!%p3 bra PRODUCE;\n"
    return (
        HEAD.format(threads=64)
        + INITS.format(inits=inits(1, 32))
        + f"""setp.gt.u32 %p2, %r2, 32;
@%p2 bra DONE;
mov.u32 %r6, 0;
setp.lt.u32 %p2, %r2, 32;
@%p2 bra CONSUMER;
mov.u32 %r9, 1;
PRODUCE:
{wait if acknowledged else ""}
st.shared.u32 [%r3], %r6;
mbarrier.arrive.shared::cta.b64 _, [%r4];
xor.b32 %r9, %r9, 1;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p4, %r6, %r1;
@%p4 bra PRODUCE;
ret;
CONSUMER:
mov.u32 %r9, 0;
CONSUME:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], %r9;
@!%p3 bra CONSUME;
ld.shared.u32 %r15, [%r3];
mbarrier.arrive.shared::cta.b64 _, [%r5];
xor.b32 %r9, %r9, 1;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p4, %r6, %r1;
@%p4 bra CONSUME;
DONE:
ret;
}}
"""
    )


def test_a_wait_that_a_loop_begins_with_is_one_of_each_iteration() -> None:
    found = verdict(mailbox())
    assert found.kind is FREE, found.obstacles
    assert verdict(mailbox(acknowledged=False)).kind is RACE


AHEAD = """
@%p1 bra FILLED;
{filled}
FILLED:
bar.sync 0;
mov.u32 %r6, 0;
AGAIN:
and.b32 %r8, %r6, {last}; shr.u32 %r9, %r6, {log}; and.b32 %r9, %r9, 1;
shl.b32 %r10, %r8, 3; add.u32 %r11, %r4, %r10;
shl.b32 %r13, %r8, 7; add.u32 %r13, %r3, %r13;
shl.b32 %r14, %r2, 2; add.u32 %r15, %r13, %r14;
FULL:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r9;
@!%p3 bra FULL;
ld.shared.u32 %r16, [%r15];
bar.sync 0;
add.u32 %r17, %r6, {size};
setp.ge.u32 %p4, %r17, %r1;
or.pred %p5, %p1, %p4;
@%p5 bra NEXT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 128;
mul.wide.u32 %rd3, %r17, 128; add.u64 %rd3, %rd1, %rd3;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd3], 128, [%r11];
NEXT:
add.u32 %r6, %r6, 1;
setp.lt.u32 %p6, %r6, %r1;
@%p6 bra AGAIN;
ret;
}}
"""
FILL = """mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+{0}], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+{1}], [%rd1], 128, [%r4+{0}];
"""


def ahead(size: int, old: str = "", new: str = "") -> VerdictKind:
    """The verdict of a pipeline whose buffers are filled before its loop, and again in it."""
    slots = range(size)
    begin = "".join(f"mbarrier.init.shared::cta.b64 [%r4+{8 * slot}], 1;\n" for slot in slots)
    filled = "".join(FILL.format(8 * slot, 128 * slot) for slot in slots)
    body = AHEAD.format(filled=filled, last=size - 1, log=size.bit_length() - 1, size=size)
    assert old in body
    text = HEAD.format(threads=32) + INITS.format(inits=begin) + body.replace(old, new, 1)
    file = read_ptx(text, "k.ptx")
    return judge(kernel_of(file, file.functions["k"])).kind


COPY_IN_LOOP = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r13]"
USED = "ld.shared.u32 %r16, [%r15];\nbar.sync 0;\n"


@pytest.mark.parametrize("size", [1, 2, 4])
def test_buffers_that_are_filled_before_a_loop_are_a_round_ahead(size: int) -> None:
    assert ahead(size) is FREE


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        (USED, USED.replace("bar.sync 0;\n", ""), {RACE, UNJUDGED}),  # Others still read.
        (USED, "bar.sync 0;\nld.shared.u32 %r16, [%r15];\n", {RACE, UNJUDGED}),
        ("@!%p3 bra FULL;", "", {RACE, UNJUDGED}),  # Nobody waits for the bytes.
        ("and.b32 %r9, %r9, 1;", "xor.b32 %r9, %r9, 1; and.b32 %r9, %r9, 1;", {RACE, UNJUDGED}),
        (f"{FILL.format(0, 0).splitlines()[0]}\n", "", {RACE, UNJUDGED}),  # The first expects none.
        ("[%r11], 128;\nmul", "[%r11], 64;\nmul", {RACE, UNJUDGED}),  # Fewer bytes.
    ],
)
def test_each_part_of_a_pipeline_ahead_is_needed(
    size: int, old: str, new: str, kinds: set[VerdictKind]
) -> None:
    assert ahead(size, old, new) in kinds


def test_an_arrival_more_before_a_loop_is_too_many() -> None:
    first = FILL.format(0, 0).splitlines()[0]
    assert ahead(1, first, f"{first}\n{first}") is not FREE
    assert ahead(2, first, f"{first}\n{first}") is not FREE
    assert ahead(2, FILL.format(8, 128), "") is not FREE  # One of two mbarriers is ahead.


OF_ONE = """
setp.lt.u32 %p2, %r2, 32;
mov.u32 %r6, 0;
@%p2 bra READ;
setp.ne.u32 %p3, %r2, 32;
@%p3 bra DONE;
WRITE:
and.b32 %r9, %r6, 1;
FREE:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5], %r9;
@!%p4 bra FREE;
st.shared.u32 [%r3], %r6;
mbarrier.arrive.shared::cta.b64 _, [%r4];
add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, %r1;
@%p5 bra WRITE;
bra DONE;
READ:
and.b32 %r9, %r6, 1;
mbarrier.arrive.shared::cta.b64 _, [%r5];
{alone}
FULL:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r9;
@!%p4 bra FULL;
{alone_too}
ld.shared.u32 %r10, [%r3];
NEXT:
add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, %r1;
@%p5 bra READ;
DONE:
ret;
}}
"""


@pytest.mark.parametrize("waits", [True, False])
def test_who_arrives_again_has_waited_itself(waits: bool) -> None:
    # Where one lane waits for all, the others may arrive twice before it has read.
    skip = "@%p1 bra NEXT;"
    body = OF_ONE.format(alone="" if waits else skip, alone_too=skip if waits else "")
    text = HEAD.format(threads=64) + INITS.format(inits=inits(1, 32)) + body
    file = read_ptx(text, "k.ptx")
    assert (judge(kernel_of(file, file.functions["k"])).kind is FREE) is waits


ROUNDS = """
shl.b32 %r7, %r2, 2;
add.u32 %r7, %r3, %r7;
xor.b32 %r8, %r7, 4;
mov.u32 %r6, 0;
ROUND:
st.shared.u32 [%r7], %r6;
mbarrier.arrive.shared::cta.b64 _, [%r4];
{parity}
FULL:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r9;
@!%p4 bra FULL;
ld.shared.u32 %r10, [%r8];
{end}
add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, %r1;
@%p5 bra ROUND;
ret;
}}
"""
AGAIN = """
bar.sync 0;
mbarrier.arrive.shared::cta.b64 _, [%r4];
NEXT:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 1;
@!%p4 bra NEXT;
"""
TURNS, SAME = "and.b32 %r9, %r6, 1;", "mov.u32 %r9, 0;"


@pytest.mark.parametrize(
    ("parity", "end", "kind"),
    [
        (TURNS, "bar.sync 0;", FREE),  # Each orders what the other leaves.
        (TURNS, "", RACE),
        (SAME, "bar.sync 0;", RACE),
        (SAME, AGAIN, UNJUDGED),  # Two phases in each round: a parity is right in all of them.
    ],
)
def test_rounds_are_ordered_by_a_phase_and_a_barrier(
    parity: str, end: str, kind: VerdictKind
) -> None:
    inits_of_all = "mbarrier.init.shared.b64 [%r4], 64;"
    body = ROUNDS.format(parity=parity, end=end)
    text = HEAD.format(threads=64) + INITS.format(inits=inits_of_all) + body
    file = read_ptx(text, "k.ptx")
    assert judge(kernel_of(file, file.functions["k"])).kind is kind


TWO_ARRIVE = """
shl.b32 %r7, %r2, 2;
add.u32 %r7, %r3, %r7;
setp.lt.u32 %p2, %r2, 64;
setp.ne.u32 %p3, %r2, 64;
setp.ne.u32 %p6, %r2, 96;
mov.u32 %r6, 0;
ROUND:
and.b32 %r9, %r6, 1;
@%p2 bra FULL;
@%p3 bra OTHER;
mbarrier.arrive.shared::cta.b64 _, [%r4];
OTHER:
@%p6 bra MET;
mbarrier.arrive.shared::cta.b64 _, [%r4];
bra MET;
FULL:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r9;
@!%p4 bra FULL;
ld.shared.u32 %r10, [%r7+256];
MET:
bar.sync 0;
@%p2 bra NEXT;
st.shared.u32 [%r7], %r6;
NEXT:
add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, %r1;
@%p5 bra ROUND;
ret;
}
"""


def test_two_threads_that_arrive_too_early_order_nothing_together() -> None:
    # Who arrives first for the one claim is not who does for the other.
    inits_of_two = "mbarrier.init.shared.b64 [%r4], 2;"
    text = HEAD.format(threads=128) + INITS.format(inits=inits_of_two) + TWO_ARRIVE
    file = read_ptx(text, "k.ptx")
    assert judge(kernel_of(file, file.functions["k"])).kind is RACE
