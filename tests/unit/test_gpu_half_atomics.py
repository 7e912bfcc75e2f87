"""Additions of halves and of pairs of them on a GPU: none is lost, however many threads add at once."""

from dataclasses import dataclass

import pytest
from test_llvm_ir_nvptx import ptx

from fencewright import gpu
from fencewright.gpu import Device
from fencewright.passes.pipelines import lower_llvm_ir

needs_gpu = pytest.mark.skipif(not gpu.available(), reason="needs an NVIDIA GPU of sm_90 or later")

BLOCKS, LAUNCHES = 8, 200


@dataclass(frozen=True)
class Addend:
    """What every thread adds, in LLVM IR; ``most``: up to where its sums are exact."""

    type: str
    most: int
    sum: bytes
    one: str

    @property
    def kernel(self) -> str:
        """A kernel each thread of which adds it once."""
        return f"""target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @add(ptr addrspace(1) %p) {{
  %old = atomicrmw fadd ptr addrspace(1) %p, {self.type} {self.one} syncscope("device") monotonic
  ret void
}}
"""


HALF = Addend("half", 1 << 11, b"\x00\x68", "1.0")
BFLOAT = Addend("bfloat", 1 << 8, b"\x80\x43", "1.0")
ADDENDS = (
    HALF,
    BFLOAT,
    Addend("<2 x half>", HALF.most, HALF.sum * 2, "splat (half 1.0)"),
    Addend("<2 x bfloat>", BFLOAT.most, BFLOAT.sum * 2, "splat (bfloat 1.0)"),
)
CHIPS = (("sm_90", "8.6"), ("sm_80", "8.6"), ("sm_70", "8.6"))


def code(addend: Addend, chip: str, version: str) -> str:
    """The PTX of the kernel, lowered for a chip."""
    return ptx(lower_llvm_ir(addend.kernel, chip, ptx_version=version), chip, version)


CASES = [
    (addend, chip, version)
    for addend in ADDENDS
    for chip, version in CHIPS
    if chip != "sm_70" or "bfloat" not in addend.type
]


@needs_gpu
@pytest.mark.parametrize(("addend", "chip", "version"), CASES, ids=lambda each: str(each)[:20])
def test_no_addition_is_lost(addend: Addend, chip: str, version: str) -> None:
    device = Device()
    kernel = device.load(code(addend, chip, version)).kernel("add")
    word = device.allocate(4)
    for _ in range(LAUNCHES):
        word.fill(0)
        kernel.launch(BLOCKS, addend.most // BLOCKS, [word])
        assert word.read(len(addend.sum)) == addend.sum
