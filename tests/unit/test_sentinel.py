"""The sentinel finds what is wrong with a compiler, and its page leads back to it."""

import re
from collections.abc import Sequence
from dataclasses import replace

import llvmlite.binding as binding
import pytest

from fencewright.checker.findings.finding import Finding, Rule
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.tools.commands.compare_source import AssemblyAndSource, compile_and_read
from fencewright.tools.dev.campaigns import sentinel
from fencewright.tools.dev.campaigns.sentinel import Compiler, Fault, Tally, check, compilers, page
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
    seeds = [LOST_WAIT - 3, LOST_WAIT - 2, LOST_WAIT - 1, LOST_WAIT]
    tally = check(seeds, [compiler])
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
    def without_waits(path: str, command: str, code: str | None) -> AssemblyAndSource:
        beside = compile_and_read(path, command, code)
        assert isinstance(beside, AssemblyAndSource)
        functions = dict(beside.code.functions)
        for name, function in functions.items():
            waits = [each for each in function.instructions if each.mnemonic == "s_waitcnt"]
            for each in waits:
                function = function.without(each)
            functions[name] = function
        return replace(beside, code=replace(beside.code, functions=functions))

    seeds = (3, 5, 7)
    assert not check(seeds, [llvm(["gfx90a"])]).faults
    monkeypatch.setattr(sentinel, "compile_and_read", without_waits)
    found = check(seeds, [llvm(["gfx90a"])])
    assert {each.rule for each in found.faults} >= {Rule.RAW, Rule.RELEASE}


def test_what_a_compiler_refuses_is_counted_and_the_rest_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiler = Compiler((1, 0), "llc-one", ("gfx942",))

    def refuses(path: str, command: str, code: str | None) -> AssemblyAndSource:
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
            "which the release agent fence of source line 27 requires",
            "s_waitcnt vmcnt(0) after the write-back is missing",
        ),
        ("v1 is used: s_waitcnt vmcnt(0) is missing", "s_waitcnt vmcnt(0) is missing"),
    ],
)
def test_faults_are_told_apart_without_their_places(message: str, lacks: str) -> None:
    assert sentinel.lacks_of(Finding(1, Rule.RELEASE, message)) == lacks


CODE = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.type k,@function
k:
.L0:
\tglobal_store_dword v[0:1], v2, off
\tbuffer_wbl2 sc1
\tglobal_store_dword v[4:5], v6, off sc1
\tds_read_b32 v0, v1
\ts_load_dword s0, s[2:3], 0x0
\tglobal_atomic_add v0, v2, s[2:3]
\ts_cbranch_scc1 .L0
\tglobal_store_dword v[4:5], v6, off sc1
\ts_endpgm
"""


@pytest.mark.parametrize(
    ("rule", "earlier", "later", "chip", "says"),
    [
        (Rule.RELEASE, 5, 7, "gfx942", "#178316"),
        (Rule.RELEASE, 7, 10, "gfx942", "#211684"),
        (Rule.RELEASE, 7, 12, "gfx942", ""),
        (Rule.RELEASE, 7, 12, "gfx942+tgsplit", "tgsplit mode"),
        (Rule.SCALAR_STALE, 7, 9, "gfx942", "#219991"),
        (Rule.SCALAR_STALE, 7, 8, "gfx942", ""),
        (Rule.ACQUIRE, 7, 8, "gfx942", "LDS may be read before"),
        (Rule.ACQUIRE, 10, 12, "gfx942", "whose result nobody reads"),
        (Rule.RAW, 5, 7, "gfx942", ""),
        (Rule.RELEASE, 5, 7, "gfx1250", "#175865"),
        (Rule.RELEASE, 9, 12, "gfx1250", "#219991"),
        (Rule.RELEASE, 7, 10, "gfx1250", "#211684"),
        (Rule.ACQUIRE, 7, 8, "gfx1250", "#175865"),
        (Rule.RELEASE, 7, 10, "gfx1100", "#211684"),
        (Rule.RELEASE, 7, 12, "gfx1030+cumode", ""),
        (Rule.RELEASE, 9, 12, "gfx1100", "#219991"),
        (Rule.CUMULATIVE_ACQUIRE, 7, 12, "gfx1030", "#220694"),
        (Rule.CUMULATIVE_ACQUIRE, 7, 12, "gfx942+tgsplit", "#220694"),
        (Rule.CUMULATIVE_ACQUIRE, 7, 12, "gfx1250", "#175865"),
    ],
)
def test_faults_are_known_by_rule_and_instructions(
    rule: Rule, earlier: int, later: int, chip: str, says: str
) -> None:
    """Whatever the message says."""
    (function,) = read_assembly(CODE).functions.values()
    finding = Finding(later, rule, "in other words", about=(earlier,))
    reference = sentinel.reference_of(finding, function, chip)
    assert says in reference
    assert bool(reference) is bool(says)


def test_tgsplit_mode_is_a_feature_or_an_attribute() -> None:
    old, new = (Compiler(v, f"llc-{v[0]}", ("gfx942+tgsplit",)) for v in ((22, 1), (23, 1)))
    assert old.command("gfx942+tgsplit") == "llc-22 -O2 -mcpu=gfx942 -mattr=+tgsplit"
    assert new.command("gfx942+tgsplit") == "llc-23 -O2 -mcpu=gfx942"
    plain, split = sentinel.source_of(4), sentinel.source_of(4, tgsplit=True)
    assert plain is not None
    assert split is not None
    assert split.count('"amdgpu-tg-split"') == plain.count("define ") > 0
    assert split.replace(' "amdgpu-tg-split"', "") == plain
    drawn = (n for n in range(1000) if n % sentinel.IN_ROUNDS != 1)
    in_lds = next(n for n in drawn if "addrspace(3)" in (sentinel.source_of(n) or ""))
    assert sentinel.source_of(in_lds, tgsplit=True) is None


def test_wgp_mode_is_left_by_an_option() -> None:
    for version in ((22, 1), (24, 0)):
        compiler = Compiler(version, "llc", ("gfx1100", "gfx1100+cumode"))
        assert compiler.command("gfx1100") == "llc -O2 -mcpu=gfx1100"
        assert compiler.command("gfx1100+cumode") == "llc -O2 -mcpu=gfx1100 -mattr=+cumode"


@needs_llvm
def test_an_acquire_that_is_passed_on_too_early_is_found() -> None:
    """In WGP mode, and not in CU mode."""
    compiler = replace(llvm(), chips=("gfx1030", "gfx1100", "gfx1100+cumode"))
    found = check([1004], [compiler]).faults
    passed_on = {each.chip for each in found if each.rule == str(Rule.CUMULATIVE_ACQUIRE)}
    assert passed_on == {"gfx1030", "gfx1100"}
    assert all("#220694" in each.reference for each in found)


@needs_llvm
def test_drawn_programs_find_the_bugs_that_are_known() -> None:
    """A release at the head of a loop, and atomics through buffers, in a few programs each."""
    found = check([1001, 1021], [llvm()]).faults
    found += check([988, 984], [llvm()]).faults
    known = " ".join(each.reference for each in found)
    assert "#211684" in known
    assert "#213585" in known


def test_programs_in_rounds_have_a_barrier_before_each_phase_and_no_two_owners_of_a_cell() -> None:
    """A lane's cell is its number with some bits flipped: no two lanes have one cell in a phase."""
    for seed in range(1, 60, 5):
        text = sentinel.source_of(seed)
        assert text is not None
        binding.parse_assembly(text).verify()
        body = text[text.index("round:") : text.index("%more")]
        phases = body.split('fence syncscope("workgroup") acquire')
        assert len(phases) - 1 == body.count("@llvm.amdgcn.s.barrier()") >= 1
        assert "load i32" not in phases[0]
        assert "store i32" not in phases[0]
        for number, phase in enumerate(phases[1:]):
            assert phase.count(" xor i32 %t, ") == phase.count("getelementptr") == 1
            cells = {
                each[1]
                for each in re.finditer(
                    r"(?:load i32, |store i32 \S+, )ptr addrspace\(\d\) %(\w+)", phase
                )
            }
            assert cells <= {f"c{number}"}
    split = sentinel.source_of(1, tgsplit=True)
    assert split is not None
    assert "amdgpu-tg-split" in split
    assert "addrspace(3)" not in split


@needs_llvm
def test_programs_in_one_cluster_have_its_scope_and_its_barrier() -> None:
    drawn = [text for seed in range(30) if (text := sentinel.source_of(seed, clusters=True))]
    assert any("@llvm.amdgcn.s.cluster.barrier()" in each for each in drawn)
    atomic = r'(load|store) atomic .*syncscope\("cluster"\)'
    assert any(re.search(atomic, each) for each in drawn)
    assert not any('syncscope("agent")' in each for each in drawn)
    # They are for the chips that have clusters.
    tally = check((1, 11), [llvm(("gfx942", "gfx942+tgsplit", "gfx1250"))], clusters=True)
    assert {chip for _, chip in tally.checked} == {"gfx1250"}
    assert tally.compared.total() == tally.functions.total() == 2


def test_one_location_of_a_program_is_behind_a_buffer() -> None:
    texts = [text for seed in range(0, 40, 4) if (text := sentinel.source_of(seed)) is not None]
    buffers = [text for text in texts if "addrspace(7)" in text]
    assert len(buffers) > 3
    for text in buffers:
        (name,) = {each[1] for each in re.finditer(r"addrspace\(8\) %(\w+)\.rsrc to", text)}
        assert f"ptr addrspace(1) %{name}," not in text
        assert text.count(f"addrspace(8) %{name}.rsrc") == 2 * text.count(
            f"%{name} = addrspacecast"
        )
