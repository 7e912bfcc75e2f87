"""Which updates LLVM makes loops of, held against what it does, and that they get no wait of ours."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from fencewright import lower_llvm_ir
from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Level
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.cdna.rmw_loops import OTHER_FORMS, is_loop
from fencewright.lowering.vocabulary import FLOAT_KINDS, AddressSpace, RmwKind, ValueType
from fencewright.tools.llvm_tools import find_llvm_tool

OPT, LLC = find_llvm_tool("opt"), find_llvm_tool("llc")
needs_llvm = pytest.mark.skipif(OPT is None or LLC is None, reason="needs LLVM 22")
LOWERED = [name for name, chip in CHIPS.items() if chip.lowered]
POINTERS = {
    AddressSpace.GENERIC: "ptr",
    AddressSpace.GLOBAL: "ptr addrspace(1)",
    AddressSpace.LOCAL: "ptr addrspace(3)",
}
TYPES = {
    ValueType.I8: "i8",
    ValueType.I16: "i16",
    ValueType.I32: "i32",
    ValueType.I64: "i64",
    ValueType.F16: "half",
    ValueType.BF16: "bfloat",
    ValueType.F32: "float",
    ValueType.F64: "double",
    ValueType.F16X2: "<2 x half>",
    ValueType.BF16X2: "<2 x bfloat>",
}
PROMISES = ("no.fine.grained.memory", "no.remote.memory", "ignore.denormal.mode")
METADATA = [
    "".join(f", !amdgpu.{name} !0" for name, given in zip(PROMISES, chosen, strict=True) if given)
    for chosen in product((False, True), repeat=len(PROMISES))
]
ATTRIBUTES = ("", '"denormal-fp-math"="preserve-sign,preserve-sign"')
SCOPES = ("agent", "")


def updates() -> Iterator[tuple[RmwKind, ValueType]]:
    """The kinds on the types that they are for."""
    for kind, type_ in product(RmwKind, TYPES):
        floats = kind in FLOAT_KINDS
        if kind is RmwKind.XCHG:
            if not type_.is_packed:
                yield kind, type_
        elif floats is type_.is_float:
            yield kind, type_


def update(
    kind: RmwKind, type_: ValueType, space: AddressSpace, ordering: str, scope: str = "agent"
) -> str:
    sync = f' syncscope("{scope}")' if scope else ""
    written = TYPES[type_]
    aligned = type_.bits // 8
    return f"atomicrmw {kind} {POINTERS[space]} %p, {written} %v{sync} {ordering}, align {aligned}"


@cache
def made_by_llvm(chip: str) -> dict[tuple[RmwKind, ValueType, AddressSpace], set[bool]]:
    """Of each update whether LLVM makes a loop of it, under all that it may be promised."""
    assert OPT is not None
    asked = [
        (kind, type_, space, scope, metadata, attributes, returns)
        for (kind, type_), space in product(updates(), POINTERS)
        for scope, metadata, attributes, returns in product(
            SCOPES, METADATA, ATTRIBUTES, (False, True)
        )
    ]
    functions = [
        f"define void @f{number}({POINTERS[space]} %p, {TYPES[type_]} %v, ptr addrspace(5) %o) "
        f"{attributes} {{\n  %old = {update(kind, type_, space, 'monotonic', scope)}{metadata}\n"
        + (f"  store {TYPES[type_]} %old, ptr addrspace(5) %o\n" if returns else "")
        + "  ret void\n}\n"
        for number, (kind, type_, space, scope, metadata, attributes, returns) in enumerate(asked)
    ]
    done = subprocess.run(
        [OPT, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-passes=atomic-expand", "-S"],
        input="".join([*functions, "!0 = !{}\n"]),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[tuple[RmwKind, ValueType, AddressSpace], set[bool]] = {}
    for each in re.finditer(r"^define .*?@f(\d+)\(.*?^}", done.stdout, re.M | re.S):
        kind, type_, space = asked[int(each[1])][:3]
        found.setdefault((kind, type_, space), set()).add("cmpxchg" in each[0])
    return found


def misjudged(chip: str) -> list[tuple[RmwKind, ValueType, AddressSpace]]:
    return [
        (kind, type_, space)
        for (kind, type_, space), made in made_by_llvm(chip).items()
        if is_loop(chip, space, kind, type_) != (made == {True})
    ]


@needs_llvm
@pytest.mark.parametrize("chip", LOWERED)
def test_llvm_makes_loops_of_these_and_of_no_others(chip: str) -> None:
    """Whatever it is promised; of others it makes none under some promise."""
    assert misjudged(chip) == []


@needs_llvm
def test_a_row_that_is_missing_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(len(OTHER_FORMS)):
        left = (*OTHER_FORMS[:number], *OTHER_FORMS[number + 1 :])
        monkeypatch.setattr("fencewright.lowering.cdna.rmw_loops.OTHER_FORMS", left)
        assert misjudged("gfx90a")


# What they get

HEAD = 'target triple = "amdgcn-amd-amdhsa"\n'
AFTER = "  store i32 1, ptr addrspace(1) %q, align 4\n"


def kernel(chip: str, body: str, value: str) -> str:
    arguments = f"ptr addrspace(1) %p, ptr addrspace(1) %q, {value} %v"
    text = f"{HEAD}define amdgpu_kernel void @k({arguments}) {{\n{body}{AFTER}  ret void\n}}\n"
    return str(lower_llvm_ir(text, chip))


def waits(text: str) -> int:
    """The waits of ours in LLVM IR."""
    return text.count("call void @llvm.amdgcn.s.waitcnt") + len(re.findall(r"\bs_wait", text))


def compiled(text: str, chip: str, level: int = 2) -> str:
    assert LLC is not None
    command = [LLC, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", f"-O{level}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


HALF = f"  %old = {update(RmwKind.FADD, ValueType.F16, AddressSpace.GLOBAL, 'acq_rel')}\n"
WORD = f"  %old = {update(RmwKind.ADD, ValueType.I32, AddressSpace.GLOBAL, 'acq_rel')}\n"


@pytest.mark.parametrize("chip", LOWERED)
def test_a_loop_gets_no_wait_and_an_instruction_does(chip: str) -> None:
    text = kernel(chip, HALF, "half")
    assert not waits(text)
    assert '"v,~{memory}"(half %old)' in text
    assert waits(kernel(chip, WORD, "i32"))


@pytest.mark.parametrize("chip", LOWERED)
def test_a_fence_does_not_wait_for_it_either(chip: str) -> None:
    relaxed = HALF.replace("acq_rel", "monotonic")
    fence = '  fence syncscope("agent") acquire\n'
    assert not waits(kernel(chip, relaxed + fence, "half"))
    word = WORD.replace("acq_rel", "monotonic")
    assert waits(kernel(chip, word + fence, "i32"))


def test_what_lanes_do_together_is_waited_for() -> None:
    """LLVM lets one lane do it for all, and would make a value for each of them."""
    greatest = HALF.replace("fadd", "fmax").replace("half", "float").replace("align 2", "align 4")
    assert waits(kernel("gfx942", greatest, "float"))
    used = f"{greatest}  store float %old, ptr addrspace(1) %q, align 4\n"
    assert not waits(kernel("gfx942", used, "float"))


def surplus(text: str) -> list[str]:
    """What fence-check would take out of compiled code; nothing may be wrong with it."""
    assembly = read_assembly(text)
    found: list[str] = []
    for function in assembly.functions.values():
        checked = check(assembly, function)
        assert not [each for each in checked.hazards() if each.level is Level.ERROR]
        found += [each.message for each in checked.surplus()]
    return found


@needs_llvm
@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("chip", LOWERED)
def test_nothing_is_left_that_can_go(chip: str, level: int) -> None:
    twice = HALF + HALF.replace("%old", "%two").replace("%p", "%q")
    assert surplus(compiled(kernel(chip, HALF, "half"), chip, level)) == []
    assert surplus(compiled(kernel(chip, twice, "half"), chip, level)) == []


@needs_llvm
@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("chip", LOWERED)
@pytest.mark.parametrize("value", ["0xH7E00", "0xH8000"])
def test_a_value_that_llvm_finds_out_is_waited_for(chip: str, level: int, value: str) -> None:
    """Of what adds a NaN it makes an exchange, and a store where nobody has the old value."""
    assert OPT is not None
    text = kernel(chip, HALF, "half").replace("half %v syncscope", f"half {value} syncscope")
    assert value in text
    done = subprocess.run(
        [OPT, "-O2", "-S"], input=text, capture_output=True, text=True, check=True
    )
    found = compiled(done.stdout, chip, level)
    update_, _, rest = found.partition(";;#ASMSTART")
    assert re.search(r"global_(?:atomic|load|store)", update_), found
    last = max(each.start() for each in re.finditer(r"global_(?:atomic|load|store)\w+", update_))
    assert re.search(r"s_wait(?:cnt vmcnt|_loadcnt)", update_[last:]), found
    assert "global_store" in rest
