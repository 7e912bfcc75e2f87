"""LLVM IR for NVPTX in, LLVM IR with inline PTX out, and what LLVM and ptxas make of it."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest
from campaigns import Share, shares
from nvptx_oracle import Point, llvm_sequences, normal_form
from ptxas import find_assemblers, find_disassembler, knows, machine_instructions
from scripts import load_script
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from fencewright.lowering.llvm.architecture import PTX
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.skeleton import ILLEGAL
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, RmwKind, Scope
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.pipelines import lower_llvm_ir

TESTS = Path(__file__).parent.parent
DATA = TESTS / "data"
KERNELS = (DATA / "llvm-ir" / "nvptx-kernels.ll").read_text()
NOALIAS = (DATA / "llvm-ir" / "nvptx-noalias.ll").read_text()
TRITON = DATA / "triton"
TRITON_KERNELS = ("append_under_lock", "sum_last_block")
TRIPLE = "nvptx64-nvidia-cuda"
CHIPS = (("sm_90", "8.6"), ("sm_90", "8.3"), ("sm_80", "8.6"), ("sm_70", "6.3"))


def machine(chip: str, version: str, level: int = 2) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target: Any = llvm.Target.from_triple(TRIPLE)
    features = f"+ptx{version.replace('.', '')}"
    return target.create_target_machine(cpu=chip, features=features, opt=level)


def ptx(text: str, chip: str = "sm_90", version: str = "8.6", level: int = 2) -> str:
    with llvm_module(text, "compiled") as module:
        return machine(chip, version, level).emit_assembly(module)


def complaints(text: str, chip: str, tmp_path: Path) -> list[str]:
    """What the assemblers at hand that are of an age to read the PTX ``text`` have against it."""
    source = tmp_path / "module.ptx"
    source.write_text(text)
    named = re.search(r"^\.version (\d+)\.(\d+)", text, re.M)
    assert named is not None
    version = int(named[1]), int(named[2])
    problems: list[str] = []
    for ptxas in find_assemblers():
        if not knows(ptxas, chip, version):
            continue
        command = [ptxas, f"-arch={chip}", "-O0", str(source), "-o", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            problems.append(f"{ptxas}: {done.stderr[:2000]}")
    return problems


def functions(text: str) -> dict[str, tuple[str, ...]]:
    """The memory instructions, fences and loops of each function."""
    bodies = re.findall(r"^(?:\.visible )?\.func .*?\b(\w+)\([^{]*\{\n(.*?)^\}$", text, re.M | re.S)
    return {
        name: normal_form(
            line.strip().rstrip(";")
            for line in body.splitlines()
            if ".param" not in line and not line.strip().startswith("//")
        )
        for name, body in bodies
    }


# Every operation: exactly what `lower` says, in LLVM's PTX

SYNCSCOPE = {
    scope: f' syncscope("{name}")' if name else "" for name, (scope, _) in PTX.syncscopes.items()
}
SPACES = {
    space: f" addrspace({space.number})" if space.number else ""
    for space in AddressSpace
    if space is not AddressSpace.CONSTANT
}
BODY = {
    Operation.LOAD: "%r = load atomic {t}, {p}{s} {o}, align {a}\nret {t} %r",
    Operation.STORE: "store atomic {t} %v, {p}{s} {o}, align {a}\nret {t} %v",
    Operation.ATOMIC_RMW: "%r = atomicrmw {k} {p}, {t} %v{s} {o}, align {a}\nret {t} %r",
    Operation.CMPXCHG: "%r = cmpxchg {p}, {t} %v, {t} %v{s} {o} {f}, align {a}\n"
    "%w = extractvalue {{ {t}, i1 }} %r, 0\nret {t} %w",
    Operation.FENCE: "fence{s} {o}\nret {t} %v",
}
FAILURES = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST)
FLOATS = {32: "float", 64: "double"}
FLOAT_KINDS = (RmwKind.FADD, RmwKind.FSUB, RmwKind.FMAX, RmwKind.FMIN)


def word(ordering: Ordering | None) -> str:
    return "monotonic" if ordering is Ordering.RELAXED else str(ordering)


def points() -> Iterator[Point]:
    for op, ordering, scope in product(BODY, Ordering, SYNCSCOPE):
        if ordering is Ordering.WEAK or (op, ordering) in ILLEGAL:
            continue
        if not op.is_access:
            yield Point(op, ordering, scope, None)
            continue
        for space, failure in product(SPACES, FAILURES if op is Operation.CMPXCHG else (None,)):
            for kind in (RmwKind.ADD, RmwKind.XCHG, RmwKind.NAND):
                yield Point(op, ordering, scope, space, failure, kind)
                if op is not Operation.ATOMIC_RMW:
                    break
            if scope is Scope.AGENT and space is not AddressSpace.GENERIC:
                for width in (8, 16, 64):
                    yield Point(op, ordering, scope, space, failure, width=width)
    for kind, width in product(RmwKind, (8, 16, 32, 64)):
        if kind not in FLOAT_KINDS or width in FLOATS:
            yield Point(
                Operation.ATOMIC_RMW, Ordering.ACQ_REL, Scope.WORKGROUP, kind=kind, width=width
            )


POINTS = list(dict.fromkeys(points()))


def instructions_of(point: Point) -> tuple[str, str]:
    """The LLVM IR of a function for ``point``, and the type that it returns."""
    type_ = FLOATS[point.width] if point.kind in FLOAT_KINDS else f"i{point.width}"
    space = SPACES[point.space or AddressSpace.GENERIC]
    body = BODY[point.op].format(
        t=type_,
        p=f"ptr{space} %p",
        k=point.kind,
        s=SYNCSCOPE[point.scope],
        o=word(point.ordering),
        f=word(point.failure_ordering),
        a=point.width // 8,
    )
    return f"(ptr{space} %p, {type_} %v) {{\n{body}\n}}\n", type_


def module_of(numbered: dict[int, Point]) -> str:
    lines = [f'target triple = "{TRIPLE}"\n']
    for number, point in numbered.items():
        text, type_ = instructions_of(point)
        lines.append(f"define {type_} @f{number}{text}")
    return "\n".join(lines)


def expected(point: Point, chip: str, version: str) -> tuple[str, ...] | None:
    """What ``lower`` says; None where it refuses."""
    try:
        sequence = lower(**asdict(point), target=chip, ptx_version=version)
    except UnsupportedError:
        return None
    return normal_form(each.text for each in sequence.instructions)


def test_there_are_points():
    assert len(POINTS) > 1200


@pytest.mark.parametrize("share", shares(4))
@pytest.mark.parametrize(("chip", "version"), CHIPS)
def test_exactly_our_synchronisation(chip: str, version: str, share: Share, tmp_path: Path):
    wanted = {
        number: sequence
        for number, point in share.of([*enumerate(POINTS)], CHIPS.index((chip, version)))
        if (sequence := expected(point, chip, version)) is not None
    }
    assert len(wanted) * share.count > 1000
    text = lower_llvm_ir(module_of({n: POINTS[n] for n in wanted}), chip, ptx_version=version)
    compiled = ptx(text, chip, version)
    found = functions(compiled)
    wrong = {POINTS[n]: (found[f"f{n}"], wanted[n]) for n in wanted if found[f"f{n}"] != wanted[n]}
    assert not wrong
    assert complaints(compiled, chip, tmp_path) == []


@pytest.mark.parametrize(
    ("ours", "broken"),
    [("fence.release.gpu;", ""), ("fence.release.gpu;", "fence.release.cta;")],
)
def test_a_lost_instruction_is_noticed(ours: str, broken: str):
    """The comparison itself: with less than ours the sequences differ."""
    point = Point(Operation.FENCE, Ordering.RELEASE, Scope.AGENT, None)
    text = lower_llvm_ir(module_of({0: point}), "sm_90", ptx_version="8.6")
    assert functions(ptx(text))["f0"] == expected(point, "sm_90", "8.6")
    assert ours in text
    assert functions(ptx(text.replace(ours, broken)))["f0"] != expected(point, "sm_90", "8.6")


def test_llvm_drops_ordering_and_scope_of_atomicrmw_and_ours_keeps_them():
    point = Point(Operation.ATOMIC_RMW, Ordering.ACQ_REL, Scope.SYSTEM)
    text = module_of({0: point})
    assert functions(ptx(text))["f0"] == ("atom.global.add.u32",)
    ours = ptx(lower_llvm_ir(text, "sm_90"))
    assert functions(ours)["f0"] == ("atom.acq_rel.sys.global.add.u32",)


def test_llvm_ends_at_singlethread_and_ours_does_not():
    point = Point(Operation.FENCE, Ordering.ACQUIRE, Scope.SINGLETHREAD, None)
    assert llvm_sequences([point], "sm_90", (8, 6))[point] is None
    assert functions(ptx(lower_llvm_ir(module_of({0: point}), "sm_90")))["f0"] == ()


def test_llvm_gives_private_memory_an_atomic_that_ptxas_rejects(tmp_path: Path):
    point = Point(
        Operation.CMPXCHG, Ordering.ACQUIRE, Scope.AGENT, AddressSpace.PRIVATE, Ordering.ACQUIRE
    )
    text = module_of({0: point})
    assert functions(ptx(text))["f0"] == ("atom.acquire.gpu.local.cas.b32",)
    if find_assemblers():
        assert complaints(ptx(text), "sm_90", tmp_path)
    assert not any("atom" in each for each in functions(ptx(lower_llvm_ir(text, "sm_90")))["f0"])


# Whole kernels


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_kernels_assemble(level: int, tmp_path: Path):
    compiled = ptx(lower_llvm_ir(KERNELS, "sm_90"), level=level)
    assert complaints(compiled, "sm_90", tmp_path) == []
    outside = [
        line
        for line in without_assembly(compiled)
        if re.match(r"(fence|membar|atom|red)\.|(ld|st)\.(relaxed|acquire|release)", line)
    ]
    assert outside == []


def without_assembly(compiled: str) -> Iterator[str]:
    """The lines that LLVM wrote itself."""
    inline = False
    for line in compiled.splitlines():
        if "inline asm" in line:
            inline = "begin" in line
        elif not inline:
            yield line.strip()


def test_an_unused_result_goes_nowhere():
    text = lower_llvm_ir(KERNELS, "sm_90")
    assert "atom.relaxed.gpu.global.add.f32 _, [$0], $1;" in text


def test_short_pointers():
    text = lower_llvm_ir(KERNELS, "sm_90")
    assert "st.release.cta.shared.b32 [$0], $1;" in text
    long = re.sub(r"target datalayout.*\n", "", KERNELS)
    long = long.replace("release, align 4\n  %pointer", "release, align 8\n  %pointer")
    long = long.replace("acquire, align 4\n  store i8", "acquire, align 8\n  store i8")
    assert "st.release.cta.shared.b64 [$0], $1;" in lower_llvm_ir(long, "sm_90")


def test_lowering_twice_changes_nothing():
    once = lower_llvm_ir(KERNELS, "sm_90")
    assert lower_llvm_ir(once, "sm_90") == once


@pytest.mark.parametrize(("function", "access"), [("acquire", "ld"), ("release", "st")])
def test_noalias_data_stays_on_its_side(function: str, access: str):
    text = lower_llvm_ir(NOALIAS, "sm_90")
    assert optimised(text, function).count(f"{access}.weak") == 2
    # A memory clobber alone would not be enough.
    blind = re.sub(r'^  call void asm sideeffect "", "l"\(.*\n', "", text, flags=re.M)
    assert blind != text
    assert optimised(blind, function).count(f"{access}.weak") == 1


def optimised(text: str, function: str, target: llvm.TargetMachine | None = None) -> list[str]:
    """The accesses of ``function`` after LLVM's -O2, LLVM's own as ``ld.weak`` and ``st.weak``."""
    chosen = target or machine("sm_90", "8.6")
    with llvm_module(text, "optimised") as module:
        builder = llvm.create_pass_builder(chosen, llvm.create_pipeline_tuning_options(2))
        builder.getModulePassManager().run(module, builder)
        body = re.search(rf"@{function}\(.*?^\}}", str(module), re.M | re.S)
    assert body is not None
    names = {"load": "ld.weak", "store": "st.weak"}
    return [names[each] for each in re.findall(r"^  (?:%\S+ = )?(load|store) ", body[0], re.M)]


# What clang makes of CUDA

CLANG = (DATA / "llvm-ir" / "nvptx-clang-cuda.ll").read_text()
_ACCESS = re.compile(r"^\s*(?:@%p\d+ )?(ld|st|atom|red)\b(?!\.param)([\w.:]*)", re.M)


def accesses(compiled: str) -> Counter[tuple[str, str]]:
    """The loads, stores and atomics of PTX by state space; "" for generic ones."""
    return Counter(
        (opcode, next((each for each in ("global", "shared") if f".{each}" in words), ""))
        for opcode, words in _ACCESS.findall(compiled)
    )


def ptx_of_clang(**options: Any) -> str:
    return ptx(lower_llvm_ir(CLANG, "sm_90", ptx_version="8.6", edit=True, **options))


def test_accesses_of_cuda_keep_the_state_spaces_that_llvm_finds():
    """Of the ten kernels as many are global and shared as without us, and none is generic."""
    alone = accesses(ptx(CLANG))
    assert alone["atom", "global"] + alone["red", "global"] >= 8
    assert ("atom", "") not in alone
    ours = accesses(ptx_of_clang(facts=("cuda-atomics",)))
    updates = [(opcode, space) for opcode in ("atom", "red") for space in ("global", "shared")]
    assert sum(ours[each] for each in updates) == sum(alone[each] for each in updates)
    for each in ("ld", "st"):
        assert {key: n for key, n in ours.items() if key[0] == each} == {
            key: n for key, n in alone.items() if key[0] == each
        }
    assert not any(space == "" for _, space in ours)
    assert any(space == "" for _, space in accesses(ptx_of_clang(opt_level=0)))


@pytest.mark.parametrize(
    ("options", "left"),
    [({"opt_level": 0}, (16, 8)), ({}, (14, 5)), ({"facts": ("cuda-atomics",)}, (4, 8))],
)
def test_fences_of_cuda_are_as_few_as_the_page_says(options: dict[str, Any], left: tuple[int, int]):
    text = ptx_of_clang(**options)
    assert (text.count("fence."), text.count("membar.")) == left


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        (None, (872, 25, 0)),
        ({"opt_level": 0}, (928, 31, 34)),
        ({}, (864, 26, 0)),
        ({"facts": ("cuda-atomics",)}, (840, 19, 0)),
    ],
)
def test_machine_code_of_cuda_is_as_short_as_the_page_says(
    options: dict[str, Any] | None, counts: tuple[int, int, int]
):
    """All instructions, those of fences, and accesses by generic addresses: docs/minimise.md."""
    nvdisasm = find_disassembler()
    assemblers = [each for each in find_assemblers() if knows(each, "sm_90", (8, 6))]
    if nvdisasm is None or not assemblers:
        pytest.skip("needs ptxas and nvdisasm, which comes with triton (make oracles)")
    text = ptx(CLANG) if options is None else ptx_of_clang(**options)
    for ptxas in assemblers:
        found = machine_instructions(ptxas, nvdisasm, "sm_90", text)
        generic = sum(found[each] for each in ("ATOM", "RED", "LD", "ST"))
        assert (found.total(), found["MEMBAR"], generic) == counts


def test_a_kernel_without_a_change_is_the_same_string():
    text = CLANG.replace(" seq_cst", " monotonic")
    weak = re.sub(r"(load|store) atomic (.*?) (?:acquire|release|monotonic),", r"\1 \2,", text)
    plain = re.sub(r"^.*(?:atomicrmw|cmpxchg|extractvalue).*\n|^  fence.*\n", "", weak, flags=re.M)
    histogram = plain[: plain.index("define")] + "define ptx_kernel void @k() {\n  ret void\n}\n"
    assert lower_llvm_ir(histogram, "sm_90", edit=True) is histogram


# Triton


@pytest.mark.parametrize("kernel", TRITON_KERNELS)
def test_triton_kernel_is_the_same_machine_code(kernel: str, tmp_path: Path):
    """Triton writes its atomics as inline PTX itself: there is nothing to do, and nothing is done."""
    text = (TRITON / "sm_90" / f"{kernel}.ll").read_text()
    lowered = lower_llvm_ir(text, "sm_90", ptx_version="8.6")
    assert lowered.count("asm sideeffect") == text.count("asm sideeffect")
    compiled = ptx(lowered)
    assert compiled == ptx(text)
    assert re.search(r"atom\.global\.\S+", compiled)
    assert complaints(compiled, "sm_90", tmp_path) == []


@pytest.mark.parametrize("kernel", TRITON_KERNELS)
def test_triton_makes_this_ir(kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    triton = pytest.importorskip("triton", reason="needs triton 3.9 (make oracles)")
    if not triton.__version__.startswith("3.9."):
        pytest.skip("needs triton 3.9 (make oracles)")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernels = load_script(TRITON / "atomic_kernels.py")
    assert kernels.llvm_ir(kernel, "sm_90") == (TRITON / "sm_90" / f"{kernel}.ll").read_text()


# What is asked for


def function(body: str, header: str = "", rest: str = "", triple: str = TRIPLE) -> str:
    return (
        f'target triple = "{triple}"\n'
        f"define void @f(ptr addrspace(1) %p, ptr addrspace(7) %d) {header} {{\n"
        f"  {body}\n  ret void\n}}\n{rest}\n"
    )


FENCE = 'fence syncscope("device") acquire'


@pytest.mark.parametrize(
    ("features", "version", "fence"),
    [
        ("", None, "fence.acquire.gpu"),
        ("+ptx83,+sm_90", None, "fence.acq_rel.gpu"),
        ("+ptx86", None, "fence.acquire.gpu"),
        ("", "8.3", "fence.acq_rel.gpu"),
        ("+ptx83", "8.6", "fence.acquire.gpu"),
    ],
)
def test_ptx_version(features: str, version: str | None, fence: str):
    text = function(FENCE, f'"target-features"="{features}"')
    assert f'"{fence};"' in lower_llvm_ir(text, "sm_90", ptx_version=version)


def test_no_triple_is_needed():
    text = 'define void @f() {\n fence syncscope("block") acquire\n ret void\n}'
    assert "fence.acquire.cta;" in lower_llvm_ir(text, "sm_90")


@pytest.mark.parametrize(
    "triple", ["amdgcn-amd-amdhsa", "nvptx-nvidia-cuda", "x86_64-pc-linux-gnu"]
)
def test_module_for_another_target(triple: str):
    with pytest.raises(VerifyException, match=f"the module is for '{triple}', but sm_90 was"):
        lower_llvm_ir(function("fence acquire", triple=triple), "sm_90")


def test_function_for_another_chip():
    text = function(FENCE, '"target-cpu"="sm_80"')
    with pytest.raises(VerifyException, match="@f is for 'sm_80', but sm_90 was asked for"):
        lower_llvm_ir(text, "sm_90")


@dataclass(frozen=True, slots=True)
class Refused:
    """An instruction that cannot be lowered, and what is said of it."""

    body: str
    reason: str
    chip: str = "sm_90"


@pytest.mark.parametrize(
    "refused",
    [
        Refused(
            "atomicrmw fadd ptr addrspace(1) %p, bfloat 0.0 seq_cst", "multiply-add", "sm_75"
        ),
        Refused(
            "atomicrmw fadd ptr addrspace(1) %p, <4 x half> zeroinitializer seq_cst",
            "no atomic arithmetic on vector<4xf16>",
        ),
        Refused("atomicrmw add ptr addrspace(1) %p, i128 1 monotonic", "computes nothing on them"),
        Refused(
            "atomicrmw xchg ptr addrspace(1) %p, i128 1 monotonic", "sm_80 has no 128-bit", "sm_80"
        ),
        Refused("atomicrmw usub_sat ptr addrspace(1) %p, i32 1 monotonic", "has no words for it"),
        Refused("atomicrmw add ptr addrspace(7) %d, i32 1 release", "cluster", "sm_80"),
    ],
)  # fmt: skip
def test_refused_at_its_line(refused: Refused):
    text = function(refused.body)
    with pytest.raises((DiagnosticException, UnsupportedError), match=refused.reason) as problem:
        lower_llvm_ir(text, refused.chip, file="kernel.ll")
    notes = "\n".join([str(problem.value), *getattr(problem.value, "__notes__", ())])
    assert refused.reason in notes


@pytest.mark.parametrize("scope", ["agent", "workgroup", "wavefront", "one-as", "vendor"])
def test_syncscopes_of_others_are_refused(scope: str):
    with pytest.raises(ParseError, match=f'unknown syncscope "{scope}"; known: "device"'):
        lower_llvm_ir(function(f'fence syncscope("{scope}") acquire'), "sm_90")


@pytest.mark.parametrize("option", [{"l2_per_agent": "one"}, {"compat": "llvm"}])
def test_options_of_others_are_refused(option: dict[str, Any]):
    with pytest.raises(UnsupportedError):
        lower_llvm_ir(function(FENCE), "sm_90", **option)


def test_features_of_others_are_refused():
    with pytest.raises(UnsupportedError, match="unknown feature 'tgsplit'"):
        lower_llvm_ir(function(FENCE), "sm_90", ("tgsplit",))
    with pytest.raises(UnsupportedError, match=r"there is no PTX 8\.6 of it"):
        lower_llvm_ir(
            "define void @f() {\n fence acquire\n ret void\n}", "gfx942", ptx_version="8.6"
        )


@pytest.mark.parametrize("space", sorted(PTX.spaces - {4}))
def test_address_spaces_are_read(space: int):
    store = f'store atomic i32 0, ptr addrspace({space}) null syncscope("block") release, align 4'
    text = function(store)
    assert "scoped.store release workgroup" in str(import_llvm_ir(text))


@pytest.mark.parametrize(
    "untouched",
    [
        "store i32 0, ptr addrspace(1) %p, align 4",
        "store volatile i32 0, ptr addrspace(1) %p, align 4",
    ],
)
def test_left_to_llvm(untouched: str):
    lowered = lower_llvm_ir(function(untouched), "sm_90")
    assert untouched in lowered
    assert "asm" not in lowered


def test_assembly_has_the_debug_location():
    text = (DATA / "llvm-ir" / "debug-info.ll").read_text()
    text = re.sub(r'target triple = ".*"', f'target triple = "{TRIPLE}"', text)
    text = text.replace("amdgpu_kernel", "ptx_kernel").replace("agent", "device")
    lowered = lower_llvm_ir(text.replace("workgroup", "block"), "sm_90")
    assert re.search(r"asm sideeffect .*, !dbg !\d+", lowered)
