"""Inline PTX and NVVM's intrinsics on import: what they become, and that their text comes back."""

import re
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest
from xdsl.dialects.builtin import ModuleOp

from fencewright.lowering.llvm.intrinsics.nvvm_ptx import AS_PTX
from fencewright.lowering.ptx.code.statements import Statement, read_statement
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects.llvm_ir import inline_ptx
from fencewright.mlir_dialects.llvm_ir.dialect import text_of
from fencewright.mlir_dialects.llvm_ir.inline_ptx import access_of
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir
from fencewright.passes.pipelines import lower_llvm_ir

TRITON = Path(__file__).parents[1] / "data" / "triton" / "sm_90"
HEADER = 'target triple = "nvptx64-nvidia-cuda"\n'


def kernel(*lines: str) -> str:
    """A kernel of ``lines``; ``%g`` is global, ``%s`` shared, ``%a`` generic memory."""
    arguments = "ptr addrspace(1) %g, ptr addrspace(3) %s, ptr %a, i32 %v, float %x, i1 %p, i32 %q"
    arguments += ", ptr addrspace(3) %t, ptr addrspace(7) %c, ptr addrspace(7) %d"
    body = "\n".join(f"  {line}" for line in lines)
    return f"{HEADER}define ptx_kernel void @k({arguments}) {{\n{body}\n  ret void\n}}\n"


def asm(text: str, constraints: str, operands: str = "", type_: str = "void") -> str:
    """A call of inline PTX."""
    return f'call {type_} asm sideeffect "{text}", "{constraints}"({operands})'


def became(line: str) -> str:
    """The operation that a line has become, as it is printed, without its attributes."""
    module = import_llvm_ir(kernel(line))
    (found,) = [op for op in module.walk() if "scoped." in op.name or op.name == "llvm_ir.inst"]
    found.attributes.clear()
    return re.sub(r"%\w+", "%", str(found)).removeprefix("% = ")


G, A, S = "ptr addrspace(1) %g", "ptr %a", "ptr addrspace(3) %s"
T, C, D = "ptr addrspace(3) %t", "ptr addrspace(7) %c", "ptr addrspace(7) %d"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # Modifiers come in any order: Triton's, libcu++'s.
        ("%r = " + asm("ld.global.gpu.acquire.b32 $0, [ $1 + 0 ];", "=r,l", G, "i32"),
         "scoped.load acquire agent % : !llvm.ptr<1> -> i32"),
        ("%r = " + asm("ld.acquire.gpu.b32 $0, [$1];", "=r,l,~{memory}", A, "i32"),
         "scoped.load acquire agent % : !llvm.ptr -> i32"),
        ("%r = " + asm("ld.volatile.global.u32 $0,[$1];", "=r,l", G, "i32"),
         "scoped.load relaxed system % {volatile} : !llvm.ptr<1> -> i32"),
        (asm("st.release.sys.global.b32 [$0], $1;", "l,r", f"{G}, i32 %v"),
         "scoped.store release system %, % : i32, !llvm.ptr<1>"),
        ("%r = " + asm("atom.add.acq_rel.gpu.u32 $0,[$1],$2;", "=r,l,r", f"{A}, i32 %v", "i32"),
         "scoped.atomic_rmw add acq_rel agent %, % : !llvm.ptr, i32"),
        ("%r = " + asm("atom.shared.cta.max.s32.relaxed $0,[$1],$2;", "=r,r,r", f"{S}, i32 %v", "i32"),
         "scoped.atomic_rmw max relaxed workgroup %, % : !llvm.ptr<3>, i32"),
        (asm("red.global.gpu.relaxed.add.f32 [ $0 + 0 ], $1;", "l,f", f"{G}, float %x"),
         "scoped.atomic_rmw fadd relaxed agent %, % : !llvm.ptr<1>, f32"),
        (asm("fence.acq_rel.gpu;", "~{memory}"), "scoped.fence acq_rel agent"),
        (asm("{ fence.sc.sys; }", "~{memory}"), "scoped.fence seq_cst system"),
        (asm("membar.gl;", ""), "scoped.fence seq_cst agent"),
        (asm("bar.sync 0;", ""), "scoped.barrier workgroup"),
        (asm("barrier.sync 3, 128;", ""), "scoped.named_barrier sync 3 threads 128"),
        (asm("bar.arrive $0, $1;", "n,n", "i32 2, i32 64"), "scoped.named_barrier arrive 2 threads 64"),
        (asm("barrier.cluster.arrive.relaxed.aligned;", ""), "scoped.cluster_arrive relaxed"),
        (asm("barrier.cluster.wait.acquire;", ""), "scoped.cluster_wait"),
        (asm("fence.proxy.async.shared::cta;", ""), "scoped.proxy_fence async spaces [local]"),
        (asm("cp.async.cg.shared.global [$0], [$1], 16;", "r,l", f"{S}, {G}"),
         "scoped.async_copy %, % size 16 : !llvm.ptr<3>, !llvm.ptr<1>"),
        (asm("cp.async.cg.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x10, $2;", "r,l,r", f"{S}, {G}, i32 %v"),
         "scoped.async_copy %, % size 16 read % : !llvm.ptr<3>, !llvm.ptr<1>"),
        (asm("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 128;", "l,r", f"{G}, {S}"),
         "scoped.bulk_copy %, % size 128 : !llvm.ptr<1>, !llvm.ptr<3>"),
        (asm("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [$0], [$1], 128, [$2];",
             "r,l,r", f"{S}, {G}, {T}"),
         "scoped.bulk_copy %, % size 128 mbarrier % : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>"),
        (asm("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [$0], $1, [$2];",
             "r,r,r", f"{C}, i32 %v, {D}"),
         "scoped.store_async %, % mbarrier % : i32, !llvm.ptr<7>, !llvm.ptr<7>"),
        (asm("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r", S),
         "scoped.async_arrive noinc % : !llvm.ptr<3>"),
        (asm("cp.async.wait_group 2;", ""), "scoped.async_wait_group 2"),
        (asm("cp.async.bulk.wait_group.read 0;", ""), "scoped.bulk_wait_group read 0"),
        (asm("mbarrier.init.shared::cta.b64 [$0], 1;", "r", S),
         "scoped.mbarrier_init % count 1 : !llvm.ptr<3>"),
        (asm("mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];", "r", S),
         "scoped.mbarrier_arrive release workgroup % : !llvm.ptr<3>"),
        (asm("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [$0], 512;", "r", S),
         "scoped.mbarrier_arrive release workgroup % expect_tx 512 : !llvm.ptr<3>"),
        (asm("mbarrier.arrive_drop.shared::cta.b64 _, [$0], 2;", "r", S),
         "scoped.mbarrier_arrive drop release workgroup % count 2 : !llvm.ptr<3>"),
        (asm("{ .reg .pred c; w: mbarrier.try_wait.parity.shared::cta.b64 c, [$0], $1; @!c bra w; }",
             "r,r", f"{S}, i32 %q"),
         "scoped.mbarrier_wait acquire workgroup %, % : !llvm.ptr<3>, i32"),
        ("%r = " + asm("mbarrier.arrive.shared::cta.b64 $0, [$1];", "=l,r", S, "i64"),
         "scoped.mbarrier_arrive release workgroup % : !llvm.ptr<3> -> i64"),
        (asm("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [$0], 64;", "r", S),
         "scoped.mbarrier_complete_tx workgroup % bytes 64 : !llvm.ptr<3>"),
        (asm("fence.proxy.alias;", ""), "scoped.alias_fence"),
        (asm("bar.warp.sync 0xffffffff;", ""), "scoped.barrier wavefront"),
        ("call void @llvm.nvvm.bar.warp.sync(i32 -1)", "scoped.barrier wavefront"),
        (asm("wgmma.wait_group.sync.aligned 0;", ""), "scoped.wgmma_wait_group 0"),
        (asm("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [$0];", "r", S),
         "scoped.tcgen05_commit % : !llvm.ptr<3>"),
        (asm("fence.acquire.sync_restrict::shared::cluster.cluster;", ""),
         "scoped.cluster_fence acquire generic"),
        (asm("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", ""),
         "scoped.cluster_fence release async"),
        (asm("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l", "ptr %a"),
         "scoped.tensormap_fence acquire agent % : !llvm.ptr"),
        (asm("fence.proxy.tensormap::generic.release.sys;", ""), "scoped.tensormap_fence release system"),
        (asm("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
             "[$0], [$1, {$2, $3}], [$4];", "r,l,r,r,r", f"{S}, ptr %a, i32 %q, i32 %v, {T}"),
         "scoped.tensor_load %, %[%, %] mbarrier % : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32"),
        (asm("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [$0, {$1}], [$2];", "l,r,r",
             f"ptr %a, i32 %q, {S}"),
         "scoped.tensor_store %[%], % : !llvm.ptr, !llvm.ptr<3>, i32"),
    ],
)  # fmt: skip
def test_a_text_that_scoped_can_say_is_that_operation(line: str, expected: str) -> None:
    assert became(line) == expected


@pytest.mark.parametrize(
    ("line", "access"),
    [
        (asm("@$2 st.global.release.gpu.b32 [ $0 + 0 ], $1;", "l,r,b", f"{G}, i32 %v, i1 %p"),
         (Ordering.RELEASE, Scope.AGENT)),
        ("%r = " + asm("mov.u32 $0, 0x0;\\0A@$3 atom.global.gpu.acq_rel.add.f32 $0, [ $1 + 0 ], $2;",
                       "=r,l,r,b", f"{G}, float %x, i1 %p", "float"),
         (Ordering.ACQ_REL, Scope.AGENT)),
        ("%r = " + asm("ld.acquire.gpu.global.b32 $0, [$1+4];", "=r,l", G, "i32"),
         (Ordering.ACQUIRE, Scope.AGENT)),
        ("%r = " + asm("ld.acquire.gpu.global.L1::no_allocate.b32 $0, [$1];", "=r,l", G, "i32"),
         (Ordering.ACQUIRE, Scope.AGENT)),
        ("%r = " + asm("ld.mmio.relaxed.sys.global.b32 $0, [$1];", "=r,l", G, "i32"),
         (Ordering.RELAXED, Scope.SYSTEM)),
        # The pointer is an integer.
        (asm("st.relaxed.gpu.b32 [$0], $1;", "r,r", "i32 %q, i32 %v"), (Ordering.RELAXED, Scope.AGENT)),
        # The text says less of its space than the pointer.
        (asm("st.relaxed.gpu.b32 [$0], $1;", "l,r", f"{G}, i32 %v"), (Ordering.RELAXED, Scope.AGENT)),
        (asm("@$1 bra there; st.global.b32 [$0], 1; there:", "l,b", f"{G}, i1 %p"), (Ordering.WEAK, None)),
        (asm("@$2 st.global.b32 [$0], $1; @$2 st.global.b32 [$0+4], $1;", "l,r,b",
             f"{G}, i32 %v, i1 %p"), (Ordering.WEAK, None)),
    ],
)  # fmt: skip
def test_an_access_that_scoped_cannot_say_is_text_with_its_ordering(
    line: str, access: tuple[Ordering, Scope | None]
) -> None:
    module = import_llvm_ir(kernel(line))
    (found,) = [op for op in module.walk() if op.name == "llvm_ir.inst"]
    assert access_of(found) == access


@pytest.mark.parametrize(
    "line",
    [
        asm("frobnicate.gpu [$0];", "l", G),
        asm("bra there; st.global.b32 [$0], 1; there:", "l,b", f"{G}, i1 %p"),
        asm("trap;", ""),
        "call void @llvm.nvvm.bar.warp.sync(i32 1)",
        asm(
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [$0], $1, [$2];",
            "r,r,r",
            f"{C}, i32 %v, {D}",
        ),
        asm("multimem.red.relaxed.gpu.global.add.u32 [$0], $1;", "l,r", f"{G}, i32 %v"),
        asm("cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,b", f"{S}, {G}, i1 %p"),
        asm(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[$0], [$1], 128, [$2], $3;",
            "r,l,r,h",
            f"{C}, {G}, {D}, i16 3",
        ),
        asm("@$0 fence.acq_rel.gpu;", "b", "i1 %p"),
        asm("st.relaxed.gpu.global.b32 [$0], $1; fence.acq_rel.gpu;", "l,r", f"{G}, i32 %v"),
        asm("", "~{memory}"),
        asm("ld.global.nc.b32 $0, [$1];", "=r,l", G, "i32"),
        asm("mbarrier.arrive.noComplete.shared::cta.b64 $0, [$1], 1;", "=l,r", S, "i64"),
        asm("fence.acquire.sync_restrict::shared::cluster.gpu;", ""),
        asm("fence.proxy.tensormap::generic.acquire.gpu [$0], 64;", "l", "ptr %a"),
        asm(
            "cp.async.bulk.tensor.1d.im2col.global.shared::cta.bulk_group [$0, {$1}], [$2];",
            "l,r,r",
            f"ptr %a, i32 %q, {S}",
        ),
    ],
)
def test_anything_else_may_do_anything(line: str) -> None:
    text = line if "call void" in line else f"%r = {line}"
    (found,) = [op for op in import_llvm_ir(kernel(text)).walk() if op.name == "llvm_ir.inst"]
    assert not found.attributes


def test_a_text_that_only_computes_touches_no_memory() -> None:
    line = "%r = " + asm("mov.b32 $0, $1;", "=r,r", "i32 %v", "i32")
    (found,) = [op for op in import_llvm_ir(kernel(line)).walk() if op.name == "llvm_ir.inst"]
    assert [*found.attributes] == ["llvm_ir.no_access"]


def test_amd_assembly_is_not_read_as_ptx() -> None:
    text = kernel(asm("membar.gl;", "")).replace("nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa")
    module = import_llvm_ir(text.replace("ptx_kernel", "amdgpu_kernel"))
    assert not any(op.name == "scoped.fence" for op in module.walk())


# What comes back

MIXED = kernel(
    "%u = " + asm("ld.acquire.gpu.global.b32 $0, [$1];", "=r,l", G, "i32"),
    asm("st.release.gpu.global.b32 [$0], $1;", "l,r", f"{G}, i32 7"),
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    asm("cp.async.commit_group;", ""),
    "%o = " + asm("atom.add.relaxed.gpu.global.u32 $0, [$1], $2;", "=r,l,r", f"{G}, i32 %u", "i32"),
    "store i32 %o, ptr addrspace(1) %g",
) + "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"  # fmt: skip


def not_understood(template: str) -> inline_ptx.Translation:
    return inline_ptx.NOT_UNDERSTOOD


@pytest.mark.parametrize("text", [MIXED, *(f.read_text() for f in sorted(TRITON.glob("*.ll")))])
def test_what_no_pass_changed_is_the_same_text(text: str) -> None:
    assert lower_llvm_ir(text, "sm_90", edit=True) is text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inline_ptx, "understand", not_understood)
        as_text = export_llvm_ir(import_llvm_ir(text))
    assert export_llvm_ir(import_llvm_ir(text)) == as_text


FENCED = (asm("fence.acq_rel.gpu;", "~{memory}"), asm("fence.acq_rel.sys;", "~{memory}"))
BEFORE = "%before = " + asm("ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l", G, "i32")
AFTER = asm("@$2 st.relaxed.gpu.global.b32 [$0], $1;", "l,r,b", f"{G}, i32 %v, i1 %p")


def test_fences_of_inline_ptx_are_merged() -> None:
    lowered = lower_llvm_ir(kernel(BEFORE, *FENCED, AFTER), "sm_90", edit=True)
    assert lowered == kernel(BEFORE, FENCED[1], AFTER)


def test_fences_are_merged_over_weak_accesses_that_are_text() -> None:
    """A weak store after an acquire fence reads nothing that another one would have to acquire."""
    weak = asm("@$2 st.global.b32 [ $0 + 0 ], $1;", "l,r,b", f"{G}, i32 %v, i1 %p")
    strong = weak.replace("st.global", "st.relaxed.gpu.global")
    gpu, sys = (line.replace("acq_rel", "acquire") for line in FENCED)

    def fences(between: str) -> int:
        text = kernel(BEFORE, sys, between, gpu, AFTER)
        return lower_llvm_ir(text, "sm_90", ptx_version="8.6", edit=True).count("fence.")

    assert (fences(weak), fences(strong)) == (1, 2)


CONDITIONAL = asm("@$2 st.relaxed.gpu.global.b32 [ $0 + 0 ], $1;", "l,r,b", f"{G}, i32 %v, i1 %p")
RELEASE = 'fence syncscope("device") release'


def test_a_conditional_access_takes_no_fence_in() -> None:
    """A fence goes into the store after it if that always happens."""
    always = asm("st.relaxed.gpu.global.b32 [ $0 + 0 ], $1;", "l,r", f"{G}, i32 %v")

    def lowered(store: str) -> str:
        return lower_llvm_ir(kernel(RELEASE, store), "sm_70", ptx_version="6.3", edit=True)

    assert "fence" not in lowered(always)
    assert "fence" in lowered(CONDITIONAL)
    assert CONDITIONAL in lowered(CONDITIONAL)


# Intrinsics


def compiled(text: str) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    chip = "sm_90a" if "wgmma" in text else "sm_100a"
    target: Any = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=chip, features="+ptx86")
    with llvm_module(text, "intrinsic") as module:
        return machine.emit_assembly(module)


def _statements(ptx: str) -> list[Statement]:
    found = (read_statement(line.strip().rstrip(";")) for line in ptx.splitlines())
    return [each for each in found if each is not None and each.opcode.row is not None]


def _name(statement: Statement) -> str:
    """``bar`` is ``barrier.aligned``. Source: PTX ISA, bar, barrier."""
    return re.sub("^barrier (?=sync|arrive)", "bar ", statement.operation)


@pytest.mark.parametrize("name", AS_PTX)
def test_an_intrinsic_is_the_ptx_that_llvm_makes_of_it(name: str) -> None:
    text = AS_PTX[name]
    expected = read_statement(text)
    assert expected is not None
    places = sorted({*re.findall(r"\$\d", text)})
    cluster = "shared::cluster" in text
    pointer = (
        "ptr addrspace(7)" if cluster else "ptr" if "tensormap" in text else "ptr addrspace(3)"
    )
    types = [pointer if f"[{place}]" in text else "i32" for place in places]
    result = "void"
    if "mbarrier" in text and " $0" in text:
        result = "i1" if "wait" in text else "i64"
        del types[0]
    if result == "i1" and "parity" not in text:
        types[-1] = "i64"
    if "shared.global" in text:
        types[1] = "ptr addrspace(1)"
    size = "128" if "tensormap" in text else "64"
    given = [
        f"{each} {size if each[0] == 'i' else '%g' if '1' in each else '%p'}" for each in types
    ]
    call, back = ("%r = call", f"{result} %r") if result != "void" else ("call", "void")
    source = (
        f"{HEADER}define {result} @f({pointer} %p, ptr addrspace(1) %g) {{\n  {call} {result} @{name}({', '.join(given)})\n"
        f"  ret {back}\n}}\ndeclare {result} @{name}({', '.join(types)})\n"
    )
    # 64 is no barrier's number, and no mask of all lanes.
    is_one = any(op.name.startswith("scoped.") for op in import_llvm_ir(source).walk())
    assert is_one is not name.startswith(("llvm.nvvm.bar.warp", "llvm.nvvm.barrier.cta"))
    made = [s for s in _statements(compiled(source)) if _name(s) == _name(expected)]
    assert len(made) == 1, compiled(source)
    one, other = made[0].opcode, expected.opcode
    assert (one.ordering, one.scope) == (other.ordering, other.scope)
    assert len(made[0].operands) == len(expected.operands)
    wanted = {"read"} & other.modifiers
    assert wanted == {"read"} & one.modifiers
    if one.spaces or other.spaces:
        assert one.spaces == other.spaces


def test_intrinsics_are_operations() -> None:
    module = import_llvm_ir(
        kernel(
            "call void @llvm.nvvm.membar.gl()",
            "call void @llvm.nvvm.cp.async.wait.group(i32 1)",
            "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %s, i32 4)",
        )
        + "declare void @llvm.nvvm.membar.gl()\ndeclare void @llvm.nvvm.cp.async.wait.group(i32)\n"
        "declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)\n"
    )
    names = [op.name for op in module.walk() if op.name.startswith("scoped.")]
    assert names == ["scoped.fence", "scoped.async_wait_group", "scoped.mbarrier_init"]


def test_a_changed_operation_is_lowered_anew() -> None:
    """Its text would say what it no longer is."""
    module: ModuleOp = import_llvm_ir(kernel(FENCED[0]))
    (fence,) = [op for op in module.walk() if op.name == "scoped.fence"]
    assert text_of(fence) == FENCED[0]
    fence.properties["ordering"] = inline_ptx.ORDERINGS[Ordering.SEQ_CST]
    assert text_of(fence) is None
    assert "acq_rel" not in export_llvm_ir(module)
