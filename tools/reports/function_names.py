"""Names and lines in messages as the author of the code wrote them."""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from shutil import which

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.tools.llvm_tools import find_llvm_tool
from fencewright.tools.reports.author_text import line_of, text_of
from fencewright.tools.reports.numba_names import SMEM, array_in, parameters_in


def demangled(name: str) -> str:
    """A name of C++ as it is written: by llvm-cxxfilt, c++filt or the C++ library, or as it is.

    Source: Itanium C++ ABI, 5.1: mangled names begin with ``_Z``; 3.4: ``__cxa_demangle``.
    """
    return _TAG.sub("", demangled_all((name,))[0]) if name.startswith("_Z") else name


_TAG = re.compile(r"\[abi:\w+\]")
"""A tag of numba's for each version of a kernel, and of libraries."""


@cache
def demangled_all(names: tuple[str, ...]) -> Sequence[str]:
    """Names of C++ by one program: to start one for each name takes seconds."""
    filt = find_llvm_tool("llvm-cxxfilt") or which("c++filt")
    if filt is None:
        return [_by_library(each) for each in names]
    text = "\n".join(names)
    done = subprocess.run([filt], input=text, capture_output=True, text=True, check=False)
    found = done.stdout.splitlines()
    return found if len(found) == len(names) else names


def kernel_names(names: Sequence[str]) -> Sequence[str]:
    """Names of functions as ``kernel_name`` has them."""
    mangled = tuple(each for each in names if each.startswith("_Z"))
    known = dict(zip(mangled, demangled_all(mangled), strict=True)) if mangled else {}
    return [_without_arguments(_TAG.sub("", known.get(each, each))) or each for each in names]


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


_NAMELESS = re.compile(r"\b_INTERNAL_\w+::|\(anonymous namespace\)::")
"""Namespaces that have no name in the source: nvcc puts a file's variables into one of its own."""
_MANGLED = re.compile(r"\b_Z\w+\b(?!<<<)")
"""A name of C++, but not of a launch, which is written as ``--launch`` takes it."""
_PARAMETER = re.compile(r"(?:parameter )?('?)\b(\w+?)_param_(\d+)\b\1")
_ARGUMENT = re.compile(r"\b(the memory of )?argument (\d+)")
_LINE = re.compile(r"\bline (\d+)\b(?! of)")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def in_author_words(
    message: str,
    kernel: str,
    at: SourceLocation | None,
    place_of: Callable[[int], SourceLocation | None],
    sources: Sequence[str],
    parameters: Sequence[str] = (),
    arrays: Sequence[str] = (),
) -> str:
    """A message with the variables, parameters and lines of the source, where that can be read.

    ``at``: the place that it is printed at, None where that is the code, whose lines it keeps then.
    ``place_of``: of a line of the code; ``sources``: paths in which parameters are looked for,
    unless their names are given. ``arrays``: the shared arrays of numba's.
    """

    def names(kernel: str) -> Sequence[str]:
        return parameters or parameters_of(kernel, tuple(sources))

    def parameter(found: re.Match[str]) -> str:
        number = int(found[3])
        if name := _at(names(found[2]), number):
            return found[0].replace(f"{found[2]}_param_{found[3]}", name)
        return _named((), number)

    def argument(found: re.Match[str]) -> str:
        if found[1]:
            return f"the memory of {_named(names(kernel), int(found[2]))}"
        return _at(names(kernel), int(found[2])) or found[0]

    def array(found: re.Match[str]) -> str:
        texts = map(text_of, sources)
        own = (array_in(text, demangled(kernel), found[0], arrays) for text in texts)
        return next(filter(None, own), found[0])

    def line(found: re.Match[str]) -> str:
        place = place_of(int(found[1]))
        if at is None or place is None or not line_of(place.file, place.line):
            return found[0]
        return (
            f"line {place.line}" if place.file == at.file else f"line {place.line} of {place.file}"
        )

    message = _ARGUMENT.sub(argument, _PARAMETER.sub(parameter, SMEM.sub(array, message)))
    return _LINE.sub(line, _MANGLED.sub(lambda found: variable_name(found[0]), message))


def short_name(name: str) -> str:
    """A name of C++ without its arguments and tags."""
    return re.split(r"[\[(<]", demangled(name))[0] or name


def kernel_name(name: str) -> str:
    """A name of C++ with the arguments of its template, without its namespace of no name."""
    return kernel_names((name,))[0]


def _without_arguments(name: str) -> str:
    return _NAMELESS.sub("", name).partition("(")[0].removeprefix("void ")


def variable_name(name: str) -> str:
    """A name of C++, without the function of a variable that is local to one."""
    own = _NAMELESS.sub("", demangled(name))
    return own.rpartition("::")[2] if name.startswith("_ZZ") else own


def _named(names: Sequence[str], number: int) -> str:
    """A parameter by its name, or by its place where that is not known."""
    if name := _at(names, number):
        return f"parameter '{name}'"
    return f"the {_at(_ORDINALS, number) or f'{number + 1}th'} parameter"


def _at(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else ""


@cache
def parameters_of(kernel: str, sources: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a kernel's parameters in the one definition of it in sources; none otherwise."""
    found = {each for text in texts_of(sources) for each in _definitions(kernel, text)}
    found |= {each for path in sources for each in parameters_in(text_of(path), demangled(kernel))}
    return found.pop() if len(found) == 1 else ()


_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\((\w[^()]*)\)((?:.*\\\n)*.*)", re.M)
"""The definition of a macro with parameters: its name, the parameters and the body."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_USE = re.compile(r"^[ \t]*(\w+)[ \t]*\(", re.M)
"""The place where a macro may be used to define a kernel: the beginning of a line."""


@cache
def texts_of(sources: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of sources, and their macros as they are used."""
    texts = [_COMMENT.sub(" ", text_of(path)) for path in sources]
    macros = {name: (names, body) for text in texts for name, names, body in _MACRO.findall(text)}
    uses = ((text, each) for text in texts for each in _USE.finditer(text) if each[1] in macros)
    return (*texts, *(_expanded(*macros[use[1]], text, use.end()) for text, use in uses))


def _expanded(names: str, body: str, text: str, begin: int) -> str:
    """The body of a macro with the arguments that begin there in a text."""
    parameters = [each.strip() for each in names.split(",")]
    given = [each.strip() for each in _pieces(text, begin)[0]]
    values = dict(zip(parameters, given, strict=False))
    words = "|".join(map(re.escape, values))
    filled = re.sub(rf"\b(?:{words})\b", lambda found: values[found[0]], body)
    return re.sub(r"\s*##\s*", "", filled.replace("\\\n", "\n"))


_IN_C = re.compile(
    r"(\w+)\s*(?:\[\w*\]\s*)*$|\(\s*[*&][\s*]*(?:const\s+|__restrict__\s+)*(\w+)\s*\)"
)
_IN_MLIR = re.compile(r"\s*%(\w+):")
"""The name of a parameter in its declaration."""


def _definitions(kernel: str, text: str) -> Iterator[tuple[str, ...]]:
    own = _NAMELESS.sub("", demangled(kernel))
    words = re.findall(r"\w+", re.split(r"[<(]", own)[0])
    for found in re.finditer(rf"\b{words[-1]}\s*\(", text) if words else ():
        pieces, end = _pieces(text, found.end())
        names = [_IN_MLIR.match(each) or _IN_C.search(each.partition("=")[0]) for each in pieces]
        if text[end:].lstrip().startswith(("{", "attributes {")) and all(names):
            yield tuple(each[each.lastindex or 1] for each in names if each)


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
