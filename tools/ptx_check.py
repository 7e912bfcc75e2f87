"""The part of fence-check that is for PTX: its inputs, refusals and findings."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from fencewright.tools import diagnostics
from fencewright.tools.inputs.code_kind import is_ptx
from fencewright.tools.reports.file_report import FunctionName, FunctionVerdict

if TYPE_CHECKING:
    from fencewright.checker.nvidia.findings import JudgedFunction
    from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction

_LOOKED_AT = 1 << 16
"""The number of bytes that identify a file: comments may come first."""
_OTHERS = (
    (re.compile(r"^[^\S\n]*(target (triple|datalayout)|define |source_filename)", re.M), "LLVM IR"),
    (re.compile(r"\.amdgcn_target|\.amdhsa_"), "AMD assembly"),
)
"""Other files that may be given by mistake, by text that they contain."""


def read_input(content: bytes, file: str) -> "PtxFile":
    """The PTX that a file contains.

    Raises ``PtxError``, or ``ToolError`` for what is something else.
    """
    # Here, for most inputs are AMD's.
    from fencewright.lowering.ptx.code.text import PtxError, read_ptx

    if not content.strip():
        raise diagnostics.error("the input is empty", file)
    if content.startswith(b"\x7fELF"):
        raise diagnostics.error("an object file, not PTX", file)
    if diagnostics.is_bitcode(content):
        raise diagnostics.error("LLVM bitcode, not PTX", file)
    text = diagnostics.as_text(content)
    if not is_ptx(text):
        for pattern, name in _OTHERS:
            if pattern.search(text[:_LOOKED_AT]):
                raise diagnostics.error(f"{name}, not PTX", file)
    module = read_ptx(text, file)
    if not any(block.instructions for f in module.functions.values() for block in f.blocks):
        raise PtxError(file, 1, "there is no function with instructions in it")
    return module


Sizes = tuple[int, int, int] | None
"""Sizes of a launch in x, y and z; None: any."""


def judged(
    module: "PtxFile",
    block: Sizes = None,
    grid: Sizes = None,
    *,
    replays: bool = True,
    finds_surplus: bool = False,
    only: str | None = None,
) -> "Iterator[JudgedFunction]":
    """All functions, or ``only`` one, with verdicts and findings, for all launches or for one.

    ``replays``: races are executed, and those that an execution shows again are errors.
    ``finds_surplus``: verdicts without each barrier are made too.
    """
    from fencewright.checker.nvidia.findings import judged as judged_function
    from fencewright.checker.verdicts.solver import Launch, Steps

    launch, steps = Launch(block, grid), Steps(1 if only else len(module.functions))
    for function in module.functions.values():
        if only in (None, function.name):
            yield judged_function(
                module, function, launch, steps, replays=replays, finds_surplus=finds_surplus
            )


def named(module: "PtxFile", judged: "Iterable[JudgedFunction]") -> Iterator[FunctionName]:
    """The functions with their verdicts, but for those that others call and that are no kernels."""
    from fencewright.lowering.ptx.code.calls import callees

    called = callees(module)
    for each in judged:
        function, verdict = each.function, each.verdict
        if function.name in called and not function.is_entry:
            yield FunctionName(function.name, is_kernel=False)
            continue
        said = FunctionVerdict.of(verdict, function.line)
        yield FunctionName(function.name, function.is_entry, verdict=said)


def lifted(module: "PtxFile") -> Iterator[tuple[int, str]]:
    """The guarantees of each instruction to other threads, with its line."""
    from fencewright.checker.nvidia.guarantees import Guarantees

    for function in module.functions.values():
        for each in Guarantees(function).lines():
            yield each.instruction.line, each.text


def scoped(module: "PtxFile") -> "Iterator[tuple[PtxFunction, Callable[[], str]]]":
    """The functions that no other calls, each with its writer on ``scoped``.

    That raises ``UnliftableError`` for what ``scoped`` cannot say.
    """
    from fencewright.checker.lifting.nvidia import ptx_to_scoped
    from fencewright.lowering.ptx.code.calls import callees

    called = callees(module)
    for function in module.functions.values():
        if function.name in called and not function.is_entry:
            continue
        yield function, partial(ptx_to_scoped, module, function)
