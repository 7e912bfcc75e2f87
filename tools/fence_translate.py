"""fence-translate: LLVM IR to ``scoped`` and ``llvm_ir`` operations and back, as mlir-translate."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence

from fencewright.tools.diagnostics import (
    ToolError,
    diagnose,
    error,
    output_file,
    read_text,
    run_tool,
)

NAME = "fence-translate"
STDIN = "<stdin>"


def import_llvm(text: str, file: str) -> str:
    """LLVM IR to MLIR text."""
    from fencewright.lowering.llvm_ir import import_llvm_ir

    return str(import_llvm_ir(text, file)) + "\n"


def export_llvm(text: str, file: str) -> str:
    """MLIR text to LLVM IR."""
    from fencewright.lowering.llvm_ir import export_llvm_ir
    from fencewright.tools.litmus_files import parse_module

    return export_llvm_ir(parse_module(file, text))


def _parse_arguments(argv: Sequence[str] | None) -> tuple[Callable[[str, str], str], str, str]:
    parser = ArgumentParser(NAME, description=__doc__)
    parser.add_argument("input", nargs="?", default="-", help="file to translate, - for stdin")
    parser.add_argument("-o", dest="output", default="-", help="file to write, - for stdout")
    direction = parser.add_mutually_exclusive_group(required=True)
    direction.add_argument(
        "--import-llvm",
        "--llvm-to-mlir",
        dest="translate",
        action="store_const",
        const=import_llvm,
        help="LLVM IR to MLIR",
    )
    direction.add_argument(
        "--export-llvm",
        "--mlir-to-llvmir",
        dest="translate",
        action="store_const",
        const=export_llvm,
        help="MLIR to LLVM IR",
    )
    arguments = parser.parse_args(argv)
    return arguments.translate, arguments.input, arguments.output


def main(argv: Sequence[str] | None = None) -> int:
    """Run fence-translate on ``argv`` (None: the command line) and return the exit status."""

    def body() -> int:
        translate, path, output = _parse_arguments(argv)
        file = STDIN if path == "-" else path
        try:
            text = read_text(None if path == "-" else path)
            if not text.strip():
                raise error("the input is empty", file)
            result = translate(text, file)
        except Exception as problem:
            if (known := diagnose(problem, file)) is None:
                raise
            raise ToolError((known,)) from problem
        with output_file(output) as stream:
            stream.write(result)
        return 0

    return run_tool(NAME, body)


if __name__ == "__main__":
    sys.exit(main())
