# pyright: basic, reportMissingImports=false
# Triton says of few of its names that they are there.
"""Times fence-check: many instructions, a folder of kernels with their sources, long functions.

``python benchmarks/fence_check.py`` prints the tables. The kernels are Triton's, compiled by its
own LLVM; the long function is ``llc``'s.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import inputs
from harness import Result, cpu_and_peak, process_seconds
from triton_counts import SEVEN

from fencewright.tools.llvm_tools import find_llvm_tool

_KERNELS = Path(__file__).parent.parent / "tests" / "data" / "triton" / "tutorial_kernels.py"
CHIP = "gfx942"
_CHECK = (sys.executable, "-m", "fencewright", "check")
"""As users start it."""
_MANY = 30_000
_FOLDER = 56
_SIZES = ((1_000, 3), (10_000, 3), (100_000, 1))
"""Instructions of a long function, and the runs of each."""
PARTS = ((1, 1_000), (1, 4_000), (100, 7), (1_000, 7), (3_000, 7))
"""Functions, and the parts of each, of about a dozen instructions."""
_MOST_ASSEMBLED = 200_000
_LABEL = re.compile(r"\.L\w+")
_ONCE = (".amdgcn_target", ".amdhsa_code_object_version", ".amdgpu_metadata")


def _triton() -> Mapping[str, tuple[str, str]]:
    """The assembly and the LLVM IR of each kernel."""
    spec = importlib.util.spec_from_file_location("tutorial_kernels", _KERNELS)
    assert spec is not None
    assert spec.loader is not None
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        made = {name: kernels.compiled(name, CHIP).asm for name in (*SEVEN, *kernels.LONG)}
    return {name: (each["amdgcn"], each["llir"]) for name, each in made.items()}


def _instructions(text: str) -> int:
    return len(re.findall(r"^\t[a-z@]", text, re.M))


def _numbered(name: str, text: str, number: int) -> str:
    """A kernel's code and descriptor under a name of its own."""
    code = text.partition("\t.amdgpu_metadata")[0].replace(name, f"{name}_{number}")
    code = _LABEL.sub(rf"\g<0>_{number}", code)
    return "".join(
        f"{line}\n"
        for line in code.splitlines()
        if number == 0 or not line.strip().startswith(_ONCE)
    )


def _many(kernels: Mapping[str, tuple[str, str]], instructions: int) -> tuple[str, int]:
    """All kernels again and again as one file, until there are so many; and how many there are."""
    parts: list[str] = []
    total = 0
    while total < instructions:
        name = SEVEN[len(parts) % len(SEVEN)]
        entry = re.search(r"\.amdhsa_kernel (\S+)", kernels[name][0])
        assert entry is not None
        parts.append(_numbered(entry[1], kernels[name][0], len(parts)))
        total += _instructions(parts[-1])
    return "".join(parts), total


def _seconds(*arguments: str, runs: int = 3) -> str:
    return f"{process_seconds((*_CHECK, *arguments), runs):.2f}"


def _whole_folder(kernels: Mapping[str, tuple[str, str]], folder: Path) -> float:
    """Wall-clock seconds for so many kernels with their sources, each in a folder of its own."""
    for number in range(_FOLDER):
        name = SEVEN[number % len(SEVEN)]
        place = folder / f"k{number}"
        place.mkdir(parents=True)
        for text, ending in zip(kernels[name], ("amdgcn", "llir"), strict=True):
            (place / f"{name}.{ending}").write_text(text)
    start = time.perf_counter()
    done = subprocess.run(
        (*_CHECK, "--format", "json", str(folder)), check=False, capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    files = json.loads(done.stdout)["files"]
    assert len(files) == _FOLDER
    assert all(each["source"]["functions"] == 1 for each in files)
    return seconds


def _kernels(folder: Path) -> Result:
    kernels = _triton()
    rows: list[tuple[str, ...]] = []
    code, source = folder / "k.amdgcn", folder / "k.llir"
    for name in sorted(kernels, key=lambda each: _instructions(kernels[each][0]))[-2:]:
        code.write_text(kernels[name][0])
        source.write_text(kernels[name][1])
        said = f"{name}, with its source"
        count = f"{_instructions(kernels[name][0]):,}"
        rows.append((said, count, _seconds("--source", str(source), str(code)), ""))
    text, count = _many(kernels, _MANY)
    code.write_text(text)
    seconds_of_many = _seconds(str(code), runs=1)
    rows.append(("the seven again and again in one file", f"{count:,}", seconds_of_many, ""))
    seconds = _whole_folder(kernels, folder / "cache")
    each = [_instructions(kernels[SEVEN[n % len(SEVEN)]][0]) for n in range(_FOLDER)]
    said = f"a folder of {_FOLDER} kernels with their sources, what can go included"
    rows.append((said, f"{sum(each):,}", "", f"{seconds:.1f}"))
    columns = ("what is checked", "instructions", "CPU s", "wall-clock s")
    note = f"Triton 3.9's seven kernels for {CHIP}; the folder by a process a core."
    return Result("fence-check on Triton's kernels", columns, tuple(rows), note)


def _long_functions(folder: Path) -> Result:
    rows: list[tuple[str, ...]] = []
    source, code = folder / "f.ll", folder / "f.s"
    if (compiler := find_llvm_tool("llc")) is None:
        raise SystemExit("error: this benchmark needs LLVM 22's llc; see README.md")
    for size, runs in _SIZES:
        operations = size // 5
        source.write_text(inputs.llvm_ir(operations, operations))
        llc = (str(compiler), "-O2", f"-mcpu={CHIP}", str(source), "-o", str(code))
        subprocess.run(llc, check=True)
        count = f"{_instructions(code.read_text()):,}"
        plain, surplus = (_seconds(*o, str(code), runs=runs) for o in ((), ("--surplus",)))
        rows.append((count, plain, surplus))
    columns = ("instructions", "CPU s", "CPU s with --surplus")
    note = f"One function of llc-22 -O2 for {CHIP}, each fifth instruction an atomic or fence."
    return Result("fence-check on one long function", columns, tuple(rows), note)


def _assembled(code: Path, chip: str) -> str:
    """CPU seconds of the vendor's own assembler; "" where there is none."""
    if chip == CHIP:
        tool, arguments = find_llvm_tool("llvm-mc"), ("-triple=amdgcn-amd-amdhsa", "-filetype=obj")
        options = [*arguments, f"-mcpu={chip}"]
    else:
        tool, options = shutil.which("ptxas"), ["-O0", f"-arch={chip}"]
    if tool is None:
        return ""
    return f"{process_seconds((tool, *options, str(code), '-o', os.devnull)):.2f}"


def many_branches(folder: Path, sizes: Mapping[str, Sequence[tuple[int, int]]], of: str) -> Result:
    """The table of kernels with branches, so many functions of so many parts by chip."""
    rows: list[tuple[str, ...]] = []
    for chip, ending, make in (("sm_90", "ptx", inputs.ptx), (CHIP, "s", inputs.amd)):
        for functions, parts in sizes[chip]:
            code = folder / f"b.{ending}"
            code.write_text(make(functions, parts))
            count = _instructions(code.read_text())
            seconds, peak = cpu_and_peak((*_CHECK, str(code)))
            each = f"{peak * 1024 / count / 1000:.1f} kB"
            shape = f"{functions:,} functions" if functions > 1 else "one function"
            own = f"{seconds:.2f}", f"{count / seconds / 1000:.1f} k/s", each
            assembled = _assembled(code, chip) if count <= _MOST_ASSEMBLED else ""
            rows.append((chip, shape, f"{count:,}", *own, assembled))
    columns = ("chip", "in", "instructions", "CPU s", "a CPU second", "peak memory an instruction")
    note = "Loads, shared memory, barriers, branches and stores in turn, with verdicts."
    assembler = "llvm-mc-22 or ptxas -O0, CPU s"
    return Result(f"fence-check on {of}", (*columns, assembler), tuple(rows), note)


def results() -> list[Result]:
    """Three tables; the first where Triton is installed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        has_triton = importlib.util.find_spec("triton") is not None
        sizes = {"sm_90": PARTS, CHIP: PARTS}
        tables = [_long_functions(place), many_branches(place, sizes, "branches")]
        return [*([_kernels(place)] if has_triton else []), *tables]


if __name__ == "__main__":
    for each in results():
        print(each.markdown())
