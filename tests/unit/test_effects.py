"""What calls of LLVM's intrinsics do: rows beside what LLVM says, and what the passes make of it."""

import re
import subprocess
import sys
from functools import cache

import pytest
from llvm_ir_waits import in_assembly

from fencewright.lowering.llvm.intrinsics import lookup
from fencewright.lowering.llvm.intrinsics.lookup import EFFECTS, does_nothing, row_of
from fencewright.lowering.llvm.intrinsics.nvvm_ptx import AS_PTX, EXCHANGES
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow
from fencewright.lowering.table import TableError
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.analysis.llvm_ir_memory import ANYTHING, MemoryEffects, memory_of
from fencewright.passes.pipelines import lower_llvm_ir
from fencewright.tools.dev.campaigns.intrinsics import (
    Claim,
    claim_of,
    claim_of_row,
    differences,
    llvm_library,
    without_row,
)
from fencewright.tools.llvm_tools import LLVM_HINT

GLOBAL, LOCAL, GENERIC = AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC
NOBODY = frozenset[AddressSpace]()


@cache
def declared() -> dict[str, str]:
    """What the installed LLVM prints of its intrinsics, from a process that may crash."""
    if llvm_library() is None:
        pytest.skip(LLVM_HINT)
    command = [sys.executable, "-m", "fencewright.tools.dev.campaigns.intrinsics", "--declared"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(line.split("\t") for line in done.stdout.splitlines())


def test_llvm_declares_its_intrinsics() -> None:
    found = declared()
    assert len(found) > 4000
    assert not [name for name, attributes in found.items() if not attributes]
    assert claim_of(found["llvm.amdgcn.workitem.id.x"]) is Claim.NOTHING


def test_every_intrinsic_that_may_touch_memory_has_a_row() -> None:
    assert without_row(declared()) == []


def test_an_intrinsic_that_llvm_adds_shows() -> None:
    new = {"llvm.amdgcn.ds.read.tr32.b64": "memory(argmem: read)", "llvm.nvvm.f": "memory(none)"}
    assert without_row(new | declared()) == ["llvm.amdgcn.ds.read.tr32.b64"]


def test_each_row_says_why_it_differs_from_llvm_where_it_does() -> None:
    differing = {each.row.names for each in differences(declared())}
    assert differing == {row.names for row in EFFECTS if row.unlike_llvm}


def test_a_row_that_says_less_than_llvm_is_found() -> None:
    say = {"llvm.amdgcn.ds.read.tr16.b64": "memory(argmem: readwrite)"}
    (found,) = differences(say)
    assert (found.llvm, found.ours) == (Claim.BOTH, Claim.READS)
    assert not found.row.unlike_llvm


def test_every_row_is_of_an_intrinsic() -> None:
    named = {row.names for name in declared() if (row := row_of(name)) is not None}
    newer = {row.names for row in EFFECTS if row.source.startswith("LLVM 24")}
    assert {row.names for row in EFFECTS} == named | newer


# What LLVM's attributes alone would get wrong


@pytest.mark.parametrize(
    "name",
    [
        "amdgcn.ds.gws.barrier",
        "nvvm.mbarrier.try.wait.relaxed.scope.cta.space.cta",
        "amdgcn.cooperative.atomic.load.32x4B",
        "nvvm.cp.async.bulk.global.to.shared.cluster",
        "nvvm.tcgen05.wait.ld",
    ],
)
def test_what_looks_harmless_may_do_anything(name: str) -> None:
    row = row_of(f"llvm.{name}")
    assert row is not None
    assert row.kind is CallKind.OTHER
    assert row.unlike_llvm
    assert claim_of(declared()[f"llvm.{name}"]) is not Claim.ANYTHING


def test_cache_maintenance_may_do_anything() -> None:
    row = row_of("llvm.amdgcn.buffer.wbinvl1")
    assert row is not None
    assert row.kind is CallKind.OTHER


@pytest.mark.parametrize(
    "name",
    [
        "llvm.amdgcn.new.one",
        "llvm.amdgcn.raw.ptr.buffer.load.new.v4f32",
        "llvm.amdgcn.ds.read.tr16.b64.twice",
        "llvm.memcpy.twice.p3.p1.i64",
        "llvm.nvvm.elect.sync.all",
        "llvm_memcpy",
        "memcpy",
    ],
)
def test_a_name_that_nobody_judged_has_no_row(name: str) -> None:
    assert row_of(name) is None


def test_types_are_no_part_of_a_name() -> None:
    assert row_of("llvm.memcpy.p3.p1.i64") is row_of("llvm.memcpy")
    assert row_of("llvm.amdgcn.ds.read.tr16.b64.v4bf16") is row_of("llvm.amdgcn.ds.read.tr16.b64")


def test_two_rows_for_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = EffectRow("amdgcn.s.sleep", CallKind.OTHER, "a test")
    monkeypatch.setattr(lookup, "EFFECTS", (*EFFECTS, twice))
    row_of.cache_clear()
    with pytest.raises(TableError, match=r"llvm\.amdgcn\.s\.sleep: two rows"):
        row_of("llvm.amdgcn.s.sleep")
    row_of.cache_clear()


@pytest.mark.parametrize("kind", [CallKind.ACCESS, CallKind.ATOMIC, CallKind.ASYNC])
def test_an_access_says_what_it_accesses(kind: CallKind) -> None:
    with pytest.raises(ValueError, match="says what is accessed"):
        EffectRow("x", kind, "a test")
    with pytest.raises(ValueError, match="needs a source"):
        EffectRow("x", kind, "", reads=(0,))


def test_exchanges_between_lanes_do_nothing() -> None:
    assert does_nothing("llvm.nvvm.shfl.sync.bfly.i32")
    assert not does_nothing("llvm.nvvm.bar.warp.sync")
    assert not does_nothing("exit")
    assert claim_of_row(EFFECTS[0]) is Claim.BOTH


# Instructions

KERNEL = """
declare void @other()
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr addrspace(3) %l, ptr addrspace(8) %b,
    ptr addrspace(5) %p, ptr %f, <4 x i1> %m, <4 x ptr addrspace(3)> %v, i32 %x) {{
  {instruction}
  ret void
}}
"""


def effects(instruction: str) -> MemoryEffects:
    """What is known of an instruction of a kernel."""
    module = import_llvm_ir(KERNEL.format(instruction=instruction) + declarations(instruction))
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    (op,) = (
        op
        for op in function.body.blocks[0].ops
        if "ret" not in str(op) and op.name.endswith("inst")
    )
    return memory_of(op)


def declarations(instruction: str) -> str:
    call = re.match(r"(?:%\w+ = )?call (.*?) (@llvm[\w.]+)\((.*)\)$", instruction)
    if call is None:
        return ""
    operands = [each.strip().rpartition(" ")[0] for each in re.split(r",(?![^<]*>)", call[3])]
    types = ", ".join(each.replace(" align 4", "") for each in operands)
    return f"declare {call[1]} {call[2]}({types})\n"


READ_LDS = MemoryEffects(CallKind.ACCESS, reads=frozenset({LOCAL}))
CASES = {
    "call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3) %l)": READ_LDS,
    "call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %l, ptr addrspace(1) %g, i64 16, i1 false)":
        MemoryEffects(CallKind.ACCESS, frozenset({GLOBAL}), frozenset({LOCAL})),
    "call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %l, ptr addrspace(1) %g, i64 16, i1 true)":
        ANYTHING,
    "call void @llvm.memset.p3.i64(ptr addrspace(3) %l, i8 0, i64 16, i1 false)":
        MemoryEffects(CallKind.ACCESS, NOBODY, frozenset({LOCAL})),
    "call void @llvm.memset.p0.i64(ptr %f, i8 0, i64 16, i1 false)":
        MemoryEffects(CallKind.ACCESS, NOBODY, frozenset({GENERIC})),
    "%r = call <4 x i32> @llvm.masked.load.v4i32.p3(ptr addrspace(3) align 4 %l, <4 x i1> %m, "
    "<4 x i32> poison)": READ_LDS,
    "%r = call <4 x i32> @llvm.masked.gather.v4i32.v4p3(<4 x ptr addrspace(3)> %v, <4 x i1> %m, "
    "<4 x i32> poison)": READ_LDS,
    "call void @llvm.masked.store.v4i32.p1(<4 x i32> zeroinitializer, ptr addrspace(1) align 4 %g, "
    "<4 x i1> %m)": MemoryEffects(CallKind.ACCESS, NOBODY, frozenset({GLOBAL})),
    "%r = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %b, i32 %x, i32 0, i32 0)":
        MemoryEffects(CallKind.ACCESS, frozenset({GLOBAL})),
    "%r = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %b, i32 %x, i32 0, i32 2)":
        MemoryEffects(CallKind.ACCESS, frozenset({GLOBAL})),
    "%r = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %b, i32 %x, i32 0, "
    "i32 -2147483648)": MemoryEffects(CallKind.ATOMIC, frozenset({GLOBAL})),
    "call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %x, ptr addrspace(8) %b, i32 %x, i32 0, i32 17)":
        MemoryEffects(CallKind.ATOMIC, NOBODY, frozenset({GLOBAL})),
    "%r = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32 %x, ptr addrspace(8) %b, i32 0, "
    "i32 0, i32 0)": MemoryEffects(CallKind.ATOMIC, frozenset({GLOBAL}), frozenset({GLOBAL})),
    "call void @llvm.amdgcn.load.to.lds.p1(ptr addrspace(1) %g, ptr addrspace(3) %l, i32 4, i32 0, i32 0)":
        MemoryEffects(CallKind.ASYNC, frozenset({GLOBAL}), frozenset({LOCAL})),
    "call void @llvm.amdgcn.s.barrier()": MemoryEffects(CallKind.BARRIER),
    "call void @llvm.amdgcn.s.waitcnt(i32 0)": MemoryEffects(CallKind.WAIT),
    "call void @llvm.amdgcn.ds.gws.barrier(i32 0, i32 0)": ANYTHING,
    "call void @other()": ANYTHING,
    'call void asm sideeffect "s_nop 0", ""()': ANYTHING,
    'call void asm "s_nop 0", "~{memory}"()': ANYTHING,
    'call void asm "s_nop 0", ""()': MemoryEffects(CallKind.NOTHING),
    "%r = load { i32, i32 }, ptr addrspace(3) %l, align 4": READ_LDS,
    "store { i32, i32 } zeroinitializer, ptr addrspace(5) %p, align 4":
        MemoryEffects(CallKind.ACCESS, NOBODY, frozenset({AddressSpace.PRIVATE})),
    "%r = load volatile { i32, i32 }, ptr addrspace(3) %l, align 4": ANYTHING,
}  # fmt: skip


@pytest.mark.parametrize("instruction", CASES)
def test_what_an_instruction_does(instruction: str) -> None:
    assert effects(instruction) == CASES[instruction]


# What the passes make of it

AROUND = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %sum, ptr addrspace(1) %g, ptr addrspace(3) %l,
    ptr addrspace(8) %b) {{
  {instruction}
  %a = atomicrmw fadd ptr addrspace(1) %sum, float 1.0 syncscope("agent") acq_rel
  ret void
}}
"""


@pytest.mark.parametrize(
    ("instruction", "write_backs"),
    [
        ("%r = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %l)", 0),
        ("store <8 x half> zeroinitializer, ptr addrspace(3) %l", 0),
        ("store { i32, i32 } zeroinitializer, ptr addrspace(3) %l", 0),
        ("call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %l, ptr addrspace(1) %g, i64 16, i1 false)", 0),
        ("%r = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %b, i32 0, i32 0, i32 0)", 0),
        ("call void @llvm.amdgcn.load.to.lds.p1(ptr addrspace(1) %g, ptr addrspace(3) %l, i32 4, i32 0, i32 0)",
         0),
        ("store <8 x half> zeroinitializer, ptr addrspace(1) %g", 1),
        ("store { i32, i32 } zeroinitializer, ptr addrspace(1) %g", 1),
        ("call void @llvm.memcpy.p1.p3.i64(ptr addrspace(1) %g, ptr addrspace(3) %l, i64 16, i1 false)", 1),
        ("call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float 0.0, ptr addrspace(8) %b, i32 0, i32 0, i32 0)",
         1),
        ("call void @llvm.amdgcn.s.dcache.wb()", 1),
    ],
)  # fmt: skip
def test_only_what_stores_to_memory_needs_a_write_back(instruction: str, write_backs: int) -> None:
    text = AROUND.format(instruction=instruction) + declarations(instruction)
    assert lower_llvm_ir(text, "gfx950").count("buffer_wbl2") == write_backs


def test_a_release_waits_for_a_copy_to_lds() -> None:
    """Copies to LDS count in vmcnt, and go on after the wave."""
    copy = (
        "call void @llvm.amdgcn.load.to.lds.p1(ptr addrspace(1) %g, ptr addrspace(3) %l, i32 4, "
        "i32 0, i32 0)"
    )
    text = AROUND.format(instruction=copy) + declarations(copy)
    lowered = in_assembly(lower_llvm_ir(text, "gfx950"))
    before, _, _ = lowered.partition("atomicrmw")
    assert "vmcnt(0)" in before.rpartition("load.to.lds")[2]


# As PTX


def test_what_has_ptx_has_a_row_that_agrees_with_it() -> None:
    # As PTX it synchronises, so that the row must not say less; an exchange of registers does not.
    kinds = {name: row.kind for name in (*AS_PTX, *EXCHANGES) if (row := row_of(name)) is not None}
    assert kinds.keys() == {*AS_PTX, *EXCHANGES}
    assert {kinds[name] for name in AS_PTX} == {CallKind.OTHER, CallKind.BARRIER}
    assert {kinds[name] for name in EXCHANGES} == {CallKind.NOTHING}
    assert all(name in declared() for name in EXCHANGES)
