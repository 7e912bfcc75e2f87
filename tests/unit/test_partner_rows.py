"""The partner on chips that nothing is lowered for: right with itself, and as LLVM compiles it."""

import re
import subprocess
from dataclasses import replace
from itertools import product

import pytest

from fencewright.checker.amd.accesses import Mode
from fencewright.checker.amd.comparison.counterexample import (
    DATA,
    FLAG,
    Counterexample,
    Executed,
    Partner,
    placements_of,
)
from fencewright.lowering.cdna.chip import BareInstruction
from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.cdna.code.counterexample_peer import invalidates_of
from fencewright.lowering.vocabulary import AddressSpace, Scope
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.core.condition import parse_condition
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.litmus_run import Limits, run
from fencewright.tools.inputs.litmus.lowered import Lowering, read_string
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

GLOBAL, LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL
SCOPES = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
MODES = [
    Mode(name, KNOWN_CHIPS[name].l2_per_agent, split)
    for name, split in product(("gfx1030", "gfx1100", "gfx1200"), (True, False))
]
Wave = tuple[Executed, ...]


def name_of(value: object) -> str:
    if isinstance(value, Mode):
        return f"{value.target} {'WGP' if value.tgsplit else 'CU'}"
    return str(value)


def passing(mode: Mode, scope: Scope, writer: Wave, reader: Wave, forbidden: str) -> Counterexample:
    places = placements_of(mode, scope)
    condition = parse_condition(f"~exists ({forbidden})")
    return Counterexample("found", mode, ((places[0], writer), (places[1], reader)), condition)


def message(mode: Mode, scope: Scope, flag: AddressSpace = GLOBAL) -> Counterexample:
    """Message passing between two partners."""
    make = Partner(mode, scope)
    writer = (*make.store(DATA, GLOBAL), *make.store(FLAG, flag, "release"))
    reader = (*make.load(FLAG, flag, "r0", "acquire"), *make.load(DATA, GLOBAL, "r1"))
    return passing(mode, scope, writer, reader, "P1:r0 = 1 and P1:r1 = 0")


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_the_partner_is_right(mode: Mode, scope: Scope) -> None:
    assert not message(mode, scope).shows()
    if scope is Scope.WORKGROUP:
        assert not message(mode, scope, LOCAL).shows()


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_each_invalidate_and_wait_for_stores_is_shown(mode: Mode, scope: Scope) -> None:
    test = message(mode, scope)
    is_gfx12 = mode.target == "gfx1200"
    synchronises = ("s_waitcnt_vscnt", "buffer_gl0_inv", "buffer_gl1_inv")
    if is_gfx12:
        synchronises = ("s_wait_storecnt", "global_inv", "global_wb")
    seen: list[str] = []
    for number, (place, wave) in enumerate(test.waves):
        for at, each in enumerate(wave):
            if each.mnemonic not in synchronises:
                continue
            waves = list(test.waves)
            waves[number] = (place, (*wave[:at], *wave[at + 1 :]))
            if replace(test, waves=tuple(waves)).shows():
                seen.append(each.mnemonic)
    expected = synchronises
    if scope is Scope.WORKGROUP:  # In CU mode only who hands it on to the agent can tell.
        expected = synchronises[:2] if mode.tgsplit else ()
    elif is_gfx12 and scope is Scope.AGENT:
        expected = synchronises[:2]
    assert sorted(seen) == sorted(expected)


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_store_buffering_atomics_and_barriers(mode: Mode) -> None:
    make = Partner(mode, Scope.AGENT)
    first = (*make.store(DATA, GLOBAL, "seq_cst"), *make.load(FLAG, GLOBAL, "r0", "seq_cst"))
    second = (*make.store(FLAG, GLOBAL, "seq_cst"), *make.load(DATA, GLOBAL, "r0", "seq_cst"))
    assert not passing(mode, Scope.AGENT, first, second, "P0:r0 = 0 and P1:r0 = 0").shows()
    counts = make.count(FLAG, GLOBAL, "r0", "relaxed")
    assert not passing(mode, Scope.AGENT, counts, counts, "P0:r0 = 0 and P1:r0 = 0").shows()
    assert passing(mode, Scope.AGENT, counts, counts, "P0:r0 = 0 and P1:r0 = 1").shows()
    make = Partner(mode, Scope.WORKGROUP)
    counts = make.count(FLAG, LOCAL, "r0", "relaxed")
    assert not passing(mode, Scope.WORKGROUP, counts, counts, "P0:r0 = 0 and P1:r0 = 0").shows()
    met = make.barrier()
    writer = (*make.store(DATA, GLOBAL), *met)
    reader = (*met, *make.load(DATA, GLOBAL, "r1"))
    assert not passing(mode, Scope.WORKGROUP, writer, reader, "P1:r1 = 0").shows()


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_the_text_runs_as_the_test_does(mode: Mode, scope: Scope) -> None:
    test = message(mode, scope, LOCAL if scope is Scope.WORKGROUP else GLOBAL)
    text = test.text("kernels.s")
    cumode = "" if mode.tgsplit else " --mattr=+cumode"
    assert f"found.mlir --mcpu {mode.target}{cumode}\n" in text
    features = ("tgsplit",) if mode.tgsplit else ()
    (read,) = read_string("found.mlir", text, Lowering(mode.target, features))
    replayed = run(read, Limits()).outcomes
    assert replayed is not None
    executed = explore(CdnaEngine(test.program(), test.configuration)).outcomes
    names = [str(each) for each in executed.observables]
    kept = [[str(each) for each in replayed.observables].index(name) for name in names]
    assert {tuple(state[at] for at in kept) for state in replayed.states} == executed.states


# As LLVM compiles it

SYNCSCOPES = {Scope.WORKGROUP: "workgroup", Scope.AGENT: "agent", Scope.SYSTEM: ""}
SYNCHRONISES = re.compile(
    r"buffer_gl[01]_inv|s_waitcnt_vscnt|s_barrier|global_(inv|wb)|s_wait_storecnt"
)

BITS = re.compile(r"glc$|dlc$|scope:")


def compiled(mode: Mode, scope: Scope) -> dict[str, list[str]]:
    """What llc has in a load that acquires and a store that releases, by their names."""
    llc = find_llvm_tool("llc")
    assert llc is not None
    named = f' syncscope("{SYNCSCOPES[scope]}")' if SYNCSCOPES[scope] else ""
    text = f"""
define i32 @load(ptr addrspace(1) %p) {{
  %v = load atomic i32, ptr addrspace(1) %p{named} acquire, align 4
  ret i32 %v
}}
define void @store(ptr addrspace(1) %p) {{
  store atomic i32 1, ptr addrspace(1) %p{named} release, align 4
  ret void
}}
"""
    option = "-cumode" if mode.tgsplit else "+cumode"
    command = [llc, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={mode.target}", f"-mattr={option}", "-O0"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {}
    for name in ("load", "store"):
        (body,) = re.findall(rf"^{name}:.*?s_setpc_b64", done.stdout, re.DOTALL | re.MULTILINE)
        lines = [" ".join(each.split(";")[0].split()) for each in body.splitlines()]
        found[name] = [
            each for each in lines if SYNCHRONISES.match(each) or each.startswith(f"global_{name}")
        ]
    return found


@pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)
@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_llvm_compiles_it_so(mode: Mode, scope: Scope) -> None:
    make, found = Partner(mode, scope), compiled(mode, scope)
    ours = {
        "load": make.load(FLAG, GLOBAL, "r0", "acquire"),
        "store": make.store(FLAG, GLOBAL, "release"),
    }
    for name, steps in ours.items():
        expected = [
            " ".join((each.mnemonic, *sorted(each.modifiers)))
            for each in steps
            if SYNCHRONISES.match(each.mnemonic) or each.location
        ]
        theirs = [
            " ".join((each.split()[0], *sorted(word for word in each.split() if BITS.match(word))))
            for each in found[name]
        ]
        assert theirs == expected


def test_what_invalidates_is_found_for_every_chip() -> None:
    chip = KNOWN_CHIPS["gfx1100"]
    assert invalidates_of(chip, Scope.AGENT, split=True) == (
        BareInstruction("buffer_gl1_inv"),
        BareInstruction("buffer_gl0_inv"),
    )
    gfx942 = invalidates_of(KNOWN_CHIPS["gfx942"], Scope.AGENT, split=False)
    assert BareInstruction("buffer_inv", ("sc1",)) in gfx942
