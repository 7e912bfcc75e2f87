# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportInvalidTypeForm=false, reportOptionalMemberAccess=false, reportIndexIssue=false, reportCallIssue=false, reportArgumentType=false
# Triton is not among the project's dependencies, and its language is not Python's.
"""Kernels as Triton's tutorials teach them, and those that work-groups share work with by atomics.

They compile without a GPU (``compiled``), and benchmarks/gpu/triton_tutorials.py runs them on one.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGETS = {
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32),
}


# Without atomics


@triton.jit
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):
    """A row for each block (tutorial 2)."""
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    held = lanes < columns
    values = tl.load(x + row * stride + lanes, mask=held, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + lanes, values / tl.sum(values, axis=0), mask=held)


@triton.jit
def matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    """A tile of c for each block, blocks in groups of rows (tutorial 3)."""
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * columns)
    first = group * GROUP
    size = min(rows - first, GROUP)
    m = first + (pid % (GROUP * columns)) % size
    n = (pid % (GROUP * columns)) // size
    at_m, at_n, at_k = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    tile_a = a + at_m[:, None] * K + at_k[None, :]
    tile_b = b + at_k[:, None] * N + at_n[None, :]
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        part_a = tl.load(tile_a, mask=at_k[None, :] < K - k * BK, other=0.0)
        part_b = tl.load(tile_b, mask=at_k[:, None] < K - k * BK, other=0.0)
        sum = tl.dot(part_a, part_b, sum)
        tile_a += BK
        tile_b += BK * N
    held = (at_m[:, None] < M) & (at_n[None, :] < N)
    tl.store(c + at_m[:, None] * N + at_n[None, :], sum.to(tl.float16), mask=held)


@triton.jit
def layer_norm(x, y, weight, bias, means, rstds, stride, columns, eps, BLOCK: tl.constexpr):
    """The forward pass of tutorial 5, a row for each block."""
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    lanes = tl.arange(0, BLOCK)
    held = lanes < columns
    values = tl.load(x + lanes, mask=held, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(held, values - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(rstds + row, rstd)
    w = tl.load(weight + lanes, mask=held)
    b = tl.load(bias + lanes, mask=held)
    tl.store(y + lanes, centred * rstd * w + b, mask=held)


@triton.jit
def attention(q, k, v, out, scale, LENGTH, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Fused attention, forward, not causal (tutorial 6)."""
    head = tl.program_id(1).to(tl.int64) * LENGTH * D
    at_m = tl.program_id(0) * BM + tl.arange(0, BM)
    at_d, at_n = tl.arange(0, D), tl.arange(0, BN)
    query = tl.load(q + head + at_m[:, None] * D + at_d[None, :])
    most = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    sum = tl.zeros((BM, D), dtype=tl.float32)
    scale *= 1.4426950408889634
    for n in range(0, LENGTH, BN):
        key = tl.load(k + head + (n + at_n)[None, :] * D + at_d[:, None])
        scores = tl.dot(query, key) * scale
        higher = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(weights, 1)
        value = tl.load(v + head + (n + at_n)[:, None] * D + at_d[None, :])
        sum = tl.dot(weights.to(tl.float16), value, sum * shrink[:, None])
        most = higher
    result = sum / total[:, None]
    tl.store(out + head + at_m[:, None] * D + at_d[None, :], result.to(tl.float16))


# With atomics


@triton.jit
def split_k(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    """Blocks that share K add their parts of a tile of c (float32) with Triton's default atomics."""
    pid, part = tl.program_id(0), tl.program_id(1)
    columns = tl.cdiv(N, BN)
    at_m = (pid // columns) * BM + tl.arange(0, BM)
    at_n = (pid % columns) * BN + tl.arange(0, BN)
    at_k = part * BK + tl.arange(0, BK)
    tile_a = a + at_m[:, None] * K + at_k[None, :]
    tile_b = b + at_k[:, None] * N + at_n[None, :]
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK * SPLIT)):
        sum = tl.dot(tl.load(tile_a), tl.load(tile_b), sum)
        tile_a += BK * SPLIT
        tile_b += BK * SPLIT * N
    held = (at_m[:, None] < M) & (at_n[None, :] < N)
    tl.atomic_add(c + at_m[:, None] * N + at_n[None, :], sum, mask=held)


@triton.jit
def stream_k(
    a, b, c, parts, flags, N, K, steps, per_block,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Each block does ``per_block`` steps of the tiles' ``steps`` each; who ends a tile fixes it up.

    A block that begins a tile in its middle is the last of that tile's parts if it ends it, and
    waits for the parts of the blocks before it, which they publish in ``parts`` with a flag.
    """
    pid = tl.program_id(0)
    step = pid * per_block
    end = step + per_block
    columns = tl.cdiv(N, BN)
    while step < end:
        tile = step // steps
        begin = step % steps
        until = min(steps, begin + end - step)
        at_m = (tile // columns) * BM + tl.arange(0, BM)
        at_n = (tile % columns) * BN + tl.arange(0, BN)
        at_k = tl.arange(0, BK)
        tile_a = a + at_m[:, None] * K + begin * BK + at_k[None, :]
        tile_b = b + (begin * BK + at_k)[:, None] * N + at_n[None, :]
        sum = tl.zeros((BM, BN), dtype=tl.float32)
        for _ in range(begin, until):
            sum = tl.dot(tl.load(tile_a), tl.load(tile_b), sum)
            tile_a += BK
            tile_b += BK * N
        mine = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
        if until == steps:
            waits_for = tile * steps // per_block
            while waits_for < pid:
                while tl.atomic_cas(flags + waits_for, 1, 1, sem="acquire", scope="gpu") != 1:
                    pass
                sum += tl.load(parts + waits_for * BM * BN + mine, cache_modifier=".cg")
                waits_for += 1
            tl.store(c + at_m[:, None] * N + at_n[None, :], sum)
        else:
            tl.store(parts + pid * BM * BN + mine, sum)
            tl.debug_barrier()
            tl.atomic_xchg(flags + pid, 1, sem="release", scope="gpu")
        step += until - begin


@triton.jit
def layer_norm_backward(
    dx, dy, dw, db, x, weight, means, rstds, locks, stride, columns,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The backward pass of tutorial 5: rows of a group add their parts under a lock."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    held = lanes < columns
    x += row * stride
    dy += row * stride
    dx += row * stride
    group = row % GROUPS
    lock = locks + group
    count = lock + GROUPS
    dw = dw + group * columns + lanes
    db = db + group * columns + lanes
    values = tl.load(x + lanes, mask=held, other=0).to(tl.float32)
    slope = tl.load(dy + lanes, mask=held, other=0).to(tl.float32)
    w = tl.load(weight + lanes, mask=held).to(tl.float32)
    mean, rstd = tl.load(means + row), tl.load(rstds + row)
    normal = tl.where(held, (values - mean) * rstd, 0.0)
    scaled = tl.where(held, w * slope, 0.0)
    first = tl.sum(normal * scaled, axis=0) / columns
    second = tl.sum(scaled, axis=0) / columns
    tl.store(dx + lanes, (scaled - (normal * first + second)) * rstd, mask=held)
    part_w, part_b = (slope * normal).to(w.dtype), slope.to(w.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw, mask=held)
        part_b += tl.load(db, mask=held)
    tl.store(dw, part_w, mask=held)
    tl.store(db, part_b, mask=held)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def look_back(x, out, sums, prefixes, flags, BLOCK: tl.constexpr):
    """A prefix sum in one pass: flag 1 publishes a block's sum, flag 2 its prefix."""
    block = tl.program_id(0)
    lanes = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    sum = tl.sum(values)
    tl.store(sums + block, sum)
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 1, sem="release", scope="gpu")
    before = sum * 0
    looks_at = block - 1
    while looks_at >= 0:
        flag = tl.atomic_add(flags + looks_at, 0, sem="acquire", scope="gpu")
        if flag == 2:
            before += tl.load(prefixes + looks_at, cache_modifier=".cg")
            looks_at = -1
        elif flag == 1:
            before += tl.load(sums + looks_at, cache_modifier=".cg")
            looks_at -= 1
    tl.store(prefixes + block, before + sum)
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 2, sem="release", scope="gpu")
    tl.store(out + lanes, tl.cumsum(values, 0) + before)


@triton.jit
def histogram(x, bins, count, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """Each block counts its own values, then adds its counts to all."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < count, other=0)
    counts = tl.histogram(values, BINS)
    tl.atomic_add(bins + tl.arange(0, BINS), counts, sem="relaxed")


@triton.jit
def softmax_in_one_grid(x, out, maxima, sums, arrived, columns, BLOCK: tl.constexpr):
    """One long row over a whole grid, which meets twice; every block must be resident."""
    block, blocks = tl.program_id(0), tl.num_programs(0)
    lanes = block * BLOCK + tl.arange(0, BLOCK)
    held = lanes < columns
    values = tl.load(x + lanes, mask=held, other=-float("inf"))
    tl.store(maxima + block, tl.max(values, axis=0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="acq_rel", scope="gpu")
    while tl.atomic_add(arrived, 0, sem="acquire", scope="gpu") < blocks:
        pass
    most = -float("inf")
    for other in range(0, blocks):
        most = tl.maximum(most, tl.load(maxima + other, cache_modifier=".cg"))
    values = tl.exp(values - most)
    tl.store(sums + block, tl.sum(tl.where(held, values, 0.0), axis=0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="acq_rel", scope="gpu")
    while tl.atomic_add(arrived, 0, sem="acquire", scope="gpu") < 2 * blocks:
        pass
    total = 0.0
    for other in range(0, blocks):
        total += tl.load(sums + other, cache_modifier=".cg")
    tl.store(out + lanes, values / total, mask=held)


# Compiled without a GPU


def _source(kernel, types, **constants):
    names = [name for name in kernel.arg_names if name not in constants]
    signature = dict(zip(names, types.split(), strict=True)) | dict.fromkeys(constants, "constexpr")
    signature = {name: signature[name] for name in kernel.arg_names}
    divisible = [["tt.divisibility", 16]]
    attributes = {
        (place,): divisible
        for place, name in enumerate(kernel.arg_names)
        if signature[name].startswith("*") or name in ("M", "N", "K", "stride", "LENGTH")
    }
    return ASTSource(kernel, signature, constants, attributes)


_TILES = {"BM": 64, "BN": 64, "BK": 32}
SOURCES = {
    "softmax": lambda: _source(softmax, "*fp32 *fp32 i32 i32", BLOCK=2048),
    "matmul": lambda: _source(
        matmul, "*fp16 *fp16 *fp16 i32 i32 i32", BM=128, BN=128, BK=32, GROUP=8
    ),
    "layer_norm": lambda: _source(
        layer_norm, "*fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32 i32 fp32", BLOCK=2048
    ),
    "attention": lambda: _source(
        attention, "*fp16 *fp16 *fp16 *fp16 fp32 i32", BM=64, BN=64, D=64
    ),
    "split_k": lambda: _source(
        split_k, "*fp16 *fp16 *fp32 i32 i32 i32", **_TILES, SPLIT=4
    ),
    "stream_k": lambda: _source(
        stream_k, "*fp16 *fp16 *fp32 *fp32 *i32 i32 i32 i32 i32", **_TILES
    ),
    "layer_norm_backward": lambda: _source(
        layer_norm_backward,
        "*fp16 *fp16 *fp16 *fp16 *fp16 *fp16 *fp32 *fp32 *i32 i32 i32",
        GROUPS=64,
        BLOCK=1024,
    ),
    "look_back": lambda: _source(look_back, "*i32 *i32 *i32 *i32 *i32", BLOCK=1024),
    "histogram": lambda: _source(histogram, "*i32 *i32 i32", BLOCK=1024, BINS=256),
    "softmax_in_one_grid": lambda: _source(
        softmax_in_one_grid, "*fp32 *fp32 *fp32 *fp32 *i32 i32", BLOCK=2048
    ),
}  # fmt: skip
"""Every kernel with the types of its arguments and what its launches have constant."""


LONG = {
    "attention, heads of 128": lambda: _source(
        attention, "*fp16 *fp16 *fp16 *fp16 fp32 i32", BM=128, BN=64, D=128
    ),
}
"""Some of them with larger tiles, for what grows with the code."""


def compiled(name, chip):
    """The kernel ``name`` compiled for ``chip``: Triton's, with ``asm`` by stages."""
    return triton.compile((SOURCES | LONG)[name](), target=TARGETS[chip])
