"""The output format ``asm``: the kernels of a module as their target's assembler takes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from types import MappingProxyType
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.kernels.accept import no_kernel


def place_of(op: Operation) -> SourceLocation | None:
    """The place that an operation comes from; None if not known."""
    at = op.location
    if not isinstance(at, FileLineColLoc):
        return None
    return SourceLocation(at.filename.data, at.line.data, at.column.data)


@dataclass(frozen=True)
class AssemblyTarget(Target):
    """Print kernels for ``llvm-mc`` (CDNA) or ``ptxas`` (PTX), whichever they are for.

    ``explain`` writes beside each synchronisation instruction what it does and where the rule
    stands. Raises ``DiagnosticException`` if there is no kernel, or kernels for two targets.
    """

    name: ClassVar[str] = "asm"

    explain: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        found = {op.name for op in top_level(module) if op.name in _FORMATS}
        if not found:
            conversions = "convert-scoped-to-cdna or convert-scoped-to-ptx"
            raise no_kernel(module, "cdna.kernel and no ptx.kernel", conversions)
        if len(found) > 1:
            raise DiagnosticException("one assembly file is for one chip, not for CDNA and PTX")
        _FORMATS[found.pop()](self.explain).emit(ctx, module, output)


def print_assembly(module: ModuleOp, *, explain: bool = False) -> str:
    """The assembly (CDNA) or PTX text of the kernels of a lowered module, as of
    ``AssemblyTarget``."""
    text = StringIO()
    AssemblyTarget(explain).emit(Context(), module, text)
    return text.getvalue()


# An architecture's printer is imported when it is asked for.
def _cdna(explain: bool) -> Target:
    from fencewright.passes.print.cdna import CDNAAssemblyTarget

    return CDNAAssemblyTarget(explain)


def _ptx(explain: bool) -> Target:
    from fencewright.passes.print.ptx import PTXTarget

    return PTXTarget(explain)


_FORMATS: Mapping[str, Callable[[bool], Target]] = MappingProxyType(
    {"cdna.kernel": _cdna, "ptx.kernel": _ptx}
)
