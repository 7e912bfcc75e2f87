"""LLVM IR is given back as it was written, but for the lines whose synchronisation has changed."""

import difflib
import gc
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from unnamed import unnamed
from work_count import calls_of, growth
from xdsl.context import Context
from xdsl.utils.exceptions import ParseError

from fencewright import lower_llvm_ir
from fencewright.mlir_dialects.llvm_ir.edit import EditedModule
from fencewright.mlir_dialects.llvm_ir.text import TranslationError
from fencewright.passes.pipelines import LLVMIRPipeline
from fencewright.tools import fence_opt
from fencewright.tools.dev.campaigns.triton_texts import SCRIPT, round_trips

DATA = Path(__file__).parent.parent / "data"
AMD = 'target triple = "amdgcn-amd-amdhsa"\n'
NVIDIA = 'target triple = "nvptx64-nvidia-cuda"\n'
MODULES = [
    *((path, "gfx942") for path in sorted((DATA / "llvm-ir").glob("*.ll")) if "nvptx" not in path.stem),
    *((path, "gfx942") for path in sorted((DATA / "triton").glob("*.ll"))),
    *((path, "sm_90") for path in sorted((DATA / "llvm-ir").glob("nvptx*.ll"))),
    *((path, "sm_90") for path in sorted((DATA / "triton" / "sm_90").glob("*.ll"))),
]  # fmt: skip


def as_llvm_reads(text: str) -> str:
    """What LLVM prints for ``text`` when no argument, block or instruction has a name."""
    printed = unnamed(text)
    return re.sub(r"^(?:source_filename|; ModuleID) = .*\n", "", printed, flags=re.MULTILINE)


def difference(before: str, after: str) -> list[str]:
    """The lines that are gone, after ``-``, and that have come, after ``+``."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in [*lines][2:] if not line.startswith("@@")]


def edited(text: str, chip: str = "gfx942", opt_level: Literal[0, 2] = 2) -> str:
    return lower_llvm_ir(text, chip, edit=True, opt_level=opt_level)


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize(("path", "chip"), MODULES, ids=lambda each: getattr(each, "stem", each))
def test_the_edited_text_is_the_module_that_llvm_prints(
    path: Path, chip: str, opt_level: Literal[0, 2]
) -> None:
    text = path.read_text()
    printed = lower_llvm_ir(text, chip, opt_level=opt_level)
    assert as_llvm_reads(edited(text, chip, opt_level)) == as_llvm_reads(printed)


@pytest.mark.parametrize(("path", "chip"), MODULES, ids=lambda each: getattr(each, "stem", each))
def test_without_a_pass_the_text_is_the_same_object(path: Path, chip: str) -> None:
    text = path.read_text()
    assert EditedModule(text).written() is text


KERNEL = (
    AMD
    + """\
; A comment, and a line that LLVM would write otherwise.
define amdgpu_kernel void @k(ptr addrspace(1) %0, i32 %1,   ptr addrspace(1) %named) #0 !dbg !9 {
  %3 = add i32 %1,  1 ; before
  %4 = load  i32, ptr addrspace(1) %0, !dbg !11
  br label %5

5:                                                ; preds = %2
  ; It goes on here.
  %6 = phi i32 [ %3, %2 ], [ %8, %5 ]
  store i32 %6, ptr addrspace(1) %named, align 4, !tbaa !7, !dbg !12
  %7 = atomicrmw add ptr addrspace(1) %0, i32 1 syncscope("agent") acq_rel, align 4, !dbg !13 ; the turn
  %8 = add i32 %7, %6
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %10, label %5

10:
  ret void
}

attributes #0 = { "amdgpu-waves-per-eu"="1,2" }
!llvm.dbg.cu = !{!3}
!llvm.module.flags = !{!5}
!3 = distinct !DICompileUnit(language: DW_LANG_C, file: !4, isOptimized: true, emissionKind: LineTablesOnly)
!4 = !DIFile(filename: "k.py", directory: ".")
!5 = !{i32 2, !"Debug Info Version", i32 3}
!7 = !{!8, !8, i64 0}
!8 = !{!"int", !10}
!9 = distinct !DISubprogram(name: "k", file: !4, line: 1, type: !6, unit: !3)
!6 = !DISubroutineType(types: !{})
!10 = !{!"root"}
!11 = !DILocation(line: 2, scope: !9)
!12 = !DILocation(line: 3, scope: !9)
!13 = !DILocation(line: 4, scope: !9)
"""
)


def test_only_the_synchronisation_changes() -> None:
    """Comments, spaces and the numbers of values and metadata stay; new lines use them."""
    assert difference(KERNEL, edited(KERNEL)) == [
        '-  %7 = atomicrmw add ptr addrspace(1) %0, i32 1 syncscope("agent") acq_rel, align 4, !dbg !13 ; the turn',
        '+  fence syncscope("singlethread") release, !dbg !13',
        '+  call void asm sideeffect "buffer_wbl2 sc1", "~{memory}"(), !dbg !13',
        "+  call void @llvm.amdgcn.s.waitcnt(i32 112), !dbg !13",
        '+  %7 = atomicrmw add ptr addrspace(1) %0, i32 1 syncscope("agent") monotonic, align 4, !dbg !13',
        '+  call void asm sideeffect "", "v,~{memory}"(i32 %7), !dbg !13',
        '+  fence syncscope("singlethread") acquire, !dbg !13',
        "+declare void @llvm.amdgcn.s.waitcnt(i32 immarg)",
    ]  # fmt: skip


SPLIT = (
    AMD
    + """\
define amdgpu_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1, i1 %2) {
  br i1 %2, label %4, label %10

4:                                                ; preds = %4, %3
  %5 = cmpxchg ptr addrspace(1) %0, i32 0, i32 1 syncscope("agent") acquire monotonic, align 4
  %6 = extractvalue { i32, i1 } %5, 0
  %7 = icmp eq i32 %6, 0
  br i1 %7, label %10, label %4, !prof !4

8:                                                ; No predecessors!
  %9 = freeze i32 poison
  br label %10

10:                                               ; preds = %4, %3
  %11 = phi float [ +inf, %4 ], [ f0x3F800000, %3 ], [ 0.0, %8 ]
  %12 = load float, ptr addrspace(1) %1, align 4
  %13 = fadd float %11, %12
  store float %13, ptr addrspace(1) %1, align 4
  ret void
}
!4 = !{!"branch_weights", i32 1, i32 2}
"""
)


def test_phis_and_branches_keep_their_words_where_an_edge_is_split() -> None:
    text = edited(SPLIT)
    assert difference(SPLIT, text) == [
        '-  %5 = cmpxchg ptr addrspace(1) %0, i32 0, i32 1 syncscope("agent") acquire monotonic, align 4',
        '+  %5 = cmpxchg ptr addrspace(1) %0, i32 0, i32 1 syncscope("agent") monotonic monotonic, align 4',
        "+  %old = extractvalue { i32, i1 } %5, 0",
        '+  call void asm sideeffect "", "v,~{memory}"(i32 %old)',
        "-  br i1 %7, label %10, label %4, !prof !4",
        "+  br i1 %7, label %edge, label %4, !prof !4",
        "+edge:",
        '+  call void asm sideeffect "buffer_inv sc1", "~{memory}"()',
        '+  fence syncscope("singlethread") acquire',
        "+  br label %10",
        "-  %11 = phi float [ +inf, %4 ], [ f0x3F800000, %3 ], [ 0.0, %8 ]",
        "+  %11 = phi float [ +inf, %edge ], [ f0x3F800000, %3 ], [ 0.0, %8 ]",
    ]


UPDATES = (
    NVIDIA
    + """\
define i32 @f(ptr addrspace(1) %0, i32 %1) {
  %3 = atomicrmw add ptr addrspace(1) %0, i32 %1 acq_rel, align 4
  %4 = load atomic float, ptr addrspace(1) %0 syncscope("block") acquire, align 4
  %5 = fadd float %4, +inf
  store float %5, ptr addrspace(1) %0, align 4
  ret i32 %3
}
"""
)


def test_a_new_value_takes_the_number_of_the_one_whose_uses_it_has() -> None:
    kept = [line for line in UPDATES.splitlines() if "atomic" not in line]
    assert [line for line in edited(UPDATES, "sm_90").splitlines() if line in kept] == kept


def test_numbers_follow_one_another_where_one_is_lost() -> None:
    lines = edited(UPDATES.replace("ret i32 %3", "ret i32 %1"), "sm_90").splitlines()
    assert "  %4 = fadd float %3, +inf" in lines
    assert "  store float %4, ptr addrspace(1) %0, align 4" in lines


def test_numbers_that_are_known_elsewhere_are_not_changed() -> None:
    text = (
        NVIDIA
        + """\
@g = global ptr blockaddress(@f, %3)
define void @f(ptr addrspace(1) %0) {
  %2 = atomicrmw add ptr addrspace(1) %0, i32 1 acq_rel, align 4
  br label %3
3:
  ret void
}
"""
    )
    with pytest.raises(TranslationError, match="give values names before"):
        edited(text, "sm_90")


def test_types_may_have_the_numbers_of_values() -> None:
    text = (
        AMD
        + """\
%0 = type { i32 }
define %0 @f(ptr %0, %0 %1) {
  %3 = load i32, ptr %0, align 4
  %4 = insertvalue %0 %1, i32 %3, 0
  fence syncscope("agent") acquire
  ret %0 %4
}
"""
    )
    text_of_edit = edited(text, opt_level=0)
    assert as_llvm_reads(text_of_edit) == as_llvm_reads(lower_llvm_ir(text, "gfx942", opt_level=0))
    assert "  ret %0 %4" in text_of_edit.splitlines()


GAPS = (
    AMD
    + """\
define void @f(ptr addrspace(1), i32 %2) {
  add i32 %2, 1
  %"a b" = add i32 %2, 1
  %9 = add i32 %4, %"a b"
  br label %12
12:
  store atomic i32 %9, ptr addrspace(1) %0 syncscope("agent") release, align 4
  ret void
}
"""
)


def test_numbers_with_gaps_and_values_without_any_stay_as_they_are() -> None:
    gone = [line for line in difference(GAPS, edited(GAPS)) if line.startswith("-")]
    assert gone == [line for line in map("-{}".format, GAPS.splitlines()) if "atomic" in line]
    assert "  store atomic i32 %9, ptr addrspace(1) %0 " in edited(GAPS)


def test_new_groups_of_attributes_and_nodes_get_free_numbers() -> None:
    """LLVM gives those that are used numbers without gaps."""
    text = (
        AMD
        + """\
define void @f(ptr addrspace(1) %p) #7 {
  store atomic i32 1, ptr addrspace(1) %p syncscope("agent") release, align 4, !nontemporal !9
  ret void
}
attributes #7 = { nounwind }
attributes #8 = { cold }
!4 = !{i32 3}
!9 = !{i32 1}
"""
    )
    lines = lower_llvm_ir(text, "gfx942", features=("tgsplit",), edit=True).splitlines()
    assert "define void @f(ptr addrspace(1) %p) #7 #9 {" in lines
    assert 'attributes #9 = { "target-features"="+tgsplit" }' in lines
    assert lines[-1] == "!10 = !{i32 1}"
    assert any(line.endswith("monotonic, align 4, !nontemporal !10") for line in lines)


def test_constants_of_newer_llvms_stay_in_changed_lines() -> None:
    text = (
        AMD
        + """\
define void @f(ptr addrspace(1) %p) {
  store atomic float f0x3FB8AA3B, ptr addrspace(1) %p syncscope("agent") release, align 4
  ret void
}
"""
    )
    assert "store atomic float f0x3FB8AA3B, ptr addrspace(1) %p syncscope" in edited(text)


LAYOUTS = {
    "label and instruction": "e: br label %f\nf: ret void\n",
    "switch over lines": "  switch i32 %i, label %a [ i32 0, label %b\n    i32 1,\n label %a ]\na:\n  ret void\nb:\n  ret void\n",
    "operands over lines": "  %c = call i32 @h(\n    i32 %i,\n    ptr addrspace(1) %p) ; (\n  ret void\n",
    "brace at the end": "  ret void ",
    "end of a line within": "  ret void ; }\n",
    "use-list orders": "  %x = add i32 %i, %i\n  ret void\n  uselistorder i32 %i, { 1, 0 }\n",
}


@pytest.mark.parametrize("body", LAYOUTS.values(), ids=LAYOUTS)
def test_lines_may_be_laid_out_as_people_do(body: str) -> None:
    access = '  store atomic i32 1, ptr addrspace(1) %p syncscope("agent") release, align 4\n'
    header = "define void @f(ptr addrspace(1) %p, i32 %i) {\n"
    text = f"{AMD}declare i32 @h(i32, ptr addrspace(1))\n{header}{access}  br label %e\ne:\n{body.removeprefix('e: ')}}}\n{header.replace('@f', '@g')}{access}  ret void\n}}\n"
    assert as_llvm_reads(edited(text)) == as_llvm_reads(lower_llvm_ir(text, "gfx942"))


TYPED = """declare void @g(i8*) ; of void (i8*)*
@star = private constant [2 x i8] c"*\\00"
define void @f({} %p) {{
  store atomic i32 1, {} %p syncscope("agent") release, align 4
  ret void
}}
"""


def test_pointers_with_types_are_an_error_at_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """LLVM reads them; written beside ``ptr``, which the change needs, no LLVM 14 would."""
    path = tmp_path / "x.ll"
    path.write_text(AMD + TYPED.format(*["i32 addrspace(1)*"] * 2))
    assert fence_opt.main([str(path), "--mcpu", "gfx942", "-t", "llvm"]) == 2
    assert capsys.readouterr().err == (
        f"{path}:2:19: error: a pointer with a type, as LLVM 14 and older write them: write 'ptr', as "
        "'opt -S' of LLVM 17 or later does of this file\n"
    )
    assert "*" not in re.sub(r'"[^"]*"', "", lower_llvm_ir(path.read_text(), "gfx942"))


def test_stars_in_strings_and_comments_are_no_pointers() -> None:
    text = TYPED.replace("@g(i8*)", "@g(ptr)").format(*["ptr addrspace(1)"] * 2)
    assert text.count("*") == 3
    assert "buffer_wbl2" in edited(AMD + text)


@pytest.mark.parametrize(
    ("chip", "call"),
    [
        ("sm_90", "%r = call i32 @llvm.nvvm.abs.i(i32 %i)"),
        ("sm_90", '%r = call i32 @"llvm.nvvm.clz.ll"(i64 7)'),
        ("gfx942", "call void @llvm.lifetime.start.p1(i64 4, ptr addrspace(1) %p)"),
    ],
)
def test_a_call_that_llvm_reads_as_several_instructions_is_an_error_at_its_place(
    chip: str, call: str
) -> None:
    """One that LLVM reads as one other instruction is not: tests/lit/passes/llvm_ir/upgraded.ll."""
    text = (
        (AMD if chip == "gfx942" else NVIDIA)
        + "define void @f(ptr addrspace(1) %p, i32 %i) {\n"
        + f"  {call}\n  store atomic i32 1, ptr addrspace(1) %p release, align 4\n  ret void\n}}\n"
    )
    name = re.findall(r"llvm[\w.]+", call)[0]
    with pytest.raises(
        ParseError, match=f"reads other instructions for a call of '{name}'"
    ) as error:
        edited(text, chip)
    assert error.value.span.get_location().line == 3
    assert edited(as_llvm_reads(text), chip)


def test_instructions_that_share_a_line_are_an_error_at_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.ll"
    path.write_text(AMD + "define void @f() {\n  fence release\n  fence acquire ret void\n}\n")
    with pytest.raises(ParseError, match="write each instruction on its own"):
        edited(path.read_text())
    assert fence_opt.main([str(path), "--mcpu", "gfx942", "-t", "llvm"]) == 2
    assert capsys.readouterr().err == (
        f"{path}:2:1: error: cannot tell which lines are those of @f: write each instruction on "
        "its own, as 'opt -S' does\n"
    )


def test_fence_opt_gives_back_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.ll"
    path.write_text(KERNEL)
    assert fence_opt.main([str(path), "--mcpu", "gfx942", "-t", "llvm"]) == 0
    assert capsys.readouterr().out == edited(KERNEL)
    assert fence_opt.main([str(path), "-t", "llvm"]) == 0
    assert capsys.readouterr().out == KERNEL
    assert fence_opt.main([str(path), "-t", "llvm{comments=false}"]) == 0
    lines = [line for line in KERNEL.splitlines() if not line.lstrip().startswith(";")]
    assert capsys.readouterr().out.splitlines() == lines


def test_a_module_without_synchronisation_is_given_back_itself() -> None:
    text = AMD + "define void @f(i32 %0) { ret void }\ndeclare void @g()\n"
    assert edited(text) is text


ATOMIC = '  %x{} = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("agent") {}, align 4'
STORE = "  store i32 1, ptr addrspace(1) %p, align 4"
ACQUIRES = (
    "  br label %spin\nspin:",
    '  %x = load atomic i32, ptr addrspace(1) %q syncscope("agent") acquire, align 4',
    "  %c = icmp eq i32 %x, 0\n  br i1 %c, label %spin, label %done\ndone:",
    "  %y = load i32, ptr addrspace(1) %p, align 4",
    "  store i32 %y, ptr addrspace(1) %q, align 4",
)
GAINS = {
    "nothing goes": ((STORE, ATOMIC.format("", "release")), False),
    "only a wait goes": ((STORE, ATOMIC.format("", "acq_rel")), False),
    "a write-back goes": ((ATOMIC.format("", "release"),), True),
    "a fence goes": ((STORE, *('  fence syncscope("agent") release',) * 2, ATOMIC.format("", "monotonic")), True),
    "an invalidate leaves a loop": (ACQUIRES, True),
}  # fmt: skip


@pytest.mark.parametrize("name", GAINS)
def test_a_module_that_gains_nothing_is_given_back_itself(name: str) -> None:
    body, gains = GAINS[name]
    lines = "\n".join((*body, "  %last = load i32, ptr addrspace(1) %p, align 4"))
    parameters = "ptr addrspace(1) %p, ptr addrspace(1) %q"
    text = f"{AMD}define amdgpu_kernel void @k({parameters}) {{\n{lines}\n  ret void\n}}\n"
    given = lower_llvm_ir(text, "gfx942", edit=True, gains=True)
    assert (given is text) is not gains
    if gains:
        assert given == edited(text)


# Triton


def test_edited_text_goes_back_into_triton() -> None:
    """All kernels and chips: ``python -m fencewright.tools.dev.campaigns.triton_texts``."""
    triton = pytest.importorskip("triton", reason="needs triton 3.9 (make oracles)")
    if not triton.__version__.startswith("3.9."):
        pytest.skip("needs triton 3.9 (make oracles)")
    lowered, same = round_trips(sys.executable, ["softmax_grid.gfx942", "histogram.sm_90"])
    assert lowered.read
    assert not lowered.same
    assert lowered.gone
    assert same.read
    assert same.same


def test_triton_refuses_what_is_no_llvm_ir(tmp_path: Path) -> None:
    triton = pytest.importorskip("triton", reason="needs triton 3.9 (make oracles)")
    if not triton.__version__.startswith("3.9."):
        pytest.skip("needs triton 3.9 (make oracles)")
    for name in ("bogus.gfx942", "bogus.sm_90"):
        (tmp_path / f"{name}.ll").write_text(KERNEL.replace("add i32", "bogus i32"))
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "read", str(tmp_path)]
    done = subprocess.run(
        [*command, "bogus.gfx942", "bogus.sm_90"], check=True, stdout=subprocess.PIPE
    )
    assert not done.stdout


# How much is done


def chain(functions: int = 1, blocks: int = 1, atomics: int = 1, arithmetic: int = 1) -> str:
    """Kernels of some blocks, each with atomics, arithmetic, a load and a store."""
    lines = [AMD]
    for number in range(functions):
        parameters = "ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %v"
        lines.append(f"define amdgpu_kernel void @k{number}({parameters}) {{\n  br label %b0")
        for block in range(blocks):
            lines.append(f"b{block}:")
            lines += (f"  %a{block}.{n} = mul i32 %v, {n}" for n in range(arithmetic))
            lines.append(f"  %l{block} = load i32, ptr addrspace(1) %p, align 4")
            lines.append(f"  store i32 %l{block}, ptr addrspace(1) %p, align 4")
            lines += (
                f'  %x{block}.{n} = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("agent") acq_rel, align 4'
                for n in range(atomics)
            )
            lines.append(f"  br label %b{block + 1}")
        lines.append(f"b{blocks}:\n  ret void\n}}\n")
    return "\n".join(lines)


def locks(number: int) -> str:
    """A kernel that takes a lock and gives it back, again and again."""
    return f"{AMD}define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {{\n" + (
        "  br label %a0\n"
        + "".join(
            f"""a{n}:
  %x{n} = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") acquire monotonic, align 4
  %o{n} = extractvalue {{ i32, i1 }} %x{n}, 1
  br i1 %o{n}, label %t{n}, label %a{n}
t{n}:
  store i32 {n}, ptr addrspace(1) %p, align 4
  store atomic i32 0, ptr addrspace(1) %q syncscope("agent") release, align 4
  br label %a{n + 1}
"""
            for n in range(number)
        )
        + f"a{number}:\n  ret void\n}}\n"
    )


SIZES: dict[str, Callable[[int], str]] = {
    "locks": locks,
    "functions": lambda size: chain(functions=size),
    "blocks": lambda size: chain(blocks=size),
    "atomics": lambda size: chain(atomics=size),
    "arithmetic": lambda size: chain(arithmetic=size),
}


def for_ptx(text: str) -> str:
    """The same for NVIDIA."""
    words = {"amdgcn-amd-amdhsa": "nvptx64-nvidia-cuda", "amdgpu_kernel": "ptx_kernel"}
    for ours, theirs in (*words.items(), ('syncscope("agent")', 'syncscope("device")')):
        text = text.replace(ours, theirs)
    return text


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize("grows", SIZES)
def test_nothing_grows_faster_than_its_input(grows: str, chip: str) -> None:
    def action_of(size: int) -> Callable[[], object]:
        text = SIZES[grows](size)
        return partial(edited, text if chip.startswith("gfx") else for_ptx(text), chip)

    assert growth(action_of, 20) < 1.3


def test_work_that_grows_with_the_square_is_seen() -> None:
    """Also in a loop that calls nothing."""

    def square(size: int) -> Callable[[], object]:
        def action() -> None:
            numbers = range(size)
            for _ in numbers:
                for _ in numbers:
                    pass

        return action

    assert growth(square, 20) > 1.9


def test_nothing_is_searched_for_garbage_meanwhile() -> None:
    """Of which there is little, in a process that may have much."""
    searches: list[str] = []

    def note(phase: str, _: object) -> None:
        searches.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        edited(chain(atomics=100))
        assert not searches
        assert [[] for _ in range(2 * gc.get_threshold()[0])]
        assert searches
    finally:
        gc.callbacks.remove(note)


def test_functions_that_do_not_synchronise_cost_the_same_whatever_is_in_them() -> None:
    def with_plain(arithmetic: int) -> int:
        plain = chain(functions=10, atomics=0, arithmetic=arithmetic).replace("@k", "@plain")
        return calls_of(partial(edited, chain() + plain.removeprefix(AMD)))

    edited(chain())
    none, short, long = calls_of(partial(edited, chain())), with_plain(1), with_plain(50)
    assert long - short < (short - none) / 50


def test_arithmetic_costs_less_than_a_tenth_of_an_atomic() -> None:
    edited(chain())
    one, atomics = (calls_of(partial(edited, chain(atomics=n))) for n in (1, 51))
    arithmetic = calls_of(partial(edited, chain(arithmetic=51)))
    assert 0 < arithmetic - one < (atomics - one) / 10


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize(("path", "chip"), MODULES, ids=lambda each: getattr(each, "stem", each))
def test_what_stays_text_makes_no_difference(
    path: Path, chip: str, opt_level: Literal[0, 2]
) -> None:
    """The pipeline finds the same out where every instruction is an operation."""
    text = path.read_text()
    whole = EditedModule(text)
    LLVMIRPipeline(chip, opt_level=opt_level).apply(Context(), whole.module)
    assert whole.written() == edited(text, chip, opt_level)
