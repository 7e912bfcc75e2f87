"""A litmus test of PTX operations is one of the text that is printed of them, and of nothing else."""

from collections.abc import Callable, Iterable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from fencewright.mlir_dialects import litmus, ptx
from fencewright.passes.litmus import ptx as road
from fencewright.passes.litmus.outlining import cluster_of
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import lower_module
from fencewright.passes.print.ptx import Listing, listing
from fencewright.simulator.litmus_run import PtxTest, run
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.ptx.instructions import Ld, PtxFence, St
from fencewright.tools.inputs.litmus.files import parse_module

BUFFERS = """
litmus.test @sb {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !ptx.reg<b64>
    %y = litmus.address @y : !ptx.reg<b64>
    %one = ptx.const 1 : !ptx.reg<b32>
    ptx.store "st.relaxed.gpu.global.b32" %x, %one : !ptx.reg<b64>, !ptx.reg<b32>
    ptx.fence "fence.sc.gpu"
    %v = ptx.load "ld.relaxed.gpu.global.b32" %y : !ptx.reg<b64> -> !ptx.reg<b32>
    litmus.observe "r0", %v : !ptx.reg<b32>
  }
  litmus.thread @P1 runs @other(@y, @x, "r0")
  litmus.condition "~exists (P0:r0 = 0 and P1:r0 = 0)"
}
ptx.kernel @other attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64, 64, 64>} {
  %x = ptx.param 0 : !ptx.reg<b64>
  %y = ptx.param 1 : !ptx.reg<b64>
  %r = ptx.param 2 : !ptx.reg<b64>
  %one = ptx.const 1 : !ptx.reg<b32>
  ptx.store "st.relaxed.gpu.global.b32" %x, %one : !ptx.reg<b64>, !ptx.reg<b32>
  ptx.fence "fence.sc.gpu"
  %v = ptx.load "ld.relaxed.gpu.global.b32" %y : !ptx.reg<b64> -> !ptx.reg<b32>
  ptx.store "st.weak.b32" %r, %v : !ptx.reg<b64>, !ptx.reg<b32>
  ptx.ret
}
"""


def read(text: str) -> PtxTest:
    test = read_only_test(parse_module("t.mlir", text), ReadOptions())
    assert isinstance(test, PtxTest)
    return test


def holds(test: PtxTest) -> bool:
    outcomes = run(test).outcomes
    assert outcomes is not None
    return test.condition.verdict(outcomes)


Printer = Callable[[Iterable[ptx.KernelOp], Iterable[ptx.VariableOp]], Listing]


def printing(change: Callable[[str], str]) -> Printer:
    """The printer, with something wrong in what it prints."""

    def printer(kernels: Iterable[ptx.KernelOp], variables: Iterable[ptx.VariableOp]) -> Listing:
        printed = listing(kernels, variables)
        text = change(printed.text)
        assert text != printed.text
        return Listing(text, printed.operations)

    return printer


@pytest.mark.parametrize(("fence", "count"), [("", 1), ("", 2), ("fence.sc.cta;", 2)])
def test_a_fence_that_is_not_printed_is_not_there(
    monkeypatch: pytest.MonkeyPatch, fence: str, count: int
) -> None:
    assert holds(read(BUFFERS))
    wrong = printing(lambda text: text.replace("fence.sc.gpu;", fence, count))
    monkeypatch.setattr(road, "listing", wrong)
    assert not holds(read(BUFFERS))


def test_what_is_printed_of_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = printing(lambda text: text.replace("fence.sc.gpu;", "trap.sc.gpu;", 1))
    monkeypatch.setattr(road, "listing", wrong)
    with pytest.raises(DiagnosticException, match="trap"):
        read(BUFFERS)


def test_instructions_stand_where_they_were_written() -> None:
    lines = BUFFERS.splitlines()
    for thread in read(BUFFERS).test.program.threads:
        assert len(thread.places) == len(thread.instructions)
        for instruction, place in zip(thread.instructions, thread.places, strict=True):
            if isinstance(instruction, Ld | St | PtxFence):
                assert place is not None
                assert place.file == "t.mlir"
                name = instruction_text(instruction).split()[0]
                assert f'"{name}' in lines[place.line - 1]


def refused(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Operation, str]:
    """Where a test is refused, and the problem."""
    problems: list[tuple[Operation, str]] = []

    def unreadable(op: Operation, problem: str) -> None:
        problems.append((op, problem))
        raise DiagnosticException(problem)

    monkeypatch.setattr(road, "unreadable", unreadable)
    module = parse_module("t.mlir", text)
    with pytest.raises(DiagnosticException):
        read_only_test(module, ReadOptions())
    ((op, problem),) = problems
    assert root(op) is module, "it is an operation of the module, and not of a copy"
    return op, problem


def root(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


FENCE = '    ptx.fence "fence.sc.gpu"\n'


@pytest.mark.parametrize(
    ("line", "kind", "problem"),
    [
        ('%s = ptx.special "nctaid.x" : !ptx.reg<b32>\n'
         '%t = ptx.sequence ["a"](%s) ["shfl.sync.idx.b32 {dst}, {a}, 0, 31, -1"] : '
         "(!ptx.reg<b32>) -> !ptx.reg<b32>",
            ptx.SequenceOp, "'shfl.sync.idx.b32' is not executed: lanes of one warp"),
        ('%w = ptx.load "ld.weak.global.b64" %y : !ptx.reg<b64> -> !ptx.reg<b64>',
            ptx.LoadOp, "a location is 32 bits wide; ld.weak.global.b64 is not executed"),
        ('%s = ptx.const 8 : !ptx.reg<b64>\n%z = ptx.alu "add.s64"(%y, %s) : '
         "(!ptx.reg<b64>, !ptx.reg<b64>) -> !ptx.reg<b64>\n"
         '%w = ptx.load "ld.weak.global.b32" %z : !ptx.reg<b64> -> !ptx.reg<b32>',
            ptx.LoadOp, "8 bytes into 'y': a location is one word"),
        ('%n = ptx.const 1 : !ptx.reg<b16>\n'
         'ptx.store "st.weak.global.b16" %y, %n : !ptx.reg<b64>, !ptx.reg<b16>',
            ptx.LoadOp, "'y' has 16 bits in line 11, and 32 here"),
        ("%i = arith.constant 0 : i32", None, "the PTX model does not have 'arith.constant'"),
        ("%i = litmus.address @x : !llvm.ptr", litmus.AddressOp,
            "'litmus.address' among PTX instructions is of a !ptx.reg, not !llvm.ptr"),
    ],
)  # fmt: skip
def test_a_problem_stands_at_its_operation(
    monkeypatch: pytest.MonkeyPatch, line: str, kind: type[Operation] | None, problem: str
) -> None:
    op, found = refused(BUFFERS.replace(FENCE, f"{line}\n", 1), monkeypatch)
    assert found == problem
    assert kind is None or isinstance(op, kind)


def test_a_wrong_number_of_arguments_stands_at_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    op, found = refused(BUFFERS.replace('(@y, @x, "r0")', '(@y, @x, "r0", @x)'), monkeypatch)
    assert isinstance(op, litmus.ThreadOp)
    assert found == "'other' has 3 parameters, the thread gives 4"


def test_reading_leaves_the_module_as_it_is() -> None:
    module = parse_module("t.mlir", BUFFERS)
    before = str(module)
    first, second = (read_only_test(module, ReadOptions()) for _ in range(2))
    assert str(module) == before
    assert first == second


PREDICATE = """
litmus.test @p {
  litmus.location @x = 3 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !ptx.reg<b64>
    %three = ptx.const 3 : !ptx.reg<b32>
    %v = ptx.load "ld.weak.global.b32" %x : !ptx.reg<b64> -> !ptx.reg<b32>
    %p = ptx.alu "setp.eq.s32"(%v, %three) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<pred>
    litmus.observe "r0", %p : !ptx.reg<pred>
    litmus.observe "r1", %v : !ptx.reg<b32>
  }
  litmus.condition "forall (P0:r0 = 1 and P0:r1 = 3)"
}
"""


def test_a_predicate_is_observed_as_0_or_1() -> None:
    assert holds(read(PREDICATE))
    assert not holds(read(PREDICATE.replace("const 3", "const 4")))


PUSH = """
litmus.test @t {
  litmus.location @tile = 0 : i32 in local {workgroup = 3 : i64}
  litmus.location @other = 0 : i32 in local {workgroup = 1 : i64, variable = @tile}
  litmus.mbarrier @full count 1 {workgroup = 3 : i64}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
  }
  litmus.thread @P2 at <workgroup = 2, cluster = 1> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.store_async %one, %tile mbarrier %full : i32, !llvm.ptr<7>, !llvm.ptr<7>
  }
  litmus.thread @P3 at <workgroup = 3, cluster = 1> {
  }
  litmus.condition "forall (tile = 1 and other = 0)"
}
"""


def test_a_peer_is_known_by_its_rank_in_its_cluster() -> None:
    """Work-group 3 is the second of its cluster, as %cluster_ctarank would say."""
    module = parse_module("t.mlir", PUSH)
    test = next(op for op in module.ops if isinstance(op, litmus.TestOp))
    assert [cluster_of(test, each) for each in range(4)] == [(0, 1), (0, 1), (2, 3), (2, 3)]
    lowered = lowered_to(module)
    ranks = {
        op.operands[1].owner.value.value.data
        for op in lowered.walk()
        if isinstance(op, ptx.SequenceOp) and "mapa" in str(op.lines)
        if isinstance(op.operands[1].owner, ptx.ConstOp)
    }
    assert ranks == {1}
    executed = read_only_test(lowered, ReadOptions())
    assert isinstance(executed, PtxTest)
    assert holds(executed)


def lowered_to(module: ModuleOp) -> ModuleOp:
    lower_module(module, "sm_90")
    return module
