"""How long the certificate of gfx942 takes to make; the longest of the benchmarks."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Result

_JOBS = 2


def results() -> list[Result]:
    """Wall and CPU time of ``fence-sim certify gfx942``."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "gfx942.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        command = ["certify", "gfx942", "--jobs", str(_JOBS), "-o", str(output)]
        done = subprocess.run(
            [sys.executable, "-m", "fencewright.tools.fence_sim", *command],
            capture_output=True,
            check=False,
            text=True,
        )
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"certify gfx942 ended with {done.returncode}: {done.stderr}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    said = done.stdout.strip().splitlines()[-1]
    return [
        Result(
            "The certificate of gfx942",
            ("command", "wall time", "CPU time", "result"),
            ((f"fence-sim {' '.join(command[:4])}", f"{wall:.0f} s", f"{cpu:.0f} s", said),),
            "Every sequence of the chip against a battery of litmus tests, and each of its "
            f"instructions and bits taken away in turn, on {_JOBS} processes.",
        )
    ]
