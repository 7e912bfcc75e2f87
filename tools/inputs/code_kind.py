"""The kind of code that a file has, recognised before either vendor's part is imported."""

import re
from dataclasses import dataclass

from fencewright.tools import diagnostics

_SUFFIX = ".ptx"
_LOOKED_AT = 1 << 16
"""Number of bytes in which a file's kind is recognised: comments may come first."""
_VERSION_LINE = re.compile(r"^[^\S\n]*\.version\s+\d+\.\d+\s*(?://.*)?$", re.M)


def is_ptx(text: str) -> bool:
    """True for PTX: a text with a line ``.version``, as all PTX begins."""
    return _VERSION_LINE.search(text) is not None


def is_ptx_file(path: str, content: bytes) -> bool:
    """True for a file that is PTX by its name or by its beginning."""
    begin = content[:_LOOKED_AT].decode(errors="replace")
    return path.endswith(_SUFFIX) or (is_ptx(begin) and ".amdgcn_target" not in begin)


_AMD_SUFFIXES = (".s", ".amdgcn")
_TARGET_LINE = re.compile(r"^[^\S\n]*\.amdgcn_target\s", re.M)


def is_amd_assembly(path: str, text: str) -> bool:
    """True for a file that is AMD assembly by its name or by the line with its chip."""
    return path.endswith(_AMD_SUFFIXES) or _TARGET_LINE.search(text) is not None


@dataclass(frozen=True, slots=True)
class OtherInput:
    """An input that is no code of a GPU, and the way to that.

    ``suffixes``: of its files; ``pattern``: of its text, where any file may have it.
    """

    name: str
    advice: str
    suffixes: tuple[str, ...] = ()
    pattern: re.Pattern[bytes] | None = None


OTHER_INPUTS = (
    OtherInput(
        "CUDA C++",
        "compile it first, nvcc -arch=sm_90 -ptx -lineinfo FILE, or give "
        "--compile 'nvcc -arch=sm_90'",
        (".cu", ".cuh"),
    ),
    OtherInput(
        "HIP C++",
        "compile it first, hipcc -S -g --cuda-device-only --offload-arch=gfx942 FILE, or give "
        "--compile 'hipcc --offload-arch=gfx942'",
        (".hip",),
        re.compile(rb"#\s*include\s*<hip/"),
    ),
    OtherInput(
        "OpenCL C",
        "compile it first, clang -target amdgcn-amd-amdhsa -mcpu=gfx942 -S -g FILE, or give "
        "--compile 'clang -target amdgcn-amd-amdhsa -mcpu=gfx942'",
        (".cl",),
    ),
    OtherInput(
        "Python",
        "a kernel of Triton is compiled when it runs: check its cache, ~/.triton/cache, or see "
        "fencewright.triton.install",
        (".py", ".pyc"),
    ),
    OtherInput(
        "LLVM IR",
        "compile it and check the code against it: --run 'llc -O2 -mcpu=gfx942'",
        (".ll", ".bc"),
    ),
    OtherInput("MLIR", "lower it first: fence-opt --mcpu gfx942 -t asm FILE", (".mlir",)),
    OtherInput("a litmus test", "fence-sim run FILE executes it", (".litmus",)),
    OtherInput(
        "a fat binary of CUDA",
        "take the PTX out of it: cuobjdump -xptx all FILE",
        (".fatbin",),
        re.compile(rb"\A\x50\xed\x55\xba"),
    ),
    OtherInput(
        "machine code of NVIDIA's GPUs (SASS)",
        "give the PTX that it was made of: nvcc -keep leaves it, cuobjdump -ptx FILE shows it",
        (".cubin", ".sass"),
        re.compile(rb"^\s*(\.headerflags\s|/\*[0-9a-f]{4,}\*/\s+\S)", re.M),
    ),
)


_NOT_MLIR = (
    (
        _VERSION_LINE,
        "PTX, not MLIR: fence-check FILE checks it, fence-check --to scoped FILE makes MLIR of it",
    ),
    (
        _TARGET_LINE,
        "AMD assembly, not MLIR: fence-check FILE checks it, fence-check --to scoped FILE makes "
        "MLIR of it",
    ),
    (re.compile(r"^define\s.*@", re.M), "LLVM IR, not MLIR: fence-opt --import-llvm FILE reads it"),
    (
        re.compile(r"\A\s*PTX\s", re.I),
        "a litmus test in columns, not MLIR: fence-sim run FILE.litmus executes it, "
        "fence-sim convert FILE.litmus makes MLIR of it",
    ),
)
"""Texts that are no MLIR, by a line of each, with their programs."""


def advice_for_mlir(text: str, problem: str) -> str:
    """The way to read a text that is no MLIR here, for whose ``problem``; "" if unknown."""
    if problem.endswith("does not have a custom format."):
        return f"{problem.rstrip('.')}; mlir-opt --mlir-print-op-generic writes the generic one"
    return next((advice for line, advice in _NOT_MLIR if line.search(text)), "")


def check_is_code(path: str, content: bytes, file: str) -> None:
    """Raises ``ToolError`` for an input that is no code of a GPU, by its content or its name."""
    begin = content[:_LOOKED_AT]
    if b".amdgcn_target" in begin or is_ptx(begin.decode(errors="replace")):
        return
    for each in OTHER_INPUTS:
        if path.endswith(each.suffixes) or (each.pattern and each.pattern.search(begin)):
            raise diagnostics.error(f"{each.name}: {each.advice}", file)
