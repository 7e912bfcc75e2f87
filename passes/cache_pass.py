"""What the passes on the caches of CDNA code have in common."""

from abc import ABC, abstractmethod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fencewright.passes.cdna_caches import CacheCode
from fencewright.passes.kernel_caches import kernel_codes


class CachePass(ModulePass, ABC):
    """A pass on the caches of CDNA code: by itself on every ``cdna.kernel`` of a module.

    In LLVM IR it runs while that is lowered, on what ``llvm_ir_caches`` shows it.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for code in kernel_codes(op):
            self.run(code)

    @abstractmethod
    def run(self, code: CacheCode) -> None:
        """Run on the code of one work-group."""
