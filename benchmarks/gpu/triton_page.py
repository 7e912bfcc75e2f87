"""Writes the tables of docs/triton.md: what was measured of Triton kernels, with and without the hook.

``python benchmarks/gpu/triton_page.py`` reads tests/data/triton/measured: gpu.json of triton_tutorials.py
and compile-*.json of benchmarks/triton_compile.py. ``--check`` ends with status 1 if the page is another.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencewright.tools.reports.markdown import markdown_table, written

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "triton" / "measured"
PAGE = ROOT / "docs" / "triton.md"


def changes(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """What has another number, as ``buffer_inv 3 -> 1``."""
    names = [each for each in {**before, **after} if before.get(each, 0) != after.get(each, 0)]
    return ", ".join(f"{name} {before.get(name, 0)} → {after.get(name, 0)}" for name in names)


# On a GPU


def on_gpu(measured: Mapping[str, Any]) -> Iterator[str]:
    """The results and run times of every kernel in every mode."""
    yield (
        f"Measured on {measured['device']}, driver {measured['driver']}, with Triton "
        f"{measured['triton']} and PyTorch {measured['torch']}."
    )
    yield ""
    modes = [each for each in next(iter(measured["kernels"].values()))["modes"] if each != "off"]
    head = ["kernel", "off (µs)", *(f"{mode}: time, results" for mode in modes)]
    rows: list[list[str]] = []
    for kernel in measured["kernels"].values():
        off = kernel["modes"]["off"]
        row = [kernel["what"], ", ".join(f"{each:.4g}" for each in off["us"])]
        for mode in modes:
            said = kernel["modes"][mode]
            ratios = sorted(new / old for new, old in zip(said["us"], off["us"], strict=True))
            code = ", same PTX" if said["same_ptx"] else ""
            right = "same bits" if said["same_bits"] else "within tolerance"
            if not said["error"] <= kernel["tolerance"]:
                right = "WRONG"
            row.append(f"{ratios[0]:.3f} to {ratios[-1]:.3f}{code}; {right}")
        rows.append(row)
    yield markdown_table(head, rows).rstrip()
    yield ""
    rows = []
    for name, kernel in measured["kernels"].items():
        least = {mode: min(said["compile_s"]) for mode, said in kernel["modes"].items()}
        others = [f"{least[mode]:.3f} ({least[mode] / least['off'] - 1:+.0%})" for mode in modes]
        rows.append([f"`{name}`", f"{least['off']:.3f}", *others])
    whole = {
        mode: sum(min(k["modes"][mode]["compile_s"]) for k in measured["kernels"].values())
        for mode in ("off", *modes)
    }
    others = [f"{whole[mode]:.3f} ({whole[mode] / whole['off'] - 1:+.0%})" for mode in modes]
    rows.append(["all", f"{whole['off']:.3f}", *others])
    yield "Compile times there, in seconds of CPU time (the least of 5):"
    yield ""
    yield markdown_table(["kernel", "off", *modes], rows).rstrip()


# Compiled only


def compiled(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Compile times by chip, and what became of the kernels for AMD's chips."""
    rows: list[list[str]] = []
    for measured in files:
        for chip, kernels in measured["chips"].items():
            whole = {
                mode: sum(each["cpu_s"][mode] for each in kernels.values())
                for mode in ("off", "check", "lower")
            }
            read = [each for each in kernels.values() if each["changed"]]
            rows.append(
                [
                    measured["triton"],
                    chip,
                    f"{whole['off']:.2f}",
                    *(f"{whole[m]:.2f} ({whole[m] / whole['off'] - 1:+.0%})" for m in ("check", "lower")),
                    f"{1e3 * sum(each['hook_s'] for each in kernels.values()):.0f}",
                    f"{len(read)} of {len(kernels)}",
                ]
            )  # fmt: skip
    head = ["Triton", "chip", "off (s)", "check", "lower", "of that the hook (ms)", "changed"]
    yield markdown_table(head, rows).rstrip()
    yield ""
    rows = [
        [measured["triton"], chip, f"`{name}`", changes(each["before"], each["after"]) or "nothing"]
        for measured in files
        for chip, kernels in measured["chips"].items()
        for name, each in kernels.items()
        if each["changed"]
    ]
    yield markdown_table(
        ["Triton", "chip", "changed kernel", "instructions, off → lower"], rows
    ).rstrip()


def parts() -> Mapping[str, str]:
    """The parts of the page."""
    files = [json.loads(each.read_text()) for each in sorted(DATA.glob("compile-*.json"))]
    found = {"compiled": compiled(files)}
    if (DATA / "gpu.json").exists():
        found["gpu"] = on_gpu(json.loads((DATA / "gpu.json").read_text()))
    return {name: "\n".join((*lines, "")) for name, lines in found.items()}


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true")
    return written(PAGE, parts(), check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
