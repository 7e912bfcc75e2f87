"""fence-translate: LLVM IR to ``scoped`` and ``llvm_ir`` operations and back, as mlir-translate."""

import sys
from collections.abc import Callable, Sequence

from fencewright.tools import diagnostics
from fencewright.tools.arguments import ToolArguments, add_completion
from fencewright.tools.outputs import check_folders, check_outputs

NAME = "fence-translate"
STDIN = "<stdin>"


def import_llvm(text: str, file: str) -> str:
    """LLVM IR to MLIR text."""
    from fencewright.tools.inputs.llvm_child import import_guarded

    return str(import_guarded(text, file)) + "\n"


def export_llvm(text: str, file: str) -> str:
    """MLIR text to LLVM IR."""
    from fencewright.tools.inputs.litmus.files import parse_module
    from fencewright.tools.inputs.llvm_child import export_guarded

    return export_guarded(parse_module(file, text))


def _read(path: str | None, file: str) -> str:
    """The text of the input, which may be LLVM bitcode."""
    content = diagnostics.read_bytes(path)
    if not diagnostics.is_bitcode(content):
        return diagnostics.as_text(content)
    from fencewright.tools.inputs.llvm_child import disassemble_guarded

    return disassemble_guarded(content, file)


def _parse_arguments(argv: Sequence[str] | None) -> tuple[Callable[[str, str], str], str, str]:
    parser = ToolArguments(NAME, description=(__doc__ or "").replace("``", ""))
    add_completion(parser)
    diagnostics.add_version(parser)
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
        check_folders([output])
        check_outputs(NAME, {"-o": output}, [path])
        try:
            text = _read(None if path == "-" else path, file)
            if not text.strip():
                raise diagnostics.error("the input is empty", file)
            result = translate(text, file)
        except Exception as problem:
            if (known := diagnostics.diagnose(problem, file)) is None:
                raise
            raise diagnostics.ToolError((known,)) from problem
        with diagnostics.output_file(output) as stream:
            stream.write(result)
        return 0

    return diagnostics.run_tool(NAME, body)


if __name__ == "__main__":
    sys.exit(main())
