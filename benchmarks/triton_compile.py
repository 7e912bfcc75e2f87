# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# Triton is not among the project's dependencies.
"""Compile times of Triton kernels with the hook of ``fencewright.triton`` off, check and lower; no
GPU.

``python benchmarks/triton_compile.py -o FILE [CHIP ...]`` compiles the kernels of
tests/data/triton/tutorial_kernels.py in all modes in turn and writes CPU times and counts as JSON,
of which benchmarks/gpu/triton_page.py makes a table of docs/triton.md.
"""

import argparse
import importlib.util
import json
import resource
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "tests" / "data" / "triton" / "tutorial_kernels.py"
CHIPS = ("gfx942", "gfx950", "sm_80", "sm_90", "sm_100")
MODES = ("off", "check", "lower")


def cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in times)


def main() -> int:
    """Compile every kernel in every mode, and write the least CPU time of each."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("chips", nargs="*", choices=[*CHIPS, []], metavar="CHIP")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    import triton

    start = cpu_seconds()
    from fencewright import lower_llvm_ir
    from fencewright import triton as hook

    lower_llvm_ir('target triple = "amdgcn-amd-amdhsa"', "gfx942", edit=True)
    imports = cpu_seconds() - start
    spec = importlib.util.spec_from_file_location("tutorial_kernels", KERNELS)
    assert spec is not None
    assert spec.loader is not None
    kernels: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    measured: dict[str, Any] = {"triton": triton.__version__, "import_s": imports, "chips": {}}
    with tempfile.TemporaryDirectory() as folder:
        triton.knobs.cache.dir = folder
        triton.knobs.compilation.always_compile = True
        for chip in asked.chips or CHIPS:
            kernels.compiled("histogram", chip)
            rows: dict[str, Any] = {}
            for name in kernels.SOURCES:
                times: dict[str, list[float]] = {mode: [] for mode in MODES}
                reports: dict[str, hook.Report] = {}
                for _ in range(asked.rounds):
                    for mode in MODES:
                        with nullcontext() if mode == "off" else hook.enabled(mode) as entered:
                            start = cpu_seconds()
                            kernels.compiled(name, chip)
                            times[mode].append(cpu_seconds() - start)
                        if entered is not None:
                            reports[mode] = entered.reports[-1]
                rows[name] = {
                    "cpu_s": {mode: round(min(each), 4) for mode, each in times.items()},
                    "hook_s": round(reports["lower"].seconds, 4),
                    "changed": reports["lower"].changed,
                    "problem": reports["lower"].problem,
                    "before": dict(reports["check"].after),
                    "after": dict(reports["lower"].after),
                }
            measured["chips"][chip] = rows
            whole = {mode: sum(row["cpu_s"][mode] for row in rows.values()) for mode in MODES}
            print(chip, {mode: round(each, 3) for mode, each in whole.items()}, file=sys.stderr)
    Path(asked.output).write_text(f"{json.dumps(measured, indent=1)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
