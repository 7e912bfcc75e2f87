"""Paths of LLVM's programs, of the one version that tests and benchmarks compare with."""

import re
import shutil
import subprocess
from functools import cache

LLVM_VERSION = 22
LLVM_HINT = "get LLVM's tools with: apt-get install llvm-22 llvm-22-tools mlir-22-tools lld-22"

LLVM_TOOLS = (
    "FileCheck",
    "ld.lld",
    "llc",
    "llvm-mc",
    "llvm-objdump",
    "llvm-remarkutil",
    "llvm-symbolizer",
    "mlir-opt",
    "mlir-translate",
    "opt",
)
"""LLVM's commands that tests may use; each is a feature for ``REQUIRES:`` where installed."""


def find_llvm_tool(name: str) -> str | None:
    """The path of LLVM 22's program ``name``, None where the PATH has it in no or another version.

    It is called ``name-22``, as Debian does, or ``name``.
    """
    if suffixed := shutil.which(f"{name}-{LLVM_VERSION}"):
        return suffixed
    plain = shutil.which(name)
    return plain if plain and _major_version(plain) == LLVM_VERSION else None


@cache
def _major_version(path: str) -> int | None:
    """The major version in the output of ``--version``, None where it is not in LLVM's words."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    version = re.search(r"\b(?:LLVM version|LLD) (\d+)\.", done.stdout)
    return int(version[1]) if version else None
