"""Litmus tests as stress kernels: the host's part, the text for ptxas, and what the kernels compute.

The kernels are run by a small interpreter of PTX that interleaves their threads at random, so
that their addresses, counters and barriers are checked without a GPU.
"""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.condition import Memory, Outcomes, Register
from fencewright.simulator.gpu_kernels import (
    MULTIPLIERS,
    Encoding,
    GpuLitmusError,
    Launch,
    arrange,
    partner,
    place,
    prepare,
)
from fencewright.simulator.gpu_litmus import GpuBuffer, Stress, run_litmus_on_gpu
from fencewright.simulator.ptx_events import AsyncCopy, Placement, Program, Store, Thread
from fencewright.simulator.ptx_litmus import LitmusTest, parse_litmus, read_litmus
from fencewright.simulator.ptx_model import outcomes

LITMUS = Path(__file__).parents[1] / "litmus" / "gpu"
PATHS = sorted(LITMUS.glob("*.litmus"))
IDS = [path.stem for path in PATHS]
PTXAS = shutil.which("ptxas")


def read(name: str) -> LitmusTest:
    return read_litmus(LITMUS / f"{name}.litmus")


def spaces(test: LitmusTest) -> tuple[bool, ...]:
    """Whether locations are in shared memory: no, and yes where that is a choice."""
    copies = any(isinstance(each, AsyncCopy) for t in test.program.threads for each in t.code)
    return (False,) if copies or len(arrange(test.program).clusters) > 1 else (False, True)


# An interpreter of the PTX that the kernels consist of

_OPERANDS = re.compile(r",\s*")
_RANK = 24
"""A shared address has the CTA's rank in its cluster, plus one, above these bits."""


@dataclass
class Interpreter:
    """A GPU: global memory, and a random scheduler."""

    seed: int = 0
    memory: dict[int, int] = field(default_factory=dict[int, int])
    top: int = 0x1000

    def allocate(self, size: int) -> "Words":
        buffer = Words(self.memory, self.top, size)
        self.top += size + 0x100
        return buffer

    def load(self, ptx: str) -> "Entries":
        return Entries(self, ptx)


@dataclass
class Words:
    """A buffer of the interpreter; words that nobody has filled cannot be read."""

    memory: dict[int, int]
    address: int
    size: int

    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None:
        count = (self.size - offset) // 4 if words is None else words
        assert 0 <= offset <= offset + 4 * count <= self.size
        for number in range(count):
            self.memory[self.address + offset + 4 * number] = word

    def read(self) -> bytes:
        places = range(self.address, self.address + self.size, 4)
        return b"".join(self.memory[each].to_bytes(4, "little") for each in places)


@dataclass
class Line:
    """One instruction; ``block`` is the pair of braces that it is in, empty for none."""

    words: list[str]
    operands: list[str]
    guard: str
    block: str


@dataclass
class Entries:
    """A module of the interpreter."""

    gpu: Interpreter
    ptx: str

    def kernel(self, name: str) -> "Entry":
        body = re.search(rf"\.entry {name}\(.*?\)\s*\{{\n(.*?)\n\}}\n", self.ptx, re.DOTALL)
        assert body is not None, name
        code: list[Line] = []
        labels: dict[str, int] = {}
        block, blocks = "", 0
        for line in (line.strip().removesuffix(";") for line in body[1].splitlines()):
            if line == "{":
                blocks += 1
                block = f"{blocks} "
            elif line == "}":
                block = ""
            elif line.endswith(":"):
                labels[block + line[:-1]] = len(code)
            elif not line.startswith(".reg"):
                guard, rest = line.split(" ", 1) if line.startswith("@") else ("", line)
                mnemonic, _, operands = rest.partition(" ")
                code.append(Line(mnemonic.split("."), _OPERANDS.split(operands), guard, block))
        return Entry(self.gpu, code, labels)


@dataclass
class Cta:
    """A CTA, and what it shares with those of its cluster."""

    index: int
    rank: int
    size: int
    cluster_size: int
    shared_bytes: int
    shared: dict[int, int]
    arrived: dict[object, int]

    @property
    def base(self) -> int:
        return self.rank + 1 << _RANK


@dataclass
class Entry:
    """A kernel of the interpreter."""

    gpu: Interpreter
    code: list[Line]
    labels: dict[str, int]

    def launch(
        self,
        grid: int,
        block: int,
        arguments: Sequence[GpuBuffer | int],
        *,
        cluster: int = 1,
        shared_bytes: int = 0,
    ) -> None:
        values = [each if isinstance(each, int) else each.address for each in arguments]
        assert grid % cluster == 0
        threads: list[Iterator[None]] = []
        for first in range(0, grid, cluster):
            shared: dict[int, int] = {}
            arrived: dict[object, int] = {}
            for rank in range(cluster):
                cta = Cta(first + rank, rank, block, cluster * block, shared_bytes, shared, arrived)
                threads += [Lane(self, cta, values, number).run() for number in range(block)]
        scheduler = random.Random(self.gpu.seed)
        self.gpu.seed += 1
        rounds = 0
        while threads:
            rounds += 1
            assert rounds < 1000, "the threads do not end"
            scheduler.shuffle(threads)
            threads = [each for each in threads if _step(each, scheduler.randrange(1, 4))]


def _step(thread: Iterator[None], accesses: int) -> bool:
    """Whether a thread goes on after so many of its accesses."""
    return all(next(thread, thread) is None for _ in range(accesses))


@dataclass
class Lane:
    """A GPU thread."""

    entry: Entry
    cta: Cta
    arguments: list[int]
    number: int
    registers: dict[str, int] = field(default_factory=dict[str, int])
    cluster_turn: int = 0

    def value(self, operand: str) -> int:
        special = {"%tid.x": self.number, "%ntid.x": self.cta.size, "%ctaid.x": self.cta.index}
        if operand in special:
            return special[operand]
        if operand.startswith("%"):
            return self.registers[operand]
        return self.cta.base if operand == "scratch" else int(operand) & 0xFFFFFFFF

    def run(self) -> Iterator[None]:
        """Yields before every access and while it waits."""
        pc = 0
        while True:
            line = self.entry.code[pc]
            pc += 1
            if line.guard and self.registers[line.guard.lstrip("@!")] == ("!" in line.guard):
                continue
            match line.words:
                case ["ret"]:
                    return
                case ["bra"]:
                    label = line.operands[0]
                    labels = self.entry.labels
                    pc = (
                        labels[label]
                        if line.block + label not in labels
                        else labels[line.block + label]
                    )
                case ["ld", "param", _]:
                    parameter = line.operands[1].strip("[]").rpartition("_")[2]
                    self.registers[line.operands[0]] = self.arguments[int(parameter)]
                case ["fence", *_] | ["cp", "async", "bulk", "commit_group" | "wait_group", *_]:
                    pass
                case ["cp" | "st", "async", *_]:
                    yield
                    self.copy(line)
                case ["ld" | "st" | "atom" | "red", *_]:
                    yield
                    self.access(line)
                case ["barrier", *_]:
                    yield from self.barrier(line)
                case ["mbarrier", *_]:
                    yield
                    self.mbarrier(line)
                case ["mapa", *_]:
                    offset = self.value(line.operands[1]) & (1 << _RANK) - 1
                    rank = self.value(line.operands[2])
                    self.registers[line.operands[0]] = rank + 1 << _RANK | offset
                case _:
                    sources = [self.value(each) for each in line.operands[1:]]
                    self.registers[line.operands[0]] = _compute(line.words, sources)

    def access(self, line: Line) -> None:
        returns = line.words[0] in ("ld", "atom")
        where, *sources = line.operands[returns:]
        address, given = self.value(where.strip("[]")), [self.value(each) for each in sources]
        memory = self.entry.gpu.memory
        if any(word.startswith("shared") for word in line.words):
            memory = self.cta.shared
            self.check_shared(address, 4, "shared::cluster" in line.words)
        old = 0 if line.words[0] == "st" else memory[address]
        if returns:
            self.registers[line.operands[0]] = old
        if "cas" in line.words:
            memory[address] = given[1] if old == given[0] else old
        elif line.words[0] == "st" or "exch" in line.words:
            memory[address] = given[0]
        elif line.words[0] != "ld":
            memory[address] = _compute(line.words[-2:], [old, *given])

    def barrier(self, line: Line) -> Iterator[None]:
        arrived = self.cta.arrived
        if line.words[1] == "cluster":
            self.cluster_turn += line.words[2] == "arrive"
            key, count = ("cluster", self.cluster_turn), self.cta.cluster_size
            arrived[key] = arrived.get(key, 0) + (line.words[2] == "arrive")
            while line.words[2] == "wait" and arrived[key] < count:
                yield
            return
        count = self.value(line.operands[1]) if line.operands[1:] else self.cta.size
        key = (self.cta.rank, line.operands[0])
        arrived[key] = arrived.get(key, 0) + 1
        wanted = -(-arrived[key] // count) * count
        while line.words[1] == "sync" and arrived[key] < wanted:
            yield

    def check_shared(self, address: int, size: int, is_cluster: bool) -> None:
        offset = address & (1 << _RANK) - 1
        assert offset % size == 0
        assert offset <= self.cta.shared_bytes - size
        assert is_cluster or address >> _RANK == self.cta.rank + 1

    def copy(self, line: Line) -> None:
        """A copy that is done at once."""
        places = [self.value(each.strip("[]")) for each in line.operands]
        if line.words[0] == "st":
            target, word, mbarrier = places
            self.check_shared(target, 4, True)
            self.cta.shared[target] = word
            self.cta.shared[mbarrier + 4] -= 4
            return
        target, source, size, *mbarriers = places
        assert size % 16 == target % 16 == source % 16 == 0
        memories = [self.entry.gpu.memory, self.cta.shared]
        if mbarriers:
            self.check_shared(target, 16, True)
            self.cta.shared[mbarriers[0] + 4] -= size
        else:
            self.check_shared(source, 16, False)
            memories.reverse()
        for offset in range(0, size, 4):
            memories[1][target + offset] = memories[0].get(source + offset, 0)

    def mbarrier(self, line: Line) -> None:
        """Its words count the arrivals and the bytes that its first phase still needs."""
        where = next(each for each in line.operands if each.startswith("["))
        address = self.value(where.strip("[]"))
        shared = self.cta.shared
        self.check_shared(address, 8, "shared::cluster" in line.words)
        match line.words[1]:
            case "init":
                shared[address] = self.value(line.operands[1])
                shared[address + 4] = 0
            case "arrive":
                if "expect_tx" in line.words:
                    shared[address + 4] += self.value(line.operands[2])
                shared[address] -= 1
                assert shared[address] >= 0
            case _:
                is_complete = shared[address] == shared[address + 4] == 0
                self.registers[line.operands[0]] = int(is_complete)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _compute(words: Sequence[str], values: Sequence[int]) -> int:
    a, b, c = (*values, 0, 0)[:3]
    match words[0]:
        case "mov" | "cvt" | "cvta":
            return a
        case "mul" if words[1] == "wide":
            return a * b
        case "setp":
            left, right = (_signed(a), _signed(b)) if words[-1] == "s32" else (a, b)
            order = {
                "eq": (0,),
                "ne": (-1, 1),
                "lt": (-1,),
                "le": (-1, 0),
                "gt": (1,),
                "ge": (0, 1),
            }
            return int((left > right) - (left < right) in order[words[1]])
        case "min" | "max":
            key = _signed if words[-1] == "s32" else int
            return (min if words[0] == "min" else max)(a, b, key=key)
        case _:
            result = {
                "add": a + b,
                "sub": a - b,
                "mul": a * b,
                "mad": a * b + c,
                "div": a // b if b else 0,
                "rem": a % b if b else 0,
                "and": a & b,
                "or": a | b,
                "xor": a ^ b,
                "shl": a << (b & 63),
                "shr": a >> (b & 63),
            }[words[0]]
            return result & (1 << (64 if words[-1].endswith("64") else 32)) - 1


ONE_LAUNCH = Stress(instances=32, launches=1, block_sizes=(32,))
SMALL = Stress(instances=64, launches=4, block_sizes=(32, 64), strides=(1, 5), spacings=(4, 128))


# What the kernels compute


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_the_kernels_run_every_instance_of_a_test_once(path: Path) -> None:
    test = read_litmus(path)
    stress = Stress(instances=32, launches=2, block_sizes=(32,), strides=(5,), spacings=(4,))
    for shared in spaces(test):
        result = run_litmus_on_gpu(test, Interpreter(), stress=stress, shared=shared)
        # The interpreter is sequentially consistent, which the model always allows.
        assert result.forbidden == {}
        assert result.instances == 64


@pytest.mark.parametrize(
    "name",
    ["SB", "WRC", "RMW", "ISA2+cta+gpu", "MP+mbarrier.cluster", "async.load.other-cta"],
)
def test_the_kernels_run_under_every_kind_of_launch(name: str) -> None:
    result = run_litmus_on_gpu(read(name), Interpreter(), stress=SMALL)
    assert result.forbidden == {}
    assert result.instances == 256


def test_threads_of_an_instance_meet() -> None:
    # Were partners mixed up, no thread would see another's value, or some would see two.
    result = run_litmus_on_gpu(read("SB"), Interpreter(), stress=SMALL)
    registers = {state[:2] for state in result.histogram}
    assert registers == {(0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("and.b32 %u, %u, %mask;", "and.b32 %u, %u, 15;"),
        ("mul.lo.u32 %i, %i, %stride;", "mul.lo.u32 %i, %i, 4;"),
        ("mad.lo.u32 %i, %v, %slots, %slot;", "mov.b32 %i, %slot;"),
        ("st.global.b32 [%d], %my_r0;", "mov.b32 %u, 0;"),
    ],
)
def test_a_kernel_that_is_wrong_is_noticed(right: str, wrong: str) -> None:
    class Broken(Interpreter):
        def load(self, ptx: str) -> Entries:
            assert right in ptx
            return super().load(ptx.replace(right, wrong))

    result = run_litmus_on_gpu(read("RMW"), Broken(), stress=SMALL)
    assert result.forbidden != {}


def test_initial_values_reach_locations_and_registers() -> None:
    text = """PTX t
{ x=3; y=5; P0:r2=7; }
P0@cta 0,gpu 0 ;
ld.relaxed.gpu r0, x ;
add r1, r0, r2 ;
mul r1, r1, 2 ;
bne r1, 20, WRONG ;
st.relaxed.gpu y, r1 ;
WRONG: ;
atom.max r3, x, 4 ;
exists (true)"""
    test = parse_litmus(text)
    for shared in (False, True):
        result = run_litmus_on_gpu(test, Interpreter(), stress=SMALL, shared=shared)
        assert [result.state_text(state) for state in result.histogram] == [
            "P0:r0=3 P0:r1=20 P0:r2=7 P0:r3=3 x=4 y=20"
        ]


# What comes back


class Scripted:
    """A device whose counters are what the test says; nothing is run."""

    def __init__(self, counts: dict[int, int]):
        self.counts = counts
        self.address = 0x100
        self.size = 0

    def allocate(self, size: int) -> "Scripted":
        self.size = size
        return self

    def load(self, ptx: str) -> "Scripted":
        return self

    def kernel(self, name: str) -> "Scripted":
        return self

    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None:
        return None

    def launch(self, *arguments: object, **options: object) -> None:
        return None

    def read(self) -> bytes:
        numbers = (self.counts.get(code, 0) for code in range(self.size // 4))
        return b"".join(number.to_bytes(4, "little") for number in numbers)


def test_a_forbidden_outcome_is_told_from_an_allowed_one() -> None:
    test = read("MP+rel+acq")
    allowed = outcomes(test.program)
    encoding = prepare(test.program, allowed).encoding
    assert encoding.observables == (Register(1, "r0"), Register(1, "r1"), Memory("x"), Memory("y"))
    good, stale = encoding.encode((1, 1, 1, 1)), encoding.encode((1, 0, 1, 1))
    garbage = encoding.encode((1, 0xFFFFFFFF, 1, 1))
    device = Scripted({good: 22, stale: 9, garbage: 1})
    result = run_litmus_on_gpu(test, device, stress=ONE_LAUNCH)
    assert result.instances == 32
    assert result.forbidden == {(1, 0, 1, 1): 9, (1, None, 1, 1): 1}
    assert result.state_text((1, None, 1, 1)) == "P1:r0=1 P1:r1=? x=1 y=1"
    assert result.times(test.condition.formula) == 10
    assert run_litmus_on_gpu(test, Scripted({good: 32}), stress=ONE_LAUNCH).forbidden == {}


def test_instances_that_were_not_run_are_missed() -> None:
    test = read("MP")
    code = prepare(test.program, outcomes(test.program)).encoding.encode((1, 1, 1, 1))
    with pytest.raises(GpuLitmusError, match="31 instances were counted"):
        run_litmus_on_gpu(test, Scripted({code: 31}), stress=ONE_LAUNCH)


def test_a_weak_test_judged_as_the_right_one_is_caught() -> None:
    weak, right = read("MP"), read("MP+rel+acq")
    allowed = outcomes(right.program)
    code = prepare(weak.program, allowed).encoding.encode((1, 0, 1, 1))
    device = Scripted({code: 32})
    assert run_litmus_on_gpu(weak, device, stress=ONE_LAUNCH).forbidden == {}
    assert run_litmus_on_gpu(weak, device, stress=ONE_LAUNCH, allowed=allowed).forbidden != {}


def test_encoding_reads_back_what_it_wrote() -> None:
    encoding = Encoding((Register(0, "r0"), Memory("x"), Memory("y")), (2, 1, 3))
    states = [(a, b, c) for a in range(3) for b in range(2) for c in range(4)]
    assert sorted(encoding.encode(state) for state in states) == list(range(encoding.size))
    for state in states:
        shown = tuple(
            None if value >= limit else value
            for value, limit in zip(state, encoding.limits, strict=True)
        )
        assert encoding.decode(encoding.encode(state)) == shown


# How instances are spread


@pytest.mark.parametrize("instances", [32, 1024])
def test_locations_are_permuted(instances: int) -> None:
    everyone = list(range(instances))
    for location in range(len(MULTIPLIERS)):
        places = [place(location, i, instances) for i in everyone]
        assert sorted(places) == everyone
    assert [place(1, i, instances) for i in (0, 1)] == [3, 10]


def test_partners_are_permuted() -> None:
    everyone = list(range(1024))
    for stride in Stress().strides:
        for cluster in range(4):
            assert sorted(partner(i, stride, cluster, 1024) for i in everyone) == everyone
    assert sorted(partner(i, 4, 1, 1024) for i in everyone) != everyone


def test_launches_cycle_through_everything() -> None:
    launches = list(Stress())
    assert len(launches) == 160
    assert {(each.block_size, each.stride) for each in launches} == {
        (size, stride) for size in Stress().block_sizes for stride in Stress().strides
    }
    assert {each.spacing for each in Stress(launches=64, spacings=(4, 128))} == {4, 128}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instances": 1000}, "power of two"),
        ({"instances": 512}, "fill the largest block"),
        ({"strides": (1, 2)}, "odd"),
        ({"spacings": (6,)}, "powers of two"),
        ({"block_sizes": (2048,), "instances": 4096}, "1024 threads"),
        ({"launches": 0}, "instances"),
        ({"launches": 1 << 17}, "instances"),
    ],
)
def test_stress_that_means_nothing_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(GpuLitmusError, match=message):
        Stress(**options)  # pyright: ignore[reportArgumentType]  # wrong on purpose


def threads_at(*placements: Placement) -> Program:
    store = Store("x", 1, Ordering.RELAXED, Scope.AGENT)
    return Program(tuple(Thread(each, (store,)) for each in placements))


def test_arrangement_follows_placement() -> None:
    apart = arrange(threads_at(Placement(0), Placement(1)))
    assert apart.clusters == (((0,),), ((1,),))
    assert (apart.width, apart.roles, apart.slots(1024)) == (1, 1, 1024)
    assert apart.blocks(Launch(256, 1, 4), 65536) == 2 * 65536 // 256
    together = arrange(threads_at(Placement(0), Placement(0), Placement(0)))
    assert together.clusters == (((0, 1, 2),),)
    assert [together.slots(size) for size in (32, 256, 1024)] == [32, 64, 256]
    mixed = arrange(threads_at(Placement(0), Placement(0), Placement(1)))
    assert [mixed.key(thread) for thread in range(3)] == [0, 1, 2]
    cluster = arrange(threads_at(Placement(0, cluster=4), Placement(1, cluster=4), Placement(2)))
    assert cluster.clusters == (((0,), (1,)), ((2,),))
    assert [cluster.key(thread) for thread in range(3)] == [0, 1, 2]
    assert cluster.blocks(Launch(32, 1, 4), 32) == 4


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P0@cta 0,gpu 0 | P1@cta 1,gpu 1 ;\n st.weak x, 1 | st.weak x, 2 ;", "different GPUs"),
        ("P0@cta 0,gpu 0 ;\n L: ;\n beq r0, 1, L ;", "a loop to L"),
        ("P0@cta 0,gpu 0 ;\n tld r0, x ;", "only the generic proxy"),
        ("P0@cta 0,gpu 0 ;\n fence.proxy.alias ;", "only that of the async proxy"),
        ("P0@cta 0,gpu 0 ;\n atom.mul r0, x, 2 ;", "PTX has no such atomic"),
        ("P0@cta 0,gpu 0 ;\n red.exch x, 2 ;", "PTX has no red"),
        ("P0@cta 0,gpu 0 ;\n div r0, 4, 2 ;", "division"),
        ("P0@cta 0,gpu 0 ;\n st.weak x, -1 ;", "negative"),
        ("P0@cta 0,gpu 0 ;\n bar.cta.sync 0, 15 ;", "barriers 0 to 14"),
        ("P0@cta 0,gpu 0 ;\n mbarrier.try_wait b ;", "wait for ever"),
        ("P0@cta 0,gpu 0 ;\n mbarrier.try_wait b ;\n ld.weak r0, x ;", "wait for ever"),
        (
            "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
            "bar.cta.sync 0, 0 | bar.cta.sync 1, 1 ;\n bar.cta.sync 1, 1 | bar.cta.sync 0, 0 ;",
            "wait for ever",
        ),
        ("P0@cta 0,gpu 0 ;\n barrier.cluster.arrive ;", "take turns"),
        ("P0@cta 0,gpu 0 ;\n cp.async.bulk s, x, b ;", "nobody can wait"),
        (
            "P0@cta 0,gpu 0 ;\n mbarrier.arrive.expect_tx b, 2 ;\n cp.async.bulk s, x, b ;\n"
            "st.async y, 1, b ;",
            "different sizes",
        ),
        (
            "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
            "cp.async.bulk.bulk_group x, s | cp.async.bulk.bulk_group y, s ;",
            "one CTA",
        ),
        (
            "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n cp.async.bulk.bulk_group x, s | ld.weak r0, s ;",
            "shared memory of another cluster",
        ),
        (
            "P0@cta 0,gpu 0 ;\n cp.async.bulk.bulk_group s, x ;\n cp.async.bulk.bulk_group t, s ;",
            "must be in global memory",
        ),
        (
            "P0@cta 0,gpu 0 ;\n mbarrier.arrive b ;\n mbarrier.arrive b ;",
            "only the first phase",
        ),
        (
            "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n mbarrier.arrive b | mbarrier.try_wait b ;",
            "out of reach",
        ),
        (
            "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 ;\n"
            "mbarrier.arrive b | mbarrier.try_wait b ;",
            "scope .cluster",
        ),
        (
            "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 | P2@cta 1,cluster 0,gpu 0 ;\n"
            "barrier.cluster.arrive | | ;\n",
            "every thread",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(text: str, message: str) -> None:
    test = parse_litmus(f"PTX t {{ b = mbarrier(1); }} {text} exists (true)")
    with pytest.raises(GpuLitmusError, match=message):
        prepare(test.program, outcomes(test.program))


def test_a_chip_that_lacks_something_is_refused() -> None:
    for name in ("MP+fences.one-sided", "MP+rel+acq.cluster", "MP+mbarrier", "async.store"):
        program = read(name).program
        with pytest.raises(GpuLitmusError, match="sm_80 has no"):
            prepare(program, outcomes(program), "sm_80")
    program = read("MP").program
    assert ".target sm_80" in prepare(program, outcomes(program), "sm_80").ptx
    with pytest.raises(GpuLitmusError, match="unknown target"):
        prepare(program, outcomes(program), "gfx942")


def test_shared_memory_needs_one_cta() -> None:
    program = read("MP").program
    with pytest.raises(GpuLitmusError, match="share no shared memory"):
        prepare(program, outcomes(program), shared=True)


def test_too_many_outcomes_are_refused() -> None:
    program = read("MP").program
    found = outcomes(program)
    wide = Outcomes(found.observables, frozenset({(1 << 16, 1, 1 << 16, 0)}))
    with pytest.raises(GpuLitmusError, match="observe less"):
        prepare(program, wide)


# The tests of tests/litmus/gpu


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_the_model_agrees_with_the_condition(path: Path) -> None:
    test = read_litmus(path)
    assert test.name == path.stem
    assert test.condition.verdict(outcomes(test.program))


def test_right_and_weakened_forms_of_every_shape_are_there() -> None:
    verdicts: dict[str, set[str]] = {}
    for path in PATHS:
        shape = "2+2W" if path.stem.startswith("2+2W") else re.split(r"[+.]", path.stem)[0]
        verdicts.setdefault(shape, set()).add(read_litmus(path).condition.quantifier.value)
    both = ("async", "st", "MP", "SB", "LB", "IRIW", "WRC", "ISA2", "2+2W", "S", "R", "CoRR", "RMW")
    assert {shape for shape, found in verdicts.items() if len(found) == 2} == {*both}


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_ptxas_accepts_the_kernels(path: Path, tmp_path: Path) -> None:
    test = read_litmus(path)
    for shared in spaces(test):
        source = tmp_path / "kernel.ptx"
        source.write_text(prepare(test.program, outcomes(test.program), shared=shared).ptx)
        command = [str(PTXAS), "-arch=sm_90", str(source), "-o", str(tmp_path / "kernel.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
