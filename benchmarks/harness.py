"""What every benchmark shares: fair CPU timing of whole processes, result tables, the machine."""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from fencewright.tools.reports.markdown import markdown_table


@dataclass(frozen=True, slots=True)
class Result:
    """One table of figures: what was measured, the columns, the rows, and what to know of them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"## {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        return "\n".join([*lines, markdown_table(self.columns, self.rows)])


_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Of the processes that are timed: Python keeps what it has compiled, as it does for users."""


def process_seconds(command: Sequence[str], runs: int = 3) -> float:
    """Median CPU seconds (user and system) of a whole process; a failing command raises."""
    return statistics.median(cpu_and_wall(command)[0] for _ in range(runs))


def least_seconds(command: Sequence[str], runs: int = 9) -> float:
    """Least CPU seconds of a whole process after one run that warms the caches."""
    cpu_and_wall(command)
    return min(cpu_and_wall(command)[0] for _ in range(runs))


def cpu_and_wall(command: Sequence[str]) -> tuple[float, float]:
    """CPU and wall-clock seconds of a whole process with its children; a failing command raises."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def cpu_and_peak(command: Sequence[str]) -> tuple[float, int]:
    """CPU seconds of a whole process and the KiB that it has at most; a failing command raises."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def rate(work: Callable[[], int], runs: int = 5) -> float:
    """Best rate, in items a CPU second, of ``work``, which returns how many items it did."""
    best = 0.0
    for _ in range(runs):
        start = time.process_time()
        items = work()
        best = max(best, items / (time.process_time() - start))
    return best


def shown(seconds: float) -> str:
    """A time as people read it."""
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def kib(name: str) -> int:
    """A figure of this process from Linux, in KiB; ``getrusage`` counts the parent's memory too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def in_a_process(script: str) -> object:
    """What a script prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent,
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def machine() -> str:
    """The machine and the versions that the figures belong to, as one paragraph."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("fencewright", "xdsl", "llvmlite"))
    return (
        f"Measured {date.today().isoformat()} on {cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"load {os.getloadavg()[0]:.0f}, Python {platform.python_version()}, {packages}."
    )
