"""Litmus tests for the tests: text to the programs of the simulator, in every language."""

from fencewright.simulator.litmus_run import Run, RunnableTest, run
from fencewright.tools.inputs.litmus.files import parse_module
from fencewright.tools.inputs.litmus.lowered import Lowering, lower_tests

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950", "sm_70", "sm_90")

MESSAGE_PASSING = """
litmus.test @mp {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %flag = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %flag, %zero : i32
    cf.cond_br %again, ^spin, ^done
  ^done:
    %data = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %data : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}
"""


def programs(text: str, lowering: Lowering | None = None) -> dict[str, RunnableTest]:
    """The tests in ``text`` by name, lowered if so asked."""
    from fencewright.passes.litmus.programs import ReadOptions
    from fencewright.passes.litmus.read_litmus import read_tests

    module = parse_module("test.mlir", text)
    if lowering is not None:
        lower_tests(module, lowering)
        module.verify()
    return {code.name: test for code, test in read_tests(module, ReadOptions())}


def one_thread(body: str) -> str:
    """A test of one thread, with the location x that starts at 3."""
    return f"""
litmus.test @one {{
  litmus.location @x = 3 : i32
  litmus.thread @P0 {{
    %x = litmus.address @x : !llvm.ptr<1>
{body}
  }}
}}
"""


def final_state(text: str, chip: str | None = None) -> dict[str, int | None]:
    """The one final state of the one test in ``text``."""
    found: Run = run(one_program(text, chip))
    assert found.outcomes is not None, found.races
    assert not found.errors
    assert not found.incomplete
    (state,) = found.outcomes.as_mappings()
    return {str(each): value for each, value in state.items()}


def one_program(text: str, chip: str | None = None) -> RunnableTest:
    """The one test in ``text``."""
    (test,) = programs(text, None if chip is None else Lowering(chip)).values()
    return test
