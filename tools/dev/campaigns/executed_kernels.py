"""CUDA kernels executed here and on a GPU, and their results compared bit for bit.

Four steps, of which the second and third need a GPU and nothing but ``cuda-bindings``:

``python -m fencewright.tools.dev.campaigns.executed_kernels execute FOLDER``
``python -m fencewright.tools.dev.campaigns.executed_kernels compare FOLDER > JSON``
``ncu --csv --clock-control none --metrics $(... metrics) python -m ... launch FOLDER --counted``
``python -m fencewright.tools.dev.campaigns.executed_kernels counted FOLDER CSV > JSON``

``execute`` compiles the .cu files of tests/data/kernels with nvcc, runs the launch that stands
before each kernel in the executors of this project, and writes PTX, arguments and results to
FOLDER; besides, a kernel for each opcode of tests/data/memory/h200-arithmetic.txt. ``compare``
launches the same PTX; its status is 1 if a byte differs or a launch fails. ``counted`` holds what
Nsight Compute counted beside ``fence-sim traffic``. Needs a checkout.
"""

import csv
import json
import re
import struct
import subprocess
import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import process_time
from typing import TYPE_CHECKING, Any, cast
from zlib import compress, decompress

if TYPE_CHECKING:
    from fencewright.gpu import Buffer, Device
    from fencewright.gpu import Module as GpuModule
    from fencewright.simulator.threads.launch import Launch, Module

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "data" / "kernels"
ARITHMETIC = ROOT / "tests" / "data" / "memory" / "h200-arithmetic.txt"
PLAN = "plan.json"
_LAUNCH = re.compile(r"^// launch: (.+)$", re.MULTILINE)
_PATIENCE = 20.0
"""Seconds that a launch on the GPU may take."""
GIB = 1 << 30
"""Buffers on the GPU lie at multiples of it, as those of ``fence-sim traffic``."""
COUNTED = frozenset(
    "transpose product histogram stencil bitonic sums convolution walsh compaction sparse".split()
)
"""The kernels whose requests are counted too."""
Plan = dict[str, Any]
METRICS = (
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
)


# Executing


def launches_of(source: str) -> list[str]:
    """The launches that the comments of a .cu file give."""
    return _LAUNCH.findall(source)


def compiled(source: Path, to: Path) -> str:
    """The PTX of a .cu file. Raises ``CalledProcessError`` where nvcc refuses it."""
    # A product and a sum that do not say how they are rounded the driver may make one of.
    line = ["nvcc", "-arch=sm_90", "-std=c++17", "-fmad=false", "-diag-suppress=20054", "-ptx"]
    line += ["-o", str(to), str(source)]
    subprocess.run(line, check=True)
    return to.read_text(encoding="utf-8")


def packed(data: bytes) -> str:
    """Bytes as text, for JSON."""
    return b64encode(compress(data)).decode()


def unpacked(text: str) -> bytes:
    """The bytes of a text that ``packed`` made."""
    return decompress(b64decode(text))


def planned(module: "Module", text: str) -> Plan:
    """A launch with its arguments, executed: the contents of every buffer before it and after it.

    ``problem`` is why it was not executed to its end, or "".
    """
    from fencewright.simulator.race.findings import hang_text
    from fencewright.simulator.race.verdict import problem_of
    from fencewright.simulator.threads.launch import (
        Array,
        array_bytes,
        execute,
        number_bytes,
        parse_launch,
        settled,
    )

    begin = process_time()
    kernel, launch = settled(module, parse_launch(text))
    run = execute(module, launch)
    problem = problem_of(run) or hang_text(run.program.sites, run.outcome)
    arguments: list[object] = []
    buffers: list[dict[str, str]] = []
    for number, (parameter, given) in enumerate(
        zip(kernel.parameters, launch.arguments, strict=True)
    ):
        allocation = run.arguments[number]
        if isinstance(given, Array) and allocation is not None:
            if allocation.unknown:
                problem = problem or f"argument {number} has unknown values"
            before, after = array_bytes(given), bytes(allocation.data[: allocation.size])
            if parameter.size is not None:
                arguments.append(before.hex())
                continue
            arguments.append(len(buffers))
            buffers.append({"before": packed(before), "after": packed(after)})
        else:
            assert isinstance(given, int | float), text
            arguments.append(number_bytes(kernel.name, parameter, given, number).hex())
    return {
        "kernel": kernel.name, "launch": text, "grid": launch.grid, "block": launch.block,
        "cluster": launch.cluster, "shared": launch.shared, "arguments": arguments,
        "buffers": buffers, "problem": problem, "steps": run.outcome.steps,
        "seconds": round(process_time() - begin, 3),
    }  # fmt: skip


def by_waves(text: str, name: str, launch: "Launch", after: Sequence[bytes]) -> Plan:
    """The same launch by the executor of waves, with the counters of ``fence-sim traffic``.

    ``equal``: it leaves the bytes of ``after``. Raises ``LaunchError``.
    """
    from fencewright.lowering.ptx.code.text import read_ptx
    from fencewright.simulator.execution.executor import execute
    from fencewright.simulator.execution.launch import Launch as WaveLaunch
    from fencewright.simulator.execution.launch import allocate
    from fencewright.simulator.performance.machine import machine_of
    from fencewright.simulator.performance.occupancy import occupancy
    from fencewright.simulator.performance.traffic import TrafficObserver
    from fencewright.tools.inputs.ptx_kernels import kernels_of_file

    kernels = kernels_of_file(read_ptx(text, "kernel.ptx"))
    program = next(each for each in kernels if each.name == name).read()
    assert launch.block is not None
    cluster = launch.cluster or (1, 1, 1)
    asked = WaveLaunch(launch.grid, launch.block, launch.arguments, None, launch.shared, cluster)
    memory = allocate(program, asked)
    held = occupancy(program.resources, program.target, asked.threads, asked.shared)
    shared = program.resources.shared_bytes + launch.shared
    machine = machine_of("sm_90", None, groups=held.groups, shared=shared)
    waves, resident = -(-asked.threads // program.lanes), held.groups * machine.cores
    observer = TrafficObserver(program, machine, asked.groups, waves, resident, ())
    found = execute(program, asked, memory, observer, resident=resident)
    results = [
        bytes(found.bytes[each.start : each.start + each.size])
        for each in found.buffers[: len(after)]
    ]
    counters = observer.traffic().counters
    return {
        "equal": [*after] == results,
        "counters": {each: counters[each].value if each in counters else 0 for each in METRICS},
    }


_COUNTS = frozenset({"clz", "popc", "bfind"})
"""Operations whose result has 32 bits."""
_OTHERS = {"shl": 1, "shr": 1, "bfe": 1, "bfi": 2}
"""Operations whose operands from there on have 32 bits."""


def registers(name: str, count: int) -> tuple[list[str], str]:
    """The registers of the operands of an opcode, and that of its result."""
    from fencewright.lowering.ptx.code.statements import element_of, read_opcode

    opcode = read_opcode(name)
    bits = [element_of(each) for each in opcode.types]
    widths = [max(each[1] * each[2], 16) for each in bits if each is not None]
    result, operand = f"b{widths[0]}", f"b{widths[-1]}"
    operands = [operand] * count
    if opcode.head in _OTHERS:
        operands[_OTHERS[opcode.head] :] = ["b32"] * (count - _OTHERS[opcode.head])
    if opcode.head == "selp":
        operands[2] = "pred"
    if opcode.head in _COUNTS:
        result = "b32"
    if "wide" in opcode.modifiers:
        result = f"b{2 * widths[0]}"
        operands[2:] = [result] * (count - 2)
    return operands, "pred" if opcode.head == "setp" else result


def kernel_of(name: str, operands: Sequence[str], result: str) -> str:
    """A kernel whose lanes read the operands of an instruction and store its result, in 64 bits."""
    count = len(operands)
    lines = [
        ".version 8.6", ".target sm_90", ".address_size 64",
        ".visible .entry k(.param .u64 in, .param .u64 out)", "{",
        ".reg .b32 %t; .reg .b64 %a<4>; .reg .b64 %w; .reg .pred %q;",
        *(f".reg .{type} %o{at};" for at, type in enumerate(operands)), f".reg .{result} %d;",
        "ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; mov.u32 %t, %tid.x;",
        f"mul.wide.u32 %a3, %t, {8 * count}; add.s64 %a1, %a1, %a3;",
        "mul.wide.u32 %a3, %t, 8; add.s64 %a2, %a2, %a3;",
    ]  # fmt: skip
    for at, type in enumerate(operands):
        lines.append(f"ld.global.u64 %w, [%a1+{8 * at}];")
        if type == "pred":
            lines.append(f"setp.ne.u64 %o{at}, %w, 0;")
        else:
            lines.append(f"cvt.u{type[1:]}.u64 %o{at}, %w;")
    lines.append(f"{name} %d, {', '.join(f'%o{at}' for at in range(count))};")
    if result == "pred":
        lines.append("selp.u64 %w, 1, 0, %d;")
    elif result == "b64":
        lines.append("mov.b64 %w, %d;")
    else:
        lines.append(f"cvt.u64.u{result[1:]} %w, %d;")
    return "\n".join([*lines, "st.global.u64 [%a2], %w;", "ret;", "}"])


_PARTS = frozenset({"bfe", "bfi"})
"""Operations whose places and lengths are below 256. Source: PTX ISA, bfe; bfi."""
_EDGES = (0, 1, 0x3C00, 0x3F80, 0x7C00, 0x7E00, 0x7F80, 0x8000, 0xFF80, 0x7FFFFFFF, 0x80000000)
_FRESH = 64
"""Operands that are drawn for each opcode besides those of the file."""


def _cases(opcode: str, pairs: Sequence[Sequence[str]], operands: Sequence[str]) -> list[list[int]]:
    """The operands of the file, and others."""
    from fencewright.lowering.ptx.code.statements import read_opcode

    head = read_opcode(opcode).head
    draw, found = Random(opcode), [[int(word, 16) for word in each] for each in pairs]
    for _ in range(_FRESH):
        words: list[int] = []
        for type in operands:
            bits = 1 if type == "pred" else int(type[1:])
            if head in _PARTS and type == "b32" and len(words) >= _OTHERS[head]:
                bits = 8
            word = draw.choice(_EDGES) if draw.randrange(4) == 0 else draw.getrandbits(bits)
            words.append(word & (1 << bits) - 1)
        found.append(words)
    return found


def opcode_plans() -> Iterator[Plan]:
    """A launch for each opcode that an H200 was asked for, with its PTX."""
    from fencewright.lowering.ptx.code.text import read_ptx
    from fencewright.simulator.threads.launch import Module, execute, parse_launch

    for line in ARITHMETIC.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        opcode, rest = line.split(": ", 1)
        pairs = [each.partition("=")[0].split(",") for each in rest.split()]
        operands, result = registers(opcode, len(pairs[0]))
        cases = _cases(opcode, pairs, operands)
        text, count = kernel_of(opcode, operands, result), len(cases)
        words = [word for case in cases for word in case]
        before = struct.pack(f"<{len(words)}Q", *words)
        launch = f"k<<<1, {count}>>>(u64[{len(words)}], u64[{count}])"
        run = execute(Module(read_ptx(text, "k.ptx")), parse_launch(launch), given={0: before})
        output = run.arguments[1]
        assert output is not None
        after = bytes(output.data[: output.size])
        empty = bytes(len(after))
        yield {
            "kernel": "k", "opcode": opcode, "launch": launch, "text": text, "grid": (1, 1, 1),
            "block": (count, 1, 1), "cluster": (1, 1, 1), "shared": 0, "arguments": [0, 1],
            "buffers": [{"before": packed(before), "after": packed(before)},
                        {"before": packed(empty), "after": packed(after)}],
            "problem": run.outcome.problem,
        }  # fmt: skip


def _executed(module: "Module", text: str, launch: str) -> Plan:
    """The plan of a launch, also of one that cannot be."""
    from fencewright.simulator.threads.launch import LaunchError, parse_launch, settled

    try:
        plan = planned(module, launch)
    except LaunchError as problem:
        return {"launch": launch, "problem": str(problem), "buffers": []}
    kernel, asked = settled(module, parse_launch(launch))
    after = [unpacked(each["after"]) for each in plan["buffers"]]
    try:
        plan["waves"] = by_waves(text, kernel.name, asked, after)
    except LaunchError as problem:
        plan["waves"] = {"problem": problem.reason}
    return plan


def execute_all(folder: Path, only: str | None, *, opcodes: bool) -> int:
    """Execute every launch, and write the plan; status 1 where one was not executed to its end."""
    from fencewright.lowering.ptx.code.text import read_ptx
    from fencewright.simulator.threads.launch import Module

    folder.mkdir(parents=True, exist_ok=True)
    plans: list[Plan] = []
    for source in sorted(SOURCES.glob("*.cu")):
        if only is not None and re.fullmatch(only, source.stem) is None:
            continue
        ptx = folder / f"{source.stem}.ptx"
        text = compiled(source, ptx)
        module = Module(read_ptx(text, ptx.name))
        for launch in launches_of(source.read_text(encoding="utf-8")):
            plan: Plan = {**_executed(module, text, launch), "file": ptx.name}
            plans.append(plan)
            waves = cast("Plan", plan.get("waves", {}))
            other = waves.get("problem") or ("same" if waves.get("equal") else "DIFFERS")
            print(f"{launch.partition('<<<')[0]}: {plan['problem'] or 'executed'}; waves: {other}")
    if opcodes:
        plans += opcode_plans()
    (folder / PLAN).write_text(json.dumps(plans), encoding="utf-8")
    failed = [each["launch"] for each in plans if each["problem"]]
    print(f"{len(plans) - len(failed)} of {len(plans)} launches executed")
    return 1 if failed else 0


# On the GPU


def _plans(folder: Path) -> list[Plan]:
    return cast("list[Plan]", json.loads((folder / PLAN).read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Placed:
    """Memory at an address that is a multiple of 1 GiB, as the model has them."""

    buffer: "Buffer"

    @property
    def offset(self) -> int:
        """The place in the buffer at which it begins."""
        return -self.buffer.address % GIB

    @property
    def address(self) -> int:
        """The address at which it begins."""
        return self.buffer.address + self.offset


def placed(device: "Device", size: int) -> Placed:
    """New memory of so many bytes."""
    return Placed(device.allocate(size + GIB))


def launched(device: "Device", module: "GpuModule", plan: Plan) -> Plan:
    """A launch on the GPU beside the plan's: the bytes that differ. Raises ``GpuError``."""
    from fencewright.gpu import GpuError

    kernel = module.kernel(plan["kernel"])
    held: list[Placed] = []
    for each in plan["buffers"]:
        data = unpacked(each["before"])
        held.append(placed(device, len(data)))
        held[-1].buffer.write(data, held[-1].offset)
    arguments = [
        held[each] if isinstance(each, int) else bytes.fromhex(each) for each in plan["arguments"]
    ]
    grid, block, cluster = (tuple(plan[each]) for each in ("grid", "block", "cluster"))
    kernel.launch(grid, block, arguments, cluster=cluster, shared_bytes=plan["shared"])
    device.synchronize()
    found: Plan = {"launch": plan["launch"], "bytes": 0, "different": 0}
    for number, (each, memory) in enumerate(zip(plan["buffers"], held, strict=True)):
        wanted = unpacked(each["after"])
        data = memory.buffer.read(len(wanted), memory.offset)
        found["bytes"] += len(wanted)
        wrong = [at for at, (a, b) in enumerate(zip(wanted, data, strict=True)) if a != b]
        found["different"] += len(wrong)
        if wrong and "first" not in found:
            at = wrong[0] & ~7
            found["first"] = {
                "buffer": number, "byte": wrong[0],
                "here": wanted[at : at + 8].hex(), "gpu": data[at : at + 8].hex(),
            }  # fmt: skip
        with suppress(GpuError):
            memory.buffer.free()
    return found


def launch_from(folder: Path, begin: int, *, counted: bool) -> int:
    """Launch from a plan on, and print a line of JSON each. The status is 1 where the GPU fails."""
    from fencewright.gpu import Device, GpuError, description

    device = Device(patience=_PATIENCE)
    modules: dict[str, GpuModule] = {}
    print(json.dumps({"device": description(device)}), flush=True)
    for number, plan in enumerate(_plans(folder)):
        if number < begin or plan["problem"]:
            continue
        if counted and not is_counted(plan):
            continue
        try:
            name: str = plan["opcode"] if "opcode" in plan else plan["file"]
            if name not in modules:
                text = plan["text"] if "text" in plan else (folder / name).read_text("utf-8")
                modules[name] = device.load(text)
            found = launched(device, modules[name], plan)
        except GpuError as problem:
            print(json.dumps({"number": number, "failed": str(problem)}), flush=True)
            # The context is lost: another process goes on.
            return 1
        print(json.dumps({"number": number, **found}), flush=True)
    return 0


def is_counted(plan: Mapping[str, Any]) -> bool:
    """True of a launch whose requests are counted too."""
    return plan["launch"].partition("<<<")[0] in COUNTED and "counters" in plan.get("waves", {})


def compare(folder: Path) -> int:
    """Launch everything, in as many processes as it takes, and print the results."""
    plans, begin, device = _plans(folder), 0, ""
    results: dict[int, Plan] = {}
    while begin < len(plans):
        line = [sys.executable, "-m", __spec__.name, "launch", str(folder), "--from", str(begin)]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
        last = begin - 1
        for each in map(json.loads, done.stdout.splitlines()):
            device = each.get("device", device)
            if "number" in each:
                last = each.pop("number")
                results[last] = each
        if done.returncode == 0:
            break
        if not device:
            return 2
        if last < begin:
            results[begin] = {"failed": f"the process ended with {done.returncode}"}
            last = begin
        begin = last + 1
    kernels, opcodes = list[Plan](), list[Plan]()
    for number, plan in enumerate(plans):
        found = results.get(number, {"failed": plan["problem"] or "not launched"})
        name = plan.get("opcode") or plan["launch"].partition("<<<")[0]
        row = {"name": name, **found}
        (opcodes if "opcode" in plan else kernels).append(row)
    equal = [sum(each.get("different") == 0 for each in some) for some in (kernels, opcodes)]
    print(json.dumps({
        "device": device,
        "kernels_equal": equal[0], "kernels_launched": len(kernels),
        "opcodes_equal": equal[1], "opcodes_launched": len(opcodes),
        "operands": sum(plan["block"][0] for plan in plans if "opcode" in plan),
        "kernels": kernels,
        "opcodes": [each for each in opcodes if each.get("different") != 0],
    }, indent=1))  # fmt: skip
    return 0 if sum(equal) == len(plans) else 1


# Counters


def counters_of(text: str) -> list[dict[str, int]]:
    """The counts of every launch, in order, from the print of ``ncu --csv``."""
    rows = [each for each in text.splitlines() if each.startswith('"')]
    found: dict[int, dict[str, int]] = {}
    for row in csv.DictReader(rows):
        value = row["Metric Value"].replace(",", "")
        found.setdefault(int(row["ID"]), {})[row["Metric Name"]] = round(float(value))
    return [found[each] for each in sorted(found)]


def compare_counters(folder: Path, text: str) -> int:
    """Print the counters of a GPU beside those predicted; status 1 where one differs."""
    plans = [each for each in _plans(folder) if not each["problem"] and is_counted(each)]
    measured = counters_of(text)
    if len(measured) != len(plans):
        print(f"{len(measured)} launches were counted, {len(plans)} are planned", file=sys.stderr)
        return 2
    rows: list[Plan] = []
    for plan, counters in zip(plans, measured, strict=True):
        predicted = plan["waves"]["counters"]
        live = [each for each in METRICS if predicted[each] or counters.get(each)]
        different = {
            each: [predicted[each], counters.get(each)]
            for each in live
            if predicted[each] != counters.get(each)
        }
        name = plan["launch"].partition("<<<")[0]
        rows.append({"name": name, "exact": len(live) - len(different), "of": len(live),
                     "different": different, "measured": counters})  # fmt: skip
    print(json.dumps(rows, indent=1))
    return 1 if any(each["different"] for each in rows) else 0


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("step", choices=("execute", "compare", "launch", "metrics", "counted"))
    parser.add_argument("folder", nargs="?", type=Path, default=Path("executed"))
    parser.add_argument("csv", nargs="?", type=Path)
    parser.add_argument("--only", metavar="PATTERN", help="the .cu files of such names")
    parser.add_argument("--no-opcodes", action="store_true")
    parser.add_argument("--counted", action="store_true", help="only kernels that are counted")
    parser.add_argument("--from", dest="begin", type=int, default=0)
    given = parser.parse_args()
    if given.step == "metrics":
        print(",".join(METRICS))
        return 0
    if given.step == "execute":
        return execute_all(given.folder, given.only, opcodes=not given.no_opcodes)
    if given.step == "launch":
        return launch_from(given.folder, given.begin, counted=given.counted)
    if given.step == "counted":
        return compare_counters(given.folder, given.csv.read_text(encoding="utf-8"))
    return compare(given.folder)


if __name__ == "__main__":
    sys.exit(main())
