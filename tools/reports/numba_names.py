"""Names of numba's kernels: of a Python source, for those of the PTX that numba makes of it.

An array of N dimensions is 5 + 2 N parameters, and the shared arrays of all kernels are numbered in
the order in which they are compiled. Source: numba-cuda 0.30.4, ``ArrayModel`` of
numba/cuda/core/datamodel/models.py, and ``_get_unique_smem_id`` of numba/cuda/cudaimpl.py.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

_FIELDS = 5
_OF_DIMENSION = 2
_TYPE = re.compile(r"Array<\w+, (\d+), [^<>]*>|\w+")
_SHARED = re.compile(r"^[ \t]+(\w+)\s*=\s*(?:\w+\.)*shared\.array\(", re.M)
SMEM = re.compile(r"\b_cudapy_smem_(\d+)")
"""The name of a shared array in PTX."""


def smem_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The shared arrays in the instructions of a module, in the order of their declarations."""
    numbers = {int(found[1]) for text in texts for found in SMEM.finditer(text)}
    return tuple(f"_cudapy_smem_{number}" for number in sorted(numbers))


def parameters_in(text: str, kernel: str) -> Iterator[tuple[str, ...]]:
    """The names of the parameters of the PTX of a kernel, by each definition in a Python source.

    ``kernel``: its demangled name, with the types of its arguments.
    """
    name, _, types = kernel.partition("(")
    fields = [_fields(found[1]) for found in _TYPE.finditer(types)]
    for given, _ in _definitions(text, name):
        if len(given) == len(fields):
            pairs = zip(given, fields, strict=True)
            yield tuple(each for each, number in pairs for _ in range(number))


def _fields(dimensions: str | None) -> int:
    return 1 if dimensions is None else _FIELDS + _OF_DIMENSION * int(dimensions)


def array_in(text: str, kernel: str, name: str, names: Sequence[str]) -> str:
    """The name of a shared array in a Python source; none where the kernel has not ``names``."""
    for _, body in _definitions(text, kernel.partition("(")[0]):
        found = [each[1] for each in _SHARED.finditer(body)]
        if len(found) == len(names) and name in names:
            return found[names.index(name)]
    return ""


def _definitions(text: str, kernel: str) -> Iterator[tuple[Sequence[str], str]]:
    """The parameters and the body of each function of that name."""
    own = re.escape(kernel.rpartition("::")[2])
    for found in re.finditer(rf"^([ \t]*)def {own}\(([^()]*)\)[^\n]*:[^\n]*\n", text, re.M):
        end = re.compile(rf"^[ \t]{{0,{len(found[1])}}}\S", re.M).search(text, found.end())
        names = (each.partition("=")[0].partition(":")[0].strip() for each in found[2].split(","))
        body = text[found.end() : end.start() if end else len(text)]
        yield [each for each in names if each], body
