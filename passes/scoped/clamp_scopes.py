"""The pass ``clamp-scopes``: scopes no wider than the known launch needs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.facts import LANES_OF_WAVE, clamped_scope, facts_for
from fencewright.lowering.llvm.architecture import ARCHITECTURES
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import Fact
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import SCOPES
from fencewright.passes.analysis.control_flow import is_mlir_function, top_level

_LLVM_DEFINITION = re.compile(r"(?:attributes (#[0-9]+)|(![0-9]+)) = (.*)")
_LLVM_REFERENCE = re.compile(r'"[^"]*"|(?<= )(#[0-9]+|![0-9]+)\b')
"""A reference to attributes or metadata; or a string, in which there is none."""

_SCOPED = frozenset(
    {
        scoped.LoadOp,
        scoped.StoreOp,
        scoped.AtomicRmwOp,
        scoped.CmpxchgOp,
        scoped.FenceOp,
        scoped.BarrierOp,
    }
)


@dataclass(frozen=True)
class ClampScopesPass(ModulePass):
    """Give operations on ``scoped`` the narrowest scope that means the same, ``facts`` holding.

    ``mcpu``: the chip. ``facts``: of ``lowering.facts``, promised of every launch; that a
    work-group is one wave is also seen from the known size of the work-group. The rules, with their
    sources, are the rows of ``lowering.facts.CLAMPS``. What holds of whole kernels only is not
    used in LLVM IR functions that are not kernels or call what is not known to touch no memory, nor
    where there are calls or asynchronous accesses. Raises ``UnsupportedError`` for a fact without
    use.
    """

    name = "clamp-scopes"

    mcpu: str
    facts: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        facts = facts_for(self.facts, self.mcpu)
        architecture = backend_of(self.mcpu).architecture
        placed = _run_by_tests(op)
        definitions = llvm_definitions(op)
        for function in top_level(op):
            if not is_function(function):
                continue
            known = facts
            if _name(function) not in placed and _is_one_wave(function, definitions, architecture):
                known |= {Fact.SINGLE_WAVE_WORKGROUP}
            if known:
                clamp_scopes(function, architecture, known)


def clamp_scopes(function: Operation, architecture: str, facts: frozenset[Fact]) -> None:
    """Clamp the scopes of one function, of which ``facts`` hold."""
    whole_kernel = is_whole_kernel(function)
    for op in function.walk():
        if type(op) not in _SCOPED:
            continue
        assert isinstance(op, scoped.ScopedOperation)
        if op.scope is None:
            continue
        narrow = clamped_scope(
            op.scope.data, op.OPERATION, architecture, facts, whole_kernel=whole_kernel
        )
        if narrow is not op.scope.data:
            op.scope = SCOPES[narrow]


def is_function(op: Operation) -> bool:
    """True if ``op`` is a function, of any dialect."""
    return is_mlir_function(op) or op.name == "llvm_ir.func"


def _name(function: Operation) -> str:
    name = function.get_attr_or_prop("sym_name")
    assert isinstance(name, StringAttr)
    return name.data


def _run_by_tests(module: ModuleOp) -> frozenset[str]:
    """The kernels of litmus threads: of how many waves their work-groups are, placements say."""
    found: set[str] = set()
    for test in module.ops:
        if test.name == "litmus.test":
            from fencewright.mlir_dialects.litmus import TestOp

            assert isinstance(test, TestOp)
            found |= {each.kernel.string_value() for each in test.threads if each.kernel}
    return frozenset(found)


def llvm_definitions(module: ModuleOp) -> dict[str, str]:
    """The numbered attributes and metadata of a module that came as LLVM IR."""
    lines = (op.properties["text"] for op in module.ops if op.name == "llvm_ir.top_level")
    found = (_LLVM_DEFINITION.match(text.data) for text in lines if isinstance(text, StringAttr))
    return {each[1] or each[2]: each[3] for each in found if each}


def _is_one_wave(function: Operation, definitions: Mapping[str, str], architecture: str) -> bool:
    lanes = most_lanes(function, definitions, architecture)
    return lanes is not None and lanes <= LANES_OF_WAVE[architecture]


def most_lanes(
    function: Operation, definitions: Mapping[str, str], architecture: str
) -> int | None:
    """The most threads of a work-group, if the kernel says so."""
    if is_mlir_function(function):
        from fencewright.passes.kernels.accept import known_block_size

        size = known_block_size(function)
        return None if size is None else prod(size)
    header = function.properties["text"]
    assert isinstance(header, StringAttr)
    written_out = _LLVM_REFERENCE.sub(
        lambda match: definitions.get(match[1], match[0]), header.data
    )
    return ARCHITECTURES[architecture].most_threads(written_out)


def is_whole_kernel(function: Operation) -> bool:
    """True if a function is all of a kernel, without calls and asynchronous accesses."""
    if is_mlir_function(function):
        from fencewright.mlir_dialects.scoped_async import ASYNC_OPERATIONS

        # They access memory elsewhere, or at another time.
        return not any(
            type(op) in ASYNC_OPERATIONS or op.name == "func.call" for op in function.walk()
        )
    from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp
    from fencewright.passes.analysis.llvm_ir_memory import is_kernel, unknown_in

    assert isinstance(function, FuncOp)
    return is_kernel(function) and not any(unknown_in(function))
