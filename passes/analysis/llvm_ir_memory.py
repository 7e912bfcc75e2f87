"""What instructions of LLVM IR may do to memory, as far as synchronisation depends on it."""

import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fencewright.lowering.sequence import Target
from fencewright.lowering.targets import parse_target
from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp, InstOp, TerminatorOp

_PLAIN = re.compile(
    r"(?:load|store) (?!atomic|volatile)"
    r"|(?:tail )?call void @llvm\.(?:memcpy|memmove|memset)\.[^(]*\(.*, i1 false\)"
)
_BARRIER = re.compile(r"(?:tail )?call void @llvm\.amdgcn\.s\.barrier\(\)")
_KERNEL = re.compile(r"define (?:[a-z_]+ )*(?:amdgpu_kernel|ptx_kernel) ")
"""A header as far as its calling convention: only bare words come before that."""


class MemoryEffects(Enum):
    """What an instruction that is carried as text does.

    PLAIN: weak accesses; BARRIER: it waits for the work-group; UNKNOWN: perhaps anything.
    """

    NONE = "none"
    PLAIN = "plain"
    BARRIER = "barrier"
    UNKNOWN = "unknown"


def memory_of(op: Operation) -> MemoryEffects:
    """What ``op`` does to memory; NONE for operations of other dialects, which say it themselves.

    Source: LLVM LangRef; LLVM AMDGPUUsage, llvm.amdgcn.s.barrier.
    """
    kind = type(op)
    if kind is not InstOp and kind is not TerminatorOp:
        return MemoryEffects.NONE
    assert isinstance(op, InstOp | TerminatorOp)
    return _memory_of(op.text.data) if op.may_access_memory else MemoryEffects.NONE


@lru_cache(maxsize=1 << 12)
def _memory_of(text: str) -> MemoryEffects:
    for pattern, found in ((_PLAIN, MemoryEffects.PLAIN), (_BARRIER, MemoryEffects.BARRIER)):
        if pattern.match(text):
            return found
    return MemoryEffects.UNKNOWN


def is_kernel(function: FuncOp) -> bool:
    """Whether a thread begins and ends with the function: by its calling convention.

    Source: LLVM LangRef, Functions and Calling Conventions.
    """
    return _KERNEL.match(function.text.data) is not None


def lowered_functions(module: ModuleOp) -> Iterator[tuple[FuncOp, Target]]:
    """The functions that have been lowered for CDNA, each with the target."""
    for function in module.ops:
        if isinstance(function, FuncOp) and (options := function.lowered_for) is not None:
            yield function, parse_target(**options)


def unknown_in(function: FuncOp) -> Iterator[Operation]:
    """The instructions of a function of which nothing is known."""
    return (op for op in function.walk() if memory_of(op) is MemoryEffects.UNKNOWN)
