# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportInvalidTypeForm=false
# Triton is not among the project's dependencies, and its language is not Python's.
"""Seven Triton kernels whose blocks work together, as LLVM IR for the chips that are asked for.

Each is written after a kernel that people run: Triton's tutorials (matrix product, layer norm,
attention), stream-K (Osama et al., 2023), decoupled look-back (Merrill and Garland, 2016). Triton
compiles them without a GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def split_k(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    """A matrix product whose inner dimension is split: the parts add to C with atomics."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    inner = part * BK + tl.arange(0, BK)
    left = a + rows[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK * SPLIT):
        x = tl.load(left, mask=inner[None, :] + k < K, other=0.0)
        y = tl.load(right, mask=inner[:, None] + k < K, other=0.0)
        total = tl.dot(x, y, total)
        left += BK * SPLIT
        right += BK * SPLIT * N
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c + rows[:, None] * N + columns[None, :], total, mask=mask)


@triton.jit
def stream_k(
    a,
    b,
    c,
    partial,
    locks,
    M,
    N,
    K,
    first,
    steps,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """A matrix product in equal shares: who ends a tile waits for the part of who began it."""
    program = tl.program_id(0)
    tile = (first + program * steps) // (K // BK)
    start = (first + program * steps) % (K // BK)
    rows = (tile // (N // BN)) * BM + tl.arange(0, BM)
    columns = (tile % (N // BN)) * BN + tl.arange(0, BN)
    inner = start * BK + tl.arange(0, BK)
    left = a + rows[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, steps):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * N
    place = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    if start != 0:
        tl.store(partial + program * BM * BN + place, total)
        tl.debug_barrier()
        tl.atomic_xchg(locks + program, 1)
    else:
        last = program + 1
        while tl.atomic_cas(locks + last, 1, 1) != 1:
            pass
        total += tl.load(partial + last * BM * BN + place, cache_modifier=".cv")
        tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def flash(q, k, v, out, scale, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attention in one pass, of one head."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + dims[None, :])
    highest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, length, BN):
        columns = start + tl.arange(0, BN)
        keys = tl.load(k + columns[None, :] * D + dims[:, None])
        scores = tl.dot(query, keys) * scale
        new = tl.maximum(highest, tl.max(scores, 1))
        shares = tl.exp2(scores - new[:, None])
        decay = tl.exp2(highest - new)
        weight = weight * decay + tl.sum(shares, 1)
        values = tl.load(v + columns[:, None] * D + dims[None, :])
        total = tl.dot(shares.to(tl.float16), values, total * decay[:, None])
        highest = new
    tl.store(out + rows[:, None] * D + dims[None, :], (total / weight[:, None]).to(tl.float16))


@triton.jit
def layer_norm_backward(
    dx, dy, dw, db, x, w, mean, rstd, locks, counts, N, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Gradients of a layer norm: rows add theirs to one of a few buffers, under its lock."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    which = row % GROUP
    xs = tl.load(x + row * N + columns, mask=mask, other=0).to(tl.float32)
    dys = tl.load(dy + row * N + columns, mask=mask, other=0).to(tl.float32)
    ws = tl.load(w + columns, mask=mask, other=0).to(tl.float32)
    hat = tl.where(mask, (xs - tl.load(mean + row)) * tl.load(rstd + row), 0.0)
    wdy = tl.where(mask, ws * dys, 0.0)
    one = tl.sum(hat * wdy, axis=0) / N
    two = tl.sum(wdy, axis=0) / N
    tl.store(dx + row * N + columns, (wdy - (hat * one + two)) * tl.load(rstd + row), mask=mask)
    partial_w = dys * hat
    partial_b = dys
    while tl.atomic_cas(locks + which, 0, 1) == 1:
        pass
    count = tl.load(counts + which)
    if count == 0:
        tl.atomic_xchg(counts + which, 1)
    else:
        partial_w += tl.load(dw + which * N + columns, mask=mask)
        partial_b += tl.load(db + which * N + columns, mask=mask)
    tl.store(dw + which * N + columns, partial_w, mask=mask)
    tl.store(db + which * N + columns, partial_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(locks + which, 0)


@triton.jit
def look_back(x, out, sums, prefixes, flags, N, BLOCK: tl.constexpr):
    """A prefix sum in one pass: each block looks back at its predecessors' sums."""
    block = tl.program_id(0)
    places = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < N, other=0)
    scanned = tl.cumsum(values, 0)
    total = tl.sum(values, 0)
    tl.store(sums + block, total)
    tl.atomic_xchg(flags + block, 1, sem="release")
    before = total * 0
    looked = block - 1
    while looked >= 0:
        flag = tl.atomic_add(flags + looked, 0, sem="acquire")
        if flag == 2:
            before += tl.load(prefixes + looked)
            looked = -1
        elif flag == 1:
            before += tl.load(sums + looked)
            looked -= 1
    tl.store(prefixes + block, before + total)
    tl.atomic_xchg(flags + block, 2, sem="release")
    tl.store(out + places, scanned + before, mask=places < N)


@triton.jit
def histogram(x, bins, N, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """How often each value occurs: each block counts for itself, and adds to the bins."""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < N, other=0)
    counts = tl.histogram(values, BINS)
    tl.atomic_add(bins + tl.arange(0, BINS), counts, sem="relaxed")


@triton.jit
def softmax(x, out, highest, weights, arrived, blocks, N, BLOCK: tl.constexpr):
    """A softmax of one long row by all blocks, with a grid barrier between."""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < N, other=float("-inf"))
    tl.store(highest + tl.program_id(0), tl.max(values, 0))
    tl.store(weights + tl.program_id(0), tl.sum(tl.exp(values - tl.max(values, 0)), 0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < blocks:
        pass
    top = tl.load(highest)
    for block in range(1, blocks):
        top = tl.maximum(top, tl.load(highest + block))
    total = tl.load(weights) * tl.exp(tl.load(highest) - top)
    for block in range(1, blocks):
        total += tl.load(weights + block) * tl.exp(tl.load(highest + block) - top)
    tl.store(out + places, tl.exp(values - top) / total, mask=places < N)


TARGETS = {
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
    "sm_90": GPUTarget("cuda", 90, 32),
}

_HALF, _FLOAT, _INT, _NUMBER = "*fp16", "*fp32", "*i32", "i32"
_TILE = {"BM": 64, "BN": 64, "BK": 32}


def _source(kernel, types: str, **constants: int) -> ASTSource:
    names = [name for name in kernel.arg_names if name not in constants]
    signature = dict(zip(names, types.split(), strict=True)) | dict.fromkeys(constants, "constexpr")
    # As at a launch: tensors are aligned, and sizes multiples of 16.
    given = [name for name, type in signature.items() if type.startswith("*") or name in ("N", "K")]
    attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in given}
    return ASTSource(kernel, signature, constants, attributes)


SOURCES = {
    "split-K": _source(split_k, "*fp16 *fp16 *fp32 i32 i32 i32", **_TILE, SPLIT=4),
    "stream-K": _source(stream_k, "*fp16 *fp16 *fp32 *fp32 *i32 i32 i32 i32 i32 i32", **_TILE),
    "flash": _source(flash, "*fp16 *fp16 *fp16 *fp16 fp32 i32", BM=64, BN=64, D=64),
    "layer norm backward": _source(
        layer_norm_backward,
        "*fp16 *fp16 *fp32 *fp32 *fp16 *fp16 *fp32 *fp32 *i32 *i32 i32", GROUP=64, BLOCK=1024,
    ),
    "look-back": _source(look_back, "*i32 *i32 *i32 *i32 *i32 i32", BLOCK=1024),
    "histogram": _source(histogram, "*i32 *i32 i32", BLOCK=1024, BINS=256),
    "softmax": _source(softmax, "*fp32 *fp32 *fp32 *fp32 *i32 i32 i32", BLOCK=1024),
}  # fmt: skip


def llvm_ir(name: str, chip: str) -> str:
    """The LLVM IR that Triton makes of a kernel for ``chip``, before its own LLVM compiles it."""
    return triton.compile(SOURCES[name], target=TARGETS[chip]).asm["llir"]
