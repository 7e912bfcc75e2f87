"""The speed of judging launches: accesses a second of regular kernels, and many small ones."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product

from harness import Result

from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.race.verdict import Judgement, Verdict, judge, judge_by_thread
from fencewright.simulator.threads.launch import Launch, Module, parse_launch

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
_REGISTERS = """.reg .pred %p<4>;
.reg .b32 %r<32>;
.reg .f32 %f<16>;
.reg .b64 %d<16>;
"""
_INDEX = """mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3;
"""
_SHARED = """mov.u32 %r6, tile;
shl.b32 %r7, %r3, 2;
add.s32 %r8, %r6, %r7;
"""


def _pointers(count: int) -> str:
    """The parameters as addresses of global memory, in %d1 and on."""
    return "".join(
        f"ld.param.u64 %d{at + 1}, [p{at}];\ncvta.to.global.u64 %d{at + 1}, %d{at + 1};\n"
        for at in range(count)
    )


def _kernel(name: str, pointers: int, numbers: int, body: str) -> str:
    parameters = [f".param .u64 p{at}" for at in range(pointers)]
    parameters += [f".param .u32 n{at}" for at in range(numbers)]
    return (
        f".visible .entry {name}({', '.join(parameters)})\n{{\n{_REGISTERS}"
        f"{_pointers(pointers)}{body}ret;\n}}\n"
    )


_VECTOR_ADD = f"""{_INDEX}ld.param.u32 %r5, [n0];
setp.ge.s32 %p1, %r4, %r5;
@%p1 bra DONE;
mul.wide.s32 %d5, %r4, 4;
add.s64 %d6, %d1, %d5;
add.s64 %d7, %d2, %d5;
add.s64 %d8, %d3, %d5;
ld.global.f32 %f1, [%d6];
ld.global.f32 %f2, [%d7];
add.f32 %f3, %f1, %f2;
st.global.f32 [%d8], %f3;
DONE:
"""
_STENCIL = f""".shared .align 4 .b8 tile[1032];
{_INDEX}{_SHARED}mul.wide.s32 %d5, %r4, 4;
add.s64 %d6, %d1, %d5;
add.s64 %d7, %d2, %d5;
ld.global.f32 %f1, [%d6+4];
st.shared.f32 [%r8+4], %f1;
setp.gt.s32 %p1, %r3, 1;
@%p1 bra FILLED;
mul.wide.s32 %d8, %r3, 1024;
add.s64 %d9, %d6, %d8;
ld.global.f32 %f2, [%d9];
mad.lo.s32 %r9, %r3, 1024, %r8;
st.shared.f32 [%r9], %f2;
FILLED:
bar.sync 0;
ld.shared.f32 %f3, [%r8];
ld.shared.f32 %f4, [%r8+4];
ld.shared.f32 %f5, [%r8+8];
add.f32 %f6, %f3, %f4;
add.f32 %f7, %f6, %f5;
st.global.f32 [%d7], %f7;
"""
_TRANSPOSE = f""".shared .align 4 .b8 tile[4224];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ctaid.y;
mov.u32 %r3, %tid.x;
mov.u32 %r4, %tid.y;
mov.u32 %r12, %nctaid.x;
shl.b32 %r12, %r12, 5;
mov.u32 %r6, tile;
{
    "".join(
        f'''shl.b32 %r7, %r2, 5;
add.s32 %r7, %r7, %r4;
add.s32 %r7, %r7, {step};
shl.b32 %r8, %r1, 5;
add.s32 %r8, %r8, %r3;
mad.lo.s32 %r9, %r7, %r12, %r8;
mul.wide.s32 %d5, %r9, 4;
add.s64 %d6, %d1, %d5;
ld.global.f32 %f1, [%d6];
add.s32 %r10, %r4, {step};
mad.lo.s32 %r11, %r10, 33, %r3;
shl.b32 %r11, %r11, 2;
add.s32 %r11, %r11, %r6;
st.shared.f32 [%r11], %f1;
'''
        for step in (0, 8, 16, 24)
    )
}bar.sync 0;
{
    "".join(
        f'''shl.b32 %r7, %r1, 5;
add.s32 %r7, %r7, %r4;
add.s32 %r7, %r7, {step};
shl.b32 %r8, %r2, 5;
add.s32 %r8, %r8, %r3;
mad.lo.s32 %r9, %r7, %r12, %r8;
mul.wide.s32 %d5, %r9, 4;
add.s64 %d6, %d2, %d5;
add.s32 %r10, %r4, {step};
mad.lo.s32 %r11, %r3, 33, %r10;
shl.b32 %r11, %r11, 2;
add.s32 %r11, %r11, %r6;
ld.shared.f32 %f1, [%r11];
st.global.f32 [%d6], %f1;
'''
        for step in (0, 8, 16, 24)
    )
}"""
_REDUCTION = f""".shared .align 4 .b8 tile[1024];
{_INDEX}{_SHARED}mul.wide.s32 %d5, %r4, 4;
add.s64 %d6, %d1, %d5;
ld.global.f32 %f1, [%d6];
st.shared.f32 [%r8], %f1;
shr.u32 %r9, %r2, 1;
LOOP:
bar.sync 0;
setp.ge.u32 %p1, %r3, %r9;
@%p1 bra NEXT;
shl.b32 %r10, %r9, 2;
add.s32 %r11, %r8, %r10;
ld.shared.f32 %f2, [%r11];
ld.shared.f32 %f3, [%r8];
add.f32 %f4, %f2, %f3;
st.shared.f32 [%r8], %f4;
NEXT:
shr.u32 %r9, %r9, 1;
setp.ne.u32 %p2, %r9, 0;
@%p2 bra LOOP;
setp.ne.u32 %p3, %r3, 0;
@%p3 bra DONE;
ld.shared.f32 %f5, [tile];
mul.wide.u32 %d7, %r1, 4;
add.s64 %d8, %d2, %d7;
st.global.f32 [%d8], %f5;
DONE:
"""
_RELAXED_SUM = f"{_REDUCTION.replace('st.global.f32 [%d8]', 'red.global.add.f32 [%d2]')}"

_REGULAR: Mapping[str, tuple[str, tuple[int, int], str]] = {
    "vector add": (
        _kernel("k", 3, 1, _VECTOR_ADD),
        (1366, 1),
        "f32[349696]=iota, f32[349696]=iota, f32[349696], 349696",
    ),
    "stencil in shared memory": (
        _kernel("k", 2, 0, _STENCIL),
        (680, 1),
        "f32[174083]=iota, f32[174080]",
    ),
    "transpose of tiles": (
        _kernel("k", 2, 0, _TRANSPOSE),
        (16, 16),
        "f32[262144]=iota, f32[262144]",
    ),
    "reduction of a block": (
        _kernel("k", 2, 0, _REDUCTION),
        (800, 1),
        "f32[204800]=iota, f32[800]",
    ),
    "reduction, then an atomic": (
        _kernel("k", 2, 0, _RELAXED_SUM),
        (800, 1),
        "f32[204800]=iota, f32[800]",
    ),
}
"""About a million accesses each; the last one is not all weak."""


def _irregular(name: str, row: str, update: str, guard: str) -> str:
    """A thread for each node of a graph, whose edges it follows."""
    return _kernel(
        name, 4, 1,
        f"""{_INDEX}ld.param.u32 %r5, [n0];
setp.ge.s32 %p1, %r4, %r5;
@%p1 bra DONE;
mul.wide.s32 %d5, %r4, 4;
add.s64 %d6, %d1, %d5;
ld.global.u32 %r6, [%d6];
ld.global.u32 %r7, [%d6+4];
mov.u32 %r9, 0;
LOOP:
setp.ge.u32 %p2, %r6, %r7;
@%p2 bra DONE;
mul.wide.u32 %d7, %r6, 4;
add.s64 %d8, %d2, %d7;
ld.global.u32 %r8, [%d8];
mul.wide.u32 %d9, %r8, 4;
add.s64 %d10, %d3, %d9;
add.s64 %d12, %d3, %d5;
{guard}{row}add.s64 %d11, %d4, {"%d5" if "own" in name else "%d9"};
{update}
SKIP:
add.s32 %r6, %r6, 1;
bra LOOP;
DONE:
""")  # fmt: skip


_UPDATES = {
    "store": "st.global.u32 [%d11], %r9;",
    "add": "ld.global.u32 %r11, [%d11];\nadd.s32 %r11, %r11, %r9;\nst.global.u32 [%d11], %r11;",
    "atomic": "red.global.add.u32 [%d11], %r9;",
    "max": "atom.global.max.u32 %r12, [%d11], %r9;",
}
_ROWS = {
    "pull": "ld.global.u32 %r10, [%d10];\nadd.s32 %r9, %r9, %r10;\n",
    "push": "ld.global.u32 %r10, [%d12];\nadd.s32 %r9, %r9, %r10;\n",
    "count": "add.s32 %r9, %r9, 1;\n",
}
_GUARDS = {"all": "", "later": "setp.lt.u32 %p3, %r8, %r4;\n@%p3 bra SKIP;\n", "own": ""}


_GRAPH = "u32[101]=iota, u32[400]=random(7, 100), u32[100]=iota, u32[100], 100"
"""100 nodes with an edge each to one drawn."""


def _small() -> Iterator[tuple[Module, str]]:
    """Launches of each kernel in turn, of a file that is read anew for each round."""
    names = list(product(_ROWS, _UPDATES, _GUARDS))
    text = _HEAD + "".join(
        _irregular("_".join(each), _ROWS[each[0]], _UPDATES[each[1]], _GUARDS[each[2]])
        for each in names
    )
    while True:
        module = Module(read_ptx(text, "k.ptx"))
        for each in names:
            yield module, f"{'_'.join(each)}<<<8, 64>>>({_GRAPH})"


_SMALL = 180


def results() -> list[Result]:
    """Best of two, in the orders that a launch takes; by threads alone a tenth of it, once."""
    # As the programs do once all is imported.
    gc.freeze()
    rows: list[tuple[str, ...]] = []
    for name, (kernel, grid, arguments) in _REGULAR.items():
        rates = [
            max(_rate(judge, kernel, _launch(grid, arguments)) for _ in range(2)),
            _rate(judge_by_thread, kernel, _launch(grid, arguments, 10)),
        ]
        rows.append((name, *(f"{rate / 1e3:,.0f} k/s" for rate in rates)))
    begin, races = time.process_time(), 0
    for module, launch in islice(_small(), _SMALL):
        races += judge(module, parse_launch(launch)).judgement is not Judgement.NO_RACE
    small = f"{(time.process_time() - begin) / _SMALL * 1e3:.1f} ms a kernel"
    rows.append((f"{_SMALL} small kernels on graphs, {races} with races", small, small))
    return [
        Result(
            "Launches judged for races",
            ("launch", "`--launch`", "by threads alone"),
            tuple(rows),
            "Checked accesses a CPU second of launches of a million accesses, without start-up: "
            "arguments, the orders that it takes and the verdict. Small kernels have 512 threads; "
            "parsing and compiling them is included.",
        )
    ]


def _launch(grid: tuple[int, int], arguments: str, part: int = 1) -> str:
    """A launch of a part of the blocks."""
    x, y = grid
    x, y, block = (x, max(y // part, 1), "(32, 8)") if y > 1 else (x // part, 1, "256")
    return f"k<<<({x}, {y}), {block}>>>({arguments})"


def _rate(judged: Callable[[Module, Launch], Verdict], kernel: str, launch: str) -> float:
    text = _HEAD + kernel
    begin = time.process_time()
    verdict = judged(Module(read_ptx(text, "k.ptx")), parse_launch(launch))
    seconds = time.process_time() - begin
    assert verdict.judgement is Judgement.NO_RACE, str(verdict)
    return verdict.checked / seconds
