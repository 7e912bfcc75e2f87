"""Counts the synchronisation of eighteen kernels, LLVM's and ours, for docs/kernels-cdna.md.

``python benchmarks/kernels_cdna.py [--check]``; with ``--check`` nothing is written, and the exit
status is 1 if the page is out of date.
"""

import argparse
import io
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fencewright.tools.reports.markdown import markdown_table, written

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from fencewright.passes.analysis.caches import CacheCode

ROOT = Path(__file__).parent.parent
KERNELS = ROOT / "examples" / "kernels-cdna"
PAGE = ROOT / "docs" / "kernels-cdna.md"
CHIP = "gfx942"


@dataclass(frozen=True, slots=True)
class Counts:
    """Synchronisation instructions: write-backs, invalidates, waits for memory."""

    write_backs: int = 0
    invalidates: int = 0
    waits: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __str__(self) -> str:
        return f"{self.write_backs} / {self.invalidates} / {self.waits}"


PIPELINES = {
    "as lowered": f"cdna-pipeline{{mcpu={CHIP} opt-level=0}}",
    "minimised": f"cdna-pipeline{{mcpu={CHIP}}}",
    "stores=through": f"cdna-pipeline{{mcpu={CHIP} stores=through}}",
}


def count(assembly: str) -> dict[str, Counts]:
    """The counts of each kernel of an assembly text."""
    result: dict[str, Counts] = {}
    kernel = ""
    for line in assembly.splitlines():
        label = re.match(r"(\w+):", line)
        if label:
            kernel = label[1]
        words = line.split()
        if not words or words[0] not in _FIELD:
            continue
        one = Counts(**{_FIELD[words[0]]: 1})
        result[kernel] = result.get(kernel, Counts()) + one
    return result


_FIELD = {"buffer_wbl2": "write_backs", "buffer_inv": "invalidates", "s_waitcnt": "waits"}


def ours(pipeline: str) -> dict[str, Counts]:
    """The counts of what a pipeline makes of kernels.mlir."""
    from fencewright.tools.fence_opt import main

    printed = io.StringIO()
    stdout, sys.stdout = sys.stdout, printed
    try:
        main(["-p", pipeline, "-t", "asm", str(KERNELS / "kernels.mlir")])
    finally:
        sys.stdout = stdout
    return count(printed.getvalue())


def llvms() -> dict[str, Counts]:
    """The counts of what LLVM makes of kernels.ll at -O2."""
    return _compiled((KERNELS / "kernels.ll").read_text(encoding="utf-8"))


def llvms_less_surplus() -> dict[str, Counts]:
    """The same without what ``fence-check --surplus`` calls redundant."""
    from fencewright.checker.amd.check import check
    from fencewright.lowering.cdna.code.text import read_assembly

    text = _emitted((KERNELS / "kernels.ll").read_text(encoding="utf-8"))
    assembly = read_assembly(text)
    lines = text.splitlines()
    for function in assembly.functions.values():
        for each in check(assembly, function).surplus():
            words = lines[each.line - 1].split()
            left = [
                word for word in words[1:] if each.part and not word.startswith(f"{each.part}(")
            ]
            lines[each.line - 1] = " ".join((words[0], *left)) if left else ""
    return count("\n".join(lines))


def in_llvm_ir(**options: Any) -> dict[str, Counts]:
    """The counts of what LLVM makes of kernels.ll at -O2 once it has been lowered."""
    from fencewright import lower_llvm_ir

    text = (KERNELS / "kernels.ll").read_text(encoding="utf-8")
    return _compiled(lower_llvm_ir(text, CHIP, **options))


def _compiled(text: str) -> dict[str, Counts]:
    return count(_emitted(text))


def _emitted(text: str) -> str:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu=CHIP, opt=2)
    return machine.emit_assembly(module)


WAVES = 4
"""Waves of a work-group of 256 threads."""


def executed(file: str, *, elects: bool) -> dict[str, Counts]:
    """What the waves of each work-group execute all in all, each instruction of the code once.

    ``file``: kernels in MLIR or LLVM IR. Work-groups have four waves, those known to be smaller
    one. ``elects``: with the pass elect-release. Waits that LLVM adds by itself are left out.
    """
    from xdsl.context import Context

    from fencewright.passes.cdna.caches.cache_pass import codes_in
    from fencewright.passes.pipelines import CDNAPipeline, LLVMIRPipeline
    from fencewright.tools.remarks.remarks import function_of

    path = KERNELS / file
    module = _read(path)
    pipeline = LLVMIRPipeline(CHIP) if path.suffix == ".ll" else CDNAPipeline(CHIP)
    # The last pass of LLVM IR only writes waits in other words, which nothing here counts.
    left_out = {"show-waits"} if elects else {"show-waits", "elect-release"}
    for step in pipeline.passes():
        if step.name not in left_out:
            step.apply(Context(), module)
    return {
        function_of(cast("Operation", code.blocks[0].last_op)): _executed_in(code)
        for code in codes_in(module)
    }


def _read(path: Path) -> "ModuleOp":
    from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
    from fencewright.tools.inputs.litmus.files import parse_module

    text = path.read_text(encoding="utf-8")
    return import_llvm_ir(text) if path.suffix == ".ll" else parse_module(str(path), text)


def _executed_in(code: "CacheCode") -> Counts:
    from fencewright.mlir_dialects.cdna import CacheOp, WaitOp
    from fencewright.passes.analysis.election import blocks_of_elected

    alone = blocks_of_elected(code.entries, code.elected, code.blocks)
    total = Counts()
    for block in code.blocks:
        waves = 1 if block in alone or code.waves == 1 else WAVES
        for op in block.ops:
            name = op.opcode.data if isinstance(op, CacheOp) else None
            field = "waits" if isinstance(op, WaitOp) else _FIELD.get(name or "")
            total += Counts(**{field: waves}) if field else Counts()
    return total


def _several_waves() -> str:
    """The part of the page on work-groups of four waves."""
    from fencewright.lowering.cdna.performance.costs import write_back_time

    columns = {
        f"{language}, {how}": executed(f"elected.{suffix}", elects=elects)
        for language, suffix in (("MLIR", "mlir"), ("LLVM IR", "ll"))
        for how, elects in (("each wave", False), ("one wave", True))
    }
    eighteen = [executed("kernels.mlir", elects=elects) for elects in (False, True)]
    before, after = (sum(each.values(), Counts()).write_backs for each in eighteen)
    return f"""\
A write-back takes each wave {write_back_time(CHIP)} ns on {CHIP}, one after another on an XCD. Of the eighteen
kernels above none has one to elect: together they execute {before} write-backs without the pass
and {after} with it.

{_table(columns, kernels("elected.mlir"))}"""


def _table(columns: Mapping[str, Mapping[str, Counts]], names: Mapping[str, str]) -> str:
    rows = [
        (f"`{name}`: {what}", *(each.get(name, Counts()) for each in columns.values()))
        for name, what in names.items()
    ]
    sums = [
        sum((each.get(name, Counts()) for name in names), Counts()) for each in columns.values()
    ]
    total = ("**sum**", *(f"**{each}**" for each in sums))
    return markdown_table(("kernel", *columns), [*rows, total])


def kernels(file: str = "kernels.mlir") -> dict[str, str]:
    """The names of the kernels in their order, each with what it does."""
    text = (KERNELS / file).read_text(encoding="utf-8")
    found = re.findall(r"^// (.*)\nfunc\.func @(\w+)", text, re.MULTILINE)
    return {name: comment.rstrip(".") for comment, name in found}


def measured() -> Mapping[str, Mapping[str, Counts]]:
    """All counts: who -> kernel -> counts."""
    counts = {"LLVM 22 -O2": llvms(), "LLVM 22 -O2, less its surplus": llvms_less_surplus()}
    return (
        counts
        | {name: ours(each) for name, each in PIPELINES.items()}
        | {"LLVM IR, minimised": in_llvm_ir(), "LLVM IR, stores=auto": in_llvm_ir(stores="auto")}
    )


def totals(counts: Mapping[str, Counts]) -> Counts:
    """The sum over all kernels."""
    return sum((counts.get(name, Counts()) for name in kernels()), Counts())


def parts() -> Mapping[str, str]:
    """The parts of the page."""
    return {"kernels": _table(measured(), kernels()), "waves": _several_waves()}


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    return written(PAGE, parts(), check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
