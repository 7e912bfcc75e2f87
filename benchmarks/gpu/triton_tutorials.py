# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# PyTorch and Triton are not among the project's dependencies.
"""Runs Triton kernels on the GPU at hand with the hook of ``fencewright.triton`` off, check and
lower.

``python benchmarks/gpu/triton_tutorials.py -o triton.json [KERNEL ...]`` needs an NVIDIA GPU,
PyTorch, Triton 3.6 or later, and llvmlite. triton_page.py makes the table of docs/triton.md of the
file. Results are held to those with the hook off, bit for bit where no order of additions is free,
and to PyTorch's. Samples of all modes are taken in turn; compile times are CPU times, those of
child processes (ptxas) among them.
"""

import argparse
import importlib.util
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import torch
import triton

from fencewright import triton as hook
from fencewright.lowering.vocabulary import Fact

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tests" / "data" / "triton" / "tutorial_kernels.py"
UNORDERED = "unordered-elements"

SAMPLES, RUNS, COMPILATIONS = 25, 3, 5
_FLUSHED = 256 << 20
"""Bytes that are written before each sample: more than the L2 has, and time for the CPU to get
ahead."""


def modes() -> dict[str, dict[str, Any] | None]:
    """The modes by their names: the options of ``fencewright.triton.enabled``, None for no hook."""
    found: dict[str, dict[str, Any] | None] = {
        "off": None,
        "check": {"mode": "check"},
        "lower": {"mode": "lower"},
    }
    if UNORDERED in tuple(Fact):
        found[f"lower, {UNORDERED}"] = {"mode": "lower", "facts": (UNORDERED,)}
    return found


@dataclass
class Problem:
    """One kernel with its data.

    ``launch`` runs a kernel of the module that it is given; ``reset`` undoes what a launch left.
    ``results`` and ``expected`` by name; ``tolerance``: the greatest error, absolute or relative,
    of a result. ``exact``: whether every launch gives the same bits.
    """

    what: str
    launch: Callable[[Any], None]
    results: dict[str, torch.Tensor]
    expected: dict[str, torch.Tensor]
    tolerance: float
    exact: bool = True
    zeroed: tuple[torch.Tensor, ...] = field(default=())

    def reset(self) -> None:
        """Make the data as before the first launch."""
        for each in self.zeroed:
            each.zero_()

    def error(self) -> float:
        """The greatest error of the results."""
        found = 0.0
        for name, result in self.results.items():
            right = self.expected[name].to(torch.float64)
            wrong = (result.to(torch.float64) - right).abs() / right.abs().clamp(min=1.0)
            found = max(found, float("inf") if wrong.isnan().any() else wrong.max().item())
        return found


def _random(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, device="cuda", dtype=dtype)


def softmax() -> Problem:
    """Tutorial 2."""
    rows, columns = 8192, 2000
    x, out = _random(rows, columns, dtype=torch.float32), _empty(rows, columns)
    return Problem(
        f"softmax, {rows} x {columns}",
        lambda k: k.softmax[(rows,)](out, x, columns, columns, BLOCK=2048),
        {"out": out},
        {"out": torch.softmax(x, 1)},
        1e-5,
    )


def matmul() -> Problem:
    """Tutorial 3."""
    m = n = k = 4096
    a, b, c = _random(m, k), _random(k, n), _empty(m, n, dtype=torch.float16)
    return Problem(
        f"matmul, {m} x {n} x {k}, float16",
        lambda kernels: kernels.matmul[(triton.cdiv(m, 128) * triton.cdiv(n, 128),)](
            a, b, c, m, n, k, BM=128, BN=128, BK=32, GROUP=8, num_stages=3, num_warps=8
        ),
        {"c": c},
        {"c": a.float() @ b.float()},
        1e-2,
    )


def layer_norm() -> Problem:
    """Tutorial 5, forward."""
    rows, columns = 8192, 2000
    x, y = _random(rows, columns), _empty(rows, columns, dtype=torch.float16)
    w, b = _random(columns), _random(columns)
    means, rstds = _empty(rows), _empty(rows)
    expected = torch.nn.functional.layer_norm(x.float(), (columns,), w.float(), b.float())
    return Problem(
        f"layer norm, {rows} x {columns}",
        lambda k: k.layer_norm[(rows,)](
            x, y, w, b, means, rstds, columns, columns, 1e-5, BLOCK=2048
        ),
        {"y": y},
        {"y": expected},
        1e-2,
    )


def layer_norm_backward() -> Problem:
    """Tutorial 5, backward: sums of groups of rows under a lock."""
    rows, columns, groups = 4096, 1000, 64
    x, dy = _random(rows, columns), _random(rows, columns)
    w = _random(columns)
    floats = x.float()
    means = floats.mean(1)
    rstds = 1 / torch.sqrt(floats.var(1, unbiased=False) + 1e-5)
    dx = _empty(rows, columns, dtype=torch.float16)
    dw, db = (_empty(groups, columns, dtype=torch.float16) for _ in range(2))
    locks = _empty(2 * groups, dtype=torch.int32)
    normal = (floats - means[:, None]) * rstds[:, None]
    scaled = w.float() * dy.float()
    mean_of = (normal * scaled).mean(1, keepdim=True)
    slope = (scaled - normal * mean_of - scaled.mean(1, keepdim=True)) * rstds[:, None]
    parts = [(normal * dy.float()), dy.float()]
    by_group = [each.view(-1, groups, columns).sum(0) for each in parts]
    return Problem(
        f"layer norm backward, {rows} x {columns}, {groups} locks",
        lambda k: k.layer_norm_backward[(rows,)](
            dx, dy, dw, db, x, w, means, rstds, locks, columns, columns, GROUPS=groups, BLOCK=1024
        ),
        {"dx": dx, "dw": dw, "db": db},
        {"dx": slope, "dw": by_group[0], "db": by_group[1]},
        0.2,
        exact=False,
        zeroed=(locks,),
    )


def attention() -> Problem:
    """Tutorial 6, forward."""
    heads, length, depth = 64, 2048, 64
    q, k, v = (_random(heads, length, depth) for _ in range(3))
    out = _empty(heads, length, depth, dtype=torch.float16)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), scale=0.125
    )
    return Problem(
        f"fused attention, {heads} heads, {length} x {depth}",
        lambda kernels: kernels.attention[(length // 64, heads)](
            q, k, v, out, 0.125, length, BM=64, BN=64, D=depth
        ),
        {"out": out},
        {"out": expected},
        1e-2,
    )


def split_k() -> Problem:
    """Four blocks add their parts of each tile."""
    m = n = 512
    k = 8192
    a, b, c = _random(m, k), _random(k, n), _empty(m, n)
    return Problem(
        f"split-K, {m} x {n} x {k}, float32 atomics",
        lambda kernels: kernels.split_k[((m // 64) * (n // 64), 4)](
            a, b, c, m, n, k, BM=64, BN=64, BK=32, SPLIT=4
        ),
        {"c": c},
        {"c": a.float() @ b.float()},
        1e-2,
        exact=False,
        zeroed=(c,),
    )


def stream_k() -> Problem:
    """Work in equal shares, tiles that two blocks share fixed up."""
    m = n = 768
    k, blocks = 4096, 96
    steps = k // 32
    per_block = (m // 64) * (n // 64) * steps // blocks
    a, b, c = _random(m, k), _random(k, n), _empty(m, n)
    parts, flags = _empty(blocks, 64, 64), _empty(blocks, dtype=torch.int32)
    return Problem(
        f"stream-K, {m} x {n} x {k}, {blocks} blocks",
        lambda kernels: kernels.stream_k[(blocks,)](
            a, b, c, parts, flags, n, k, steps, per_block, BM=64, BN=64, BK=32
        ),
        {"c": c},
        {"c": a.float() @ b.float()},
        1e-2,
        zeroed=(flags,),
    )


def look_back() -> Problem:
    """A prefix sum in one pass."""
    blocks = 4096
    x = torch.randint(-8, 8, (blocks * 1024,), device="cuda", dtype=torch.int32)
    out = _empty(blocks * 1024, dtype=torch.int32)
    sums, prefixes, flags = (_empty(blocks, dtype=torch.int32) for _ in range(3))
    return Problem(
        f"look-back scan, {blocks * 1024} words",
        lambda k: k.look_back[(blocks,)](x, out, sums, prefixes, flags, BLOCK=1024),
        {"out": out},
        {"out": x.cumsum(0)},
        0.0,
        zeroed=(flags,),
    )


def histogram() -> Problem:
    """Counts of blocks, added up."""
    count = 1 << 22
    x = torch.randint(0, 256, (count,), device="cuda", dtype=torch.int32)
    bins = _empty(256, dtype=torch.int32)
    return Problem(
        f"histogram, {count} words",
        lambda k: k.histogram[(count // 1024,)](x, bins, count, BLOCK=1024, BINS=256),
        {"bins": bins},
        {"bins": torch.bincount(x, minlength=256)},
        0.0,
        zeroed=(bins,),
    )


def softmax_in_one_grid() -> Problem:
    """Two barriers of a whole grid."""
    blocks = 128
    columns = blocks * 2048 - 5
    x, out = _random(columns, dtype=torch.float32), _empty(columns)
    maxima, sums, arrived = _empty(blocks), _empty(blocks), _empty(1, dtype=torch.int32)
    return Problem(
        f"softmax of one row of {columns}, {blocks} blocks",
        lambda k: k.softmax_in_one_grid[(blocks,)](
            x, out, maxima, sums, arrived, columns, BLOCK=2048
        ),
        {"out": out},
        {"out": torch.softmax(x, 0)},
        1e-5,
        zeroed=(arrived,),
    )


PROBLEMS = (
    softmax, matmul, layer_norm, attention, layer_norm_backward,
    split_k, stream_k, look_back, histogram, softmax_in_one_grid,
)  # fmt: skip


def fresh_kernels() -> Any:
    """The kernels with none of them compiled yet: Triton 3.6 keeps those of a process whatever the
    hook."""
    spec = importlib.util.spec_from_file_location("tutorial_kernels", KERNELS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in times)


def ptx_of(kernels: Any, name: str) -> str:
    """The PTX of the one version of a kernel that was compiled, without places in the source."""
    kernel = getattr(kernels, name)
    (cache, *_), *others = kernel.device_caches.values()
    (compiled,) = cache.values()
    assert not others
    lines = compiled.asm["ptx"].splitlines()
    return "\n".join(each for each in lines if not each.lstrip().startswith((".loc", "//")))


class Mode:
    """One mode in which one problem runs."""

    def __init__(self, name: str, options: dict[str, Any] | None):
        self.name = name
        self.options = options
        self.compile_seconds: list[float] = []
        self.kernels: Any = None
        self.reports: list[hook.Report] = []
        self.medians: list[float] = []
        self.samples: list[float] = []

    def compile(self, problem: Problem) -> None:
        """Compile the problem's kernel anew, and launch it once."""
        self.kernels = fresh_kernels()
        problem.reset()
        start = cpu_seconds()
        with nullcontext() if self.options is None else hook.enabled(**self.options) as entered:
            problem.launch(self.kernels)
        self.compile_seconds.append(cpu_seconds() - start)
        torch.cuda.synchronize()
        self.reports = [] if entered is None else entered.reports


def sample(problem: Problem, kernels: Any, flush: torch.Tensor) -> float:
    """The microseconds of one launch."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    problem.reset()
    flush.zero_()
    start.record()
    problem.launch(kernels)
    end.record()
    torch.cuda.synchronize()
    return 1e3 * start.elapsed_time(end)


def run(make: Callable[[], Problem]) -> dict[str, Any]:
    """Compile, check and time one kernel in every mode."""
    torch.manual_seed(0)
    problem = make()
    found = [Mode(name, options) for name, options in modes().items()]
    for _ in range(COMPILATIONS):
        for mode in found:
            mode.compile(problem)
    off = found[0]
    own = ptx_of(off.kernels, make.__name__)
    flush = torch.empty(_FLUSHED, dtype=torch.int8, device="cuda")
    for _ in range(RUNS):
        for mode in found:
            mode.samples = []
        for _ in range(SAMPLES):
            for mode in found:
                mode.samples.append(sample(problem, mode.kernels, flush))
        for mode in found:
            mode.medians.append(median(mode.samples))
    said: dict[str, Any] = {}
    right: dict[str, torch.Tensor] = {}
    for mode in found:
        for each in problem.results.values():
            each.zero_()
        problem.reset()
        problem.launch(mode.kernels)
        torch.cuda.synchronize()
        if mode is off:
            right = {name: each.clone() for name, each in problem.results.items()}
        said[mode.name] = {
            "same_ptx": ptx_of(mode.kernels, make.__name__) == own,
            "same_bits": all(torch.equal(right[n], each) for n, each in problem.results.items()),
            "error": problem.error(),
            "us": [round(each, 3) for each in mode.medians],
            "compile_s": [round(each, 4) for each in mode.compile_seconds],
            "reports": [
                {
                    "said": str(each),
                    "problem": each.problem,
                    "after": each.after,
                    "seconds": round(each.seconds, 4),
                }
                for each in mode.reports
            ],
        }
    return {
        "what": problem.what,
        "tolerance": problem.tolerance,
        "exact": problem.exact,
        "modes": said,
    }


def _driver() -> str:
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.split()[0]


def complaints(measured: dict[str, Any]) -> list[str]:
    """What must not be: results that are wrong or other than with the hook off, and problems."""
    found: list[str] = []
    for name, kernel in measured["kernels"].items():
        for mode, said in kernel["modes"].items():
            if not said["error"] <= kernel["tolerance"]:
                found.append(f"{name}, {mode}: an error of {said['error']}")
            if kernel["exact"] and not said["same_bits"]:
                found.append(f"{name}, {mode}: other bits than with the hook off")
            found += [f"{name}, {mode}: {r['problem']}" for r in said["reports"] if r["problem"]]
    return found


def main() -> int:
    """Run all kernels or those named, and write what was measured as JSON; 1 if a result is
    wrong."""
    names = [each.__name__ for each in PROBLEMS]
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="KERNEL")
    parser.add_argument("-o", "--output", default="-", help="the file; standard output without it")
    asked = parser.parse_args()
    start = time.process_time()
    try:
        import llvmlite.binding  # noqa: F401

        import fencewright.passes.pipelines  # noqa: F401
    except ModuleNotFoundError as problem:
        print(f"error: {problem}: nothing could be lowered", file=sys.stderr)
        return 2
    imports = time.process_time() - start
    measured: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "driver": _driver(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "import_s": round(imports, 3),
        "kernels": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        triton.knobs.cache.dir = folder
        triton.knobs.compilation.always_compile = True
        # What a first compilation does for all that follow is nobody's.
        Mode("off", None).compile(softmax())
        for make in PROBLEMS:
            if not asked.names or make.__name__ in asked.names:
                start = time.monotonic()
                measured["kernels"][make.__name__] = run(make)
                print(f"{make.__name__}: {time.monotonic() - start:.1f} s", file=sys.stderr)
    text = json.dumps(measured, indent=1)
    if asked.output == "-":
        print(text)
    else:
        Path(asked.output).parent.mkdir(parents=True, exist_ok=True)
        Path(asked.output).write_text(f"{text}\n")
    wrong = complaints(measured)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
