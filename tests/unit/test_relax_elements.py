"""relax-elements: the elements of a tensor's atomic under a fact, and atomics whose result nobody uses.

What is emitted is held to the PTX model, and each condition is broken on purpose.
"""

import re
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest
from ptxas import find_assemblers, knows
from test_inline_ptx_import import asm, kernel
from test_llvm_ir_nvptx import complaints

from fencewright.lowering.facts import facts_for
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import Fact
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.passes.pipelines import lower_llvm_ir
from fencewright.simulator.core.condition import Register
from fencewright.simulator.litmus_run import PtxTest, run
from fencewright.tools.inputs.litmus.harness import read_with_harness
from fencewright.tools.inputs.litmus.lowered import Lowering

UNORDERED = (Fact.UNORDERED_ELEMENTS,)
G = "ptr addrspace(1) %g"
DEBUG = """
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "k.py", directory: ".")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 7, column: 3, scope: !3)
!6 = !DILocation(line: 8, column: 3, scope: !3)
"""


def atom(
    offset: int = 0,
    *,
    ordering: str = "acq_rel",
    place: str | None = "!5",
    operation: str = "add",
    result: str = "",
) -> str:
    """One element of an atomic as Triton writes it."""
    text = f"mov.u32 $0, 0x0;\\0A\\09@$3 atom.global.gpu.{ordering}.{operation}.u32 $0, [ $1 + {offset} ], $2;"
    name = result or f"%r{offset}{place[1] if place else ''}{ordering}"
    line = asm(text, "=r,l,r,b", f"{G}, i32 %v, i1 %p", "i32")
    return f"{name} = {line}" + (f", !dbg {place}" if place else "")


def source(*lines: str) -> str:
    text = kernel(*lines).replace("%q) {", "%q) !dbg !3 {")
    return text + DEBUG


def lowered(*lines: str, facts: tuple[str, ...] = UNORDERED, chip: str = "sm_90") -> str:
    return lower_llvm_ir(source(*lines), chip, ptx_version="8.6", facts=facts, edit=True)


def instructions(text: str) -> list[str]:
    """The fences and accesses of a kernel, each without its operands."""
    return re.findall(r"\b(?:fence|atom|red|ld|st|bar)\.[\w.:]+", text)


RELAXED = "atom.global.gpu.relaxed.add.u32"
RED = "red.global.gpu.relaxed.add.u32"
LOAD = "%l = " + asm("ld.global.b32 $0, [$1];", "=r,l", G, "i32")


def test_elements_are_relaxed_between_two_fences() -> None:
    found = instructions(lowered(atom(0), atom(4), atom(8), LOAD))
    ld = "ld.global.b32"
    assert found == ["fence.release.gpu", *[RELAXED] * 3, "fence.acquire.gpu", ld]


def test_nothing_is_acquired_at_the_end_of_a_thread() -> None:
    assert instructions(lowered(atom(0), atom(4))) == ["fence.release.gpu", RED, RED]


@pytest.mark.parametrize(
    ("ordering", "fences"),
    [("release", ["fence.release.gpu"]), ("acquire", ["fence.acquire.gpu"])],
)
def test_elements_of_one_side_take_one_fence(ordering: str, fences: list[str]) -> None:
    found = instructions(lowered(atom(0, ordering=ordering), atom(4, ordering=ordering), LOAD))
    assert [each for each in found if "fence" in each] == fences
    assert not any(ordering in each for each in found if "fence" not in each)


@pytest.mark.parametrize(
    "lines",
    [
        (atom(0),),
        # Of two places of the source, of none that is known, of two orderings.
        (atom(0), atom(4, place="!6")),
        (atom(0, place=None), atom(4, place=None)),
        (atom(0), atom(4, ordering="acquire")),
        (atom(0), atom(4, operation="max")),
        # With something between them that others could tell by.
        (atom(0), LOAD, atom(4)),
        (atom(0), "call void @other()", atom(4)),
    ],
)
def test_only_what_follows_one_another_at_one_place_has_no_order(lines: tuple[str, ...]) -> None:
    text = source(*lines, LOAD.replace("%l ", "%last ")) + "declare void @other()\n"
    assert lower_llvm_ir(text, "sm_90", ptx_version="8.6", facts=UNORDERED, edit=True) is text


def test_without_the_fact_every_element_is_ordered() -> None:
    text = source(atom(0), atom(4), atom(8), LOAD)
    assert lower_llvm_ir(text, "sm_90", ptx_version="8.6", edit=True) is text


def test_the_fact_is_for_ptx_alone() -> None:
    assert facts_for(UNORDERED, "sm_90") == {Fact.UNORDERED_ELEMENTS}
    with pytest.raises(UnsupportedError, match="gfx942 has no use for it"):
        facts_for(UNORDERED, "gfx942")


def test_elements_without_a_predicate_are_scoped_operations() -> None:
    lines = [
        f"%r{n} = "
        + asm(
            f"atom.global.gpu.acq_rel.add.u32 $0, [ ${1} + 0 ], $2;",
            "=r,l,r",
            f"{G}, i32 %v",
            "i32",
        )
        + ", !dbg !5"
        for n in range(2)
    ]
    found = instructions(lowered(*lines))
    assert found == ["fence.release.gpu", *["red.relaxed.gpu.global.add.u32"] * 2]


# red

RELEASE = atom(ordering="release", result="%r")


def test_an_unused_release_becomes_red() -> None:
    assert instructions(lowered(RELEASE, facts=())) == ["red.global.gpu.release.add.u32"]


@pytest.mark.parametrize(
    "lines",
    [
        (RELEASE, "store i32 %r, ptr addrspace(1) %g"),
        (RELEASE, 'fence syncscope("device") acquire', LOAD),
        (RELEASE, "call void @other()"),
        (atom(ordering="acq_rel"), LOAD),
        (atom(ordering="release", operation="exch"),),
        # What would be the result of this one?
        (RELEASE.replace("mov.u32 $0, 0x0;", "mov.u32 $0, $2;"),),
    ],
)
def test_an_atom_that_may_be_needed_stays(lines: tuple[str, ...]) -> None:
    text = source(*lines) + "declare void @other()\n"
    lowered = lower_llvm_ir(text, "sm_90", ptx_version="8.6", edit=True)
    assert not any(each.startswith("red.") for each in instructions(lowered))


# Against the model and the assembler


def _updates(pointers: str, value: int, place: str) -> str:
    """One update of each of ``pointers``; the predicate holds, but the compiler does not know it."""
    template = (
        "{{ .reg .pred t; setp.ne.u32 t, 1, 0; mov.u32 $0, 0x0; "
        "@t atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 0 ], $2; }}"
    )
    return (
        "\n".join(
            f"  %{each}1 = "
            + asm(template, "=r,l,r,~{memory}", f"ptr addrspace(1) %{each}, i32 {value}", "i32")
            + f", !dbg {place}"
            for each in pointers
        )
        .replace("{{", "{")
        .replace("}}", "}")
    )


def threads(first: str = "fg", second: str = "gf") -> str:
    """A thread that writes x and then updates a tensor, and one that updates it and then reads x."""
    return (
        f"""target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @first(ptr addrspace(1) %x, ptr addrspace(1) %f, ptr addrspace(1) %g) !dbg !3 {{
  store i32 1, ptr addrspace(1) %x
{_updates(first, 1, "!5")}
  ret void
}}
define ptx_kernel void @second(ptr addrspace(1) %x, ptr addrspace(1) %f, ptr addrspace(1) %g,
                               ptr addrspace(1) %r, ptr addrspace(1) %s, ptr addrspace(1) %t) !dbg !7 {{
{_updates(second, 2, "!8")}
  %v = load i32, ptr addrspace(1) %x
  store i32 %f1, ptr addrspace(1) %r
  store i32 %g1, ptr addrspace(1) %s
  store i32 %v, ptr addrspace(1) %t
  ret void
}}
"""
        + DEBUG
        + """!7 = distinct !DISubprogram(name: "s", file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DILocation(line: 9, column: 3, scope: !7)
"""
    )


HARNESS = """
litmus.kernel @first
litmus.kernel @second
litmus.test @elements {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.location @g = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @first(@x, @f, @g)
  litmus.thread @P1 at <workgroup = 1> runs @second(@x, @f, @g, "r0", "r1", "r2")
  litmus.condition "exists (P1:r0 = 1)"
}
"""


def outcomes(folder: Path, text: str) -> set[tuple[int | None, ...]]:
    """What the second thread reads of f, g and x."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target: Any = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    with llvm_module(text, "threads") as module:
        ptx = target.create_target_machine(cpu="sm_90", features="+ptx86").emit_assembly(module)
    (folder / "k.ptx").write_text(ptx)
    (folder / "h.mlir").write_text(HARNESS)
    (test,) = read_with_harness(str(folder / "k.ptx"), str(folder / "h.mlir"), Lowering())
    assert isinstance(test, PtxTest)
    found = run(test).outcomes
    assert found is not None
    return {
        tuple(each[Register(1, name)] for name in ("r0", "r1", "r2"))
        for each in found.as_mappings()
    }


def is_passed_on(outcome: tuple[int | None, ...]) -> bool:
    """Whether who has seen an element of the first thread has seen what that did before."""
    f, g, x = outcome
    return x == 1 or 1 not in (f, g)


def test_what_came_before_the_elements_is_seen_with_any_of_them(tmp_path: Path) -> None:
    lowered = lower_llvm_ir(threads(), "sm_90", ptx_version="8.6", facts=UNORDERED, edit=True)
    assert lowered.count("fence.") == 3
    found = outcomes(tmp_path, lowered)
    assert all(map(is_passed_on, found))
    # What the fact gives away: in the source the second thread does not see g alone.
    assert (0, 1, 1) in found
    assert (0, 1, 1) not in outcomes(tmp_path, threads())
    for fence in ("fence.release.gpu;", "fence.acquire.gpu;"):
        broken = lowered.replace(fence, "")
        assert not all(map(is_passed_on, outcomes(tmp_path, broken))), fence


@pytest.mark.parametrize(
    ("chip", "version"), [("sm_90", "8.6"), ("sm_90a", "8.6"), ("sm_80", "8.6"), ("sm_70", "6.3")]
)
def test_the_assembler_takes_it(chip: str, version: str, tmp_path: Path) -> None:
    major, minor = map(int, version.split("."))
    if not any(knows(ptxas, chip, (major, minor)) for ptxas in find_assemblers()):
        pytest.skip("needs ptxas (make oracles)")
    text = source(atom(0), atom(4), LOAD, atom(8), atom(12), RELEASE.replace("%r ", "%last "))
    lowered = lower_llvm_ir(text, chip, ptx_version=version, facts=UNORDERED, edit=True)
    assert "red." in lowered
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target: Any = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    features = f"+ptx{major}{minor}"
    with llvm_module(lowered, "compiled") as module:
        ptx = target.create_target_machine(cpu=chip, features=features).emit_assembly(module)
    assert complaints(ptx, chip, tmp_path) == []
