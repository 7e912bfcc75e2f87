"""Launches that all waves together show to be right have the verdict that threads give them.

Random kernels of accesses, barriers and branches are judged both ways. Each part of the shadow
memory is broken in turn, and one of the kernels notices.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.race import verdict as race_verdict
from fencewright.simulator.race.verdict import (
    Execution,
    Judgement,
    Verdict,
    executions,
    judge,
    judge_by_thread,
    judge_by_waves,
)
from fencewright.simulator.race.waves import launch as waves_launch
from fencewright.simulator.race.waves import observer, verdict
from fencewright.simulator.threads.launch import Launch, Module, parse_launch

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1)
{
.reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<16>;
.reg .f32 %f<4>;
.reg .b64 %d<8>;
.shared .align 16 .b8 tile[1024];
ld.param.u64 %d1, [p0];
ld.param.u64 %d2, [p1];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1;
mov.u32 %r9, tile;
"""


def _module(body: str) -> Module:
    text = f"{_HEAD}{body}ret;\n}}\n"
    return Module(read_ptx(text, "k.ptx"))


def _at(space: str, index: str) -> str:
    """Lines that put the address of a word of an index into a register."""
    if space == "shared":
        return f"{index}and.b32 %r5, %r5, 127;\nshl.b32 %r6, %r5, 2;\nadd.u32 %r6, %r6, %r9;\n"
    return f"{index}and.b32 %r5, %r5, 255;\nmul.wide.u32 %d3, %r5, 4;\nadd.u64 %d3, %d3, %d1;\n"


_INDEX = {
    "own": "mov.u32 %r5, %r4;\n",
    "of the block": "mov.u32 %r5, %r1;\n",
    "neighbour": "xor.b32 %r5, %r4, 1;\n",
    "other warp": "xor.b32 %r5, %r4, 32;\n",
    "other block": "xor.b32 %r5, %r4, 64;\n",
    "one": "mov.u32 %r5, 7;\n",
    "one of the warp": "shr.u32 %r5, %r1, 5;\n",
    "loaded": "mul.wide.u32 %d4, %r4, 4;\nadd.u64 %d4, %d4, %d2;\nld.global.u32 %r5, [%d4];\n",
}
_PLACE = {"shared": "[%r6]", "global": "[%d3]"}
_ACCESS: dict[str, Callable[[str, str], str]] = {
    "read": lambda space, at: f"ld.{space}.u32 %r7, {at};\n",
    "write": lambda space, at: f"st.{space}.u32 {at}, %r4;\n",
    "add": lambda space, at: f"red.relaxed.gpu.{space}.add.u32 {at}, 1;\n",
    "write halves": lambda space, at: f"cvt.u16.u32 %h1, %r4;\nst.{space}.u16 {at}, %h1;\n",
    "read only": lambda space, at: "ld.global.nc.u32 %r7, [%d3];\n",
}
_SYNC = ("", "bar.sync 0;\n", "bar.sync 0;\n", "bar.warp.sync 0xffffffff;\n")


def _random_body(random: Random) -> str:
    """A few accesses; barriers between most of them."""
    lines = ["st.shared.u32 [tile+508], 0;\n"] if random.random() < 0.1 else []
    kinds = ["read", "read", "write", "write", random.choice([*_ACCESS])]
    if random.random() < 0.7:
        lines += [_at("shared", _INDEX["of the block"]), "st.shared.u32 [%r6], %r4;\n"]
        lines += [random.choice(_SYNC)]
    for number in range(random.randint(1, 4)):
        kind, space = random.choice(kinds), random.choice(["shared", "global"])
        space = "global" if kind == "read only" else space
        ways = ["own", "of the block", *_INDEX] if space == "shared" else ["own", "own", *_INDEX]
        lines.append(_at(space, _INDEX[random.choice(ways)]))
        access = _ACCESS[kind](space, _PLACE[space])
        if random.random() < 0.3:
            least = random.choice((1, 16, 32, 48))
            lines.append(f"setp.ge.u32 %p1, %r1, {least};\n@%p1 bra L{number};\n")
            lines += [access, random.choice(["", "", "", "bar.sync 0;\n"]), f"L{number}:\n"]
        else:
            lines.append(access)
        if random.random() < 0.1:
            lines.append("shfl.sync.bfly.b32 %r7, %r4, 1, 31, -1;\n")
        lines.append(random.choice(_SYNC))
    return "".join(lines)


_CASES = 100


@cache
def _cases() -> tuple[tuple[Module, str, Verdict], ...]:
    """Kernels with launches, and the verdicts that threads give them."""

    def cases() -> Iterator[tuple[Module, str, Verdict]]:
        bodies = [_random_body(Random(f"waves {seed}")) for seed in range(_CASES)]
        for seed, body in enumerate([*bodies, *_BODIES]):
            module = _module(body)
            sizes = ((2, 64), (3, 96), (2, 48), (1, 128))
            blocks, threads = sizes[seed % 4 if seed < _CASES else 0]
            text = f"k<<<{blocks}, {threads}>>>(u32[256], u32[512]=random({seed}, 256))"
            yield module, text, judge_by_thread(module, parse_launch(text))

    return tuple(cases())


_STORE, _LOAD = "st.shared.u32 [%r6], %r4;\n", "ld.shared.u32 %r7, [%r6];\n"
_OWN = _at("shared", _INDEX["of the block"])
_NEXT = _at("shared", _INDEX["neighbour"].replace("%r4", "%r1"))
_FAR = _at("shared", _INDEX["other warp"].replace("%r4", "%r1"))
_ONE, _TO = _at("global", _INDEX["one"]), _at("global", _INDEX["own"])
_BAR, _WARP = "bar.sync 0;\n", "bar.warp.sync 0xffffffff;\n"
_ADD = "red.relaxed.gpu.global.add.u32 [%d3], 1;\n"
_FLOAT = _ADD.replace("add.u32 [%d3], 1", "add.f32 [%d3], 0f3F800000")
_READ, _LAST = "ld.global.u32 %r7, [%d3];\n", "setp.ne.u32 %p1, %r4, 127;\n@%p1 bra LAST;\n"
_OF_WARP = _at("shared", _INDEX["one of the warp"])
_OF_LANE = _at("global", "and.b32 %r5, %r4, -33;\n")
_FIRST = "setp.ne.u32 %p1, %r4, 0;\n@%p1 bra LAST;\n"
_BODIES = (
    # Reads by two lanes of a warp, by two warps and by two blocks, then a write by one of them.
    _OWN + _STORE + _BAR + _OWN + _LOAD + _NEXT + _LOAD + _OWN + _STORE,
    _OWN + _STORE + _BAR + _FAR + _LOAD + _OWN + _LOAD + _WARP + _OWN + _STORE,
    _ONE + "ld.global.u32 %r7, [%d3];\n" + _BAR + _FIRST + "st.global.u32 [%d3], 1;\nLAST:\n",
    _OWN + _STORE + _WARP + _FAR + _LOAD,
    _OWN + _STORE + _WARP + _NEXT + _LOAD,
    _OWN + _STORE + _BAR + _FAR + _LOAD,
    _OWN + _STORE + _FAR + _STORE,
    _ONE + _READ + _BAR + _LAST + "st.global.u32 [%d3], 1;\nLAST:\n",
    _OWN + _STORE + _BAR + _OF_WARP + _LOAD + "and.b32 %r7, %r1, 31;\nsetp.ne.u32 %p1, %r7, 31;\n"
    "@%p1 bra LAST;\n" + _STORE + "LAST:\n",
    f"{_ONE}{_FIRST}{_READ}LAST:\n{_LAST}{_READ}st.global.u32 [%d3], 1;\nLAST:\n".replace(
        "LAST", "FIRST", 2
    ),
    # One warp is at the barrier before the other one accesses what it has accessed.
    *(
        f"{_OF_LANE}setp.{which}.u32 %p1, %r1, 32;\n@%p1 bra OTHER;\n{_READ}{_BAR}bra LAST;\n"
        f"OTHER:\nst.global.u32 [%d3], 1;\n{_BAR}LAST:\n"
        for which in ("ge", "lt")
    ),
    # Of an atomic: with others, with a later read, and where the order of floats is seen.
    _ONE + _ADD,
    _ONE + _ADD + _BAR + "ld.global.u32 %r7, [%d3];\n",
    _TO + _ADD + _BAR + "ld.global.u32 %r7, [%d3];\nst.global.u32 [%d3], 1;\n",
    _TO + "st.global.u32 [%d3], 1;\n" + _BAR + _ONE + _ADD,
    _ONE + "ld.global.u32 %r7, [%d3];\n" + _ADD,
    _ONE + _ADD + _BAR + _LAST + "st.global.u32 [%d3], 1;\nLAST:\n",
    # The read-only path, before a write and after it, by the same lane.
    _TO + "ld.global.nc.u32 %r7, [%d3];\nst.global.u32 [%d3], 1;\n",
    _TO + "st.global.u32 [%d3], 1;\nld.global.nc.u32 %r7, [%d3];\n",
    # Nobody has written it; one instruction of many lanes; halves of words; lanes that are gone.
    _NEXT + _LOAD,
    _ONE + "st.global.u32 [%d3], %r4;\n",
    _TO + "st.global.u32 [%d3], %r4;\n",
    _OWN + "cvt.u16.u32 %h1, %r4;\nst.shared.u16 [%r6], %h1;\n" + _BAR + _LOAD,
    _OWN + "cvt.u16.u32 %h1, %r4;\nst.shared.u16 [%r6], %h1;\nld.shared.u16 %h2, [%r6+2];\n",
    "setp.gt.u32 %p1, %r1, 40;\n@%p1 bra LAST;\nbar.sync 0;\nLAST:\n",
    "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra LAST;\nbar.sync 0;\nbar.sync 0;\nLAST:\n",
    "setp.gt.u32 %p1, %r1, 40;\n@%p1 bra LAST;\nbar.warp.sync 0xffffffff;\nLAST:\n",
    "ld.global.u32 %r7, [%d1+2048];\n",
    # Vectors and sizes; an access that no lane executes; memory of a lane's own.
    _OWN + "and.b32 %r6, %r5, 63;\nshl.b32 %r6, %r6, 3;\nadd.u32 %r6, %r6, %r9;\n"
    "st.shared.v2.u32 [%r6], {%r4, %r4};\n",
    _OWN + _STORE + _BAR + "mov.u64 %d5, 1;\nst.shared.u64 [tile+64], %d5;\n",
    _FIRST + "st.global.u64 [%d1], %d1;\nLAST:\nld.global.u32 %r7, [%d1+4];\n",
    "setp.gt.u32 %p1, %r1, 99;\n@%p1 ld.global.u32 %r7, [%d1];\n",
    _TO
    + _STORE.replace("shared.u32 [%r6]", "global.u32 [%d3]")
    + _BAR
    + "ld.global.u8 %r7, [%d3+1];\n",
    _ONE
    + "ld.global.u32 %r7, [%d3];\n"
    + _BAR
    + _at("shared", _INDEX["of the block"])
    + _STORE
    + _FAR
    + _LOAD,
    _OWN + _STORE + _BAR + _OWN + _LOAD + _FAR + _LOAD + _BAR + _OWN + _STORE,
)
_LEFT = (
    _TO + _FLOAT + _BAR + "ld.global.u32 %r7, [%d3];\n",
    _TO + "st.relaxed.gpu.global.u32 [%d3], 1;\n",
    "fence.acq_rel.gpu;\n",
    _ONE + "atom.relaxed.gpu.global.add.u32 %r7, [%d3], 1;\nadd.u32 %r7, %r7, 1;\n",
    _ONE + "red.release.gpu.global.add.u32 [%d3], 1;\n",
    _ONE + "red.relaxed.cta.global.add.u32 [%d3], 1;\n",
    _ONE + "atom.relaxed.gpu.global.exch.b32 _, [%d3], %r4;\n",
    _ONE + _ADD + "red.relaxed.gpu.global.max.u32 [%d3], %r4;\n",
    "mov.u32 %r7, %clock;\n",
    "bar.warp.sync 0xffff;\n",
    "shfl.sync.bfly.b32 %r7, %r4, 1, 31, 0xffff;\n",
    "activemask.b32 %r7;\n",
    "bar.sync 1, 64;\n",
    "cp.async.ca.shared.global [tile], [%d1], 4;\n",
    "prefetch.global.L2 [%d1];\n",
)
"""Right kernels, or wrong ones, of which waves show nothing."""


def _is_shown(body: str) -> bool:
    return (
        judge_by_waves(_module(body), parse_launch("k<<<2, 64>>>(u32[256], u32[512])")) is not None
    )


def _disagreement(cases: Sequence[tuple[Module, str, Verdict]]) -> str:
    """The first kernel that all waves show to be right and threads judge otherwise; ""."""
    for module, text, by_thread in cases:
        try:
            found = judge_by_waves(module, parse_launch(text))
        except (IndexError, ValueError, AssertionError) as problem:
            return f"{text}: {problem}"
        if found is not None and found != by_thread:
            return f"{text}: {by_thread}, not {found}\n{module.ptx.text}"
    return ""


def test_waves_and_threads_agree() -> None:
    assert not _disagreement(_cases())


def test_most_right_kernels_are_shown() -> None:
    right = [
        (module, text)
        for module, text, verdict in _cases()
        if verdict.judgement is Judgement.NO_RACE and not verdict.findings
    ]
    found = [judge_by_waves(module, parse_launch(text)) for module, text in right]
    assert len(right) >= 30
    assert sum(each is not None for each in found) >= 0.8 * len(right)


_BROKEN = (
    ("_need(writers, now)", "_need(writers[:0], now)"),
    ("is MemorySpace.SHARED and not writers.all()", "is None"),
    ("self._need(marks, now)\n            if", "if"),
    ("not step.is_exact", "False"),
    ("if step.reads_only", "if False"),
    ("if writers.any()", "if False"),
    ("self._need(self.writer[words], now)\n        self._need(self.readers[words], now)\n"
     "        if", "self._need(self.readers[words], now)\n        if"),
    ("self._need(self.readers[words], now)\n        if", "if"),
    ("self._need(self.atomics[words], now)", "pass"),
    ("(self.writer[words] != own).any()", "False"),
    ("if old.any()", "if False"),
    ("if other.any()", "if False"),
    ("for mark in (_OF_WARP, _OF_BLOCK, _OF_ALL)", "for mark in (_OF_BLOCK, _OF_ALL)"),
    ("for mark in (_OF_WARP, _OF_BLOCK, _OF_ALL)", "for mark in (_OF_WARP, _OF_ALL)"),
    ("for mark in (_OF_WARP, _OF_BLOCK, _OF_ALL)", "for mark in (_OF_WARP, _OF_BLOCK)"),
    ("time < now.warp", "time <= now.warp"),
    ("time < now.block", "time <= now.block"),
    ("(other & ~_OF_WARP < 1 << LANE_BITS)\n        found", "(other < self.span)\n        found"),
    ("found |= (time < now.block) & (other & ~(_OF_WARP | _OF_BLOCK) < self.span)",
     "found |= time < now.block"),
    ("self._need(self.writer[words], now)\n        self._need(self.readers[words], now)\n"
     "        self", "self._need(self.readers[words], now)\n        self"),
    ("self._need(self.readers[words], now)\n        self._add", "self._add"),
    ("(event.active.sum(axis=1) != self.lanes[event.waves]).any()", "False"),
    ("self.present[event.groups] == self.waves", "self.present[event.groups] >= 1"),
    ("min(each.width // each.parts, 4)", "4"),
    ("self.accesses += len(chosen) * step.parts", "self.accesses += len(chosen)"),
    ("count = max(width // self.grain, 1)", "count = 1"),
    ("self.executed.add(step.site)\n        if step.space", "if step.space"),
)  # fmt: skip
"""Lines of the shadow memory, and others in their places."""


@pytest.mark.parametrize(("line", "other"), _BROKEN)
def test_each_part_is_needed(line: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(observer.__file__).read_text(encoding="utf-8")
    assert source.count(line) == 1
    broken = ModuleType("broken")
    monkeypatch.setitem(sys.modules, "broken", broken)
    exec(compile(source.replace(line, other), "broken", "exec"), broken.__dict__)
    for name in ("NotShown", "WaveObserver"):
        monkeypatch.setattr(verdict, name, getattr(broken, name))
    assert _disagreement(_cases()[_CASES:]) or any(map(_is_shown, _LEFT))


@pytest.mark.parametrize("body", _LEFT)
def test_other_kernels_are_left_to_threads(body: str) -> None:
    assert not _is_shown(body)


def _no(execution: Execution) -> bool:
    return False


def test_one_order_shows_as_much_as_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads run one order of the kernels of ``plain`` that have no race, and find the same."""
    unused = _ONE + "atom.relaxed.gpu.global.add.u32 %r7, [%d3], 1;\n"
    launch = parse_launch("k<<<2, 64>>>(u32[256], u32[512])")
    assert len(list(executions(_module(unused), launch))) == 1
    assert all(len(list(executions(_module(each), launch))) > 1 for each in (_LEFT[3], *_LEFT[5:8]))
    assert len(list(executions(_module(_ONE + "st.global.u32 [%d3], %r4;\n"), launch))) > 1
    one = _cases()[_CASES:]
    monkeypatch.setattr(race_verdict, "_is_settled", _no)
    for module, text, found in one:
        both = judge_by_thread(module, parse_launch(text))
        assert (found.findings, found.missed, found.problem) == (
            both.findings, both.missed, both.problem,
        ), text  # fmt: skip


@pytest.mark.parametrize(
    "launch", ["<<<2, 64, 0, 2>>>(u32[256], u32[8])", "<<<2, 64>>>(u32[256], @0)"]
)
def test_other_launches_are_left_to_threads(launch: str) -> None:
    module = _module(_TO + "st.global.u32 [%d3], 1;\n")
    assert judge_by_waves(module, parse_launch("k<<<2, 64>>>(u32[256], u32[8])")) is not None
    assert judge_by_waves(module, parse_launch(f"k{launch}")) is None


def _nothing(module: Module, launch: Launch, given: object) -> None:
    return None


def test_large_launches_are_judged_by_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    module, given = _module(_TO + "st.global.u32 [%d3], 1;\n"), {1: bytes(4)}
    monkeypatch.setattr(race_verdict, "judge_by_thread", _nothing)
    assert judge(module, parse_launch("k<<<1, 64>>>(u32[256], u32[8])"), given) is None
    found = judge(module, parse_launch("k<<<2, 1024>>>(u32[2048], u32[8])"), given)
    assert found is None, "lanes of 2048 threads write 256 words"
    module = _module("mul.wide.u32 %d3, %r4, 4;\nadd.u64 %d3, %d3, %d1;\nst.global.u32 [%d3], 1;\n")
    found = judge(module, parse_launch("k<<<2, 1024>>>(u32[2048], u32[8])"), given)
    assert str(found).startswith("no race in this launch (2 blocks x 1024 threads, 2 schedules, 1")


def test_threads_judge_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    module, launch = _module(_BAR), parse_launch("k<<<2, 64>>>(u32[256], u32[8])")
    assert judge_by_waves(module, launch) == judge_by_thread(module, launch)
    for each in (verdict, waves_launch):
        monkeypatch.delitem(sys.modules, each.__name__)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert judge_by_waves(module, launch) is None
