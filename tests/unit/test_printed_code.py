"""Litmus tests of CDNA are executed from the text that is printed of them, and from nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest
from litmus_modules import MESSAGE_PASSING, final_state, one_program
from xdsl.ir import Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import DiagnosticException

from fencewright.mlir_dialects import cdna
from fencewright.passes.litmus import cdna as reader
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_tests
from fencewright.passes.print.cdna import PrintedCode, print_kernel
from fencewright.simulator.cdna.instructions import VectorLoad, VectorStore
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import place_at
from fencewright.simulator.litmus_run import CdnaTest, run
from fencewright.tools import fence_sim
from fencewright.tools.inputs.litmus.files import parse_module
from fencewright.tools.inputs.litmus.lowered import Lowering, lower_tests

CHIPS = ("gfx90a", "gfx942", "gfx1250")


def stale(chip: str) -> bool:
    """True if the reader of the flag may see old data."""
    found = run(one_program(MESSAGE_PASSING, chip))
    assert found.outcomes is not None
    assert not found.errors
    return any(state[Register(1, "r0")] == 0 for state in found.outcomes.as_mappings())


@pytest.mark.parametrize(
    ("chip", "mnemonic"),
    [
        ("gfx90a", "buffer_wbinvl1_vol"),
        ("gfx942", "buffer_wbl2"),
        ("gfx942", "buffer_inv"),
        ("gfx1250", "global_inv"),
        ("gfx1250", "s_wait_storecnt"),
    ],
)
def test_what_is_not_in_the_text_is_not_executed(
    monkeypatch: pytest.MonkeyPatch, chip: str, mnemonic: str
) -> None:
    """The operation is there; the printer lost its line."""
    assert not stale(chip)

    def loses(op: cdna.KernelOp, body: Region | None = None) -> PrintedCode:
        printed = print_kernel(op, body)
        lines = printed.text.split("\n")
        kept = ["" if line.split()[:1] == [mnemonic] else line for line in lines]
        return PrintedCode("\n".join(kept), printed.operations)

    monkeypatch.setattr(reader, "print_kernel", loses)
    assert stale(chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_each_line_of_a_kernel_is_printed_for_an_operation(chip: str) -> None:
    module = parse_module("test.mlir", MESSAGE_PASSING)
    lower_tests(module, Lowering(chip))
    for kernel in (op for op in module.ops if isinstance(op, cdna.KernelOp)):
        printed = print_kernel(kernel)
        lines = printed.text.split("\n")
        code = range(lines.index(f"{kernel.sym_name.data}:") + 1, lines.index("\ts_endpgm") + 1)
        of_code = {n + 1 for n in code if not lines[n].endswith(":") and "s_setreg" not in lines[n]}
        assert set(printed.operations) == of_code
        for line, op in printed.operations.items():
            if isinstance(op, cdna.OpcodeOp):
                mnemonics = {each.mnemonic for each in op.row.code} | {"s_nop", "s_wait_xcnt"}
                assert lines[line - 1].split()[0] in mnemonics


@pytest.mark.parametrize("chip", CHIPS)
def test_instructions_are_at_the_places_of_the_input(chip: str) -> None:
    test = one_program(MESSAGE_PASSING, chip)
    assert isinstance(test, CdnaTest)
    lines = MESSAGE_PASSING.split("\n")
    found: set[str] = set()
    for thread in test.test.program.threads:
        for position, each in enumerate(thread.instructions):
            place = place_at(thread.places, position)
            if isinstance(each, VectorLoad | VectorStore):
                assert place is not None
                assert place.file == "test.mlir"
                found.add(lines[place.line - 1].split(" = ")[-1].split()[0])
                assert (each.location == "f") is ("agent" in lines[place.line - 1])
    assert found == {"scoped.load", "scoped.store"}


def test_an_argument_has_to_be_waited_for() -> None:
    """Nobody writes where arguments are, but their registers are as any that a load writes."""
    module = parse_module("test.mlir", MESSAGE_PASSING)
    lower_tests(module, Lowering("gfx942"))
    waits = [op for op in module.walk() if isinstance(op, cdna.WaitOp)]
    first = next(op for op in waits if "lgkmcnt" in op.counts.given)
    Rewriter.erase_op(first)
    with pytest.raises(reader.UnwaitedArgumentError, match="unwaited register s2"):
        list(read_tests(module, ReadOptions()))


# Bodies that are no kernels

LOOP = """
litmus.test @t {
  litmus.location @x = 3 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !cdna.vgpr<2>
    %a = cdna.const 10 : !cdna.vgpr
    %b = cdna.const 20 : !cdna.vgpr
    %one = cdna.const 1 : !cdna.vgpr
    %n = cdna.load global_load_dword %x : (!cdna.vgpr<2>) -> !cdna.vgpr
    cdna.s_waitcnt vmcnt(0)
    cdna.s_branch ^loop(%n, %a, %b : !cdna.vgpr, !cdna.vgpr, !cdna.vgpr)
  ^loop(%i: !cdna.vgpr, %p: !cdna.vgpr, %q: !cdna.vgpr):
    %j = cdna.alu v_sub_u32_e32 %i, %one : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr
    %more = cdna.alu v_cmp_ge_u32_e64 %j, %one : (!cdna.vgpr, !cdna.vgpr) -> !cdna.sgpr<2>
    cdna.s_cbranch %more : !cdna.sgpr<2>, ^loop(%j, %q, %p : !cdna.vgpr, !cdna.vgpr, !cdna.vgpr), ^done
  ^done:
    litmus.observe "r0", %p : !cdna.vgpr
    litmus.observe "r1", %q : !cdna.vgpr
    cdna.end s_endpgm
  }
}
"""


def test_values_without_registers_change_places_in_a_loop() -> None:
    assert final_state(LOOP) == {"P0:r0": 10, "P0:r1": 20, "x": 3}
    assert final_state(LOOP.replace("x = 3", "x = 2")) == {"P0:r0": 20, "P0:r1": 10, "x": 2}


def test_an_error_is_at_the_operation_of_the_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "loop.mlir"
    file.write_text(LOOP.replace("v_sub_u32_e32", "v_lshrrev_b32_e32"), encoding="utf-8")
    (line,) = (n for n, each in enumerate(LOOP.split("\n"), 1) if "v_sub_u32" in each)
    assert fence_sim.main(["run", str(file), "--mcpu", "gfx942"]) == 2
    problem = "the CDNA machine does not execute v_lshrrev_b32_e32"
    assert f"{file}:{line}:5: error: {problem}\n" in capsys.readouterr().err


def test_a_store_that_synchronises_is_no_result() -> None:
    text = """
litmus.test @t {
  litmus.thread @P0 runs @k("r0")
}
func.func @k(%out: !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = arith.constant 7 : i32
  scoped.store STRENGTH %v, %out : i32, !llvm.ptr<1>
  func.return
}
"""
    assert final_state(text.replace("STRENGTH", "weak"), "gfx942") == {"P0:r0": 7}
    with pytest.raises(DiagnosticException, match="bound to r0 is stored to weakly"):
        one_program(text.replace("STRENGTH", "relaxed agent"), "gfx942")


def test_a_location_and_a_register_may_have_one_name() -> None:
    text = """
litmus.test @t {
  litmus.location @r0 = 3 : i32
  litmus.thread @P0 {
    %p = litmus.address @r0 : !llvm.ptr<1>
    %v = scoped.load relaxed agent %p : !llvm.ptr<1> -> i32
    litmus.observe "r0", %v : i32
  }
}
"""
    for chip in CHIPS:
        assert final_state(text, chip) == {"P0:r0": 3, "r0": 3}


# The second reading, of the certificates

ASSEMBLE = "fencewright.simulator.certify.programs.cdna"
READS_TEXT = ("fencewright.simulator.programs", "fencewright.lowering.cdna.code.text")


def loaded_with(module: str) -> frozenset[str]:
    """The modules that are loaded in a new process once ``module`` is."""
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def test_the_two_readings_share_no_code() -> None:
    by_sequences, by_text = loaded_with(ASSEMBLE), loaded_with(f"{READS_TEXT[0]}.amd.thread")
    assert ASSEMBLE in by_sequences
    assert not [name for name in by_sequences if name.startswith(READS_TEXT)]
    assert READS_TEXT[1] in by_text
    assert not [name for name in by_text if ".certify" in name]
