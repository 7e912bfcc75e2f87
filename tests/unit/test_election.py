"""Which branches one wave of a work-group takes, in MLIR and in LLVM IR."""

from pathlib import Path

import pytest
from minimise_programs import parse
from xdsl.context import Context
from xdsl.dialects import cf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from fencewright.lowering.cdna.performance.accesses import LANES
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.analysis.election import WAVE, Election, blocks_of_elected
from fencewright.passes.analysis.uniformity import divergent_values
from fencewright.passes.pipelines import CDNAPipeline
from fencewright.tools.inputs.litmus.files import parse_module


def thread_id(dimension: str) -> str:
    return f'"gpu.thread_id"() {{dimension = #gpu<dim {dimension}>}} : () -> index'


MLIR = """
func.func @k(%n : i32) {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %six = arith.constant 6 : i32
  %x = {x}
  %t = arith.index_cast %x : index to i32
  {body}
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^b
^b:
  func.return
}}"""
WAVE_NUMBER = "%w = arith.shrui %t, %six : i32\n"


def function(module: ModuleOp) -> FuncOp:
    (found,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    return found


def in_mlir(body: str, size: tuple[int, int, int] | None) -> int | None:
    found = function(parse(MLIR.format(x=thread_id("x"), body=body)))
    blocks = found.body.blocks
    (branch,) = [op for op in found.walk() if isinstance(op, cf.ConditionalBranchOp)]
    return Election(blocks, size).elected(branch)


COMPARED = {
    "%c = arith.cmpi eq, %t, %zero : i32": 0,
    "%c = arith.cmpi eq, %t, %n : i32": 0,
    "%c = arith.cmpi ne, %t, %zero : i32": 1,
    "%c = arith.cmpi ult, %t, %one : i32": 0,
    "%c = arith.cmpi uge, %t, %one : i32": 1,
    "%c = arith.cmpi ult, %t, %n : i32": None,
    "%c = arith.cmpi ugt, %t, %one : i32": None,
    "%c = arith.cmpi eq, %n, %zero : i32": None,
    "%m = arith.constant 64 : i32\n%c = arith.cmpi ult, %t, %m : i32": 0,
    "%m = arith.constant 65 : i32\n%c = arith.cmpi ult, %t, %m : i32": None,
    "%m = arith.andi %t, %one : i32\n%c = arith.cmpi eq, %m, %zero : i32": None,
    WAVE_NUMBER + "%c = arith.cmpi eq, %w, %zero : i32": 0,
    WAVE_NUMBER + "%c = arith.cmpi ult, %w, %one : i32": 0,
    WAVE_NUMBER + "%c = arith.cmpi ult, %w, %six : i32": None,
    "%m = arith.constant 7 : i32\n%w = arith.shrui %t, %m : i32\n"
    "%c = arith.cmpi eq, %w, %zero : i32": None,
    "%w = arith.shrui %t, %n : i32\n%c = arith.cmpi eq, %w, %zero : i32": None,
    **{
        f"%m = arith.constant {by} : i32\n%w = arith.shrui %t, %m : i32\n"
        "%c = arith.cmpi eq, %w, %zero : i32": None
        for by in (-1, 32, 2147483647)
    },
    "%l = arith.extui %t : i32 to i64\n%m = arith.constant 4000000000000 : i64\n"
    "%w = arith.shrui %l, %m : i64\n%o = arith.constant 0 : i64\n"
    "%c = arith.cmpi eq, %w, %o : i64": None,
    **{
        f"%m = arith.constant {number} : i32\n%c = arith.cmpi {predicate}, %t, %m : i32": None
        for number in (-1, -2147483648)
        for predicate in ("ult", "uge", "slt")
    },
    "%p = arith.cmpi eq, %t, %zero : i32\n%q = arith.cmpi eq, %n, %zero : i32\n"
    "%c = arith.andi %p, %q : i1": 0,
    "%p = arith.cmpi eq, %t, %zero : i32\n%q = arith.constant true\n%c = arith.xori %p, %q : i1": 1,
}


@pytest.mark.parametrize("body", COMPARED)
def test_a_branch_on_a_thread_elects(body: str) -> None:
    assert in_mlir(body, None) == COMPARED[body]
    assert in_mlir(body, (256, 1, 1)) == COMPARED[body]


def test_every_dimension_has_to_be_tested() -> None:
    x = "%c = arith.cmpi eq, %t, %zero : i32"
    assert in_mlir(x, (64, 4, 1)) is None
    y = f"%y = {thread_id('y')}\n%u = arith.index_cast %y : index to i32\n"
    both = (
        y + "%p = arith.cmpi eq, %t, %zero : i32\n%q = arith.cmpi eq, %u, %zero : i32\n"
        "%c = arith.andi %p, %q : i1"
    )
    assert in_mlir(y + x, None) is None
    assert in_mlir(y + x, (256, 1, 1)) == 0
    assert in_mlir(both, (64, 4, 1)) == 0
    assert in_mlir(both, None) == 0


LLVM_IR = """target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
define amdgpu_kernel void @k(i32 %n) {{
entry:
  %t = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  {body}
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  ret void
}}"""
IN_LLVM_IR = {
    "%c = icmp eq i32 %t, 0": 0,
    "%c = icmp eq i32 %t, %n": 0,
    "%c = icmp ne i32 %t, 0": 1,
    "%c = icmp samesign ult i32 %t, 64": 0,
    "%c = icmp ult i32 %t, 128": None,
    "%z = zext nneg i32 %t to i64\n%c = icmp eq i64 %z, 0": 0,
    "%w = lshr i32 %t, 6\n%c = icmp eq i32 %w, 0": 0,
    "%w = lshr i32 %t, 6\n%f = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %w)\n"
    "%c = icmp eq i32 %f, 0": 0,
    "%w = and i32 %t, 63\n%c = icmp eq i32 %w, 0": None,
    "%w = lshr i32 %t, 32\n%c = icmp eq i32 %w, 0": None,
    "%w = lshr i32 %t, 2147483647\n%c = icmp eq i32 %w, 0": None,
    "%p = icmp eq i32 %t, 0\n%q = icmp eq i32 %n, 0\n%c = select i1 %p, i1 %q, i1 false": 0,
    "%p = icmp eq i32 %t, 0\n%q = icmp eq i32 %n, 0\n%c = or i1 %p, %q": None,
    "%p = icmp eq i32 %t, 0\n%c = xor i1 %p, true": 1,
    "%u = call i32 @llvm.amdgcn.workitem.id.y()\n%c = icmp eq i32 %t, 0": None,
    "%u = call i32 @llvm.amdgcn.workitem.id.y()\n%p = icmp eq i32 %t, 0\n"
    "%q = icmp eq i32 %u, 0\n%c = and i1 %p, %q": 0,
}


@pytest.mark.parametrize("body", IN_LLVM_IR)
def test_a_branch_in_llvm_ir_elects(body: str) -> None:
    module = import_llvm_ir(LLVM_IR.format(body=body))
    (found,) = [op for op in module.ops if op.name == "llvm_ir.func"]
    blocks = found.regions[0].blocks
    branch = blocks[0].last_op
    assert branch is not None
    assert Election(blocks).elected(branch) == IN_LLVM_IR[body]


def test_waves_have_as_many_threads_as_instructions_have_lanes() -> None:
    assert WAVE == LANES


def test_what_other_edges_lead_to_is_not_behind() -> None:
    text = """func.func @k(%c : i1) {
      cf.cond_br %c, ^a, ^b
    ^a:
      cf.cond_br %c, ^inner, ^b
    ^inner:
      cf.br ^b
    ^b:
      func.return
    }"""
    blocks = list(function(parse(text)).body.blocks)
    entry, first, inner, last = blocks
    assert blocks_of_elected([entry], {entry: 0}.get, blocks) == {first, inner}
    assert blocks_of_elected([entry], {entry: 1}.get, blocks) == set()
    assert blocks_of_elected([entry], {first: 0}.get, blocks) == {inner}
    assert last not in blocks_of_elected([entry], {entry: 0, first: 0}.get, blocks)


@pytest.mark.parametrize(
    ("shift", "size", "differs"),
    [
        (6, (256, 1, 1), False),
        (7, (256, 1, 1), False),
        (5, (256, 1, 1), True),
        (6, (128, 2, 1), False),
        (6, (96, 1, 1), False),
        (6, (96, 2, 1), True),
        (6, (32, 8, 1), True),
        (6, None, True),
    ],
)
def test_the_number_of_a_wave_is_the_same_in_all_its_lanes(
    shift: int, size: tuple[int, int, int] | None, differs: bool
) -> None:
    body = f"%m = arith.constant {shift} : i32\n%w = arith.shrui %t, %m : i32\n"
    text = MLIR.format(x=thread_id("x"), body=body + "%c = arith.cmpi eq, %w, %zero : i32")
    found = function(parse(text))
    (compared,) = [op for op in found.walk() if op.name == "arith.cmpi"]
    assert (compared.results[0] in divergent_values(found.body.blocks, size)) == differs


# The ten kernels of docs/gpu-memory.md


@pytest.mark.parametrize("file", [
    *(f"memory/{name}" for name in ("copy", "transpose_naive", "transpose_padded", "histogram",
                                    "transpose_swizzled", "matrix_product", "stencil",
                                    "reduction_waves", "look_back_scan_waves", "spin_lock_waves")),
])  # fmt: skip
def test_kernels_that_publish_from_one_wave_have_nothing_to_elect(file: str) -> None:
    """The pass finds them as it leaves them; only the lock writes back, in its first wave."""
    path = Path(__file__).parents[2] / "examples" / f"{file}.mlir"
    module = parse_module(str(path), path.read_text())
    for step in CDNAPipeline("gfx942").passes():
        before = str(module) if step.name == "elect-release" else ""
        step.apply(Context(), module)
        if step.name == "elect-release":
            assert str(module) == before
            assert before.count("cdna.cache buffer_wbl2") == (file == "memory/spin_lock_waves")
