"""LLVM IR read as the source of machine code: what is accessed, how it is ordered, and by lines."""

import pytest

from fencewright.checker.source.program import (
    SourceError,
    SourceFunction,
    SourceOperation,
)
from fencewright.checker.source.text import INTRINSICS, read_source, without_comment
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

TAIL = """
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" "target-cpu"="gfx90a" }
!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "p; not a comment")
!1 = !DIFile(filename: "dir/k.py", directory: "/")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 3, unit: !0)
!3 = !DILocation(line: 7, column: 5, scope: !4)
!4 = distinct !DILexicalBlock(scope: !2, line: 6)
!5 = !{!"amdgpu-synchronize-as", !"local"}
!6 = !{!"amdgcn-av", !"none"}
!7 = !{!5, !6}
!8 = !{!"amdgpu-synchronize-as", !"a space of tomorrow"}
!9 = !{i32 64, i32 2, i32 1}
"""


def function(
    *body: str, header: str = "define amdgpu_kernel void @k(ptr %p) #0 {"
) -> SourceFunction:
    text = "\n".join((header, *body, "  ret void", "}")) + TAIL
    return next(iter(read_source(text, "k.ll").functions.values()))


def one(text: str) -> SourceOperation:
    (operation,) = function(text).operations
    return operation


_W, _R = Ordering.WEAK, Ordering.RELAXED
_GLOBAL, _LOCAL, _GENERIC = AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC


@pytest.mark.parametrize(
    ("text", "word", "ordering", "scope", "space"),
    [
        ("%v = load i32, ptr addrspace(1) %p, align 4", "load", _W, Scope.SYSTEM, _GLOBAL),
        ("%v = load atomic volatile i32, ptr addrspace(3) %p monotonic, align 4",
            "load", _R, Scope.SYSTEM, _LOCAL),
        ('%v = load atomic i32, ptr %p syncscope("agent-one-as") acquire, align 4',
            "load", Ordering.ACQUIRE, Scope.AGENT, _GENERIC),
        # What it asks for is what plain accesses do.
        ("store atomic volatile i32 %v, ptr addrspace(1) %p unordered, align 4",
            "store", _W, Scope.SYSTEM, _GLOBAL),
        # Words in names and in constants mean nothing.
        ("store i32 %release, ptr addrspace(1) @acquire, align 4",
            "store", _W, Scope.SYSTEM, _GLOBAL),
        ("store { i32, ptr } { i32 1, ptr null }, ptr addrspace(1) %p",
            "store", _W, Scope.SYSTEM, _GLOBAL),
        ("store <2 x i32> %v, ptr addrspace(3) getelementptr (i32, ptr addrspace(3) @l, i32 4)",
            "store", _W, Scope.SYSTEM, _LOCAL),
        ("store i32 0, ptr addrspace(5) %p", "store", _W, Scope.SYSTEM, None),
        ("%v = load i32, ptr addrspace(4) %p, !invariant.load !9", "load", _W,
            Scope.SYSTEM, None),
        ("store i32 0, ptr addrspace(7) %p", "store", _W, Scope.SYSTEM, _GLOBAL),
        ('%o = atomicrmw volatile fadd ptr addrspace(1) %p, float 1.0 syncscope("workgroup") '
            "acq_rel, align 4", "atomicrmw", Ordering.ACQ_REL, Scope.WORKGROUP, _GLOBAL),
        ('%o = cmpxchg weak ptr addrspace(1) %p, i32 0, i32 1 syncscope("cluster") seq_cst '
            "monotonic, align 4", "cmpxchg", Ordering.SEQ_CST, Scope.CLUSTER, _GLOBAL),
        ('fence syncscope("wavefront") seq_cst', "fence", Ordering.SEQ_CST,
            Scope.WAVEFRONT, None),
        ("tail call void @llvm.amdgcn.s.barrier() #3", "barrier", _W, Scope.SYSTEM, None),
        ("call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 0, ptr addrspace(8) %p, i32 0, "
            "i32 0, i32 17)", "store", _W, Scope.SYSTEM, _GLOBAL),
        ("call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %p, ptr addrspace(3) "
            "%l, i32 4, i32 0, i32 0, i32 0, i32 0)", "load to LDS", _W, Scope.SYSTEM, _GLOBAL),
        ("call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %p, ptr addrspace(3) %l, i32 4, "
            "i32 0, i32 0)", "load to LDS", _W, Scope.SYSTEM, _GLOBAL),
        ("call void @llvm.amdgcn.global.load.async.to.lds.b32(ptr addrspace(1) %p, ptr "
            "addrspace(3) %q, i32 0, i32 0)", "load to LDS", _W, Scope.SYSTEM, _GLOBAL),
        ("call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %d, ptr addrspace(1) %s, i64 64, i1 0)",
            "copy", _W, Scope.SYSTEM, _GENERIC),
        ("call void @llvm.memset.p5.i64(ptr addrspace(5) %d, i8 0, i64 64, i1 0)",
            "copy", _W, Scope.SYSTEM, None),
        ('call void asm sideeffect "s_barrier ; call @f(", "~{memory}"()', "call", _W,
            Scope.SYSTEM, None),
        ("%r = call i32 @helper(ptr %p)", "call", _W, Scope.SYSTEM, None),
        ("call void %indirect(ptr %p)", "call", _W, Scope.SYSTEM, None),
    ],
)  # fmt: skip
def test_what_an_instruction_does(
    text: str,
    word: str,
    ordering: Ordering,
    scope: Scope,
    space: AddressSpace | None,
) -> None:
    found = one(text)
    assert (found.word, found.ordering, found.scope, found.space) == (word, ordering, scope, space)


@pytest.mark.parametrize(
    "text",
    [
        "%t = call i32 @llvm.amdgcn.workitem.id.x()",
        "call void @llvm.lifetime.start.p5(i64 4, ptr addrspace(5) %p)",
        "%a = getelementptr i32, ptr %p, i32 %load",
        "%b = add i32 %x, 1 ; store i32 0, ptr %p",
        "; fence acquire",
        "#dbg_value(i32 %x, !3, !DIExpression(), !3)",
    ],
)
def test_what_accesses_nothing(text: str) -> None:
    assert function(text).operations == ()


def test_what_an_access_says_besides() -> None:
    exchanged = one('%o = cmpxchg ptr %p, i32 0, i32 1 syncscope("agent") acq_rel acquire, align 4')
    assert exchanged.failure is Ordering.ACQUIRE
    added = one("%o = atomicrmw uinc_wrap ptr %p, i32 1 monotonic, align 4, !noalias !9")
    assert (added.rmw, added.failure, added.volatile) == ("uinc_wrap", None, False)
    assert one("store volatile i32 0, ptr %p").volatile
    assert one('fence syncscope("agent-one-as") release').one_as


def test_relaxations_of_a_fence() -> None:
    assert one("fence release, !mmra !5").spaces == {_LOCAL}
    assert one("fence release").spaces == frozenset()
    both = one('fence syncscope("agent") release, !dbg !3, !mmra !7')
    assert (both.spaces, both.available) == ({_LOCAL}, False)
    # A space that is not known here orders nothing for certain.
    unknown = one("fence release, !mmra !8").spaces
    assert unknown
    assert unknown.isdisjoint({_GLOBAL, _LOCAL})


def test_places() -> None:
    place = SourceLocation("dir/k.py", 7, 5)
    assert one("store i32 0, ptr %p, align 4, !dbg !3").place == place
    assert one("fence acquire, !dbg !DILocation(line: 7, column: 5, scope: !2)").place == place
    assert one("fence acquire, !dbg !77").place is None
    assert one("fence acquire").place is None


def test_a_function_says_for_what_it_is() -> None:
    found = function()
    assert (found.name, found.cpu, found.most_threads, found.line) == ("k", "gfx90a", 256, 1)
    quoted = function(header='define hidden void @"a name(%x"(i32 %x) !reqd_work_group_size !9 {')
    assert (quoted.name, quoted.most_threads) == ("a name(%x", 128)


def test_control_flow() -> None:
    found = function(
        "  br i1 %c, label %a, label %\"b c\"",
        "a:                     ; preds = %0",
        "  fence acquire",
        "  switch i32 %x, label %5 [",
        "    i32 0, label %a",
        "    i32 1, label %\"b c\"",
        "  ], !dbg !3",
        "\"b c\":",
        "  %r = invoke i32 @f()",
        "          to label %5 unwind label %a",
        "5:",
        "  store i32 0, ptr %p",
    )  # fmt: skip
    assert [block.successors for block in found.blocks] == [(1, 2), (3, 1, 2), (3, 1), ()]
    assert [len(block.operations) for block in found.blocks] == [0, 1, 1, 1]
    assert [each.line for each in found.operations] == [4, 10, 13]
    assert found.problem == ""


def test_what_is_not_known_is_said() -> None:
    assert "no block called nowhere" in function("  br label %nowhere").problem
    odd = function('  fence syncscope("galaxy") acquire').problem
    assert odd == 'syncscope "galaxy" is not known'
    assert "a pointer has a type" in function("  store i32 0, i32 addrspace(1)* %p").problem


def test_what_is_no_source() -> None:
    with pytest.raises(SourceError, match=r"k.ll:1: error: no function is defined"):
        read_source("\ts_endpgm\n", "k.ll")
    with pytest.raises(SourceError, match=r"k.ll:1: error: the file is cut short"):
        read_source("define void @f() {\n  ret void\n", "k.ll")


def test_comments_end_lines_but_not_in_strings() -> None:
    assert without_comment('call void asm "a; b", ""() ; c "d"') == 'call void asm "a; b", ""()'
    assert without_comment("ret void ; done") == "ret void"
    assert without_comment("ret void") == "ret void"


def test_every_intrinsic_has_its_source() -> None:
    assert all(row.source for row in INTRINSICS)


@pytest.mark.parametrize("name", ["llvm.amdgcn.s.barrier", "llvm.donothing", "helper"])
def test_a_call_is_opaque_unless_a_row_knows_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencewright.checker.source.text._COMPILED", ())
    (operation,) = function(f"  call void @{name}()").blocks[0].operations
    assert operation.kind is Kind.OPAQUE
