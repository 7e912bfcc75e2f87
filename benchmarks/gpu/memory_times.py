"""Times on the GPU at hand: latencies and rates of each level, strided reads, and fences after
stores.

``python memory_times.py latencies|rates|strides|fences`` prints a line for each measurement, with
the names of its columns
first. It needs ``fencewright.gpu`` alone.
"""

import random
import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from array import array
from collections.abc import Iterator, Sequence

from fencewright.gpu import Addressed, Device, Kernel

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"
MIB = 1 << 20
FLUSHED = 256 * MIB
"""Bytes that are written to take what was measured before out of L2."""


# Dependent loads

TIMED = """mov.u64 %after, %clock64;
ld.param.u64 %to, [result];
sub.u64 %after, %after, %before;
st.global.u64 [%to], %after;
DONE: ret;
"""
"""How a kernel gives the cycles since ``%before``."""
CHASE = """{head}
.visible .entry chase(.param .u64 start, .param .u32 steps, .param .u64 result) {{
.reg .pred %more;
.reg .b32 %left;
.reg .b64 %at, %before, %after, %to;
ld.param.u64 %at, [start];
ld.param.u32 %left, [steps];
mov.u64 %before, %clock64;
STEP: ld.global.{policy}.u64 %at, [%at];
sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra STEP;
add.u64 %at, %at, 0;
setp.eq.u64 %more, %at, 1;
@%more bra DONE;
{end}}}
"""

CHASES = (
    ("L1", "ca", 16 << 10, 128, True),
    ("L1", "ca", 64 << 10, 128, True),
    ("L2", "cg", 1 * MIB, 128, True),
    ("L2", "cg", 8 * MIB, 128, True),
    ("L2", "cg", 20 * MIB, 128, True),
    ("memory", "cg", 64 * MIB, 2048, False),
    ("memory", "cg", 256 * MIB, 8192, False),
    ("memory", "cg", 1024 * MIB, 32768, False),
)
"""The level, the policy of the loads, bytes of the ring and of its step, whether it is warm."""
STEPS = (2048, 8192)
SHARED_RING = 16 << 10
"""Bytes of the ring in shared memory."""

SHARED_CHASE = f"""{HEAD}
.visible .entry chase(.param .u64 start, .param .u32 steps, .param .u64 result) {{
.shared .align 128 .b8 ring[{SHARED_RING}];
.reg .pred %more;
.reg .b32 %left, %at, %next, %base, %place, %value;
.reg .b64 %before, %after, %to;
mov.u32 %base, ring;
mov.u32 %at, 0;
FILL: add.u32 %next, %at, 128;
and.b32 %next, %next, {SHARED_RING - 1};
add.u32 %place, %base, %at;
add.u32 %value, %base, %next;
st.shared.u32 [%place], %value;
mov.u32 %at, %next;
setp.ne.u32 %more, %at, 0;
@%more bra FILL;
mov.u32 %at, %base;
ld.param.u32 %left, [steps];
mov.u64 %before, %clock64;
STEP: ld.shared.u32 %at, [%at];
sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra STEP;
setp.eq.u32 %more, %at, 1;
@%more bra DONE;
{TIMED}}}
"""


def latencies(device: Device) -> Iterator[str]:
    """Cycles a load of each level."""
    yield "# level policy bytes step: cycles of a dependent 8-byte load, on one thread"
    for level, policy, size, step, is_warm in CHASES:
        text = CHASE.format(head=HEAD, policy=policy, end=TIMED)
        kernel, ring = device.load(text).kernel("chase"), device.allocate(size)
        order = list(range(0, size, step))
        random.Random(13).shuffle(order)
        held = array("Q", bytes(size))
        for here, there in zip(order, order[1:] + order[:1], strict=True):
            held[here // 8] = ring.address + there
        ring.write(held)
        yield f"{level} {policy} {size} {step} {_chased(device, kernel, ring, is_warm):.1f}"
        ring.free()
    kernel, none = device.load(SHARED_CHASE).kernel("chase"), device.allocate(8)
    yield f"shared - {SHARED_RING} 128 {_chased(device, kernel, none, is_warm=True):.1f}"


def _chased(device: Device, kernel: Kernel, ring: Addressed, is_warm: bool) -> float:
    """Cycles of a step: the difference of a long run and a short one, after one that warms up."""
    result, other = device.allocate(8), device.allocate(FLUSHED)
    cycles: list[int] = []
    for steps in (STEPS[-1], *STEPS):
        if not is_warm:
            other.fill(0)
        kernel.launch(1, 1, [ring, steps, result])
        cycles.append(int.from_bytes(result.read(), "little"))
    return (cycles[2] - cycles[1]) / (STEPS[1] - STEPS[0])


# Rates of what is on an SM

SMS = 132
RATE_STEPS = 4096
"""Steps of a loop of eight instructions."""


def rate_kernel(body: str) -> str:
    """A kernel of 1024 threads an SM that loops over ``body``: %near shared, %at global."""
    return f"""{HEAD}
.visible .entry rate(.param .u64 data) {{
.shared .align 128 .b8 room[16384];
.reg .pred %more;
.reg .b32 %lane, %left, %near;
.reg .f32 %f<16>, %x, %y;
.reg .b32 %v<4>, %sum;
.reg .b64 %at, %far;
ld.param.u64 %at, [data];
mov.u32 %lane, %tid.x;
mov.u32 %near, room;
mad.lo.u32 %near, %lane, 16, %near;
mul.wide.u32 %far, %lane, 16;
add.u64 %at, %at, %far;
cvt.rn.f32.u32 %x, %lane;
mov.f32 %y, %x;
{"".join(f"mov.f32 %f{n}, %x;{chr(10)}" for n in range(16))}mov.u32 %sum, 0;
st.shared.v4.u32 [%near], {{%lane, %lane, %lane, %lane}};
barrier.sync 0;
mov.u32 %left, {RATE_STEPS};
STEP:
{body}sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra STEP;
{"".join(f"add.f32 %x, %x, %f{n};{chr(10)}" for n in range(16))}mov.b32 %left, %x;
add.u32 %sum, %sum, %left;
setp.eq.u32 %more, %sum, 12345;
@%more st.global.u32 [%at], %sum;
ret;
}}
"""


def _loads(instruction: str) -> str:
    """Eight loads; they are volatile to ptxas, so that each is executed."""
    sums = "".join(f"xor.b32 %sum, %sum, %v{n};\n" for n in range(4))
    return f"{instruction}\n{sums}" * 8


RATES = (
    ("registers", 16 * 3 * 4, "".join(f"fma.rn.f32 %f{n}, %f{n}, %x, %y;\n" for n in range(16))),
    ("shared", 8 * 16, _loads("ld.volatile.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%near];")),
    ("L1", 8 * 16, _loads("ld.relaxed.cta.global.v4.u32 {%v0, %v1, %v2, %v3}, [%at];")),
)
"""The level, the bytes that a lane's step reads, and the step. Registers: those of an FMA."""


def rates(device: Device) -> Iterator[str]:
    """What all SMs together read of what is on them."""
    yield "# level: GB/s of 1024 threads on each of 132 SMs, all in a row: best of 7"
    data = device.allocate(16 << 10)
    data.fill(0)
    for level, bytes_, body in RATES:
        kernel = device.load(rate_kernel(body)).kernel("rate")
        seconds = min(_timed(device, kernel, SMS, 1024, [data]) for _ in range(7))
        yield f"{level} {bytes_ * RATE_STEPS * 1024 * SMS / seconds / 1e9:.0f}"


def _timed(
    device: Device, kernel: Kernel, grid: int, block: int, arguments: Sequence[Addressed | int]
) -> float:
    """The seconds of one launch."""
    return device.time(lambda: kernel.launch(grid, block, arguments), repeats=1, warm_up=0)


# Strided reads

STRIDED = f"""{HEAD}
.visible .entry strided(.param .u64 data, .param .u32 stride, .param .u32 loads,
                        .param .u32 passes) {{
.reg .pred %more;
.reg .b32 %left, %first, %i, %threads, %block, %loads, %sum, %word, %stride;
.reg .b64 %base, %at, %far;
ld.param.u64 %base, [data];
ld.param.u32 %stride, [stride];
ld.param.u32 %loads, [loads];
ld.param.u32 %left, [passes];
mov.u32 %i, %ctaid.x;
mov.u32 %block, %ntid.x;
mov.u32 %threads, %tid.x;
mad.lo.u32 %first, %i, %block, %threads;
mov.u32 %threads, %nctaid.x;
mul.lo.u32 %threads, %threads, %block;
mov.u32 %sum, 0;
PASS: mov.u32 %i, %first;
STEP: setp.ge.u32 %more, %i, %loads;
@%more bra NEXT;
mul.wide.u32 %far, %i, %stride;
shl.b64 %far, %far, 2;
add.u64 %at, %base, %far;
ld.global.cg.u32 %word, [%at];
add.u32 %sum, %sum, %word;
add.u32 %i, %i, %threads;
bra STEP;
NEXT: sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra PASS;
setp.eq.u32 %more, %sum, 12345;
@%more st.global.u32 [%base], %sum;
ret;
}}
"""
TENSOR = 256 * MIB
STRIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def strides(device: Device) -> Iterator[str]:
    """Useful bandwidth of reading every n-th word of 256 MiB; and of 16 MiB that L2 has."""
    yield (
        "# stride in words, useful GB/s of one pass over 256 MiB, of 64 over 16 MiB in L2: best of "
        "7"
    )
    kernel = device.load(STRIDED).kernel("strided")
    data, other = device.allocate(TENSOR), device.allocate(FLUSHED)
    data.fill(0)
    for stride in STRIDES:
        best: list[float] = []
        for size, passes in ((TENSOR, 1), (16 * MIB, 64)):
            loads = size // 4 // stride
            blocks = min(132 * 16, max(1, loads // 128))
            arguments = [data, stride, loads, passes]
            seconds: list[float] = []
            for _ in range(7):
                if passes == 1:
                    other.fill(0)
                    device.synchronize()
                seconds.append(_timed(device, kernel, blocks, 128, arguments))
            best.append(loads * passes * 4 / min(seconds) / 1e9)
        yield f"{stride} {best[0]:.1f} {best[1]:.1f}"


# Fences

ROUNDS = 16
SCOPES = ("cta", "gpu", "sys")
LANE_STRIDES = (4, 32, 128)
COUNTS = (0, 1, 2, 4, 8, 16, 24, 32, 48)
SHAPES = ((1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (1, 8), (8, 8), (32, 8), (1, 132),
          (8, 132), (32, 132))  # fmt: skip
"""Warps of a work-group, and work-groups."""


def fenced(scope: str, lane_stride: int, stores: int) -> str:
    """A kernel that times ``fence.acq_rel`` after as many stores of each lane."""
    lines = "\n".join(f"st.global.u32 [%at+{each * 4096}], %lane;" for each in range(stores))
    return f"""{HEAD}
.visible .entry fenced(.param .u64 data, .param .u64 result) {{
.reg .pred %first, %more;
.reg .b32 %lane, %warp, %group, %warps, %round;
.reg .b64 %at, %to, %far, %before, %after, %least;
ld.param.u64 %at, [data];
ld.param.u64 %to, [result];
mov.u32 %lane, %tid.x;
mov.u32 %group, %ctaid.x;
mov.u32 %warps, %ntid.x;
mad.lo.u32 %lane, %group, %warps, %lane;
shr.u32 %warp, %lane, 5;
and.b32 %lane, %lane, 31;
mul.wide.u32 %far, %warp, {max(1, stores) * 4096};
add.u64 %at, %at, %far;
mul.wide.u32 %far, %lane, {lane_stride};
add.u64 %at, %at, %far;
mul.wide.u32 %far, %warp, 8;
add.u64 %to, %to, %far;
mov.u64 %least, 1000000;
mov.u32 %round, {ROUNDS};
AGAIN: barrier.sync 0;
{lines}
mov.u64 %before, %clock64;
fence.acq_rel.{scope};
mov.u64 %after, %clock64;
sub.u64 %after, %after, %before;
min.u64 %least, %least, %after;
sub.u32 %round, %round, 1;
setp.ne.u32 %more, %round, 0;
@%more bra AGAIN;
setp.eq.u32 %first, %lane, 0;
@%first st.global.u64 [%to], %least;
ret;
}}
"""


def fences(device: Device) -> Iterator[str]:
    """Cycles of a fence by scope, stores outstanding, warps and SMs."""
    yield "# scope, bytes between lanes, stores a lane, warps a work-group, work-groups:"
    yield f"# least, median and most of the warps' best cycles of {ROUNDS}"
    most = max(warps * blocks for warps, blocks in SHAPES)
    data = device.allocate(most * max(COUNTS) * 4096 + MIB)
    result = device.allocate(most * 8)
    for scope in SCOPES:
        for lane_stride in LANE_STRIDES:
            for stores in COUNTS:
                kernel = device.load(fenced(scope, lane_stride, stores)).kernel("fenced")
                for warps, blocks in SHAPES:
                    kernel.launch(blocks, warps * 32, [data, result])
                    cycles = sorted(array("Q", result.read(warps * blocks * 8)))
                    middle = cycles[len(cycles) // 2]
                    yield (
                        f"{scope} {lane_stride} {stores} {warps} {blocks} "
                        f"{cycles[0]} {middle} {cycles[-1]}"
                    )


MEASUREMENTS = {"latencies": latencies, "rates": rates, "strides": strides, "fences": fences}


def main(words: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("measurement", choices=MEASUREMENTS)
    arguments = parser.parse_args(words)
    for line in MEASUREMENTS[arguments.measurement](Device()):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
