# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportInvalidTypeForm=false
# Triton is not among the project's dependencies, and its language is not Python's.
"""Two Triton kernels that synchronise through memory; their LLVM IR is beside this file.

That for gfx942 is in this folder, that for sm_90 in its own. Run it with Triton 3.9
installed (no GPU needed) to write the ``.ll`` files anew.
"""

import re
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGETS = {"gfx942": GPUTarget("hip", "gfx942", 64), "sm_90": GPUTarget("cuda", 90, 32)}
FOLDERS = {"gfx942": ".", "sm_90": "sm_90"}


@triton.jit
def sum_last_block(partial, total, ticket, blocks, BLOCK: tl.constexpr):
    """Each block publishes its sum and takes a ticket; who gets the last one adds them all up."""
    block = tl.program_id(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + block, tl.sum(tl.load(total + 1 + offsets)))
    taken = tl.atomic_add(ticket, 1, sem="acq_rel", scope="gpu")
    if taken == blocks - 1:
        lanes = tl.arange(0, BLOCK)
        sums = tl.load(partial + lanes, mask=lanes < blocks, other=0)
        tl.store(total, tl.sum(sums))


@triton.jit
def append_under_lock(lock, counter, log, value):
    """A spin lock that the host may hold too, around a counter and a log."""
    while tl.atomic_cas(lock, 0, 1, sem="acquire", scope="sys") == 1:
        pass
    place = tl.load(counter)
    tl.store(log + place, value)
    tl.store(counter, place + 1)
    tl.atomic_xchg(lock, 0, sem="release", scope="sys")


SOURCES = {
    "sum_last_block": ASTSource(
        sum_last_block,
        {
            "partial": "*i32",
            "total": "*i32",
            "ticket": "*i32",
            "blocks": "i32",
            "BLOCK": "constexpr",
        },
        {"BLOCK": 256},
    ),
    "append_under_lock": ASTSource(
        append_under_lock, {"lock": "*i32", "counter": "*i32", "log": "*i32", "value": "i32"}, {}
    ),
}


def llvm_ir(name: str, chip: str = "gfx942") -> str:
    """The LLVM IR that Triton makes of the kernel ``name``, without the place of this folder."""
    text = triton.compile(SOURCES[name], target=TARGETS[chip]).asm["llir"]
    return re.sub(r'directory: "[^"]*"', 'directory: "."', text)


if __name__ == "__main__":
    for chip, folder in FOLDERS.items():
        for name in SOURCES:
            path = Path(__file__).parent / folder / f"{name}.ll"
            path.write_text(llvm_ir(name, chip))
