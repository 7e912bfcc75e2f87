# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportInvalidTypeForm=false
# Triton is not among the project's dependencies, and its language is not Python's.
"""Seven Triton kernels, from a plain softmax to a look-back scan, and a large matrix product.

``seven_kernels.py write FOLDER NAME ...`` writes the LLVM IR that the Triton at hand makes of them,
``NAME`` being ``KERNEL.CHIP``, a file ``NAME.ll`` each. ``seven_kernels.py read FOLDER NAME ...`` has
Triton's own LLVM read such files and make machine code of them, and prints the names of those for
which it does. It needs Triton 3.6 or 3.9, and no GPU.
"""

import os
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton._C.libtriton import llvm
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import ASTSource

TARGETS = {
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32),
}


@triton.jit
def split_k(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    """Blocks share a tile of the product and add to it."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK * SPLIT):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * N + n[None, :])
        sums += tl.dot(left, right)
    inside = (m < M)[:, None] & (n < N)[None, :]
    tl.atomic_add(c + m[:, None] * N + n[None, :], sums, mask=inside)


@triton.jit
def stream_k(
    a, b, c, locks, N, K, tiles, per_block, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Blocks share the work evenly; those that share a tile take turns by a lock."""
    first = tl.program_id(0) * per_block
    for index in range(first, min(first + per_block, tiles)):
        m = (index // (N // BN)) * BM + tl.arange(0, BM)
        n = (index % (N // BN)) * BN + tl.arange(0, BN)
        sums = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            left = tl.load(a + m[:, None] * K + k[None, :])
            sums += tl.dot(left, tl.load(b + k[:, None] * N + n[None, :]))
        place = c + m[:, None] * N + n[None, :]
        while tl.atomic_cas(locks + index, 0, 1, sem="acquire") == 1:
            pass
        tl.store(place, tl.load(place) + sums)
        tl.debug_barrier()
        tl.atomic_xchg(locks + index, 0, sem="release")


@triton.jit
def flash(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attention, the softmax being that of what has been seen so far."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + m[:, None] * D + d[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + n[None, :] * D + d[:, None])) * scale
        larger = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - larger[:, None])
        shrink = tl.exp2(most - larger)
        total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v + n[:, None] * D + d[None, :])
        sums = sums * shrink[:, None] + tl.dot(weights.to(values.dtype), values)
        most = larger
    tl.store(out + m[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def layer_norm_backward(
    x, dy, w, mean, rstd, dx, dw, lock, N, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Rows of a group add up the gradient of the weights under a lock."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < N
    normal = (
        tl.load(x + row * N + column, mask=inside, other=0.0) - tl.load(mean + row)
    ) * tl.load(rstd + row)
    given = tl.load(dy + row * N + column, mask=inside, other=0.0)
    weighted = given * tl.load(w + column, mask=inside, other=0.0)
    centre = tl.sum(weighted, 0) / N
    slope = tl.sum(weighted * normal, 0) / N
    tl.store(
        dx + row * N + column,
        (weighted - centre - normal * slope) * tl.load(rstd + row),
        mask=inside,
    )
    group = row % GROUP
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    counted = lock + GROUP + group
    part = given * normal
    if tl.load(counted) == 0:
        tl.atomic_xchg(counted, 1)
    else:
        part += tl.load(dw + group * N + column, mask=inside)
    tl.store(dw + group * N + column, part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


@triton.jit
def look_back(values, sums, state, out, BLOCK: tl.constexpr):
    """A scan over all blocks: each adds what the blocks before it have published."""
    block = tl.program_id(0)
    place = block * BLOCK + tl.arange(0, BLOCK)
    scanned = tl.cumsum(tl.load(values + place), 0)
    own = tl.sum(tl.load(values + place), 0)
    before = own * 0
    if block > 0:
        while tl.atomic_add(state + block - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + block - 1)
    tl.store(sums + block, before + own)
    tl.debug_barrier()
    tl.atomic_xchg(state + block, 1, sem="release")
    tl.store(out + place, scanned + before)


@triton.jit
def histogram(values, bins, count, BLOCK: tl.constexpr):
    """Counts, relaxed, and who is last says so to all."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(values + place), 1, sem="relaxed")
    if tl.atomic_add(count, 1, sem="acq_rel") == tl.num_programs(0) - 1:
        tl.store(count, 0)


@triton.jit
def softmax_grid(x, out, partial, arrived, N, BLOCK: tl.constexpr):
    """A softmax over all blocks, with a barrier of the grid in the middle."""
    block = tl.program_id(0)
    place = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + place, mask=place < N, other=float("-inf"))
    tl.store(partial + block, tl.max(values, 0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < tl.num_programs(0):
        pass
    most = float("-inf")
    for other in range(0, tl.num_programs(0)):
        most = tl.maximum(most, tl.load(partial + other))
    powers = tl.exp(values - most)
    tl.store(out + place, powers / tl.sum(powers, 0), mask=place < N)


HALVES = {"a": "*fp16", "b": "*fp16"}
FLOATS = {"x": "*fp32", "out": "*fp32"}
SMALL = {"BM": 64, "BN": 64, "BK": 32}

KERNELS = {
    "split_k": (split_k, {**HALVES, "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}, {"BM": 128, "BN": 64, "BK": 32, "SPLIT": 4}),
    "stream_k": (stream_k, {**HALVES, "c": "*fp32", "locks": "*i32", "N": "i32", "K": "i32", "tiles": "i32", "per_block": "i32"}, SMALL),
    "flash": (flash, {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32", "scale": "fp32"}, {"BM": 64, "BN": 64, "D": 64}),
    "layer_norm_backward": (
        layer_norm_backward,
        {"x": "*fp32", "dy": "*fp32", "w": "*fp32", "mean": "*fp32", "rstd": "*fp32", "dx": "*fp32", "dw": "*fp32", "lock": "*i32", "N": "i32"},
        {"GROUP": 64, "BLOCK": 1024},
    ),
    "look_back": (look_back, {"values": "*i32", "sums": "*i32", "state": "*i32", "out": "*i32"}, {"BLOCK": 1024}),
    "histogram": (histogram, {"values": "*i32", "bins": "*i32", "count": "*i32"}, {"BLOCK": 1024}),
    "softmax_grid": (softmax_grid, {**FLOATS, "partial": "*fp32", "arrived": "*i32", "N": "i32"}, {"BLOCK": 1024}),
}  # fmt: skip
"""Each kernel with the types of its arguments, and its constants."""

LARGE = {
    "large_split_k": (split_k, KERNELS["split_k"][1], {"BM": 256, "BN": 256, "BK": 128, "SPLIT": 4})
}
"""A matrix product whose LLVM IR has thousands of instructions."""


def llvm_ir(name: str, chip: str) -> str:
    """The LLVM IR that Triton makes of the kernel ``name``."""
    kernel, arguments, constants = (KERNELS | LARGE)[name]
    signature = {**arguments, **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(kernel, signature, constants)
    return triton.compile(source, target=TARGETS[chip]).asm["llir"]


def is_read(text: str, chip: str) -> bool:
    """Whether Triton's LLVM makes machine code of ``text``: in a child, since it ends the process."""
    target = TARGETS[chip]
    backend = triton.compiler.make_backend(target)
    stages = {}
    options = backend.parse_options({"arch": chip.replace("_", "")})
    backend.add_stages(stages, options, Language.TRITON)
    child = os.fork()
    if not child:
        llvm.init_targets()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        machine_code = stages["amdgcn" if target.backend == "hip" else "ptx"](text, {})
        os._exit(not machine_code)
    return os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    command, folder, *names = sys.argv[1:]
    for each in names:
        path = Path(folder) / f"{each}.ll"
        if command == "write":
            path.write_text(llvm_ir(*each.split(".")))
        elif is_read(path.read_text(), each.partition(".")[2]):
            print(each)
