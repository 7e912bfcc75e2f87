"""Shows races on the GPU at hand: wrong kernels and their right twins, with one side held up.

``python benchmarks/gpu/witnesses.py --output DIR`` takes every exhibit of tests/data/witnesses,
finds its race by execution, delays each side of it, and runs the kernel, its twin, and both with
each delay. Writes DIR/witnesses.json: of each variant the launches, those with a wrong result, and
the first of them. A launch that fails or hangs ends its process, and another goes on. Exit
status: 1 if a right twin gave a wrong result or did not end; 2 if there is no GPU. ``--exhibit
NAME`` takes one, ``--print`` writes the PTX of its variants instead, which needs no GPU.

An exhibit is the body of a kernel with the parameters data, flag and out: lines that begin with +
are of the right form alone, with - of the wrong one. Its first line says what is wrong, and the
launch.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from threading import Timer

from fencewright.gpu import Device, GpuError, description
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.gpu.witness import Case, Count, case_of, count_wrong
from fencewright.simulator.threads.launch import Module, parse_launch

EXHIBITS = Path(__file__).parents[2] / "tests" / "data" / "witnesses"
_ARGUMENTS = "(i32[1024]=7, i32[64], i32[16384])"
_BODY = """\
.visible .entry {name}(.param .u64 data, .param .u64 flag, .param .u64 out)
{{
.reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .pred %p<8>;
.shared .align 128 .b32 tile[8192]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag]; ld.param.u64 %rd3, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.u32 %r23, %r2, %r3, %r1; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd1, %rd4;
mul.wide.u32 %rd4, %r23, 4; add.s64 %rd6, %rd3, %rd4;
mov.u32 %r20, tile; shl.b32 %r21, %r1, 2; add.u32 %r22, %r20, %r21;
{body}}}
"""
_SECONDS = 20
_PATIENCE = 5.0


def exhibit(path: Path) -> tuple[str, str, str]:
    """What is wrong in an exhibit, its launch, and a module with both forms."""
    first, body = path.read_text(encoding="utf-8").split("\n", 1)
    what, _, sizes = first.removeprefix("// ").partition(": ")
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    for name, own, other in (("wrong", "-", "+"), ("right", "+", "-")):
        lines = (each.removeprefix(own) for each in body.splitlines() if each[:1] != other)
        text += _BODY.format(name=name, body="".join(f"{each}\n" for each in lines))
    return what, f"wrong{sizes}{_ARGUMENTS}", text


def exhibit_case(path: Path) -> tuple[str, Case]:
    """What is wrong in an exhibit, and its case."""
    what, launch, text = exhibit(path)
    module = Module(read_ptx(text, path.name))
    name = path.name.partition(".")[0]
    return what, case_of(name, module, parse_launch(launch), module, "right")


def _counts(path: Path, variants: int, launches: int) -> list[Count]:
    """The counts of all variants, in processes that end with the first launch that fails."""
    counts: list[Count] = []
    while len(counts) < variants:
        command = [sys.executable, __file__, "--run", str(path), str(len(counts)), str(launches)]
        limit = _SECONDS * (variants - len(counts))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            killer = Timer(limit, child.kill)
            killer.start()
            done = [Count(**json.loads(line)) for line in child.stdout]
            killer.cancel()
        counts += done
        if not done:
            counts.append(Count(0, 0, 0, f"not run: exit status {child.returncode}"))
    return counts


def _run(path: str, first: str, launches: str) -> None:
    """Print the counts of variants from one on, to the first that ends the GPU's context."""
    _, case = exhibit_case(Path(path))
    device = Device(patience=_PATIENCE)
    for variant in case.variants[int(first) :]:
        count = count_wrong(device, case, variant, int(launches), GpuError)
        print(json.dumps(asdict(count)), flush=True)
        if count.problem:
            # Nothing waits for a launch that hangs.
            os._exit(0)


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="folder of witnesses.json")
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--exhibit", action="append", default=[], metavar="NAME")
    parser.add_argument("--print", action="store_true", help="print the PTX of all variants")
    parser.add_argument("--run", nargs=3, metavar=("FILE", "N", "LAUNCHES"), help="from one on")
    wanted = parser.parse_args(arguments)
    if wanted.run:
        _run(*wanted.run)
        return 0
    names = wanted.exhibit
    paths = [p for p in sorted(EXHIBITS.glob("*.ptx.in")) if not names or p.name[:-7] in names]
    cases = [(path, *exhibit_case(path)) for path in paths]
    if wanted.print:
        for _, _, case in cases:
            for each in case.variants:
                print(f"// {case.name}, {each.kernel}: {each.aim or 'as it is'}\n{each.ptx}")
        return 0
    try:
        machine = description(Device())
    except GpuError as problem:
        print(problem, file=sys.stderr)
        return 2
    results: list[dict[str, object]] = []
    failed = False
    for path, what, case in cases:
        rows: list[dict[str, object]] = []
        shown = 0
        counts = _counts(path, len(case.variants), wanted.launches)
        for variant, count in zip(case.variants, counts, strict=True):
            failed |= variant.is_twin and bool(count.wrong or count.problem)
            rows.append({"right": variant.is_twin, "aim": variant.aim, **asdict(count)})
            if not variant.is_twin:
                shown = max(shown, count.wrong)
        print(f"{case.name}: {shown} of {wanted.launches} launches wrong at best", flush=True)
        results.append(
            {"exhibit": case.name, "what": what, "findings": case.findings, "variants": rows}
        )
        text = json.dumps(
            {"machine": machine, "date": str(date.today()), "exhibits": results}, indent=1
        )
        (wanted.output / "witnesses.json").write_text(text + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
