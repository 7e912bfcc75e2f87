"""docs/async-paths.md: which instruction goes by which path, found by trying each one on each.

A row has an instruction as PTX, as an operation of ``scoped`` if there is one, and as columns. Each
is given to every path; what a path answers is the cell: that it works, or the line by which it is
refused.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.vocabulary import FastStrEnum, RmwKind
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.litmus.write_async import write
from fencewright.simulator.core.condition import LitmusError
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.gpu.kernels import GpuLitmusError, prepare
from fencewright.simulator.litmus_run import PtxTest, RunnableTest, run
from fencewright.simulator.ptx import definition
from fencewright.simulator.ptx.formats.columns import parse_litmus
from fencewright.simulator.ptx.model import PtxModel, Version
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.random.async_programs import draw
from fencewright.tools.diagnostics import ToolError
from fencewright.tools.inputs.litmus.harness import read_with_harness
from fencewright.tools.inputs.litmus.lowered import Lowering, read_string
from fencewright.tools.reports.markdown import markdown_table


class Route(FastStrEnum):
    """A way to the PTX model, or to a GPU."""

    SCOPED = "`scoped`"
    FILE = "PTX"
    INLINE = "inline PTX"
    COLUMNS = "columns, model"
    DEFINITION = "definition"
    FUZZ = "fuzz"
    GPU = "run-gpu"


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: ``ptx`` with places in braces, ``scoped`` lines, ``cells`` of a column.

    The places are ``x``, ``y`` (global memory), ``all`` (their multicast address), ``s``, ``u``
    (shared), ``peer`` (s, as a peer reaches it), ``b`` and ``bp`` (an mbarrier, the same as a peer
    reaches it), ``value``, ``dst``.
    """

    name: str
    ptx: str
    cells: str
    scoped: str = ""
    chip: str = "sm_90"


def _i(name: str, ptx: str, cells: str, scoped: str = "", chip: str = "sm_90") -> Instruction:
    return Instruction(name, ptx, cells, scoped, chip)


_ARRIVE, _WAIT = "mbarrier.arrive.expect_tx b, {0}", "mbarrier.try_wait.parity.acquire.cluster b, 0"
_TX = "mbarrier::complete_tx::bytes"


def _completing(cell: str, size: int) -> str:
    return "; ".join((_ARRIVE.format(size), cell, _WAIT))


_GROUP = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0"
_PEER = "!llvm.ptr<7>, !llvm.ptr<7>"

INSTRUCTIONS: tuple[Instruction, ...] = (
    _i("ld.global.nc", "ld.global.nc.b32 {dst}, [{x}]", "ld.nc r0, x",
       "%v = scoped.load weak %x {invariant} : !llvm.ptr<1> -> i32"),
    _i("ld.ca", "ld.global.ca.b32 {dst}, [{x}]", "ld.ca r0, x"),
    _i("ld.cg", "ld.global.cg.b32 {dst}, [{x}]", "ld.cg r0, x"),
    _i("ld.volatile", "ld.volatile.global.b32 {dst}, [{x}]", "ld.volatile r0, x",
       "%v = scoped.load weak %x {volatile} : !llvm.ptr<1> -> i32"),
    _i("prefetch", "prefetch.global.L2 [{x}]", "prefetch.global.L2 [x]",
       "scoped.prefetch %x : !llvm.ptr<1>"),
    _i("cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2.global [{x}], 16",
       "cp.async.bulk.prefetch.L2.global [x], 16", "scoped.prefetch %x size 16 : !llvm.ptr<1>"),
    _i("st.bulk", "st.bulk.weak.shared::cta [{s}], 128, 0", "st.bulk s, 128, 0",
       "scoped.store_bulk %s size 128 : !llvm.ptr<3>", "sm_100"),
    _i("st.async", f"st.async.weak.shared::cluster.{_TX}.b32 [{{peer}}], {{value}}, [{{bp}}]",
       _completing("st.async s, 7, 4, b", 4),
       f"scoped.store_async %value, %peer mbarrier %bp : i32, {_PEER}"),
    _i("st.async.release", "st.async.release.gpu.global.u32 [{x}], {value}",
       "st.async.release.gpu x, 7", "", "sm_100"),
    _i("red.async",
       f"red.async.relaxed.cluster.shared::cluster.{_TX}.add.u32 [{{peer}}], {{value}}, [{{bp}}]",
       _completing("red.async.add s, 7, 4, b", 4),
       f"scoped.reduce_async add %value, %peer mbarrier %bp : i32, {_PEER}"),
    _i("red.async.inc, .dec",
       f"red.async.relaxed.cluster.shared::cluster.{_TX}.inc.u32 [{{peer}}], {{value}}, [{{bp}}]",
       _completing("red.async.inc s, 7, 4, b", 4),
       f"scoped.reduce_async uinc_wrap %value, %peer mbarrier %bp : i32, {_PEER}"),
    _i("cp.async.bulk",
       f"cp.async.bulk.shared::cluster.global.{_TX} [{{peer}}], [{{x}}], 16, [{{bp}}]",
       _completing("cp.async.bulk s, x, 16, b", 16),
       "scoped.bulk_copy %peer, %x size 16 mbarrier %bp : !llvm.ptr<7>, !llvm.ptr<1>, "
       "!llvm.ptr<7>"),
    _i("cp.reduce.async.bulk, to global",
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [{x}], [{s}], 16",
       f"cp.reduce.async.bulk.bulk_group.add x, s, 16; {_GROUP}",
       "scoped.bulk_reduce add i32 %x, %s size 16 : !llvm.ptr<1>, !llvm.ptr<3>"),
    _i("cp.reduce.async.bulk, to a cluster",
       f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_TX}.add.u32 [{{peer}}], [{{u}}], 16, "
       f"[{{bp}}]",
       _completing("cp.reduce.async.bulk.add s, u, 16, b", 16),
       "scoped.bulk_reduce add i32 %peer, %u size 16 mbarrier %bp : !llvm.ptr<7>, !llvm.ptr<3>, "
       "!llvm.ptr<7>"),
    _i("cp.reduce.async.bulk, of f32",
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [{x}], [{s}], 16",
       f"cp.reduce.async.bulk.bulk_group.add.f32 x, s, 16; {_GROUP}",
       "scoped.bulk_reduce fadd f32 %x, %s size 16 : !llvm.ptr<1>, !llvm.ptr<3>"),
    _i("multimem.ld_reduce", "multimem.ld_reduce.relaxed.sys.global.add.u32 {dst}, [{all}]",
       "multimem.ld_reduce.relaxed.sys.add r0, {x, y}",
       "%v = scoped.multimem_load add relaxed system %all : !llvm.ptr<1> -> i32"),
    _i("multimem.st", "multimem.st.relaxed.sys.global.b32 [{all}], {value}",
       "multimem.st.relaxed.sys {x, y}, 7",
       "scoped.multimem_store relaxed system %value, %all : i32, !llvm.ptr<1>"),
    _i("multimem.red", "multimem.red.relaxed.sys.global.add.u32 [{all}], {value}",
       "multimem.red.relaxed.sys.add {x, y}, 7",
       "scoped.multimem_reduce add relaxed system %value, %all : i32, !llvm.ptr<1>"),
    _i("multimem.cp.async.bulk",
       "multimem.cp.async.bulk.global.shared::cta.bulk_group [{all}], [{s}], 16",
       "multimem.cp.async.bulk.bulk_group {x, y}, s, 16", "", "sm_100a"),
    _i("elect.sync", "elect.sync _|{predicate}, -1", "elect.sync r0", "%v = scoped.elect : i1"),
    _i("mbarrier.expect_tx, complete_tx",
       "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{b}], 16; "
       "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [{b}], 16",
       "mbarrier.expect_tx b, 16; mbarrier.complete_tx b, 16",
       "scoped.mbarrier_expect_tx workgroup %b bytes 16 : !llvm.ptr<3>; "
       "scoped.mbarrier_complete_tx workgroup %b bytes 16 : !llvm.ptr<3>"),
    _i("mbarrier.arrive_drop", "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [{b}]",
       "mbarrier.arrive_drop b",
       "scoped.mbarrier_arrive drop release workgroup %b : !llvm.ptr<3>"),
    _i("mbarrier.arrive.noComplete",
       "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 {token}, [{b}], 1",
       "mbarrier.arrive.noComplete r0, b, 1"),
    _i("mbarrier.test_wait",
       "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 {predicate}, [{b}], 0",
       "mbarrier.arrive b; mbarrier.test_wait.parity r0, b, 0",
       "%v = scoped.mbarrier_test_wait acquire workgroup %b, %zero : !llvm.ptr<3>, i32"),
    _i("mbarrier.pending_count", "mbarrier.pending_count.b64 {dst}, {token}",
       "mbarrier.pending_count r0, r1"),
    _i("mbarrier.inval",
       "mbarrier.init.shared::cta.b64 [{n}], 1; mbarrier.inval.shared::cta.b64 [{n}]",
       "mbarrier.init n, 1; mbarrier.inval n",
       "scoped.mbarrier_init %n count 1 : !llvm.ptr<3>; scoped.mbarrier_inval %n : !llvm.ptr<3>"),
    _i("bar.sync with a count", "bar.sync 1, 32", "bar.sync 1, 1",
       "scoped.named_barrier sync 1 threads 32"),
    _i("bar.arrive", "bar.arrive 1, 64", "barrier.cta.arrive 1, 2",
       "scoped.named_barrier arrive 1 threads 64"),
    _i("bar.red", "barrier.cta.red.popc.u32 {dst}, 1, 32, 1",
       "barrier.cta.red.popc.u32 r0, 1, 1, 1"),
    _i("barrier.cluster", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire",
       "barrier.cluster.arrive; barrier.cluster.wait",
       "scoped.cluster_arrive release; scoped.cluster_wait"),
    _i("fence.proxy.async", "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cta",
       "scoped.proxy_fence async spaces [local]"),
    _i("fence.proxy.alias", "fence.proxy.alias", "fence.proxy.alias", "scoped.alias_fence"),
    _i("griddepcontrol", "griddepcontrol.wait", "griddepcontrol.wait"),
    _i("cp.async.bulk.tensor",
       f"cp.async.bulk.tensor.1d.shared::cluster.global.tile.{_TX} [{{peer}}], [{{map}}, "
       f"{{{{0}}}}], [{{bp}}]",
       _completing("cp.async.bulk.tensor s, [m, x], 16, b", 16),
       "scoped.tensor_load %s, %map [%zero] mbarrier %b : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, "
       "i32"),
    _i("cp.reduce.async.bulk.tensor",
       "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [{map}, {{0}}], "
       "[{s}]",
       f"cp.reduce.async.bulk.tensor.bulk_group.add [m, x], s; {_GROUP}",
       "scoped.tensor_store %map [%zero], %s reduce add : !llvm.ptr, !llvm.ptr<3>, i32"),
    _i("tensormap.replace",
       "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [{s}], {token}",
       "tensormap.replace m, 0", "scoped.tensormap_replace %s, %long : !llvm.ptr<3>, i64",
       "sm_90a"),
    _i("fence.proxy.tensormap", "fence.proxy.tensormap::generic.release.gpu",
       "fence.proxy.tensormap::generic.release.gpu", "scoped.tensormap_fence release agent"),
    _i("wgmma", "wgmma.fence.sync.aligned",
       "wgmma.fence; wgmma.mma_async r0, s, u; wgmma.commit_group; wgmma.wait_group 0; mov r1, r0",
       'scoped.wgmma "m64n8k16.f32.f16.f16" "acc" registers 4 %da, %db; %v = scoped.wgmma_read '
       '"acc"[0] : i32', "sm_90a"),
    _i("tcgen05.st, tcgen05.ld", "tcgen05.wait::st.sync.aligned",
       "tcgen05.st t, 1; tcgen05.wait::st; tcgen05.ld r0, t; tcgen05.wait::ld; mov r1, r0",
       "scoped.tcgen05_store %value, %t : i32, !llvm.ptr<6>; %v = scoped.tcgen05_load %t : "
       "!llvm.ptr<6> -> i32", "sm_100a"),
    _i("tcgen05.mma, tcgen05.commit", "tcgen05.fence::after_thread_sync",
       "tcgen05.mma t, s, u, 0; tcgen05.commit b; mbarrier.try_wait.parity b, 0",
       'scoped.tcgen05_mma "f16" %t, %da, %db, %value, %no : !llvm.ptr<6>; scoped.tcgen05_commit '
       '%b : !llvm.ptr<3>', "sm_100a"),
)  # fmt: skip
"""The instructions that are tried."""


# One path each

WORKS = "yes"
_ABSENT = ""


def _of_scoped(row: Instruction) -> str:
    if not row.scoped:
        return _ABSENT
    code = "\n".join(f"    {line.strip()}" for line in row.scoped.split(";"))
    return _run_module(_MODULE.format(code=code), Lowering(row.chip))


_MODULE = """litmus.test @t {{
  litmus.location @x = 1 : i32
  litmus.location @y = 2 : i32
  litmus.location @m = 0 : i32 {{describes = [@x, @y]}}
  litmus.multicast @all = [@x, @y]
  litmus.location @s = 3 : i32 in local {{bytes = 16 : i64}}
  litmus.location @u = 4 : i32 in local
  litmus.location @t = 5 : i32 {{tensor}}
  litmus.mbarrier @b count 1
  litmus.mbarrier @n
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {{
    %n = litmus.address @n : !llvm.ptr<3>
    %x = litmus.address @x : !llvm.ptr<1>
    %all = litmus.address @all : !llvm.ptr<1>
    %map = litmus.address @m : !llvm.ptr
    %s = litmus.address @s : !llvm.ptr<3>
    %u = litmus.address @u : !llvm.ptr<3>
    %peer = litmus.address @s : !llvm.ptr<7>
    %b = litmus.address @b : !llvm.ptr<3>
    %bp = litmus.address @b : !llvm.ptr<7>
    %t = litmus.address @t : !llvm.ptr<6>
    %da = litmus.address @s : i64
    %db = litmus.address @u : i64
    %value = arith.constant 7 : i32
    %zero = arith.constant 0 : i32
    %long = arith.constant 0 : i64
    %no = arith.constant 0 : i1
{code}
  }}
  litmus.condition "exists (x = 1)"
}}
"""


def _run_module(text: str, lowering: Lowering) -> str:
    try:
        (test,) = read_string("t.mlir", text, lowering)
    except (ToolError, DiagnosticException) as problem:
        return _reason(str(problem))
    return _ran(test)


def _ran(test: RunnableTest) -> str:
    try:
        found = run(test)
    except ProgramError as problem:
        return str(problem)
    assert found.outcomes is not None
    if found.errors:
        return found.errors[0]
    return WORKS if found.outcomes.states else "no execution ends"


def _reason(message: str) -> str:
    return message.rpartition("error: ")[2].strip()


_PLACES = ("x", "all", "map", "s", "u", "peer", "b", "bp", "n")


def _filled(row: Instruction, places: Mapping[str, str]) -> list[str]:
    text = row.ptx.replace("{{", "\x01").replace("}}", "\x02")
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return [each.strip() for each in text.replace("\x01", "{").replace("\x02", "}").split(";")]


_IN_FILE = MappingProxyType(
    {
        **{name: f"%{name}" for name in ("x", "all", "map")},
        **{"s": "s", "u": "u", "peer": "s", "b": "b", "bp": "b", "n": "n"},
        **{"value": "%r2", "dst": "%r0", "predicate": "%p1", "token": "%d1"},
    }
)


def _of_file(row: Instruction) -> str:
    code = "\n".join(f"{line};" for line in _filled(row, _IN_FILE))
    with tempfile.TemporaryDirectory() as folder:
        file, harness = Path(folder) / "k.ptx", Path(folder) / "h.mlir"
        file.write_text(_FILE.format(chip=row.chip, code=code))
        harness.write_text(_HARNESS)
        try:
            (test,) = read_with_harness(str(file), str(harness), Lowering())
        except ToolError as problem:
            return _reason(str(problem))
    return _ran(test)


_FILE = """.version 9.0
.target {chip}
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {{
.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<2>; .reg .b64 %x, %y, %all, %map;
.shared .align 128 .b8 s[128]; .shared .align 16 .b8 u[16]; .shared .align 8 .b8 b[8]; .shared .align 8 .b8 n[8];
ld.param.u64 %x, [p0]; ld.param.u64 %y, [p1]; ld.param.u64 %all, [p2]; ld.param.u64 %map, [p3];
mbarrier.init.shared::cta.b64 [b], 1;
ld.global.b32 %r2, [%y];
{code}
ret;
}}
"""
_HARNESS = """litmus.kernel @k
litmus.test @t {
  litmus.location @x = 1 : i32
  litmus.location @y = 2 : i32
  litmus.location @m = 0 : i32 {describes = [@x, @y]}
  litmus.multicast @all = [@x, @y]
  litmus.thread @P0 at <workgroup = 0, cluster = 0> runs @k(@x, @y, @all, @m)
  litmus.condition "exists (x = 1)"
}
"""


def _of_inline(row: Instruction) -> str:
    """An ``asm`` call either becomes an operation or stays the text that it is."""
    order = [*_PLACES, "value", "token"]
    used = [name for name in order if f"{{{name}}}" in row.ptx]
    gives = next((each for each in ("dst", "predicate") if f"{{{each}}}" in row.ptx), None)
    numbers = {name: f"${n + (gives is not None)}" for n, name in enumerate(used)}
    (line, *more) = _filled(row, numbers | ({gives: "$0"} if gives else {}))
    letters = {"value": "r", "token": "l"}
    wanted = [
        letters.get(name, "r" if name in ("s", "u", "peer", "b", "bp", "n") else "l")
        for name in used
    ]
    constraints = ",".join([*(["=r"] if gives else []), *wanted])
    operands = ", ".join(_INLINE[name] for name in used)
    result, type_ = ("%result = ", "i32") if gives else ("", "void")
    call = (
        f'{result}call {type_} asm sideeffect "{"; ".join([line, *more])};", '
        f'"{constraints}"({operands})'
    )
    module = import_llvm_ir(_LLVM_IR.format(call=call))
    found = [op.name for op in module.walk() if op.name.startswith("scoped.")]
    return f"{WORKS}: `{found[0]}`" if found else "stays text"


_INLINE = MappingProxyType(
    {
        **dict.fromkeys(("x", "all", "map"), "ptr addrspace(1) %g"),
        **dict.fromkeys(("s", "u", "b", "n"), "ptr addrspace(3) %s"),
        **dict.fromkeys(("peer", "bp"), "ptr addrspace(7) %c"),
        **{"value": "i32 %v", "token": "i64 %l"},
    }
)
_LLVM_IR = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %g, ptr addrspace(3) %s, ptr addrspace(7) %c, i32 %v, i64 %l) {{
  {call}
  ret void
}}
"""


def _columns(row: Instruction) -> str:
    cells = "".join(f" {cell.strip()} ;\n" for cell in row.cells.split(";"))
    first = " P0@cta 0,cluster 0,gpu 0 ;\n"
    return f"PTX t\n{{ {_INITIAL} }}\n{first}{cells}exists (x == 1)\n"


_INITIAL = (
    "x=1; y=1; m=0; s=1; u=1; b = mbarrier(1); n = mbarrier; t=1; t @ tmem; "
    "s @ cta 0,cluster 0,gpu 0; u @ cta 0,cluster 0,gpu 0;"
)


def _of_columns(row: Instruction) -> str:
    try:
        test = parse_litmus(_columns(row))
    except LitmusError as problem:
        return _reason(str(problem))
    return _ran(PtxTest(test, PtxModel()))


def _of_definition(row: Instruction) -> str:
    try:
        program = parse_litmus(_columns(row)).program
    except LitmusError:
        return _ABSENT
    return (
        WORKS
        if definition.outcomes(program, Version.V7_5) == outcomes(program)
        else "other outcomes"
    )


def _of_fuzz(row: Instruction) -> str:
    lines = (line.strip() for line in row.scoped.split(";"))
    heads = [_head_of(line) for line in lines if line]
    return WORKS if heads and all(each in _drawn() for each in heads) else _ABSENT


def _head_of(line: str) -> str:
    """An operation of ``scoped``, with the words that say which it is."""
    name, *words = line.rpartition(" = ")[2].partition(" : ")[0].split()
    said = [each for each in words[:1] if each in tuple(RmwKind)] + [
        e for e in words if e[0] == "{"
    ]
    return " ".join((name, *said))


@cache
def _drawn() -> frozenset[str]:
    """The operations in random programs."""
    lines = (line.strip() for seed in range(_SEEDS) for line in write(draw(seed)).splitlines())
    return frozenset(_head_of(line) for line in lines if "scoped." in line)


_SEEDS = 300


def _of_gpu(row: Instruction) -> str:
    try:
        program = parse_litmus(_columns(row)).program
    except LitmusError:
        return _ABSENT
    try:
        (module,) = prepare(program, outcomes(program), "sm_90", frozenset({"s", "u"})).modules
    except GpuLitmusError as problem:
        return _reason(str(problem)).rpartition(": ")[2]
    head = ".".join(row.ptx.partition(" ")[0].split(".")[:2])
    return WORKS if head in module else _OTHERWISE


_OTHERWISE = "another instruction stands for it"


TRIED: Mapping[Route, Callable[[Instruction], str]] = MappingProxyType(
    {
        Route.SCOPED: _of_scoped,
        Route.FILE: _of_file,
        Route.INLINE: _of_inline,
        Route.COLUMNS: _of_columns,
        Route.DEFINITION: _of_definition,
        Route.FUZZ: _of_fuzz,
        Route.GPU: _of_gpu,
    }
)
"""The trial of each path."""


# The page


def answers(row: Instruction) -> Mapping[Route, str]:
    """The answer of each path for an instruction; "" if it has no word for it."""
    return {path: answer(row) for path, answer in TRIED.items()}


def async_paths_parts() -> Mapping[str, str]:
    """The tables of docs/async-paths.md."""
    found = [(row, answers(row)) for row in INSTRUCTIONS]
    rows = [(f"`{row.name}`", *(_cell(each) for each in given.values())) for row, given in found]
    return {
        "paths": markdown_table(("instruction", *map(str, Route)), rows),
        "refusals": markdown_table(("instruction", "path", "answer"), _refusals(found)),
    }


def _cell(answer: str) -> str:
    if answer.startswith(WORKS):
        return WORKS
    if answer == _OTHERWISE:
        return "other"
    return "-" if answer == _ABSENT else "text" if answer == "stays text" else "refused"


def _refusals(found: list[tuple[Instruction, Mapping[Route, str]]]) -> Iterator[tuple[str, ...]]:
    for row, given in found:
        by_answer: dict[str, list[str]] = {}
        for path, answer in given.items():
            if _cell(answer) == "refused":
                by_answer.setdefault(answer.replace("|", "\\|"), []).append(str(path))
        for answer, paths in by_answer.items():
            yield f"`{row.name}`", ", ".join(paths), answer
