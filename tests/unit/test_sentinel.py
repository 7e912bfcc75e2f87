"""The sentinel finds what is wrong with a compiler, and its page leads back to it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fencewright.checker.findings import Finding, Rule
from fencewright.tools.commands.compare_source import CodeAndSource, compile_and_read
from fencewright.tools.dev import sentinel
from fencewright.tools.dev.sentinel import Compiler, Fault, Tally, check, compilers, page
from fencewright.tools.diagnostics import error
from fencewright.tools.llvm_tools import LLVM_HINT, LLVM_VERSION, find_llvm_tool

LOST_WAIT = 1040
"""A program of which LLVM 22 loses the wait after a write-back on gfx942."""

RACY = next(seed for seed in range(1000) if sentinel.source_of(seed) is None)

needs_llvm = pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)


def llvm(chips: Sequence[str] = ("gfx942",)) -> Compiler:
    """The LLVM that tests compare with."""
    found, _ = compilers()
    return next(replace(c, chips=tuple(chips)) for c in found if c.version[0] == LLVM_VERSION)


@needs_llvm
def test_it_finds_the_wait_that_llvm_22_loses() -> None:
    compiler = llvm()
    tally = check(range(LOST_WAIT - 4, LOST_WAIT + 2), [compiler])
    ((fault, number),) = tally.faults.items()
    assert fault.rule == Rule.RELEASE
    assert fault.lacks == "s_waitcnt vmcnt(0) after the write-back is missing"
    assert (number, tally.smallest[fault][1], tally.refused.total()) == (1, LOST_WAIT, 0)
    assert tally.compared == tally.functions
    text = page(tally, [compiler], [], LOST_WAIT - 4, 6)
    row = f"| {compiler} | gfx942 | release | {fault.lacks} | 1 | {LOST_WAIT} | `llc-22 -O2"
    assert row in text
    assert "llvm/llvm-project#178316" in text


@needs_llvm
def test_a_wait_that_is_taken_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_waits(path: str, command: str, code: str | None) -> CodeAndSource:
        beside = compile_and_read(path, command, code)
        functions = dict(beside.assembly.functions)
        for name, function in functions.items():
            waits = [each for each in function.instructions if each.mnemonic == "s_waitcnt"]
            for each in waits:
                function = function.without(each)
            functions[name] = function
        return replace(beside, assembly=replace(beside.assembly, functions=functions))

    seeds = range(4, 8)
    assert not check(seeds, [llvm(["gfx90a"])]).faults
    monkeypatch.setattr(sentinel, "compile_and_read", without_waits)
    found = check(seeds, [llvm(["gfx90a"])])
    assert {each.rule for each in found.faults} >= {Rule.RAW, Rule.RELEASE}


def test_what_a_compiler_refuses_is_counted_and_the_rest_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiler = Compiler((1, 0), "llc-one", ("gfx942",))

    def refuses(path: str, command: str, code: str | None) -> CodeAndSource:
        raise error("llc-one: no", path)

    monkeypatch.setattr(sentinel, "compile_and_read", refuses)
    tally = check([4, 5], [compiler])
    ((key, number),) = tally.refused.items()
    assert (key[0], number) == ("llc-one -O2 -mcpu=gfx942 -opaque-pointers", 2)
    text = page(tally, [compiler], ["llc-9: it does not say its version"], 4, 2)
    assert "| 1.0 | gfx942 | 0 | 0 of 0 | 0 |" in text
    assert "* llc-9: it does not say its version\n" in text
    assert "opaque-pointers`: 2 programs: " in text


def test_racy_programs_are_left_out() -> None:
    tally = check([RACY], [])
    assert (tally.tried, tally.programs) == (1, 0)


def test_tallies_add_up_to_the_smallest_program() -> None:
    fault = Fault("1.0", "gfx942", "release", "s_waitcnt")
    one, other = Tally(tried=2, programs=1), Tally(tried=3, programs=2)
    for tally, example in ((one, (90, 3)), (other, (40, 8))):
        tally.faults[fault] = 1
        tally.smallest[fault] = example
    one.add(other)
    assert (one.tried, one.programs) == (5, 3)
    assert (one.faults[fault], one.smallest[fault]) == (2, (40, 8))


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        (
            "the x may not be done: s_waitcnt vmcnt(0) after the write-back of line 18 is missing, "
            "which the release agent fence of source line 27 asks for",
            "s_waitcnt vmcnt(0) after the write-back is missing",
        ),
        ("v1 is used: s_waitcnt vmcnt(0) is missing", "s_waitcnt vmcnt(0) is missing"),
    ],
)
def test_faults_are_told_apart_without_their_places(message: str, lacks: str) -> None:
    assert sentinel.lacks_of(Finding(1, Rule.RELEASE, message)) == lacks
