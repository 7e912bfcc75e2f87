"""MLIR in LLVM's own dialects, as LLVM IR: by ``mlir-translate`` of LLVM 22."""

import re
import subprocess

from fencewright.tools.diagnostics import error
from fencewright.tools.inputs.gpu_module import with_kernels_alone
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool
from fencewright.universe import UNIVERSE

TRANSLATE = "mlir-translate"

_ERROR = re.compile(r"^<stdin>:(\d+):(\d+): error: (.*)$", re.MULTILINE)
_NOT_LOWERED = re.compile(
    r"Dialect `\w+' not found|LLVMTranslationDialectInterface|cannot be converted to LLVM IR"
)
"""The message of mlir-translate for an operation of another dialect."""

_OF_NO_DIALECT = re.compile(r"Dialect `(\w+)' not found")

_REMEDY = (
    "; lower it to the llvm dialect first, as with mlir-opt --convert-scf-to-cf --convert-to-llvm "
    "--reconcile-unrealized-casts"
)


def llvm_ir_of(text: str, file: str, line_offset: int = 0) -> str:
    """The LLVM IR of a module in the llvm, nvvm and rocdl dialects, or of the ``gpu.module`` in it.

    Raises ``ToolError``: where that is not alone, without ``mlir-translate``, and with its first
    error at its place in
    ``file``, of which ``line_offset`` lines came before ``text``.
    """
    program = find_llvm_tool(TRANSLATE)
    if program is None:
        raise error(f"--import-mlir needs LLVM 22's {TRANSLATE}; {LLVM_HINT}", file)
    command = [program, "--mlir-to-llvmir"]
    given = with_kernels_alone(text, file, line_offset)
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, errors="replace", check=False
    )
    if not done.returncode:
        return done.stdout
    said = _ERROR.search(done.stderr)
    if said is None:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise error(f"{TRANSLATE}: {last[0]}", file)
    remedy = _REMEDY if _NOT_LOWERED.search(said[3]) else ""
    if (dialect := _OF_NO_DIALECT.search(said[3])) and dialect[1] in UNIVERSE.all_dialects:
        remedy = f"; {TRANSLATE} does not know it, and fence-opt reads it without --import-mlir"
    line = int(said[1]) + line_offset
    raise error(f"{said[3].strip()}{remedy}", file, line, int(said[2]))
