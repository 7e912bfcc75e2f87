"""Runs compilers: on a source, and on LLVM IR twice, as it is and with a line for each instruction.

``opt``'s debugify gives the lines; at level ``locations`` it adds no variables, which change code.
That the code is the same with and without them is for the caller to check.
"""

import re
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fencewright.tools.diagnostics import error

_NUMBERED = ("--strip-debug", "-passes=debugify", "-debugify-level=locations")
_TIMEOUT = 300

_UNVERIFIED = ("-disable-verify",)
"""LLVM loses the compile unit with buffer fat pointers; the code without lines is verified."""

_READING = ("opaque-pointers",)
"""Options that say how LLVM IR is read, which ``opt`` needs as well."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """``code``: the assembly. ``numbered_source`` and ``numbered_code``: with lines; empty, for
    the reason ``problem``, where the compiler fails on lines."""

    code: str
    numbered_source: str = ""
    numbered_code: str = ""
    problem: str = ""


def run_compiler(command: str, file: str) -> Compiled:
    """The code that the command, an ``llc`` with its options, makes of ``file``.

    Raises ``ToolError`` where the compiler is missing or fails on the file as it is.
    """
    words = _words(command, "--run")
    llc, opt = _tools(words, command)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        numbered = Path(folder, "numbered.ll")
        plain = pool.submit(_run, [llc, *words[1:], file, "-o", "-"])
        reading = [each for each in words if each.lstrip("-") in _READING]
        made = _run([opt, "-S", *reading, *_NUMBERED, file, "-o", str(numbered)])
        compiling = [llc, *words[1:], *_UNVERIFIED, str(numbered), "-o", "-"]
        lined = made if made.returncode else _run(compiling)
        done = plain.result()
        if done.returncode:
            raise error(f"{words[0]}: {_said(done)}", file)
        if lined.returncode:
            problem = f"with a line for each instruction the compiler fails: {_said(lined)}"
            return Compiled(done.stdout, problem=problem)
        return Compiled(done.stdout, numbered.read_text(encoding="utf-8"), lined.stdout)


def _words(command: str, option: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as problem:
        raise error(f"{option} {command}: {str(problem).lower()}", _NAME) from problem


def _tools(words: list[str], command: str) -> tuple[str, str]:
    """The compiler, and the ``opt`` beside it."""
    if not words or "llc" not in Path(words[0]).name:
        raise error(f"--run takes an llc and its options, as 'llc-22 -O2', not '{command}'", _NAME)
    if any(each == "-o" or each.startswith(("-o=", "--filetype", "-filetype")) for each in words):
        raise error("--run: where the output goes is not for the command to say", _NAME)
    llc = shutil.which(words[0])
    if llc is None:
        raise error(f"--run: there is no program '{words[0]}'", _NAME)
    beside = str(Path(words[0]).with_name(Path(words[0]).name.replace("llc", "opt")))
    opt = shutil.which(beside)
    if opt is None:
        raise error(f"--run: '{beside}', of the same LLVM, is not there", _NAME)
    return llc, opt


_NAME = "fence-check"


@dataclass(frozen=True, slots=True)
class CompilerRow:
    """A compiler of sources, by its program's name, and its options for code with line numbers."""

    program: re.Pattern[str]
    options: tuple[str, ...]
    source: str


_COMPILERS = (
    CompilerRow(
        re.compile(r"nvcc.*"),
        ("-ptx", "-lineinfo"),
        "CUDA Compiler Driver NVCC, Options for Specifying the Compilation Phase",
    ),
    CompilerRow(
        re.compile(r"(hipcc|(amd)?clang(\+\+)?)(-\d+)?(\.\w+)?"),
        ("-S", "-gline-tables-only", "--cuda-device-only", "-Wno-unused-command-line-argument"),
        "Clang Compiler User's Manual; Compiling CUDA with clang; HIP Support",
    ),
)


def compile_source(command: str, file: str) -> str:
    """The code for the GPU that a compiler makes of a source, with line numbers.

    Raises ``ToolError`` where the compiler is missing, is not known, or fails on the file.
    """
    words = _words(command, "--compile")
    name = Path(words[0]).name if words else ""
    row = next((each for each in _COMPILERS if each.program.fullmatch(name)), None)
    if row is None:
        raise error(f"--compile takes nvcc, hipcc or clang and its options, not '{command}'", _NAME)
    if (program := shutil.which(words[0])) is None:
        raise error(f"--compile: there is no program '{words[0]}'", _NAME)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "code")
        done = _run([program, *words[1:], *row.options, file, "-o", str(output)])
        if done.returncode or not output.is_file():
            raise error(f"{words[0]}: {_said(done)}", file)
        return output.read_text(encoding="utf-8", errors="replace")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        said = f"no end after {_TIMEOUT} s"
        return subprocess.CompletedProcess(command, 1, "", said)


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """The first line in which a program reports a fault."""
    lines = [each.strip() for each in done.stderr.splitlines() if each.strip()]
    wanted = [
        each
        for each in lines
        if "warning:" not in each and re.search("error|assertion|not a recognized", each, re.I)
    ]
    wanted += [f"it crashes: {each[3:]}" for each in lines if "Running pass" in each][-1:]
    return next(iter(wanted), lines[0] if lines else f"no code, exit status {done.returncode}")
