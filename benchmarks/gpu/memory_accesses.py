"""Single accesses on the GPU at hand, counted by Nsight Compute, beside what the model says.

Three steps, since the profiler starts the second:

``python memory_accesses.py draw ACCESSES``
``ncu --csv --metrics $(python memory_accesses.py metrics)
python memory_accesses.py launch ACCESSES > COUNTED``
``python memory_accesses.py compare ACCESSES COUNTED``

ACCESSES has a line for each launch of one warp, in the format of ``fence-sim access --json``.
``compare`` ends with status 1 if a count of a rule that was measured differs.
"""

import random
import re
import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fencewright import gpu
from fencewright.tools.dev.campaigns.executed_kernels import GIB, counters_of, placed

INACTIVE = "-"
IDLE = 0xFFFFFFFF
"""The offset of a lane that takes no part."""
WINDOW = 1 << 31
"""What is added to the offset of a lane whose generic address is one of shared memory."""
REACH = 1 << 26
"""Offsets stay below this, as far as the tag banks are known."""
SHARED = 48 << 10

LOADS = {1: "b8", 2: "b16", 4: "b32", 8: "b64", 16: "v4.b32"}
SPLIT = {8: "v2.b32", 16: "v2.b64"}
"""Other spellings of the same width."""
ATOMICS = ("atom.global.add.u32", "red.global.add.u32", "atom.global.add.u64", "red.global.add.u64",
           "atom.global.cas.b32", "atom.global.exch.b64", "red.global.add.v2.f32",
           "red.global.add.v4.f32", "red.global.max.s32", "atom.shared.add.u32",
           "red.shared.add.u32", "red.shared.max.s32", "atom.shared.cas.b32",
           "atom.shared.exch.b32", "atom.shared.exch.b64", "atom.shared.min.u32")  # fmt: skip
COPIES = {4: "cp.async.ca.shared.global.b32", 8: "cp.async.ca.shared.global.b64",
          16: "cp.async.ca.shared.global.b128"}  # fmt: skip

NON_COHERENT = {1: "b8", 2: "b16", 8: "b64", 16: "v4.b32"}
PARTS = {2: "v2.b8", 4: "v4.b8", 8: "v4.b16", 16: "v2.b64"}
"""Vectors of narrow elements."""
ORDERED = ("ld.volatile.global.b32", "ld.relaxed.gpu.global.v2.b32", "ld.acquire.sys.global.b64",
           "st.volatile.global.b16", "st.release.gpu.global.b32", "ld.volatile.shared.v4.b32",
           "ld.global.cg.v4.b32", "st.global.wt.v2.b64")  # fmt: skip
OTHER_ATOMICS = ("atom.global.cas.b64", "atom.global.exch.b128", "atom.global.cas.b128",
                 "red.global.add.f64", "atom.global.add.f32", "atom.global.add.noftz.f16x2",
                 "red.global.add.noftz.bf16x2", "atom.global.add.v2.f32", "atom.global.add.v4.f32",
                 "red.global.add.noftz.v4.f16x2", "atom.global.min.s64", "red.global.inc.u32",
                 "red.global.and.b32", "atom.shared.cas.b64", "atom.shared.inc.u32",
                 "red.shared.and.b32")  # fmt: skip
GENERIC_ATOMICS = ("atom.add.u32", "red.add.u32", "atom.cas.b32", "atom.max.s32")
PAST_L1 = "cp.async.cg.shared.global.b128"


# Which accesses


def drawn(seed: int) -> Iterator[str]:
    """The accesses, each as a line."""
    chance = random.Random(seed)
    for width, word in [*LOADS.items()] * 2:
        words = [word, *([SPLIT[width]] if width in SPLIT else [])]
        for space, reach in (("global", REACH), ("shared", SHARED)):
            for verb in ("ld", "st"):
                for offsets in patterns(chance, width, reach):
                    yield line(f"{verb}.{space}.{chance.choice(words)}", offsets)
    for offsets in patterns(chance, 4, REACH):
        yield line("ld.global.nc.b32", offsets)
    for width, instruction in COPIES.items():
        for offsets in patterns(chance, width, REACH):
            yield line(instruction, offsets)
    for width, word in LOADS.items():
        for verb in ("ld", "st"):
            for offsets in patterns(chance, width, SHARED):
                yield line(f"{verb}.{word}", [*mixed(chance, offsets)])
    for instruction in ATOMICS:
        width = width_of(instruction)
        reach = SHARED if ".shared" in instruction else REACH
        for offsets in crowds(chance, width, reach):
            yield line(instruction, offsets)
    yield from drawn_later(chance)


def drawn_later(chance: random.Random) -> Iterator[str]:
    """Other kinds of the same: `.nc` of each width, copies past L1, other atomics, generic ones."""
    for width, word in NON_COHERENT.items():
        for offsets in patterns(chance, width, REACH):
            yield line(f"ld.global.nc.{word}", offsets)
    for _ in range(2):
        for offsets in (*patterns(chance, 16, REACH), *crowds(chance, 16, REACH)):
            yield line(PAST_L1, offsets)
    for width, word in PARTS.items():
        for verb in ("ld", "st"):
            for space, reach in (("global", REACH), ("shared", SHARED)):
                for offsets in islice(patterns(chance, width, reach), 3, 7):
                    yield line(f"{verb}.{space}.{word}", offsets)
    for instruction in ORDERED:
        reach = SHARED if ".shared" in instruction else REACH
        for offsets in islice(patterns(chance, width_of(instruction), reach), 2, 7):
            yield line(instruction, offsets)
    for instruction in OTHER_ATOMICS:
        reach = SHARED if ".shared" in instruction else REACH
        for offsets in islice(crowds(chance, width_of(instruction), reach), 11):
            yield line(instruction, offsets)
    for instruction in GENERIC_ATOMICS:
        for offsets in crowds(chance, width_of(instruction), SHARED):
            yield line(instruction, [*mixed(chance, offsets)])


def line(instruction: str, offsets: Iterable[int | str | None]) -> str:
    return " ".join([instruction, *(INACTIVE if each is None else str(each) for each in offsets)])


def mixed(chance: random.Random, offsets: Iterable[int | None]) -> Iterator[int | str | None]:
    """The same lanes at generic addresses: all in one memory, or each in either."""
    share = chance.choice((0, 0.5, 1))
    for each in offsets:
        yield each if each is None or chance.random() >= share else f"s{each}"


def offset_of(word: str) -> int:
    """What a lane finds in the table of offsets."""
    if word == INACTIVE:
        return IDLE
    return WINDOW + int(word[1:]) if word.startswith("s") else int(word)


def width_of(instruction: str) -> int:
    """Bytes of a lane of an instruction that this script draws."""
    vector = re.search(r"\.v([24])\.", instruction)
    return bits_of(instruction) // 8 * int(vector[1] if vector else 1)


def bits_of(instruction: str) -> int:
    """Bits of an element."""
    found = re.search(r"(8|16|32|64|128)(x2)?$", instruction)
    assert found is not None
    return int(found[1]) * (2 if found[2] else 1)


def patterns(chance: random.Random, width: int, reach: int) -> Iterator[list[int | None]]:
    """Strides, swizzles, permutations, scattered and missing lanes of one width."""
    lanes = range(32)
    units = reach // width
    for _ in range(3):
        stride = chance.choice((0, 1, 2, 3, 5, 8, 9, 16, 17, 31, 32, 33, 64, 65, 127, 128, 257))
        start = chance.randrange(max(1, units - 32 * stride)) if stride * 32 < units else 0
        yield [(start + each * stride) % units * width for each in lanes]
    mask, shift = chance.choice(((7, 3), (3, 2), (15, 4))), chance.choice((8, 16, 32))
    yield [
        (each % shift * shift + ((each // shift) ^ (each % shift) & mask[0])) % units * width
        for each in lanes
    ]
    yield [chance.randrange(units) * width for _ in lanes]
    few = [chance.randrange(units) * width for _ in range(chance.choice((2, 4, 7)))]
    yield [chance.choice(few) for _ in lanes]
    yield [
        None if chance.random() < 0.4 else chance.randrange(min(units, 512)) * width for _ in lanes
    ]
    pairs = [chance.randrange(min(units, 256)) * width for _ in range(16)]
    near = chance.choice((1, 2))
    yield [pairs[(each >> 1 if near == 1 else each & 1 | each >> 2 << 1)] for each in lanes]
    block = chance.randrange(units // 32) * 32
    order = list(lanes)
    chance.shuffle(order)
    yield [(block + each) * width for each in order]


def crowds(chance: random.Random, width: int, reach: int) -> Iterator[Sequence[int | None]]:
    """Lanes on as many words of as many sectors, as atomics meet."""
    for words in (1, 2, 4, 7, 8, 16, 32):
        yield [each % words * width for each in range(32)]
    yield [each * chance.choice((2, 8, 16)) * width for each in range(32)]
    yield [chance.randrange(64) * width for _ in range(32)]
    yield [chance.randrange(min(1 << 16, reach // width)) * width for _ in range(32)]
    yield [None if chance.random() < 0.5 else chance.randrange(16) * width for _ in range(32)]
    for among in (4, 16, 64, 64) if width == 16 else ():
        yield from ([chance.randrange(among) * width for _ in range(32)] for _ in range(8))


# What is launched


@dataclass(frozen=True, slots=True)
class Element:
    """How PTX calls a value of one size: its register, a constant, and a comparison with ``%p``."""

    register: str
    number: str
    compared: str

    def made(self, name: str) -> str:
        """PTX that gives a register the constant."""
        return f"mov.{self.register} {name}, {self.number};\n"


def element_of(instruction: str) -> Element:
    """The values of an instruction: none is what they are compared with."""
    words = instruction.split(".")
    bits = bits_of(instruction)
    if words[-1] in ("f32", "f64"):
        one, never = (
            ("0f3F800000", "0fBF800000")
            if bits == 32
            else ("0d3FF0000000000000", "0dBFF0000000000000")
        )
        return Element(words[-1], one, f"setp.eq.{words[-1]} %p, {{0}}, {never}")
    if bits == 128:
        halves = "mov.b128 {{%step, %window}}, {0}; setp.eq.b64 %p, %window, 99"
        return Element("b128", "{%step, %step}", halves)
    kind = {8: "b16", 16: "b16", 32: "b32", 64: "b64"}[bits]
    number = "0x3C003C00" if words[-1].endswith("x2") else "1"
    if words[0] in ("atom", "red") and "shared" in words:
        # Of a constant ptxas would make an instruction that counts lanes.
        number = "%lane" if kind == "b32" else "%step"
    return Element(kind, number, f"setp.eq.{kind} %p, {{0}}, {99 if bits == 8 else 12345}")


def kernel(instruction: str) -> str:
    """A PTX module of one kernel, whose lanes do ``instruction`` at their offsets."""
    width = width_of(instruction)
    words = instruction.split(".")
    element = element_of("cp.b32" if words[0] == "cp" else instruction)
    count = 1 if words[0] == "cp" else width * 8 // bits_of(instruction)
    values, olds = ([f"%{each}{n}" for n in range(count)] for each in "vo")
    value, old = (each[0] if count == 1 else "{" + ", ".join(each) + "}" for each in (values, olds))
    space = next((each for each in ("shared", "global") if each in words), "generic")
    moves = "".join(map(element.made, values)) if words[0] not in ("ld", "cp") else ""

    def kept(registers: Sequence[str]) -> str:
        # All values are used, or the access would be made narrower.
        return "".join(f"{element.compared.format(each)}; @%p bra KEEP;\n" for each in registers)

    done = {
        "ld": f"{instruction} {value}, [%at];\n{kept(values)}",
        "st": f"{instruction} [%at], {value};\n",
        "red": f"{instruction} [%at], {value};\n",
        "atom": f"{instruction} {old}, [%at], {f'{value}, ' if 'cas' in words else ''}{value};\n"
        f"{kept(olds)}",
        "cp": f"{instruction.rpartition('.')[0]} [%there], [%at], {width};\ncp.async.wait_all;\n",
    }[words[0]]
    if words[0] == "cp":
        space = "global"
    return f"""
.version 8.3
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 shared[];
.visible .entry access(.param .u64 base, .param .align 4 .b8 offsets[128]) {{
.reg .pred %p, %idle, %in;
.reg .b32 %lane, %offset;
.reg .b64 %at, %table, %step, %far, %start, %window, %there;
.reg .{element.register} %v<{count}>, %o<{count}>;
mov.u32 %lane, %laneid;
mul.wide.u32 %step, %lane, 4;
mov.u64 %table, offsets;
add.u64 %table, %table, %step;
ld.param.b32 %offset, [%table];
setp.eq.u32 %idle, %offset, {IDLE};
@%idle bra DONE;
{"mov.u64 %start, shared;" if space == "shared" else "ld.param.u64 %start, [base];"}
mov.u64 %there, shared;
mad.wide.u32 %there, %lane, 16, %there;
setp.ge.u32 %in, %offset, {WINDOW};
@%in and.b32 %offset, %offset, {WINDOW - 1};
{"cvta.shared.u64 %window, shared; @%in mov.u64 %start, %window;" if space == "generic" else ""}
cvt.u64.u32 %far, %offset;
add.u64 %at, %start, %far;
{moves}{done}bra DONE;
KEEP: ld.param.u64 %start, [base]; st.global.b64 [%start], %at;
DONE: ret;
}}
"""


def launch(accesses: Sequence[str]) -> None:
    """One launch of one warp for each line, in order."""
    device = gpu.Device()
    memory = placed(device, GIB + REACH)
    memory.buffer.fill(0)
    loaded: dict[str, gpu.Kernel] = {}
    for each in accesses:
        instruction, *words = each.split()
        if instruction not in loaded:
            loaded[instruction] = device.load(kernel(instruction)).kernel("access")
        offsets = array("I", map(offset_of, words)).tobytes()
        loaded[instruction].launch(1, 32, [memory, offsets], shared_bytes=SHARED)
    device.synchronize()


# What was counted


def compare(accesses: Sequence[str], text: str) -> int:
    """Print predicted beside measured, by instruction; status 1 if a measured rule is broken."""
    from fencewright.simulator.execution.addresses import read
    from fencewright.simulator.performance.accesses.access import count, model_of

    launches = counters_of(text)
    if len(launches) != len(accesses):
        raise SystemExit(f"{len(launches)} launches for {len(accesses)} accesses")
    equal = wrong = 0
    by_instruction: dict[str, list[int]] = {}
    for access, measured in zip(accesses, launches, strict=True):
        instruction, *words = access.split()
        (predicted,) = count(model_of(instruction, "sm_90"), [read(words)])
        row = by_instruction.setdefault(instruction, [0, 0, 0])
        row[0] += 1
        for counter, value in predicted.values.items():
            same = measured.get(counter) == value
            row[1 if same else 2] += 1
            equal += same
            wrong += not same
            if not same:
                print(f"{access}\n  {counter}: predicted {value}, measured {measured.get(counter)}")
    for instruction, (launched, right, other) in by_instruction.items():
        print(f"{instruction}: {launched} launches, {right} counts equal, {other} not")
    print(f"{len(launches)} launches, {equal + wrong} counts, {wrong} differ")
    return 1 if wrong else 0


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("step", choices=("draw", "metrics", "launch", "compare"))
    parser.add_argument("accesses", nargs="?", type=Path)
    parser.add_argument("counted", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    if arguments.step == "metrics":
        from fencewright.simulator.performance.accesses.ptx import COUNTERS

        print(",".join(COUNTERS))
        return 0
    if arguments.step == "draw":
        arguments.accesses.write_text("".join(f"{each}\n" for each in drawn(arguments.seed)))
        return 0
    accesses = arguments.accesses.read_text().splitlines()
    if arguments.step == "launch":
        launch(accesses)
        return 0
    return compare(accesses, arguments.counted.read_text())


if __name__ == "__main__":
    sys.exit(main())
