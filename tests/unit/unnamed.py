"""LLVM IR as LLVM prints it when nothing in it has a name, to compare two texts of one module."""

from fencewright.mlir_dialects.llvm_ir.parser import llvm_module


def unnamed(text: str) -> str:
    """What LLVM prints for ``text`` when no argument, block or instruction has a name."""
    with llvm_module(text, "compared") as module:
        for function in module.functions:
            for value in function.arguments:
                value.name = ""
            for block in function.blocks:
                block.name = ""
                for instruction in block.instructions:
                    instruction.name = ""
        return str(module)
