"""How long the certificate of gfx942 takes to make; the longest of the benchmarks."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Result

_JOBS = 2


def results() -> list[Result]:
    """CPU time of ``fence-sim certify gfx942``."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "gfx942.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["certify", "gfx942", "--jobs", str(_JOBS), "-o", str(output)]
        done = subprocess.run(
            [sys.executable, "-m", "fencewright.tools.fence_sim", *command],
            capture_output=True,
            check=False,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"certify gfx942 ended with {done.returncode}: {done.stderr}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    said = done.stdout.strip().splitlines()[-1]
    return [
        Result(
            "The certificate of gfx942",
            ("command", "CPU time", "result"),
            ((f"fence-sim {' '.join(command[:4])}", f"{cpu:.0f} s", said),),
            "Every sequence of the chip against a battery of litmus tests, and each of its "
            f"instructions and bits taken away in turn, on {_JOBS} processes.",
        )
    ]
