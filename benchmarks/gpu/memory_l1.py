"""What stays in L1: accesses of one warp after one another, counted by Nsight Compute, beside the
model.

Four steps, since the profiler starts the second:

``python memory_l1.py metrics``
``ncu --csv --clock-control none --metrics METRICS python memory_l1.py launch > COUNTED``
``python memory_l1.py text COUNTED > TEXT``
``python memory_l1.py compare TEXT``

Each launch loads some sectors with ``ld.global.ca``, does something else to them or to half of
them, and loads them again; or does without the first load. Others store and load local memory. An
access waits for the load before it, whose value its address is computed with. ``launch`` and
``text`` need neither numpy nor xDSL. ``compare`` prints which sectors hit, and ends with status
1 if a launch counts otherwise than the rows of ``lowering/ptx/performance/accesses.py`` say. Where
ptxas gives a load of local memory the value that was just stored, it says so: what is left is
compared.
"""

import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memory_kernels import counted

from fencewright import gpu
from fencewright.tools.dev.campaigns.executed_kernels import counters_of, placed

LANES = range(32)
FIRST = LAST = "ld.global.ca.b32"
LOADS = (
    "ld.weak.global.b32", "ld.global.ca.b32", "ld.global.nc.b32", "ld.global.cg.b32",
    "ld.global.cs.b32", "ld.global.lu.b32", "ld.global.cv.b32", "ld.volatile.global.b32",
    "ld.relaxed.cta.global.b32", "ld.relaxed.cluster.global.b32", "ld.relaxed.gpu.global.b32",
    "ld.relaxed.sys.global.b32", "ld.acquire.cta.global.b32", "ld.acquire.gpu.global.b32",
    "ld.acquire.sys.global.b32", "ld.mmio.relaxed.sys.global.b32",
    "ld.global.L1::no_allocate.b32", "ld.global.L1::evict_first.b32",
    "ld.global.L1::evict_last.b32", "ld.global.L1::evict_unchanged.b32",
)  # fmt: skip
STORES = (
    "st.weak.global.b32", "st.global.wb.b32", "st.global.cg.b32", "st.global.cs.b32",
    "st.global.wt.b32", "st.volatile.global.b32", "st.relaxed.cta.global.b32",
    "st.relaxed.cluster.global.b32", "st.relaxed.gpu.global.b32", "st.relaxed.sys.global.b32",
    "st.release.cta.global.b32", "st.release.gpu.global.b32", "st.global.L1::no_allocate.b32",
    "st.global.L1::evict_first.b32", "st.global.L1::evict_last.b32",
)  # fmt: skip
ATOMICS = tuple(
    f"{verb}.relaxed.{scope}.global.add.u32"
    for verb in ("atom", "red")
    for scope in ("cta", "cluster", "gpu", "sys")
)
FENCES = tuple(
    f"fence.{kind}.{scope}"
    for kind in ("acq_rel", "sc", "acquire", "release")
    for scope in ("cta", "cluster", "gpu", "sys")
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Lane l is at offset ``l % among * stride``; ``among`` is a power of two."""

    stride: int
    among: int = 32

    @property
    def offsets(self) -> list[int]:
        """Of each lane."""
        return [lane % self.among * self.stride for lane in LANES]


PATTERNS: Mapping[str, Pattern] = {
    "a line": Pattern(4),
    "a sector a lane": Pattern(32),
    "a line a lane": Pattern(128),
}
LOCAL: Mapping[str, Pattern] = {
    "the same word": Pattern(16, 1),
    "four words": Pattern(16, 4),
    "eight words": Pattern(16, 8),
}
"""The offsets of lanes in their local memory."""
ROOM = 128
"""Bytes of local memory of a lane."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Accesses of one warp to the same bytes, in order; ``lanes`` take part in the middle."""

    accesses: tuple[str, ...]
    pattern: str
    lanes: int = 32

    @property
    def is_local(self) -> bool:
        """Whether it is about local memory."""
        return ".local" in self.accesses[0]

    @property
    def executed(self) -> tuple[str, ...]:
        """The accesses that ptxas leaves: it forwards a store to local memory to a load right
        after.

        Known from ``smsp__inst_executed_op_local_ld``, which counts those that are left.
        """
        if not self.is_local:
            return self.accesses
        before = ("", *self.accesses)
        return tuple(
            access
            for access, last in zip(self.accesses, before, strict=False)
            if not (access.startswith("ld.") and last.startswith("st."))
        )

    @property
    def offsets(self) -> Pattern:
        """Where its lanes are."""
        return (LOCAL if self.is_local else PATTERNS)[self.pattern]

    def is_of_few(self, number: int) -> bool:
        """Whether only the first ``lanes`` take part in an access."""
        is_first = number == 0 and self.accesses[0] == FIRST
        return self.lanes < 32 and not is_first and number != len(self.accesses) - 1

    @property
    def name(self) -> str:
        """What the text of counters calls it."""
        few = "" if self.lanes == 32 else f", {self.lanes} lanes"
        return f"{'; '.join(self.accesses)} ({self.pattern}{few})"


def launches() -> tuple[Launch, ...]:
    """What is launched, in order."""
    return tuple(dict.fromkeys(_launches()))


def _launches() -> Iterator[Launch]:
    for pattern in PATTERNS:
        yield Launch((FIRST,), pattern)
        for middle in (*LOADS, *STORES, *ATOMICS):
            yield Launch((middle, LAST), pattern)
            yield Launch((FIRST, middle, LAST), pattern)
        for middle in LOADS:
            yield Launch((FIRST, middle), pattern)
        for fence in FENCES:
            yield Launch((FIRST, fence, LAST), pattern)
    for middle in (*STORES, *ATOMICS):
        yield Launch((FIRST, middle, LAST), "a line", 1)
    for pattern in LOCAL:
        for type_ in ("b32", "v2.b32", "v4.b32"):
            load, store = f"ld.local.{type_}", f"st.local.{type_}"
            for accesses in ((load,), (store,), (store, load), (load, store), (load, store, load)):
                yield Launch(accesses, pattern)
        yield Launch(("st.local.b32", "fence.acq_rel.gpu", "ld.local.b32"), pattern)
        yield Launch(("st.local.cg.b32", "ld.local.b32"), pattern)
        yield Launch(("st.local.b32", "ld.local.cg.b32"), pattern)


METRICS = (
    *(
        f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{op}.sum"
        for space in ("global", "local")
        for op in ("ld", "st")
        for what in ("requests", "sectors")
    ),
    *(
        f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}_lookup_{what}.sum"
        for space in ("global", "local")
        for op in ("ld", "st")
        for what in ("hit", "miss")
    ),
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "l1tex__m_l1tex2xbar_write_sectors.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
)
PREDICTED = tuple(each for each in METRICS if "op_st_lookup" not in each and "lts" not in each)
"""Those that the model has; what a store finds in L1 is no counter of it."""


# What is launched


def kernel(launch: Launch) -> str:
    """A PTX module of one kernel; each access has its own address register and parameter."""
    lines: list[str] = []
    for number, access in enumerate(launch.accesses):
        if access.startswith("fence"):
            lines.append(f"{access};")
            continue
        start = "mov.u64 %at, room;" if launch.is_local else f"ld.param.u64 %at, [base{number}];"
        # Parameters of the same value, so that ptxas cannot take one access for another, and one
        # that is zero, so that what was loaded moves no address, which ptxas does not know.
        lines += [start, "add.u64 %at, %at, %offset;", "and.b32 %own, %last, %zero;"]
        lines += ["cvt.u64.u32 %wide, %own;", "add.u64 %at, %at, %wide;"]
        lines += body(access, "@%few " if launch.is_of_few(number) else "")
    bases = ", ".join(f".param .u64 base{n}" for n in range(3))
    return f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry access({bases}, .param .u64 kept, .param .u32 zero) {{
.reg .pred %few, %p;
.reg .b32 %lane, %last, %own, %zero, %v<4>;
.reg .b64 %offset, %at, %wide, %keep;
{f".local .align 16 .b8 room[{ROOM}];" if launch.is_local else ""}
mov.u32 %lane, %laneid;
setp.lt.u32 %few, %lane, {launch.lanes};
and.b32 %own, %lane, {launch.offsets.among - 1};
mul.wide.u32 %offset, %own, {launch.offsets.stride};
ld.param.u32 %zero, [zero];
mov.b32 %last, %zero;
{chr(10).join(lines)}
and.b32 %last, %last, %zero;
setp.eq.u32 %p, %last, 99;
@!%p bra DONE;
ld.param.u64 %keep, [kept];
st.global.b32 [%keep], %last;
DONE: ret;
}}
"""


def body(access: str, guard: str) -> list[str]:
    """The lines of one access; a load or atomic adds what it gets, 0, to %last."""
    words = access.split(".")
    count = next((int(each[1]) for each in words if each in ("v2", "v4")), 1)
    values = [f"%v{n}" for n in range(count)]
    vector = values[0] if count == 1 else "{" + ", ".join(values) + "}"
    if words[0] == "st":
        zeros = "%zero" if count == 1 else "{" + ", ".join(["%zero"] * count) + "}"
        return [f"{guard}{access} [%at], {zeros};"]
    if words[0] == "red":
        return [f"{guard}{access} [%at], %zero;"]
    if words[0] == "atom":
        return [
            "mov.b32 %v0, 0;",
            f"{guard}{access} %v0, [%at], %zero;",
            "or.b32 %last, %last, %v0;",
        ]
    return [
        *(f"mov.b32 {each}, 0;" for each in values),
        f"{guard}{access} {vector}, [%at];",
        *(f"or.b32 %last, %last, {each};" for each in values),
    ]


def launch_all() -> int:
    """Launch each once."""
    device = gpu.Device()
    memory = placed(device, 1 << 16)
    memory.buffer.fill(0)
    for launch in launches():
        arguments = [memory, memory, memory, memory, 0]
        device.load(kernel(launch)).kernel("access").launch(1, 32, arguments)
    device.synchronize()
    return 0


# What was counted


def text_of(csv: str) -> str:
    """The counters of each launch, those that are 0 left out."""
    found = counters_of(csv)
    names = [each.name for each in launches()]
    if len(found) != len(names):
        raise SystemExit(f"{len(found)} launches were counted, of {len(names)}")
    lines: list[str] = []
    for name, counters in zip(names, found, strict=True):
        lines.append(name)
        lines += [f"  {counter} {value}" for counter, value in sorted(counters.items()) if value]
    return "\n".join(lines) + "\n"


def predicted(launch: Launch) -> dict[str, int]:
    """What the model makes of what ptxas leaves of a launch."""
    import numpy as np

    from fencewright.lowering.ptx.code.text import read_ptx
    from fencewright.simulator.execution.executor import execute
    from fencewright.simulator.execution.launch import Launch as LaneLaunch
    from fencewright.simulator.execution.launch import allocate
    from fencewright.simulator.performance.machine import machine_of
    from fencewright.simulator.performance.traffic import TrafficObserver
    from fencewright.simulator.semantics.arguments import Same
    from fencewright.tools.inputs.ptx_kernels import kernels_of_file

    (left,) = kernels_of_file(read_ptx(kernel(replace(launch, accesses=launch.executed)), ""))
    program = left.read()
    arguments = (np.zeros(1 << 13, dtype=np.uint8), *[Same(0)] * 3, 0)
    made = LaneLaunch((1, 1, 1), (32, 1, 1), arguments)
    observer = TrafficObserver(program, machine_of("sm_90"), 1, 1, 1)
    execute(program, made, allocate(program, made), observer)
    return {name: each.value for name, each in observer.traffic().counters.items()}


def compare(text: Path) -> int:
    """Print what hits in each launch, and where the model says otherwise; status 1 if it does."""
    found, wrong, changed = counted(text), 0, 0
    for launch in launches():
        told, real = predicted(launch), found[launch.name]
        names = [each for each in PREDICTED if told.get(each, 0) != real.get(each, 0)]
        wrong += bool(names)
        changed += launch.executed != launch.accesses
        kind = "local" if launch.is_local else "global"
        hits, misses = (
            real.get(f"l1tex__t_sectors_pipe_lsu_mem_{kind}_op_ld_lookup_{each}.sum", 0)
            for each in ("hit", "miss")
        )
        print(f"{launch.name}: {hits} sectors hit, {misses} miss")
        if launch.executed != launch.accesses:
            print(f"  of which ptxas leaves {'; '.join(launch.executed)}")
        for name in names:
            print(f"  {name}: predicted {told.get(name, 0)}, measured {real.get(name, 0)}")
    print(f"{changed} launches without a load, which ptxas forwards a store to")
    print(f"{len(found)} launches, {wrong} with other counts than predicted")
    return 1 if wrong else 0


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("step", choices=("metrics", "launch", "text", "compare"))
    parser.add_argument("counted", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "metrics":
        print(",".join(METRICS))
        return 0
    if arguments.step == "launch":
        return launch_all()
    if arguments.step == "text":
        print(text_of(arguments.counted.read_text(encoding="utf-8")), end="")
        return 0
    return compare(arguments.counted)


if __name__ == "__main__":
    sys.exit(main())
