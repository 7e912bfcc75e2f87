"""Chains of threads that hand a value on, as kernels for the detector and programs for the model.

The first thread accesses the data, each of the others waits until the one before it has come to its
end, and the last accesses the data again. Every flag is read as it was written.
"""

from dataclasses import dataclass
from random import Random

from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.program import Location, Placement, Thread
from fencewright.simulator.ptx.builder import build
from fencewright.simulator.ptx.events import PtxCandidates
from fencewright.simulator.ptx.instructions import PtxInstruction, PtxProgram
from fencewright.simulator.ptx.model import (
    Enumeration,
    PtxFrame,
    PtxModel,
)
from fencewright.simulator.race.detector import Detector
from fencewright.simulator.threads.launch import Module, execute, parse_launch

SCOPES = ("cta", "cluster", "gpu", "sys")
BLOCKS = 4
Step = tuple[str, tuple[str, ...]]
"""A name and its operands, as ``st.relaxed.gpu.u32`` of ``f1`` and ``1``."""


@dataclass(frozen=True)
class Chain:
    """The block of each thread and its steps; ``expected``: the values of reads, by register."""

    blocks: tuple[int, ...]
    threads: tuple[tuple[Step, ...], ...]
    expected: tuple[tuple[int, str, int], ...]

    def __str__(self) -> str:
        found: list[str] = []
        for block, steps in zip(self.blocks, self.threads, strict=True):
            shown = [" ".join((name, ", ".join(operands))) for name, operands in steps]
            found.append(f"block {block}: {'; '.join(shown)}")
        return "\n".join(found)


def _fence(random: Random) -> list[Step]:
    if random.random() < 0.45:
        return []
    ordering = random.choice(("acq_rel", "acq_rel", "sc", "acquire", "release"))
    return [(f"fence.{ordering}.{random.choice(SCOPES)}", ())]


def _scope(random: Random) -> str:
    return random.choice(("cta", "cluster", "gpu", "gpu", "gpu", "sys"))


def _signal(random: Random, flag: str, value: int) -> list[Step]:
    scope = _scope(random)
    kind = random.random()
    if kind < 0.35:
        return [(f"st.relaxed.{scope}.u32", (flag, str(value)))]
    if kind < 0.6:
        return [(f"st.release.{scope}.u32", (flag, str(value)))]
    if kind < 0.7:
        return [("st.volatile.u32", (flag, str(value)))]
    if kind < 0.8:
        first = (f"st.release.{scope}.u32", (flag, str(value + 4)))
        return [first, (f"st.relaxed.{_scope(random)}.u32", (flag, str(value)))]
    ordering = random.choice(("relaxed", "release", "acq_rel"))
    return [(f"atom.{ordering}.{scope}.exch.b32", ("unused", flag, str(value)))]


def _receive(random: Random, flag: str, register: str) -> list[Step]:
    scope = _scope(random)
    kind = random.random()
    if kind < 0.35:
        return [(f"ld.relaxed.{scope}.u32", (register, flag))]
    if kind < 0.6:
        return [(f"ld.acquire.{scope}.u32", (register, flag))]
    if kind < 0.7:
        return [("ld.volatile.u32", (register, flag))]
    if kind < 0.85:
        second = (f"ld.acquire.{scope}.u32", (f"{register}9", flag))
        return [(f"ld.relaxed.{_scope(random)}.u32", (register, flag)), second]
    ordering = random.choice(("relaxed", "acquire", "acq_rel"))
    return [(f"atom.{ordering}.{scope}.add.u32", (register, flag, "0"))]


def _data(random: Random, register: str) -> list[Step]:
    kind = random.random()
    if kind < 0.4:
        return [("st.u32", ("x", "1"))]
    if kind < 0.75:
        return [("ld.u32", (register, "x"))]
    if kind < 0.85:
        return [(f"st.relaxed.{_scope(random)}.u32", ("x", "1"))]
    return [(f"ld.relaxed.{_scope(random)}.u32", (register, "x"))]


def draw(seed: int) -> Chain:
    """A chain at random."""
    random = Random(seed)
    count = random.choice((2, 2, 2, 3, 3, 4))
    blocks = tuple(random.randrange(BLOCKS) for _ in range(count))
    threads: list[tuple[Step, ...]] = []
    expected: list[tuple[int, str, int]] = []
    flag, value = "f1", 1
    for number in range(count):
        steps: list[Step] = []
        register = f"r{number}"
        if number:
            expected.append((number, register, value))
            received = _receive(random, flag, register)
            if len(received) > 1:
                expected.append((number, f"{register}9", value))
            steps += received
            steps += _fence(random)
        if number in (0, count - 1):
            steps += _data(random, f"r{number}8")
        if number < count - 1:
            steps += _fence(random)
            if number and random.random() < 0.4:
                # An update in between, which goes on with what was released before it.
                ordering = random.choice(("relaxed", "release", "acq_rel"))
                name = f"atom.{ordering}.{_scope(random)}.add.u32"
                steps.append((name, ("unused", flag, "1")))
                value += 1
            else:
                flag, value = f"f{number + 1}", 1
                steps += _signal(random, flag, value)
        threads.append(tuple(steps))
    if threads and not any("st" in name for steps in (threads[0], threads[-1]) for name, (*operands,) in steps
                           if operands[:1] == ["x"]):  # fmt: skip
        return draw(seed + 100_003)
    return Chain(blocks, tuple(threads), tuple(expected))


# The model


def _given(operands: tuple[str, ...]) -> list[str | int]:
    return [int(each) if each.isdigit() else each for each in operands]


def program_of(chain: Chain) -> PtxProgram:
    """The chain for the model."""
    threads: list[Thread[PtxInstruction]] = []
    for number, (block, steps) in enumerate(zip(chain.blocks, chain.threads, strict=True)):
        code: list[PtxInstruction] = []
        for at, (name, operands) in enumerate(steps):
            operands = tuple(f"r{number}7{at}" if each == "unused" else each for each in operands)
            code.append(build(read_opcode(name), _given(operands)))
        threads.append(Thread(Placement(workgroup=block, cluster=block // 2), tuple(code)))
    names = sorted({o for steps in chain.threads for _, ops in steps for o in ops if o[0] in "xf"})
    return PtxProgram(tuple(map(Location, names)), tuple(threads))


def races_by_model(chain: Chain) -> bool:
    """True where an execution that the axioms allow has a race on the data."""
    model, work, frames = PtxModel(), WorkBudget(), dict[int, PtxFrame]()
    for combination in PtxCandidates(program_of(chain), 1, False, work):
        if any(combination.registers[t].get(r) != value for t, r, value in chain.expected):
            continue
        for skeleton in combination.skeletons:
            frame = frames.setdefault(id(skeleton), PtxFrame(skeleton, model, work))
            enumeration = Enumeration(model, combination, frame)
            data = [n for n, e in enumerate(skeleton.events) if e.location == "x" and e.thread >= 0]
            for x in enumeration.executions():
                pairs = [
                    (a, b)
                    for a in data
                    for b in data
                    if a < b
                    and skeleton.events[a].thread != skeleton.events[b].thread
                    and not (x.frame.ms[a] >> b & 1 or x.cause[a] >> b & 1 or x.cause[b] >> a & 1)
                    and {a, b} & set(skeleton.writes)
                ]
                if pairs and all(
                    any(
                        enumeration.allows(x, each, co)
                        for co in enumeration.coherence_orders(x, each)
                    )
                    for each in enumeration.locations
                ):
                    return True
    return False


# The detector


def kernel_of(chain: Chain) -> str:
    """The chain as PTX: a thread sleeps until those before it are done."""
    names = sorted({o for steps in chain.threads for _, ops in steps for o in ops if o[0] in "xf"})
    lines = [
        ".version 8.6", ".target sm_90", ".address_size 64",
        f".visible .entry k({', '.join(f'.param .u64 {name}' for name in names)})", "{",
        ".reg .b32 %a<4>; .reg .pred %p<3>; .reg .b32 %n;",
        f".reg .b64 {', '.join(f'%{name}' for name in names)};",
        "mov.u32 %a1, %ctaid.x; mov.u32 %a2, %tid.x;",
        *(f"ld.param.u64 %{name}, [{name}];" for name in names),
    ]  # fmt: skip
    registers: set[str] = set()
    for number, (block, steps) in enumerate(zip(chain.blocks, chain.threads, strict=True)):
        lines += [
            f"setp.ne.u32 %p1, %a1, {block}; @%p1 bra N{number};",
            f"setp.ne.u32 %p1, %a2, {number}; @%p1 bra N{number};",
            *["nanosleep.u32 1;"] * (24 * number),
        ]
        for name, operands in steps:
            shown = [
                f"[%{each}]" if each[0] in "xf" else each if each.isdigit() else f"%{each}"
                for each in operands
            ]
            registers |= {each for each in shown if each.startswith("%")}
            lines.append(f"{name} {', '.join(shown)};")
        lines += ["ret;", f"N{number}:"]
    lines += ["ret;", "}"]
    if registers:
        lines.insert(5, f".reg .b32 {', '.join(sorted(registers))};")
    return "\n".join(lines)


def races_by_detector(chain: Chain) -> bool:
    """True where the detector finds a race on the data."""
    text = kernel_of(chain)
    module = Module(read_ptx(text, "chain.ptx"))
    count = len(module.ptx.functions["k"].parameters)
    detector = Detector()
    arguments = ", ".join(["i32[1]"] * count)
    launch = parse_launch(f"k<<<{BLOCKS}, 4, 0, 2>>>({arguments})")
    run = execute(module, launch, detector)
    assert run.outcome.is_done, run.outcome.problem
    return any(race.memory.name == "x" for race in detector.races.values())
