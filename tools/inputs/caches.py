"""Folders in which compilers that run at launch time keep the code of kernels."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from getpass import getuser

from fencewright.lowering.evidence import Evidence


@dataclass(frozen=True, slots=True)
class CacheRow:
    """A compiler's cache: the folder, and the files in it.

    ``variable`` names the folder, ``below`` is the part of the path after its value; ``default`` is
    the folder without it, where ``~`` and ``{temporary}``, ``{user}`` stand for what they are here.
    ``code``: patterns of files that are checked. ``closed``: of paths of files whose code cannot be
    read, with the ``way`` to code that can.
    """

    name: str
    variable: str
    default: str
    code: tuple[str, ...]
    closed: tuple[str, ...]
    way: str
    evidence: Evidence
    source: str
    below: str = ""

    def folder(self, environment: Mapping[str, str] = os.environ) -> str:
        """The folder that the cache is in now; of a list in the variable the first."""
        if given := environment.get(self.variable):
            return os.path.join(given.split(os.pathsep)[0], self.below).rstrip("/")
        whole = self.default.format(temporary=tempfile.gettempdir(), user=getuser())
        return os.path.expanduser(whole)

    def keeps(self, path: str) -> bool:
        """True of a file whose code cannot be read, by its path in the folder."""
        return any(fnmatch(path, pattern) for pattern in self.closed)


CACHES = (
    CacheRow(
        "Triton", "TRITON_CACHE_DIR", "~/.triton/cache", ("*.ptx", "*.amdgcn"), (),
        "TRITON_ALWAYS_COMPILE=1 compiles kernels again",
        Evidence.MEASURED,
        "Triton 3.9, knobs.py cache_knobs; files of a kernel compiled here",
    ),
    CacheRow(
        "PyTorch Inductor", "TORCHINDUCTOR_CACHE_DIR", "{temporary}/torchinductor_{user}",
        ("*.ptx", "*.amdgcn"), (),
        "kernels are in triton/DEVICE below it, as Triton keeps them",
        Evidence.DOCUMENTED,
        "PyTorch, Compile Time Caching Configuration",
    ),
    CacheRow(
        "FlashInfer", "FLASHINFER_WORKSPACE_BASE", "~/.cache/flashinfer", (),
        ("*.cuda.o", "*cached_ops/*.so"),
        "nvcc left the PTX inside: cuobjdump -xptx all FILE takes it out",
        Evidence.DOCUMENTED,
        "FlashInfer, flashinfer/jit/env.py at 05ce648: cached_ops",
        below=".cache/flashinfer",
    ),
    CacheRow(
        "DeepGEMM", "DG_JIT_CACHE_DIR", "~/.dj", ("*.ptx",), ("*kernel.cubin",),
        "set DG_JIT_DUMP_PTX=1 and compile again",
        Evidence.DOCUMENTED,
        "DeepGEMM, README.md at 0274ad7, environment variables; ~/.deep_gemm before DeepJIT",
    ),
    CacheRow(
        "CuTe DSL", "CUTE_DSL_DUMP_DIR", ".", ("*.ptx",), ("*.cubin",),
        "set CUTE_DSL_KEEP_PTX=1, and CUTE_DSL_LINEINFO=1 for Python lines",
        Evidence.DOCUMENTED,
        "NVIDIA CUTLASS, CuTe DSL, Debugging",
    ),
    CacheRow(
        "Warp", "WARP_CACHE_PATH", "~/.cache/warp", ("*.ptx",), ("*.sm*.cubin",),
        'set warp.config.cuda_output = "ptx" and warp.config.lineinfo = True',
        Evidence.DOCUMENTED,
        "NVIDIA Warp, warp.config.kernel_cache_dir, cuda_output",
    ),
)  # fmt: skip


def ways_to_code(folder: str) -> str:
    """The ways to code that can be read, where a folder of one of the caches has other code alone.

    Empty if it has none. The files of a whole folder are looked at by their names.
    """
    paths = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]
    rows = [row for row in CACHES if any(map(row.keeps, paths))]
    own = [row for row in rows if os.path.realpath(row.folder()) == os.path.realpath(folder)]
    return "; ".join(f"{row.name}: {row.way}" for row in own or rows)


def listed() -> list[str]:
    """A line for each cache: its folder now, whether it is there, and the way to its code."""
    return [
        f"{row.name}: {row.folder()} (${row.variable}"
        f"{'' if os.path.isdir(row.folder()) else ', not there'}): "
        f"{', '.join(row.code) or 'no readable code'}; {row.way} [{row.evidence}: {row.source}]"
        for row in CACHES
    ]
