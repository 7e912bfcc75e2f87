"""LLVM IR in, LLVM IR with explicit synchronisation out, and what LLVM's code generator makes of it."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import llvmlite.binding as llvm
import pytest
from campaigns import Share, shares
from llvm_ir_waits import in_assembly
from scripts import load_script
from xdsl.utils.exceptions import ParseError, VerifyException

from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import Instruction, UnsupportedError, WaitCounts
from fencewright.lowering.skeleton import ILLEGAL
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, Phase, Scope
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.passes.pipelines import lower_llvm_ir
from fencewright.tools.llvm_tools import find_llvm_tool

DATA = Path(__file__).parent.parent / "data"
TRITON = DATA / "triton"
TRITON_KERNELS = ("append_under_lock", "sum_last_block")
CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")
TRIPLE = "amdgcn-amd-amdhsa"

SYNCHRONISATION = re.compile(r"buffer_wb|buffer_inv|buffer_wbinv")
STORE = re.compile(r"(global|flat|ds|buffer)_(store|write|atomic)")


def assembly(text: str, chip: str, level: int) -> str:
    """What LLVM's code generator makes of ``text``; Triton's newer triple is put in today's words."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = re.sub(r'target triple = "[^"]*"', f'target triple = "{TRIPLE}"', text)
    text = re.sub(r'target datalayout = "[^"]*"', "", text)
    target: Any = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu=chip, opt=level)
    with llvm_module(text, "compiled") as module:
        return machine.emit_assembly(module)


def instructions(function: str, text: str) -> list[tuple[str, bool]]:
    """The instructions of ``function``, each with whether it is inline assembly."""
    body = re.search(rf"^{function}:.*?^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    return instructions_of(body[0].splitlines()[1:])


def instructions_of(lines: Iterable[str]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    inline = False
    for line in lines:
        stripped = line.strip()
        if "#ASM" in stripped:
            inline = "#ASMSTART" in stripped
        elif re.match(r"[a-z]", stripped) and not stripped.endswith(":"):
            found.append((" ".join(stripped.partition(";")[0].split()), inline))
    return found


def lost_waits(text: str, function: str) -> Iterator[str]:
    """The write-backs that a store follows without a vmcnt(0) in between."""
    pending: str | None = None
    for instruction, _ in instructions(function, text):
        if instruction.startswith("buffer_wbl2"):
            pending = instruction
        elif instruction.startswith("s_waitcnt") and "vmcnt(0)" in instruction:
            pending = None
        elif pending is not None and STORE.match(instruction):
            yield pending
            pending = None


# Every operation: exactly our synchronisation, around an access with the right policy bits

SPACES = {"": AddressSpace.GENERIC, " addrspace(1)": AddressSpace.GLOBAL, " addrspace(3)": AddressSpace.LOCAL}  # fmt: skip
TEXT = {
    Operation.LOAD: "%r = load atomic i32, ptr{space} %p {sync}{ordering}, align 4",
    Operation.STORE: "store atomic i32 %v, ptr{space} %p {sync}{ordering}, align 4",
    Operation.ATOMIC_RMW: "%r = atomicrmw add ptr{space} %p, i32 %v {sync}{ordering}, align 4",
    Operation.CMPXCHG: "%r = cmpxchg ptr{space} %p, i32 0, i32 %v {sync}{ordering} {failure}, align 4",
    Operation.FENCE: "fence {sync}{ordering}",
}
FAILURES = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST)


def word(ordering: Ordering | None) -> str:
    return "monotonic" if ordering is Ordering.RELAXED else str(ordering)


def requests() -> Iterator[dict[str, Any]]:
    for op, ordering, scope in product(TEXT, Ordering, Scope):
        if ordering is Ordering.WEAK or (op, ordering) in ILLEGAL:
            continue
        for space in SPACES.values() if op.is_access else (None,):
            for failure in FAILURES if op is Operation.CMPXCHG else (None,):
                yield {
                    "op": op,
                    "ordering": ordering,
                    "scope": scope,
                    "space": space,
                    "failure_ordering": failure,
                }


REQUESTS = dict(enumerate(requests()))
SPACE_TEXT = {space: text for text, space in SPACES.items()}


GROUP = 32
"""How many requests stand in one function: each function costs more than they do."""


def module_of_requests(numbers: Iterable[int]) -> str:
    """Functions of requests, each after a comment with its number."""
    by_space: dict[AddressSpace, list[int]] = {}
    for number in numbers:
        space = REQUESTS[number]["space"] or AddressSpace.GENERIC
        by_space.setdefault(space, []).append(number)
    lines = [f'target triple = "{TRIPLE}"']
    for space, those in by_space.items():
        for first in range(0, len(those), GROUP):
            lines.append(f"define void @f{those[first]}(ptr{SPACE_TEXT[space]} %p, i32 %v) {{")
            for number in those[first : first + GROUP]:
                lines.append(f'  call void asm sideeffect "; request {number}", ""()')
                lines.append(f"  {instruction_of(number)}")
            lines.append("  ret void\n}")
    return "\n".join(lines)


def instruction_of(number: int) -> str:
    request = REQUESTS[number]
    scope = request["scope"]
    text = TEXT[request["op"]].format(
        space=SPACE_TEXT[request["space"] or AddressSpace.GENERIC],
        sync="" if scope is Scope.SYSTEM else f'syncscope("{scope}") ',
        ordering=word(request["ordering"]),
        failure=word(request["failure_ordering"]),
    )
    return text.replace("%r ", f"%r{number} ")


def instructions_by_request(compiled: str) -> dict[int, list[tuple[str, bool]]]:
    """What is after each of the comments, as far as its function goes."""
    _, *found = re.split(r"^\s*; request (\d+)\n", compiled, flags=re.MULTILINE)
    return {
        int(number): instructions_of(text.partition(".Lfunc_end")[0].splitlines())
        for number, text in zip(found[::2], found[1::2], strict=True)
    }


def test_there_are_requests():
    assert len(REQUESTS) > 400


BUILDS = [
    *((chip, False, 0) for chip in CHIPS),
    ("gfx90a", True, 0),
    ("gfx942", True, 0),
    ("gfx90a", False, 2),
    ("gfx942", False, 2),
]


@pytest.mark.parametrize("share", shares(9))
@pytest.mark.parametrize(("chip", "tgsplit", "level"), BUILDS)
def test_exactly_our_synchronisation(chip: str, tgsplit: bool, level: int, share: Share):
    features = ("tgsplit",) if tgsplit else ()
    asked = [
        number
        for number, request in share.of([*REQUESTS.items()], BUILDS.index((chip, tgsplit, level)))
        if not (tgsplit and request["space"] is AddressSpace.LOCAL)
    ]
    text = lower_llvm_ir(module_of_requests(asked), chip, features, opt_level=0)
    compiled = assembly(text, chip, level)
    found = instructions_by_request(compiled)
    assert found.keys() == {*asked}
    wrong = {
        number: (skeleton(found[number]), expected)
        for number in asked
        if skeleton(found[number]) != (expected := our_skeleton(REQUESTS[number], chip, features))
    }
    assert not wrong


def skeleton(found: list[tuple[str, bool]]) -> list[str]:
    """The inline assembly, every cache operation, and the access as its policy bits."""
    kept: list[str] = []
    for instruction, inline in found:
        if inline or SYNCHRONISATION.match(instruction):
            kept.append(instruction)
        elif re.match(r"(global|flat|ds)_", instruction):
            kept.append(f"access {' '.join(policy(instruction.split()))}".strip())
    return kept


def policy(words: list[str]) -> list[str]:
    return [each for each in words if each in ("sc0", "sc1", "nt", "glc", "slc")]


def our_skeleton(request: dict[str, Any], chip: str, features: tuple[str, ...]) -> list[str]:
    expected: list[str] = []
    narrow = request["scope"] is Scope.SINGLETHREAD
    sequence = lower(**request, target=chip, features=features, returns=False)
    for instruction in waiting_for_scalar_loads(sequence.instructions):
        if instruction.phase is Phase.ACCESS:
            expected.append(f"access {' '.join(policy(list(instruction.modifiers)))}".strip())
        elif not narrow:
            expected.append(instruction.text)
    return expected


def waiting_for_scalar_loads(instructions: Iterable[Instruction]) -> list[Instruction]:
    """The instructions of a release that waits for LLVM's scalar loads, in lgkmcnt, if any does."""
    found = list(instructions)
    waits = [each.wait for each in found if each.phase is Phase.RELEASE and each.wait]
    if waits and all(each.lgkmcnt is None for each in waits):
        at = next(n for n, each in enumerate(found) if each.wait is waits[0])
        found[at] = replace(found[at], wait=waits[0] | WaitCounts(lgkmcnt=0))
    return found


def test_a_lost_instruction_is_noticed():
    """The comparison itself: without one instruction of ours the skeletons differ."""
    request = {"op": "fence", "ordering": "acquire", "scope": Scope.AGENT, "space": None}
    fence = 'define void @f() {\n  fence syncscope("agent") acquire\n  ret void\n}'
    text = in_assembly(lower_llvm_ir(fence, "gfx942"))
    expected = our_skeleton(request, "gfx942", ())
    assert skeleton(instructions("f", assembly(text, "gfx942", 0))) == expected
    broken = text.replace("\\0Abuffer_inv sc1", "")
    assert broken != text
    assert skeleton(instructions("f", assembly(broken, "gfx942", 0))) != expected


# Whole kernels


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("function", ["lost_wait_real", "lost_wait_store"])
@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_no_wait_is_lost(chip: str, function: str, level: int):
    text = (DATA / "llvm-ir" / "lost-wait.ll").read_text()
    ours = assembly(lower_llvm_ir(text, chip), chip, level)
    assert "buffer_wbl2" in ours
    assert not list(lost_waits(ours, function))
    # LLVM's own lowering has the bug from -O1 on, which shows that it would be found here.
    assert bool(list(lost_waits(assembly(text, chip, level), function))) is (level > 0)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("path", "chip"),
    [
        *((DATA / "llvm-ir" / "kernels.ll", chip) for chip in CHIPS),
        *((TRITON / f"{kernel}.ll", "gfx942") for kernel in TRITON_KERNELS),
    ],
    ids=lambda value: getattr(value, "stem", value),
)
def test_kernels_have_only_our_synchronisation(path: Path, chip: str, level: int):
    text = path.read_text()
    lowered = lower_llvm_ir(text, chip)
    compiled = assembly(lowered, chip, level)
    outside = [
        instruction
        for function in re.findall(r"^define .*@(\w+)\(", lowered, re.MULTILINE)
        for instruction, inline in instructions(function, compiled)
        if SYNCHRONISATION.match(instruction) and not inline
    ]
    assert outside == []
    ours = sum(
        line.count("buffer_wb") + line.count("buffer_inv")
        for line in lowered.splitlines()
        if "asm sideeffect" in line
    )
    if level == 0:
        assert len(re.findall(r"^\s*buffer_(?:wb|inv)", compiled, re.MULTILINE)) == ours


def test_noalias_data_is_not_read_through_the_scalar_cache():
    text = lower_llvm_ir((DATA / "llvm-ir" / "noalias.ll").read_text(), "gfx942")
    assert not scalar_load_after_acquire(text)
    # A memory clobber alone would not be enough.
    assert scalar_load_after_acquire(with_clobbers_alone(text))


def with_clobbers_alone(text: str) -> str:
    """Without LLVM's own fences, and pointers that escape."""
    text = re.sub(r'  fence syncscope\("singlethread"\).*\n', "", text)
    return re.sub(r'  call void asm sideeffect "", "s.*\n', "", text)


def scalar_load_after_acquire(text: str) -> bool:
    found = [each for each, _ in instructions("acquire_fence", assembly(text, "gfx942", 2))]
    return any("s_load" in each for each in found[found.index("buffer_inv sc1") :])


# Triton


EXPECTED = {
    ("append_under_lock", 0): ["s_waitcnt vmcnt(0)\\0Abuffer_inv sc0 sc1", "buffer_wbl2 sc0 sc1\\0As_waitcnt vmcnt(0) lgkmcnt(0)"],
    ("sum_last_block", 0): ["buffer_wbl2 sc1\\0As_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt vmcnt(0)\\0Abuffer_inv sc1"],
    # LDS has been waited for before the barriers, and what the acquire has read is awaited.
    ("append_under_lock", 2): ["buffer_inv sc0 sc1", "buffer_wbl2 sc0 sc1\\0As_waitcnt vmcnt(0)"],
    ("sum_last_block", 2): ["buffer_wbl2 sc1\\0As_waitcnt vmcnt(0)", "buffer_inv sc1"],
}  # fmt: skip


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("kernel", TRITON_KERNELS)
def test_triton_kernel(kernel: str, opt_level: Literal[0, 2]):
    text = (TRITON / f"{kernel}.ll").read_text()
    lowered = lower_llvm_ir(text, "gfx942", opt_level=opt_level)
    assert not re.search(r"\b(acq_rel|seq_cst)\b", lowered)
    found = re.findall(r'asm sideeffect "([^"]*)"', in_assembly(lowered))
    assert [each for each in found if SYNCHRONISATION.search(each)] == EXPECTED[kernel, opt_level]
    for level in (0, 2):
        assert not list(lost_waits(assembly(lowered, "gfx942", level), kernel))


@pytest.mark.parametrize("kernel", TRITON_KERNELS)
def test_triton_makes_this_ir(kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    triton = pytest.importorskip("triton", reason="needs triton 3.9 (make oracles)")
    if not triton.__version__.startswith("3.9."):
        pytest.skip("needs triton 3.9 (make oracles)")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernels = load_script(TRITON / "atomic_kernels.py")
    assert kernels.llvm_ir(kernel) == (TRITON / f"{kernel}.ll").read_text()


# What is asked for


def function(body: str, header: str = "", rest: str = "", triple: str = TRIPLE) -> str:
    return (
        f'target triple = "{triple}"\n'
        f"define void @f(ptr addrspace(1) %p, ptr addrspace(5) %private) {header} {{\n"
        f"  {body}\n  ret void\n}}\n{rest}\n"
    )


FENCE = 'fence syncscope("workgroup") acquire'


@pytest.mark.parametrize(
    ("header", "rest", "features"),
    [
        ("#0", 'attributes #0 = { "target-features"="+wavefrontsize64,+tgsplit" }', ()),
        ('"target-features"="+tgsplit"', "", ()),
        ("#0", 'attributes #0 = { "amdgpu-tg-split" }', ()),
        ("", "", ("tgsplit",)),
        ("#0", 'attributes #0 = { "target-features"="-tgsplit" }', ("tgsplit",)),
    ],
)
def test_tgsplit(header: str, rest: str, features: tuple[str, ...]):
    assert "buffer_inv sc0" in lower_llvm_ir(function(FENCE, header, rest), "gfx942", features)
    assert "buffer_inv" not in lower_llvm_ir(function(FENCE), "gfx942")


_GROUPS = """
attributes #0 = { nounwind "target-features"="-tgsplit,+sramecc" }
attributes #1 = { noinline "target-features"="+tgsplit" }
attributes #2 = { nounwind }
"""
_ATTRIBUTES = {
    "": "+tgsplit",
    "nounwind": "+tgsplit",
    '"target-features"=""': "+tgsplit",
    '"target-features"="+tgsplit"': "+tgsplit",
    '"target-features"="-tgsplit,+sramecc"': "+sramecc,+tgsplit",
    '"amdgpu-tg-split"': "+tgsplit",
    "#0": "+sramecc,+tgsplit",
    "#1": "+tgsplit",
    "#2": "+tgsplit",
    "#0 #1": "+tgsplit",
    "#1 #0": "+sramecc,+tgsplit",
    '"target-features"="+tgsplit" #0': "+sramecc,+tgsplit",
    'local_unnamed_addr addrspace(0) section "#0 (" align 64': "+tgsplit",
    'unnamed_addr #2 section ") #1" comdat': "+tgsplit",
}
"""The attributes of a function -> the target features for tgsplit."""

_WORKGROUP_LOAD = """
%x = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") monotonic, align 4
store i32 %x, ptr addrspace(1) %p
"""
LLC = find_llvm_tool("llc")


def _split(attributes: str, opt_level: Literal[0, 2], chip: str = "gfx942") -> str:
    text = function(_WORKGROUP_LOAD, attributes, _GROUPS) + "declare void @other() #2\n"
    if "comdat" in attributes:
        text = text.replace("define void", "$f = comdat any\ndefine void")
    return lower_llvm_ir(text, chip, ("tgsplit",), opt_level=opt_level)


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("attributes", _ATTRIBUTES)
def test_lowered_for_tgsplit_says_so(attributes: str, opt_level: Literal[0, 2]):
    text = _split(attributes, opt_level)
    header = next(line for line in text.splitlines() if line.startswith("define"))
    name = re.sub(r'"[^"]*"', "", header).partition("#")[2][0]
    group = next(line for line in text.splitlines() if f"attributes #{name} = " in line)
    assert f'"target-features"="{_ATTRIBUTES[attributes]}"' in group
    others = [line for line in text.splitlines() if line.startswith("attributes") and line != group]
    assert all("tgsplit" not in line for line in others)


@pytest.mark.skipif(LLC is None, reason="llc is not installed")
@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("attributes", _ATTRIBUTES)
def test_llvm_compiles_for_tgsplit_without_being_told(attributes: str, opt_level: Literal[0, 2]):
    assert LLC is not None
    text = _split(attributes, opt_level, "gfx90a")
    text = text.replace("define void", "define amdgpu_kernel void")
    command = [LLC, "-mcpu=gfx90a", "-o", "-"]
    compiled = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    assert ".amdhsa_tg_split 1" in compiled.stdout
    # A work-group on one CU shares an L1, and loads without glc.
    assert re.search(r"global_load_dword v.* glc$", compiled.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "chip_and_text",
    [
        ("gfx942", function(FENCE)),
        ("gfx942", function(FENCE, "#0", 'attributes #0 = { "target-features"="-tgsplit" }')),
        ("gfx908", function(FENCE)),
    ],
)
def test_nothing_is_said_of_tgsplit_unasked(chip_and_text: tuple[str, str]):
    chip, text = chip_and_text
    assert "+tgsplit" not in lower_llvm_ir(text, chip)


@pytest.mark.parametrize(
    "triple", [TRIPLE, "amdgcn--", "amdgpu9.42-amd-amdhsa", "amdgpu-amd-amdhsa"]
)
def test_accepted_triples(triple: str):
    assert triple in lower_llvm_ir(function(FENCE, triple=triple), "gfx942")


def test_no_triple_is_needed():
    assert "s.waitcnt(" in lower_llvm_ir(
        "define void @f() {\n fence acquire\n ret void\n}", "gfx942"
    )


@pytest.mark.parametrize("triple", ["nvptx64-nvidia-cuda", "x86_64-pc-linux-gnu", "amdgpu9.0a-amd-amdhsa"])  # fmt: skip
def test_module_for_another_target(triple: str):
    with pytest.raises(VerifyException, match=f"the module is for '{triple}', but gfx942 was"):
        lower_llvm_ir(function("fence acquire", triple=triple), "gfx942")


def test_function_for_another_chip():
    text = function(FENCE, "#0", 'attributes #0 = { "target-cpu"="gfx90a" }')
    assert "s.waitcnt(" in lower_llvm_ir(text, "gfx90a")
    with pytest.raises(VerifyException, match="@f is for 'gfx90a', but gfx942 was asked for"):
        lower_llvm_ir(text, "gfx942")


@pytest.mark.parametrize("target", ["gfx1100", "gfx9"])
def test_unsupported_targets(target: str):
    with pytest.raises(UnsupportedError, match="gfx942"):
        lower_llvm_ir(function(FENCE), target)


def test_unsupported_feature():
    with pytest.raises(UnsupportedError, match="gfx908 has no feature tgsplit"):
        lower_llvm_ir(function(FENCE), "gfx908", ("tgsplit",))
    with pytest.raises(UnsupportedError, match="unknown feature 'tgspilt'"):
        lower_llvm_ir(function(FENCE), "gfx942", ("tgspilt",))


def test_l2_per_agent_and_compat_are_passed_on():
    text = function('fence syncscope("agent") release')
    for l2_per_agent, compat in product(("one", "many"), (None, "llvm")):
        expected = lower(
            op="fence", ordering="release", scope="agent", target="gfx942", l2_per_agent=l2_per_agent, compat=compat
        )  # fmt: skip
        lowered = in_assembly(lower_llvm_ir(text, "gfx942", (), l2_per_agent, compat))
        text_in_assembly = "\\0A".join(str(expected).splitlines())
        assert f'"{text_in_assembly}"' in lowered


def test_syntax_error_has_its_place():
    with pytest.raises(ParseError, match=r"kernel\.ll:1:"):
        lower_llvm_ir("nonsense", "gfx942", file="kernel.ll")


@pytest.mark.parametrize(
    "untouched",
    [
        "store atomic i32 0, ptr addrspace(5) %private release, align 4",
        "store volatile i32 0, ptr addrspace(1) %p, align 4",
        "store atomic i32 0, ptr addrspace(1) %p monotonic, align 4",
        'fence syncscope("singlethread") seq_cst',
    ],
)
def test_left_to_llvm(untouched: str):
    lowered = lower_llvm_ir(function(untouched), "gfx942")
    assert untouched in lowered
    assert "asm" not in lowered


@pytest.mark.parametrize(
    ("scope", "assembly"), [("wavefront", ['"", "~{memory}"()']), ("singlethread", [])]
)
def test_narrow_fences_still_order_for_the_compiler(scope: str, assembly: list[str]):
    lowered = lower_llvm_ir(function(f'fence syncscope("{scope}") acquire'), "gfx942")
    assert 'fence syncscope("singlethread") acquire' in lowered
    assert re.findall("asm sideeffect (.*)", lowered) == assembly


CALLS = f"""target triple = "{TRIPLE}"
declare void @anything()
define amdgpu_kernel void @f(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q) {{
  call void @anything()
  %v = load i32, ptr addrspace(1) %p
  store i32 %v, ptr addrspace(1) %q
  ret void
}}
"""


def test_lowering_calls_twice_changes_nothing():
    once = lower_llvm_ir(CALLS, "gfx942")
    assert once.count("asm sideeffect") == 2
    assert lower_llvm_ir(once, "gfx942") == once


@pytest.mark.parametrize("kernel", ["kernels", "lost-wait", "noalias", "debug-info"])
def test_lowering_twice_changes_nothing(kernel: str):
    once = lower_llvm_ir((DATA / "llvm-ir" / f"{kernel}.ll").read_text(), "gfx942")
    assert lower_llvm_ir(once, "gfx942") == once


def test_relaxation_annotations_are_heeded():
    rest = '!0 = !{!"amdgpu-synchronize-as", !"local"}\n!1 = !{!"amdgcn-av", !"none"}'
    local = lower_llvm_ir(
        function('fence syncscope("agent") acquire, !mmra !0', rest=rest), "gfx942"
    )
    assert "buffer_inv" not in local
    assert "mmra" not in local
    none = lower_llvm_ir(
        function('store atomic i32 0, ptr addrspace(1) %p syncscope("agent") release, align 4, !mmra !1', rest=rest), "gfx942"
    )  # fmt: skip
    assert "buffer_wbl2" not in none
    assert "vmcnt(0)" in in_assembly(none)


def test_synchronisation_has_the_debug_location():
    text = (DATA / "llvm-ir" / "debug-info.ll").read_text()
    lowered = lower_llvm_ir(text, "gfx942", stores="back")
    (store,) = re.findall(r"store atomic .*(!dbg ![0-9]+)", lowered)
    assert f'"~{{memory}}"(), {store}' in lowered
    assert f'fence syncscope("singlethread") release, {store}' in lowered
