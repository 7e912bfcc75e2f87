"""Names of functions as their author wrote them."""

import subprocess
from functools import cache
from shutil import which

from fencewright.tools.llvm_tools import find_llvm_tool


@cache
def demangled(name: str) -> str:
    """A name of C++ as it is written there: by llvm-cxxfilt or c++filt, else the name itself.

    Source: Itanium C++ ABI, 5.1: mangled names begin with ``_Z``.
    """
    if not name.startswith("_Z"):
        return name
    filt = find_llvm_tool("llvm-cxxfilt") or which("c++filt")
    if filt is None:
        return name
    done = subprocess.run([filt, name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name
