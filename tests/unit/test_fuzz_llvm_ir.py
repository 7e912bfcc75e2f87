"""Programs in LLVM IR by the machine code that LLVM makes of them, and that faults are found there."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from types import MappingProxyType

import pytest
from campaigns import drawn
from llvm_ir_waits import in_assembly
from xdsl.ir import Operation

from fencewright.lowering.cdna.code.text import Assembly, AssemblyInstruction, read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import Fact, Ordering, RmwKind, Scope
from fencewright.mlir_dialects.llvm_ir.dialect import UNORDERED
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.llvm_ir import caches
from fencewright.simulator.core.program import Placement
from fencewright.simulator.litmus_run import Limits, Run, SourceTest, forbidden
from fencewright.simulator.programs.amd.thread import HazardError
from fencewright.simulator.random.programs import (
    SmallProgram,
    SmallThread,
    Spin,
    Steps,
    When,
    located,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedProgram,
    Store,
)
from fencewright.tools.fence_sim import main
from fencewright.tools.fuzz import checks as fuzz
from fencewright.tools.fuzz import llvm_ir
from fencewright.tools.fuzz.checks import (
    CLUSTER_LLVM_IR_SETTINGS,
    LLVM_IR_SETTINGS,
    SETTINGS,
    VARIED,
    CheckVerdict,
    LoweringRoute,
)

NEAR, MATE, FAR = Placement(0), Placement(0, cu=1), Placement(1, cu=1, cluster=1)
AGENT = Scope.AGENT
MEET = Barrier(Scope.WORKGROUP)


def program(*threads: tuple[Placement, Steps]) -> SmallProgram:
    return located([SmallThread(place, steps) for place, steps in threads], {})


def source(small: SmallProgram) -> SourceTest:
    test = read_only_test(build(small), ReadOptions())
    assert isinstance(test, SourceTest)
    return test


# Programs that want something of what LLVM does with loads that are the same for all lanes


def overwritten(
    *release: Store | Fence | AtomicRmw | Barrier, place: Placement = FAR
) -> SmallProgram:
    """A load before a release, which signals to another thread that it may overwrite the data."""
    acquire = (MEET,) if release == (MEET,) else (Load("r0", "f", _ACQUIRE, AGENT), When("r0", 1))
    return program((NEAR, (Load("r0", "x"), *release)), (place, (*acquire, Store("x", 5))))


def received(*acquire: Load | AtomicRmw | Cmpxchg | Fence) -> SmallProgram:
    """A load after an acquire of the flag under which its data was stored."""
    writer = (Store("x", 1), Store("f", 1, _RELEASE, AGENT))
    return program((NEAR, writer), (FAR, (*acquire, When("r0", 1), Load("r1", "x"))))


_ACQUIRE, _RELEASE, _RELAXED = Ordering.ACQUIRE, Ordering.RELEASE, Ordering.RELAXED
RAISE = Store("f", 1, _RELAXED, AGENT)
OVERWRITTEN = MappingProxyType(
    {
        "store": overwritten(Store("f", 1, _RELEASE, AGENT)),
        "seq_cst store": overwritten(Store("f", 1, Ordering.SEQ_CST, AGENT)),
        "fence": overwritten(Fence(_RELEASE, AGENT), RAISE),
        "acq_rel fence": overwritten(Fence(Ordering.ACQ_REL, AGENT), RAISE),
        "system fence": overwritten(Fence(Ordering.SEQ_CST, Scope.SYSTEM), RAISE),
        "rmw": overwritten(AtomicRmw(RmwKind.ADD, "f", 1, Ordering.ACQ_REL, AGENT, "r1")),
        "barrier": overwritten(MEET, place=MATE),
    }
)
"""What is between a load and the store that overwrites its data, by what releases it."""

RECEIVED = MappingProxyType(
    {
        "load": received(Load("r0", "f", _ACQUIRE, AGENT)),
        "seq_cst load": received(Load("r0", "f", Ordering.SEQ_CST, AGENT)),
        "rmw": received(AtomicRmw(RmwKind.ADD, "f", 0, _ACQUIRE, AGENT, "r0")),
        "cmpxchg": received(Cmpxchg("f", 1, 2, _ACQUIRE, _RELAXED, AGENT, "r0")),
        "fence": received(Load("r0", "f", _RELAXED, AGENT), Fence(_ACQUIRE, AGENT)),
    }
)
"""A load by what acquires its data."""

AFTER_A_BARRIER = program(
    (NEAR, (Load("r0", "x"), MEET, MEET)),
    (NEAR, (MEET, Store("x", 1), MEET)),
    (NEAR, (MEET, MEET, Load("r0", "x"))),
)
"""A line that one wave loads before another stores to it, and a third one after that."""


def verdict(small: SmallProgram, setting: str) -> fuzz.Checked:
    meant = fuzz.meant_by(small)
    assert not meant.races
    return fuzz.check(small, SETTINGS[setting], meant)


@pytest.mark.parametrize("mode", ["gfx942-tgsplit", "gfx90a-tgsplit", "gfx1250"])
@pytest.mark.parametrize("release", OVERWRITTEN)
def test_a_release_waits_for_loads_of_every_kind(release: str, mode: str) -> None:
    small = OVERWRITTEN[release]
    if mode == "gfx1250" and release == "barrier":
        pytest.skip("without tgsplit a work-group is on one CU")
    checked = verdict(small, f"{mode}:llvm-ir")
    assert checked.verdict is CheckVerdict.SOUND, checked


@pytest.mark.parametrize("chip", ["gfx942", "gfx90a", "gfx1250"])
@pytest.mark.parametrize("acquire", RECEIVED)
def test_no_load_after_an_acquire_goes_through_the_scalar_cache(acquire: str, chip: str) -> None:
    checked = verdict(RECEIVED[acquire], f"{chip}:llvm-ir-noalias")
    assert checked.verdict is CheckVerdict.SOUND, checked


PUBLISHED = program(
    (NEAR, (Store("x", 1), Store("f", 1, Ordering.RELEASE, AGENT))),
    (
        Placement(1, xcd=1, cluster=1),
        (Load("r0", "f", _ACQUIRE, AGENT), When("r0", 1), Load("r1", "x")),
    ),
)


def test_accesses_in_functions_of_their_own_and_copies_are_executed() -> None:
    """The functions are lowered by themselves; LLVM's code generator inlines them."""
    setting = SETTINGS["gfx942:llvm-ir-calls"]
    text = llvm_ir.lowered(source(PUBLISHED).test.program, fuzz.build_of(setting))
    assert "call i32 @access" in text
    assert "call void @llvm.memcpy.p1.p4.i64" in text
    assert "s_swappc" not in llvm_ir.assembly_of(text, "gfx942")
    assert verdict(PUBLISHED, str(setting)).verdict is CheckVerdict.SOUND


@pytest.mark.parametrize(
    ("chip", "lost"),
    [
        ("gfx942", "buffer_wbl2 sc1"),
        ("gfx942", "s_waitcnt vmcnt(0)"),
        ("gfx942", "buffer_inv sc1"),
        ("gfx1250", "global_wb scope:SCOPE_DEV"),
        ("gfx1250", "s_wait_storecnt 0x0"),
        ("gfx1250", "global_inv scope:SCOPE_DEV"),
    ],
)
def test_what_a_function_of_its_own_lost_is_noticed(
    chip: str, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = llvm_ir.lowered

    def without(program: ScopedProgram, build: llvm_ir.Build) -> str:
        return in_assembly(real(program, build)).replace(lost, "s_nop 0")

    monkeypatch.setattr(llvm_ir, "lowered", without)
    assert verdict(PUBLISHED, f"{chip}:llvm-ir-calls").verdict is CheckVerdict.UNSOUND


def test_a_release_of_gfx1250_that_does_not_wait_for_loads_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = llvm_ir.lowered
    found: list[int] = []

    def without(program: ScopedProgram, build: llvm_ir.Build) -> str:
        text = in_assembly(real(program, build))
        found.append(text.count("s_wait_loadcnt 0x0"))
        return text.replace("s_wait_loadcnt 0x0", "s_nop 0")

    monkeypatch.setattr(llvm_ir, "lowered", without)
    reads = (Load("r0", "x", _RELAXED, AGENT), Store("f", 1, _RELEASE, AGENT))
    writes = (Load("r0", "f", _ACQUIRE, AGENT), When("r0", 1), Store("x", 5, _RELAXED, AGENT))
    small = program((NEAR, reads), (FAR, writes))
    assert verdict(small, "gfx1250:llvm-ir").verdict is CheckVerdict.UNSOUND
    assert found == [1]


@pytest.mark.parametrize(
    "setting", ["gfx942:llvm-ir", "gfx90a:llvm-ir-noalias", "gfx1250:llvm-ir-noalias"]
)
def test_no_load_after_a_barrier_goes_through_the_scalar_cache(setting: str) -> None:
    checked = verdict(AFTER_A_BARRIER, setting)
    assert checked.verdict is CheckVerdict.SOUND, checked


# The same with the wait and with the clobber left out of what LLVM is given

UNRELEASED = """
define amdgpu_kernel void @g0(
    ptr addrspace(1) %f, ptr addrspace(1) %x, ptr addrspace(1) %results, i32 %who) {
  %r = load i32, ptr addrspace(1) %x, align 4
  fence syncscope("singlethread") release
  call void asm sideeffect "s_waitcnt vmcnt(0)", "~{memory}"()
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  store i32 %r, ptr addrspace(1) %results, align 4
  ret void
}
define amdgpu_kernel void @g1(
    ptr addrspace(1) %f, ptr addrspace(1) %x, ptr addrspace(1) %results, i32 %who) {
  %r = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  call void asm sideeffect "s_waitcnt vmcnt(0)", "v,~{memory}"(i32 %r)
  %up = icmp eq i32 %r, 1
  br i1 %up, label %on, label %end
on:
  store i32 5, ptr addrspace(1) %x, align 4
  br label %end
end:
  store i32 %r, ptr addrspace(1) %results, align 4
  ret void
}
"""
UNACQUIRED = """
define amdgpu_kernel void @g0(
    ptr addrspace(1) %f, ptr addrspace(1) %x, ptr addrspace(1) %results, i32 %who) {
  store i32 1, ptr addrspace(1) %x, align 4
  call void asm sideeffect "buffer_wbl2 sc1\\0As_waitcnt vmcnt(0)", "~{memory}"()
  store atomic i32 1, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  ret void
}
define amdgpu_kernel void @g1(ptr addrspace(1) noalias %f, ptr addrspace(1) noalias %x,
    ptr addrspace(1) noalias %results, i32 %who) {
  %r = atomicrmw add ptr addrspace(1) %f, i32 0 syncscope("agent") monotonic, align 4
  call void asm sideeffect "s_waitcnt vmcnt(0)\\0Abuffer_inv sc1", "v,~{memory}"(i32 %r)
  fence syncscope("singlethread") acquire
  %up = icmp eq i32 %r, 1
  br i1 %up, label %on, label %end
on:
  %x1 = load i32, ptr addrspace(1) %x, align 4
  br label %end
end:
  %data = phi i32 [ %x1, %on ], [ 0, %0 ]
  store i32 %r, ptr addrspace(1) %results, align 4
  %second = getelementptr i8, ptr addrspace(1) %results, i64 256
  store i32 %data, ptr addrspace(1) %second, align 4
  ret void
}
"""


def executed(small: SmallProgram, setting: str, code: Assembly) -> Run:
    test, where = source(small), SETTINGS[setting]
    machine = llvm_ir.machine_test(test, code, fuzz.configuration_of(where))
    return llvm_ir.run_compiled(test, machine, Limits(20_000))


def compiled_by_hand(text: str, *features: str) -> str:
    module = f'target triple = "amdgcn-amd-amdhsa"{text}'
    return llvm_ir.assembly_of(module, "gfx942", features)


def test_a_release_that_does_not_wait_for_scalar_loads_is_found() -> None:
    text = compiled_by_hand(UNRELEASED, "tgsplit")
    assert "s_load_dword " in text
    small, setting = OVERWRITTEN["store"], "gfx942-tgsplit:llvm-ir"
    does = executed(small, setting, read_assembly(text))
    assert "P0:r0=5 P1:r0=1" in str(forbidden(fuzz.meant_by(small), does))
    waiting = text.replace("s_waitcnt vmcnt(0)\n\t;;#ASMEND", "s_waitcnt vmcnt(0) lgkmcnt(0)\n", 1)
    does = executed(small, setting, read_assembly(waiting))
    assert forbidden(fuzz.meant_by(small), does) is None


def test_an_acquire_that_lets_scalar_loads_come_after_it_is_found() -> None:
    text = compiled_by_hand(UNACQUIRED)
    small, setting = RECEIVED["rmw"], "gfx942:llvm-ir-noalias"
    does = executed(small, setting, read_assembly(text))
    assert "P1:r0=1 P1:r1=0" in str(forbidden(fuzz.meant_by(small), does))
    vector, changed = re.subn(
        r"s_load_dword (s\d+), (s\[\d+:\d+\]), 0x0",
        r"v_mov_b32_e32 v9, 0\n\tglobal_load_dword v9, v9, \2\n\ts_waitcnt vmcnt(0)\n"
        r"\tv_readfirstlane_b32 \1, v9",
        text.partition("g1:")[2],
    )
    assert changed == 1
    mended = text.partition("g1:")[0] + "g1:" + vector
    does = executed(small, setting, read_assembly(mended))
    assert forbidden(fuzz.meant_by(small), does) is None


# Random programs

SEEDS = 60


@pytest.mark.parametrize("part", drawn(product(range(0, SEEDS, 20), (None, "gfx1250")), 2))
def test_random_programs_stay_right(part: tuple[int, str | None]) -> None:
    first, chip = part
    checked: Counter[CheckVerdict] = Counter()
    for seed in range(first, first + 20):
        small = fuzz.program_of(seed, chip)
        meant = fuzz.meant_by(small)
        if not meant.races and not meant.incomplete:
            found = fuzz.check(small, fuzz.llvm_ir_setting_of(seed, chip), meant)
            assert not found.verdict.is_violation, (seed, found)
            checked[found.verdict] += 1
    assert checked[CheckVerdict.SOUND] >= (12 if chip is None else 6)


EDITED = [
    str(each)
    for each in (*LLVM_IR_SETTINGS, *CLUSTER_LLVM_IR_SETTINGS)
    if each.through is LoweringRoute.LLVM_IR_EDIT
]


@pytest.mark.parametrize("first", drawn([*range(0, SEEDS, 20), *range(VARIED, VARIED + SEEDS, 20)]))
def test_random_programs_with_unordered_accesses_stay_right_when_edited(first: int) -> None:
    """From ``VARIED`` on every other one restricts to which address spaces it orders."""
    on = [str(each) for each in LLVM_IR_SETTINGS if each.through is LoweringRoute.LLVM_IR_EDIT]
    checked: Counter[CheckVerdict] = Counter()
    for seed in range(first, first + 20):
        small = fuzz.program_of(seed)
        meant = fuzz.meant_by(small)
        if not meant.races and not meant.incomplete:
            found = fuzz.check(small, SETTINGS[on[seed % len(on)]], meant)
            assert not found.verdict.is_violation, (seed, found)
            checked[found.verdict] += 1
    assert checked[CheckVerdict.SOUND] >= 12


@pytest.mark.parametrize("setting", EDITED)
def test_unordered_data_is_published_and_acquired(setting: str) -> None:
    if "tgsplit" in setting or Fact.UNCACHED_MEMORY in SETTINGS[setting].facts:
        pytest.skip("the program is for other memory and placements")
    text = llvm_ir.lowered(source(PUBLISHED).test.program, fuzz.build_of(SETTINGS[setting]))
    assert "load atomic i32, ptr addrspace(1) %x unordered" in text
    assert verdict(PUBLISHED, setting).verdict is CheckVerdict.SOUND


def test_unordered_accesses_taken_for_relaxed_ones_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever takes them for performed at the system, as LLVM's ``monotonic`` ones are."""
    real = caches._scope_of  # pyright: ignore[reportPrivateUsage]

    def scope_of(op: Operation) -> Scope | None:
        return Scope.SYSTEM if UNORDERED in op.attributes else real(op)

    monkeypatch.setattr(caches, "_scope_of", scope_of)
    for setting in ("gfx942:llvm-ir-edit", "gfx90a:llvm-ir-edit", "gfx1250:llvm-ir-edit"):
        assert verdict(PUBLISHED, setting).verdict is CheckVerdict.UNSOUND


SYNCHRONISATION = ("s_waitcnt", "buffer_inv", "buffer_wbl2", "buffer_wbinvl1_vol", "buffer_invl2")
DELETED_SEEDS = range(9)


@cache
def deletions() -> tuple[Counter[str], Counter[str]]:
    """How many instructions were deleted and how many of those deletions were noticed, by mnemonic."""
    deleted: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    for seed in DELETED_SEEDS:
        small, setting = fuzz.program_of(seed), fuzz.llvm_ir_setting_of(seed)
        small, meant = setting.place(small), fuzz.meant_by(setting.place(small))
        if meant.races or meant.incomplete:
            continue
        how = fuzz.build_of(setting)
        text = llvm_ir.lowered(source(small).test.program, how)
        code = read_assembly(llvm_ir.assembly_of(text, setting.mode.chip, how.features))
        assert not _is_noticed(small, str(setting), meant, code), seed
        for instruction, less in _without_each(code):
            deleted[instruction.mnemonic] += 1
            noticed[instruction.mnemonic] += _is_noticed(small, str(setting), meant, less)
    return deleted, noticed


def _without_each(code: Assembly) -> Iterator[tuple[AssemblyInstruction, Assembly]]:
    for name, function in code.functions.items():
        for instruction in function.instructions:
            if instruction.mnemonic in SYNCHRONISATION:
                functions = {**code.functions, name: function.without(instruction)}
                yield instruction, replace(code, functions=functions)


def _is_noticed(small: SmallProgram, setting: str, meant: Run, code: Assembly) -> bool:
    try:
        does = executed(small, setting, code)
    except HazardError:
        return True
    return bool(does.errors) or forbidden(meant, does) is not None


@pytest.mark.parametrize(
    ("mnemonic", "share"), [("s_waitcnt", 0.6), ("buffer_inv", 0.4), ("buffer_wbl2", 0.4)]
)
def test_deletions_are_noticed(mnemonic: str, share: float) -> None:
    deleted, noticed = deletions()
    assert deleted[mnemonic] >= 3
    assert noticed[mnemonic] >= share * deleted[mnemonic], (deleted, noticed)


# What the machine code comes from


def instructions(text: str) -> list[str]:
    return [each.text for f in read_assembly(text).functions.values() for each in f.instructions]


@pytest.mark.parametrize("seed", range(0, 20, 4))
def test_llc_makes_the_same_code(
    seed: int, llvm_tool: Callable[[str], str], tmp_path: Path
) -> None:
    setting = fuzz.llvm_ir_setting_of(seed)
    chip, how = setting.mode.chip, fuzz.build_of(setting)
    text = llvm_ir.lowered(source(fuzz.program_of(seed)).test.program, how)
    (tmp_path / "k.ll").write_text(text, encoding="utf-8")
    options = ["-O2", f"-mcpu={chip}", *(f"-mattr=+{each}" for each in how.features)]
    command = [llvm_tool("llc"), *options, str(tmp_path / "k.ll"), "-o", "-"]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert instructions(theirs) == instructions(llvm_ir.assembly_of(text, chip, how.features))


def test_code_for_another_mode_is_refused() -> None:
    text = compiled_by_hand(UNRELEASED)
    with pytest.raises(AssemblyError, match="the code is for gfx942, tgsplit False, not for"):
        executed(OVERWRITTEN["store"], "gfx942-tgsplit:llvm-ir", read_assembly(text))


def test_what_is_not_read_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    real = llvm_ir.assembly_of

    def assembly_of(text: str, chip: str, features: tuple[str, ...]) -> str:
        return real(text, chip, features).replace("s_endpgm", "s_trap 2")

    monkeypatch.setattr(llvm_ir, "assembly_of", assembly_of)
    found = verdict(RECEIVED["load"], "gfx942:llvm-ir")
    assert found.verdict is CheckVerdict.FAILED
    assert "does not execute s_trap" in found.message


def test_code_that_never_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spin whose loads go on hitting a line that nothing takes out of the L1."""
    raised = (Store("f", 1, _RELAXED, AGENT),)
    small = program((NEAR, raised), (FAR, (Spin(Load("r0", "f", _RELAXED, AGENT), 1),)))
    assert verdict(small, "gfx942:llvm-ir").verdict is CheckVerdict.SOUND
    real, calls = llvm_ir.assembly_of, iter(range(2))

    def assembly_of(text: str, chip: str, features: tuple[str, ...]) -> str:
        made = real(text, chip, features)
        return made if next(calls) else re.sub(r"(global_load.*) sc1", r"\1", made)

    monkeypatch.setattr(llvm_ir, "assembly_of", assembly_of)
    found = verdict(small, "gfx942:llvm-ir")
    assert found.verdict is CheckVerdict.STUCK, found


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "fuzz.md"
    assert main(["fuzz", "--programs", "4", "--llvm-ir", "3", "--page", str(page)]) == 0
    assert "4 programs" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert re.search(r"^\d of them as LLVM IR, by the machine code that LLVM makes", text, re.M)
