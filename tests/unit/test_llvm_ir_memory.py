"""What is known of LLVM IR text: which functions are kernels."""

import pytest

from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.analysis.llvm_ir_memory import is_kernel

KERNELS = [
    "define amdgpu_kernel void @k()",
    "define ptx_kernel void @k()",
    "define internal amdgpu_kernel void @k()",
    "define weak_odr dso_local protected ptx_kernel void @k() local_unnamed_addr",
    'define amdgpu_kernel void @"a b"() section "s"',
]
OTHERS = [
    "define void @k.amdgpu_kernel()",
    "define void @amdgpu_kernel()",
    'define void @" amdgpu_kernel "()',
    "define void @k(ptr addrspace(1) %amdgpu_kernel)",
    'define void @k() section "amdgpu_kernel"',
    'define void @k() section " amdgpu_kernel "',
    'define void @k() "a"="define amdgpu_kernel void"',
    "define void @k() #0",
    'define "amdgpu_kernel" i32 @k()',
    'define internal "a"=" ptx_kernel " i32 @k()',
    "define amdgpu_gfx void @k()",
]


def functions(header: str) -> list[FuncOp]:
    end = "ret i32 0" if " i32 @" in header else "ret void"
    group = 'attributes #0 = { "amdgpu_kernel" "b"="ptx_kernel" }\n' if "#0" in header else ""
    module = import_llvm_ir(f"{header} {{\n  {end}\n}}\n{group}")
    return [op for op in module.ops if isinstance(op, FuncOp)]


@pytest.mark.parametrize("header", KERNELS)
def test_the_calling_convention_makes_a_kernel(header: str) -> None:
    (function,) = functions(header)
    assert is_kernel(function)


@pytest.mark.parametrize("header", OTHERS)
def test_nothing_else_makes_a_kernel(header: str) -> None:
    (function,) = functions(header)
    assert not is_kernel(function)


def test_what_marked_kernels_as_metadata_is_read() -> None:
    text = """
    define void @k() {
      ret void
    }
    define void @f() {
      ret void
    }
    !nvvm.annotations = !{!0}
    !0 = !{ptr @k, !"kernel", i32 1}
    """
    module = import_llvm_ir(f'target triple = "nvptx64-nvidia-cuda"\n{text}')
    found = {op.sym_name.data: is_kernel(op) for op in module.ops if isinstance(op, FuncOp)}
    assert found == {"k": True, "f": False}
