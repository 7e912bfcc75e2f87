"""The common base of the passes on the caches of CDNA code."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fencewright.passes.analysis.caches import CacheCode
from fencewright.passes.cdna.caches.kernel_caches import kernel_codes


class CachePass(ModulePass, ABC):
    """A pass on the caches of CDNA code: of every ``cdna.kernel``, and of functions in LLVM IR.

    Those have to be lowered already, by ``lower-scoped-llvm-ir``.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for code in codes_in(op):
            self.run(code)

    @abstractmethod
    def run(self, code: CacheCode) -> None:
        """Run on the code of one work-group."""


def codes_in(module: ModuleOp) -> Iterator[CacheCode]:
    """The code of every work-group: kernels on ``cdna``, functions in LLVM IR."""
    yield from kernel_codes(module)
    if any(op.name == _LLVM_IR_FUNCTION for op in module.ops):
        from fencewright.passes.llvm_ir.caches import llvm_ir_codes

        yield from llvm_ir_codes(module)


_LLVM_IR_FUNCTION = "llvm_ir.func"
"""The name of an operation whose dialect is not imported for others."""
