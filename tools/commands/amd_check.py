"""The part of fence-check that is for AMD assembly: its inputs, refusals and findings."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fencewright.checker.amd.check import Checked, check
from fencewright.lowering.cdna.code.listing import addresses_in, at_sources, read_disassembly
from fencewright.lowering.cdna.code.object_kernels import with_descriptors
from fencewright.lowering.cdna.code.objects import (
    MAGIC,
    chip_of_object,
    descriptors_of_object,
    functions_of_object,
    untyped_functions,
)
from fencewright.lowering.cdna.code.other_chips import chip_of
from fencewright.lowering.cdna.code.text import Assembly, check_whole, read_assembly
from fencewright.lowering.cdna.code.variables import Variable, read_variables, variables_of_object
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools import diagnostics
from fencewright.tools.inputs.object_lines import lines_of_object
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool
from fencewright.tools.reports.file_report import FunctionName, FunctionVerdict

if TYPE_CHECKING:
    from fencewright.checker.verdicts.amd.judge import JudgedFunction

_FORMATS = (
    (re.compile(r"^[^\S\n]*(target (triple|datalayout)|define |source_filename)", re.M), "LLVM IR"),
    (re.compile(r"^[^\S\n]*\.target\s+sm_", re.M), "code of NVIDIA's GPUs"),
)
"""Other inputs that may be given by mistake, by a pattern of their text."""


def read_kernels(content: bytes, file: str) -> tuple[Assembly, str, dict[str, Variable]]:
    """``read_input``, with all that a launch needs of a code object, and the variables."""
    assembly, text = read_input(content, file)
    if not content.startswith(MAGIC):
        return assembly, text, read_variables(text)
    return with_descriptors(assembly, content, file), text, variables_of_object(content)


def read_input(content: bytes, file: str) -> tuple[Assembly, str]:
    """The assembly that a file contains, which may be a code object, and its text.

    Raises ``AssemblyError``, and ``ToolError`` where llvm-objdump is missing or fails.
    """
    if not content.strip():
        raise diagnostics.error("the input is empty", file)
    if content.startswith(MAGIC):
        chip = chip_of_object(content, file)
        listing = _disassembled(content, file)
        symbols, descriptors = functions_of_object(content), descriptors_of_object(content)
        untyped = untyped_functions(content)
        assembly = read_disassembly(listing, chip, file, symbols, descriptors, untyped)
        return _at_sources(assembly, content, listing), listing
    if diagnostics.is_bitcode(content):
        raise diagnostics.error("LLVM bitcode, not AMD assembly", file)
    text = diagnostics.as_text(content)
    if ".amdgcn_target" not in text:
        for pattern, name in _FORMATS:
            if pattern.search(text):
                raise diagnostics.error(f"{name}, not AMD assembly", file)
    assembly = read_assembly(text, file)
    check_whole(text, file)
    return assembly, text


def _at_sources(assembly: Assembly, content: bytes, listing: str) -> Assembly:
    """The assembly of an object with the author's lines, if the object has any."""
    addresses = addresses_in(listing)
    lines, files = lines_of_object(content, addresses.values())
    if not lines:
        return assembly
    sources = {line: lines[at] for line, at in addresses.items() if at in lines}
    return at_sources(assembly, sources, files)


def _disassembled(content: bytes, file: str) -> str:
    objdump = find_llvm_tool("llvm-objdump")
    if objdump is None:
        raise diagnostics.error(f"code objects need llvm-objdump: {LLVM_HINT}", file)
    options = ("-d", "--symbolize-operands", "--no-show-raw-insn", "--no-leading-addr", "-")
    done = subprocess.run([objdump, *options], input=content, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise diagnostics.error(said[0] if said else "llvm-objdump failed", file)
    return done.stdout.decode(errors="replace")


def checked(
    assembly: Assembly, file: str, l2_per_agent: L2PerAgent | None = None
) -> Iterator[Checked]:
    """All functions; raises ``AssemblyError``."""
    chip_of(assembly, file)
    if not any(each.instructions for each in assembly.functions.values()):
        raise AssemblyError(f"{file}:1: error: there is no function with instructions in it")
    for function in assembly.functions.values():
        yield check(assembly, function, l2_per_agent)


def named(assembly: Assembly, judged: "Sequence[JudgedFunction]") -> Iterator[FunctionName]:
    """The functions with their verdicts, but for those that kernels call and that are none, and
    those without instructions."""
    for function in assembly.functions.values():
        if not function.instructions:
            yield FunctionName(function.name, is_kernel=bool(function.descriptor))
    called = {name for each in judged for name in each.calls if name != each.function.name}
    for each in judged:
        function = each.function
        is_kernel = bool(function.descriptor)
        if function.name in called and not is_kernel:
            yield FunctionName(function.name, is_kernel)
            continue
        said = FunctionVerdict.of(each.verdict, function.instructions[0].line)
        yield FunctionName(function.name, is_kernel, verdict=said)
