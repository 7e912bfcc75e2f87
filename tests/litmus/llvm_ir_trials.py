"""Trials of the passes on LLVM IR, each judged on the LLVM IR that they make.

A program is executed, as ``llvm_ir_programs`` reads it; where a mutant can only show in machine
code, as LLVM compiles it. LLVM IR that no program says, calls and the like, is compared with what
has to be left of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import guard_llvm_ir
import llvm_ir_programs
from guard_llvm_ir import Kept
from pass_trials import LIMITS, ONE, Built, Trial, View, meant_by
from xdsl.dialects.builtin import ModuleOp

from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.pipelines import LLVMIRPipeline, StorePolicy
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.litmus_run import Run, SourceTest, forbidden, run
from fencewright.simulator.random.programs import SmallProgram
from fencewright.tools.fuzz import llvm_ir as fuzz_llvm_ir
from fencewright.tools.fuzz.llvm_ir_writer import KernelForm, written


@dataclass(frozen=True)
class LLVMIRView(View):
    """The pipeline for LLVM IR; ``compiled``: what it makes is executed as LLVM compiles it."""

    compiled: bool = False


def on_llvm_ir(
    chip: str = "gfx942",
    *,
    tgsplit: bool = False,
    machine: L2PerAgent | None = None,
    stores: StorePolicy = "back",
    compiled: bool = False,
) -> LLVMIRView:
    """The passes on LLVM IR for CDNA; ``machine``: how many L2 an agent has."""
    pipeline = LLVMIRPipeline(chip, tgsplit=tgsplit, stores=stores)

    options = ReadOptions(l2_per_agent=machine or L2PerAgent.MANY, chip=chip, tgsplit=tgsplit)
    marks = (
        "compiled" if compiled else "llvm-ir",
        chip,
        "tgsplit" if tgsplit else "",
        f"on-{machine}-l2" if machine else "",
        stores if stores != "back" else "",
    )
    return LLVMIRView("-".join(filter(None, marks)), pipeline.passes, options, compiled=compiled)


ON_LLVM_IR = (
    on_llvm_ir(),
    on_llvm_ir("gfx90a", machine=ONE),
    on_llvm_ir(tgsplit=True),
    on_llvm_ir(stores="auto"),
    on_llvm_ir(stores="through"),
)
COMPILED = (
    on_llvm_ir(compiled=True),
    on_llvm_ir("gfx90a", machine=ONE, compiled=True),
    on_llvm_ir(tgsplit=True, compiled=True),
)


@dataclass(frozen=True)
class ProgramTrial(Trial):
    """A program as LLVM IR; ``source`` gives it as a litmus test on ``scoped``."""

    source: Callable[[], ModuleOp]
    is_marked: ClassVar[bool] = False

    @cached_property
    def meant(self) -> Run:
        """What the program may do."""
        return meant_by(self.source)

    def wrong(self, code: ModuleOp) -> str:
        """What ``code`` does that the source forbids; empty if there is nothing, or too much to see."""
        test = _test(self.source())
        text = export_llvm_ir(code)
        assert isinstance(self.view, LLVMIRView)
        if self.view.compiled:
            try:
                does = _compiled(test, text, self.view.options)
            except AssemblyError as problem:
                return str(problem)
        else:
            does = run(llvm_ir_programs.executable(test, text, self.view.options), LIMITS)
        if does.errors:
            return does.errors[0]
        extra = forbidden(self.meant, does)
        return "" if extra is None else " ".join(str(extra).split())


def _compiled(test: SourceTest, text: str, options: ReadOptions) -> Run:
    """What the machine code can do that LLVM makes of ``text``."""
    assert options.chip is not None
    features = ("tgsplit",) if options.tgsplit else ()
    code = read_assembly(fuzz_llvm_ir.assembly_of(text, options.chip, features), "<llc>")
    configuration = CdnaConfiguration(options.chip, bool(options.tgsplit), options.l2_per_agent)
    compiled = fuzz_llvm_ir.machine_test(test, code, configuration)
    return fuzz_llvm_ir.run_compiled(test, compiled, LIMITS)


def _test(module: ModuleOp) -> SourceTest:
    test = read_only_test(module, ReadOptions())
    assert isinstance(test, SourceTest)
    return test


def llvm_ir_trial(name: str, source: Callable[[], ModuleOp], view: LLVMIRView) -> ProgramTrial:
    """A litmus test on ``scoped`` as LLVM IR in a view."""

    def make() -> ModuleOp:
        program = _test(source()).test.program
        if not view.compiled:
            return import_llvm_ir(written(program))
        return import_llvm_ir(fuzz_llvm_ir.in_registers(written(program, KernelForm(results=True))))

    return ProgramTrial(name, make, view, source)


def of_small(name: str, program: SmallProgram, view: LLVMIRView) -> ProgramTrial:
    """A program as LLVM IR in a view, in memory of the kinds that its chip has."""
    assert view.options.chip is not None
    placed = program.for_chip(view.options.chip)
    return llvm_ir_trial(name, Built(placed), view)


# What is compared with what has to be left


@dataclass(frozen=True)
class KeptTrial(Trial):
    """LLVM IR of ``guard_llvm_ir``."""

    kept: Kept
    is_marked: ClassVar[bool] = False

    @property
    def is_fit(self) -> bool:
        """It always is."""
        return True

    def wrong(self, code: ModuleOp) -> str:
        """The first of what has to be left that is not."""
        return guard_llvm_ir.missing(self.kept.left, guard_llvm_ir.steps_of(export_llvm_ir(code)))


def kept_trials(view: LLVMIRView) -> Iterator[KeptTrial]:
    """The LLVM IR of ``guard_llvm_ir`` for a view's chip."""
    for name, kept in guard_llvm_ir.KEPT.items():
        if kept.view == view.name:
            yield KeptTrial(name, lambda kept=kept: import_llvm_ir(kept.module), view, kept)
