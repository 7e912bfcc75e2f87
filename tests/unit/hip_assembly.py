"""HIP kernels of the tests' data as clang compiles them for an AMD chip."""

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.tools.llvm_tools import find_llvm_tool


@cache
def hip_text(source: Path, chip: str, *options: str) -> str:
    """The kernels of a file as a chip's assembly text."""
    clang = find_llvm_tool("clang++")
    assert clang is not None
    with TemporaryDirectory() as folder:
        output = Path(folder) / "kernels.s"
        subprocess.run(
            [
                clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={chip}", "-nogpulib",
                "-nogpuinc", "-fdeclspec", "-O3", *options, "-S", str(source), "-o", str(output),
            ],
            check=True,
        )  # fmt: skip
        return output.read_text()


@cache
def hip_assembly(source: Path, chip: str) -> Assembly:
    """The kernels of a file as assembly of a chip."""
    return read_assembly(hip_text(source, chip), "kernels.s")
