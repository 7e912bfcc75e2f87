"""LLVM reads in a process of its own first, so that where it ends that, there is an error.

LLVM ends the process on some input: failed assertions, fatal errors, stack overflows. The child
is a fork that does what is asked and forgets it. Then the tool does the same itself.
"""

import os
import re
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from xdsl.dialects.builtin import ModuleOp

from fencewright.mlir_dialects.llvm_ir.edit import EditedModule
from fencewright.mlir_dialects.llvm_ir.parser import disassemble, try_to_read
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.text import TranslationError
from fencewright.mlir_dialects.llvm_ir.write import as_llvm_prints, write_llvm_ir
from fencewright.tools.diagnostics import error

_ASSERTION = re.compile(r"Assertion [`'](.*)' failed")
_FATAL = re.compile(r"LLVM ERROR: (.*)")
_MOST_OUTPUT = 1 << 16


def import_guarded(text: str, file: str) -> ModuleOp:
    """``import_llvm_ir``, with a ``ToolError`` where LLVM ends the process."""
    read_in_child(file, lambda: try_to_read(text))
    return import_llvm_ir(text, file)


def edit_guarded(text: str, file: str, *, sparse: bool) -> EditedModule:
    """``EditedModule``, with a ``ToolError`` where LLVM ends the process."""
    read_in_child(file, lambda: try_to_read(text))
    return EditedModule(text, file, sparse=sparse)


def export_guarded(module: ModuleOp) -> str:
    """``export_llvm_ir``, with a ``ToolError`` where LLVM ends the process."""
    text = write_llvm_ir(module)
    read_in_child("<exported>", lambda: try_to_read(text))
    return as_llvm_prints(text)


def disassemble_guarded(bitcode: bytes, file: str) -> str:
    """``disassemble``, with a ``ToolError`` where that fails or LLVM ends the process."""
    read_in_child(file, lambda: try_to_read(bitcode))
    try:
        return disassemble(bitcode)
    except TranslationError as problem:
        raise error(str(problem), file) from problem


def read_in_child(file: str, read: Callable[[], object]) -> None:
    """Do ``read`` in a child process. Raises ``ToolError`` about ``file`` if LLVM ends that.

    What ``read`` raises is left for the tool to raise. Without ``fork`` nothing is done.
    """
    if not hasattr(os, "fork"):
        return
    # Loaded before the fork, it is loaded once.
    import llvmlite.binding  # noqa: F401  # pyright: ignore[reportUnusedImport]

    output, write_end = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    child = os.fork()
    if not child:
        os.close(output)
        _child(read, write_end)
    os.close(write_end)
    try:
        with os.fdopen(output, "rb") as stream:
            said = stream.read(_MOST_OUTPUT).decode(errors="replace")
    finally:
        _, status = os.waitpid(child, 0)
    if status:
        raise error(f"LLVM ends the process on this module: {_reason(said, status)}", file)


def _child(read: Callable[[], object], output: int) -> NoReturn:
    """Runs the child; LLVM's last words go to ``output``, no core is dumped."""
    status = 1
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(output, 2)
        if (faulthandler := sys.modules.get("faulthandler")) is not None:
            faulthandler.disable()
        from resource import RLIMIT_CORE, setrlimit

        setrlimit(RLIMIT_CORE, (0, 0))
        read()
        status = 0
    except Exception:  # Only the end of the process counts here: the tool meets the rest itself.
        status = 0
    finally:
        os._exit(status)


def _reason(said: str, status: int) -> str:
    """The reason for the end of a child with the output ``said``."""
    if (found := _ASSERTION.search(said)) is not None:
        return f"assertion failed: {found[1]}"
    if (found := _FATAL.search(said)) is not None:
        return found[1].strip()
    if not os.WIFSIGNALED(status):
        return f"exit status {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    if number == signal.SIGSEGV:
        return "segmentation fault, perhaps because something is nested too deeply"
    return f"signal {signal.Signals(number).name}"
