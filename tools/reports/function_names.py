"""Names and lines in messages as the author of the code wrote them."""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from shutil import which

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.tools.llvm_tools import find_llvm_tool
from fencewright.tools.reports.author_text import line_of, text_of


@cache
def demangled(name: str) -> str:
    """A name of C++ as it is written there: by llvm-cxxfilt, c++filt or the C++ library, else the
    name itself.

    Source: Itanium C++ ABI, 5.1: mangled names begin with ``_Z``; 3.4: ``__cxa_demangle``.
    """
    if not name.startswith("_Z"):
        return name
    filt = find_llvm_tool("llvm-cxxfilt") or which("c++filt")
    if filt is None:
        return _by_library(name)
    done = subprocess.run([filt, name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name


_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")
_LONGEST = 4096
"""Characters of a name that is handed to a library in this process."""


def _by_library(name: str) -> str:
    """A name by the first C++ library that the machine has; itself where it has none."""
    from ctypes import CDLL, c_void_p, string_at

    for file in _LIBRARIES:
        try:
            library = CDLL(file)
        except OSError:
            continue
        demangle = library["__cxa_demangle"]
        demangle.restype = c_void_p
        found = demangle(name.encode(), None, None, None) if len(name) <= _LONGEST else None
        if found is None:
            return name
        text = string_at(found).decode(errors="replace")
        library["free"](c_void_p(found))
        return text
    return name


_MANGLED = re.compile(r"\b_Z\w+")
_PARAMETER = re.compile(r"(?:parameter )?('?)\b(\w+?)_param_(\d+)\b\1")
_ARGUMENT = re.compile(r"\bargument (\d+)")
_LINE = re.compile(r"\bline (\d+)\b(?! of)")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def in_author_words(
    message: str,
    kernel: str,
    at: SourceLocation | None,
    place_of: Callable[[int], SourceLocation | None],
    sources: Sequence[str],
    parameters: Sequence[str] = (),
) -> str:
    """A message with the variables, parameters and lines of the source, where that can be read.

    ``at``: the place that it is printed at, None where that is the code, whose lines it keeps then.
    ``place_of``: of a line of the code; ``sources``: paths in which parameters are looked for,
    unless their names are given.
    """

    def names(kernel: str) -> Sequence[str]:
        return parameters or parameters_of(kernel, tuple(sources))

    def parameter(found: re.Match[str]) -> str:
        number = int(found[3])
        if name := _at(names(found[2]), number):
            return found[0].replace(f"{found[2]}_param_{found[3]}", name)
        return f"the {_at(_ORDINALS, number) or f'{number + 1}th'} parameter"

    def argument(found: re.Match[str]) -> str:
        return _at(names(kernel), int(found[1])) or found[0]

    def line(found: re.Match[str]) -> str:
        place = place_of(int(found[1]))
        if at is None or place is None or not line_of(place.file, place.line):
            return found[0]
        return (
            f"line {place.line}" if place.file == at.file else f"line {place.line} of {place.file}"
        )

    message = _ARGUMENT.sub(argument, _PARAMETER.sub(parameter, message))
    return _LINE.sub(line, _MANGLED.sub(lambda found: variable_name(found[0]), message))


def short_name(name: str) -> str:
    """A name of C++ without its arguments and tags."""
    return re.split(r"[\[(<]", demangled(name))[0] or name


def variable_name(name: str) -> str:
    """A name of C++, without the function of a variable that is local to one."""
    own = demangled(name)
    return own.rpartition("::")[2] if name.startswith("_ZZ") else own


def _at(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else ""


@cache
def parameters_of(kernel: str, sources: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a kernel's parameters in the one definition of it in sources; none otherwise."""
    found = {each for path in sources for each in _definitions(kernel, text_of(path))}
    return found.pop() if len(found) == 1 else ()


_IN_C = re.compile(r"(\w+)\s*(?:\[\w*\]\s*)*$")
_IN_MLIR = re.compile(r"\s*%(\w+):")
"""The name of a parameter in its declaration."""


def _definitions(kernel: str, text: str) -> Iterator[tuple[str, ...]]:
    own = demangled(kernel).replace("(anonymous namespace)", "")
    words = re.findall(r"\w+", re.split(r"[<(]", own)[0])
    for found in re.finditer(rf"\b{words[-1]}\s*\(", text) if words else ():
        pieces, end = _pieces(text, found.end())
        names = [_IN_MLIR.match(each) or _IN_C.search(each.partition("=")[0]) for each in pieces]
        if text[end:].lstrip().startswith(("{", "attributes {")) and all(names):
            yield tuple(each[1] for each in names if each)


def _pieces(text: str, begin: int) -> tuple[list[str], int]:
    """The parts of a list in brackets between its commas, and its end."""
    depth, pieces = 0, [""]
    for at, sign in enumerate(text[begin:], begin):
        depth += (sign in "(<[{") - (sign in ")>]}")
        if depth < 0:
            return pieces, at + 1
        if sign == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += sign
    return pieces, len(text)
