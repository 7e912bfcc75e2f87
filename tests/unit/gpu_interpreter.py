"""An interpreter of the PTX that stress kernels consist of, in the place of a GPU.

It interleaves threads at random, so that addresses, counters and barriers are checked without a
GPU. It is sequentially consistent.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fencewright.simulator.gpu.litmus import GpuBuffer

_OPERANDS = re.compile(r",\s*")
_RANK = 24
"""A shared address has the CTA's rank in its cluster, plus one, above these bits."""


@dataclass
class Interpreter:
    """A GPU: global memory, and a random scheduler."""

    seed: int = 0
    name: str = "Interpreter"
    compute_capability: tuple[int, int] = (9, 0)
    memory: dict[int, int] = field(default_factory=dict[int, int])
    top: int = 0x1000

    def allocate(self, size: int) -> "Words":
        buffer = Words(self.memory, self.top, size)
        self.top += size + 0x100
        return buffer

    def load(self, ptx: str) -> "Entries":
        return Entries(self, ptx)

    def synchronize(self) -> None:
        """Every launch has ended when it returns."""

    def reach(self, other: "Interpreter") -> None:
        """All interpreters that are one have one memory."""
        assert other is self


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
                case ["fence" | "prefetch", *_]:
                    pass
                case ["cp", "async", "bulk", "commit_group" | "wait_group" | "prefetch", *_]:
                    pass
                case ["cp" | "st" | "red", "async", *_] | ["cp", "reduce", *_]:
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
        reduces = line.words[-2:] if "reduce" in line.words or line.words[0] == "red" else None
        if line.words[0] != "cp":
            target, word, mbarrier = places
            self.check_shared(target, 4, True)
            old = self.cta.shared[target]
            self.cta.shared[target] = word if reduces is None else _compute(reduces, [old, word])
            self.cta.shared[mbarrier + 4] -= 4
            return
        target, source, size, *mbarriers = places
        assert size % 16 == target % 16 == source % 16 == 0
        memories = [self.entry.gpu.memory, self.cta.shared]
        if mbarriers:
            self.check_shared(target, 16, True)
            self.cta.shared[mbarriers[0] + 4] -= size
            if "shared::cta" in line.words:
                self.check_shared(source, 16, False)
                memories[0] = self.cta.shared
        else:
            self.check_shared(source, 16, False)
            memories.reverse()
        for offset in range(0, size, 4):
            word = memories[0].get(source + offset, 0)
            if reduces is not None:
                word = _compute(reduces, [memories[1].get(target + offset, 0), word])
            memories[1][target + offset] = word

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
            case "expect_tx" | "complete_tx":
                count = self.value(line.operands[1])
                shared[address + 4] += count if line.words[1] == "expect_tx" else -count
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
