"""Programs as LLVM IR, lowered as such, compiled by LLVM, and read back from its assembly.

What the passes promise of LLVM IR has to hold of the machine code that LLVM makes of it at -O2:
LLVM may keep accesses in their order, but read by another path, or wait later. So
its assembly is executed, scalar cache included. LLVM is the one of llvmlite, in this process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import llvmlite.binding as llvm

from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.passes.options import OptLevel
from fencewright.passes.pipelines import StorePolicy, lower_llvm_ir
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.condition import Memory, Observable, Register
from fencewright.simulator.core.program import (
    LitmusTest,
    Location,
    MemoryKind,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.litmus_run import CdnaTest, Limits, Run, SourceTest, run
from fencewright.simulator.programs.amd.thread import ThreadLaunch, read_thread
from fencewright.simulator.source import events as source
from fencewright.tools.fuzz import llvm_ir_writer as writer

_TRIPLE = "amdgcn-amd-amdhsa"
_O2 = 2


@dataclass(frozen=True, slots=True)
class Build:
    """The way in which LLVM IR is lowered and compiled; ``edit``: only changed lines anew."""

    configuration: CdnaConfiguration
    l2_per_agent: L2PerAgent = L2PerAgent.MANY
    stores: StorePolicy = "back"
    facts: tuple[str, ...] = ()
    opt_level: OptLevel = 2
    noalias: bool = False
    calls: bool = False
    edit: bool = False
    unordered: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The target's features, as ``lower_llvm_ir`` takes them."""
        return ("tgsplit",) if self.configuration.tgsplit else ()


@cache
def _target_machine(chip: str, features: tuple[str, ...]) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    on = ",".join(f"+{each}" for each in features)
    target = llvm.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=chip, features=on, opt=_O2)


def in_registers(text: str) -> str:
    """The module with its private memory in registers instead (LLVM's SROA)."""
    module = llvm.parse_assembly(text)
    builder = llvm.create_pass_builder(_target_machine("", ()), llvm.PipelineTuningOptions())
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.run(module, builder)
    return str(module)


def assembly_of(text: str, chip: str, features: tuple[str, ...] = ()) -> str:
    """The assembly that LLVM's code generator makes of a module at -O2."""
    return str(_target_machine(chip, features).emit_assembly(llvm.parse_assembly(text)))


def lowered(program: source.ScopedProgram, build: Build) -> str:
    """The program as LLVM IR with its synchronisation explicit."""
    chip = build.configuration.chip
    form = writer.KernelForm(
        results=True, noalias=build.noalias, calls=build.calls, unordered=build.unordered
    )
    text = in_registers(writer.written(program, form))
    return lower_llvm_ir(
        text,
        chip,
        build.features,
        l2_per_agent=build.l2_per_agent,
        opt_level=build.opt_level,
        facts=build.facts,
        stores=build.stores,
        edit=build.edit,
    )


def placements(places: list[Placement], l2_per_agent: L2PerAgent) -> list[Placement]:
    """With one L2 per agent there are no XCDs, and their CUs are of one."""
    if l2_per_agent is L2PerAgent.MANY:
        return places
    cus = sorted({(each.xcd, each.cu) for each in places})
    return [replace(each, cu=cus.index((each.xcd, each.cu)), xcd=0) for each in places]


def result_name(register: Register) -> str:
    """The location that a register goes to."""
    return f"result.{register}"


def launch_of(program: source.ScopedProgram, thread: int) -> ThreadLaunch:
    """The launch of a thread's kernel."""
    locations = {
        (name, 0): name
        for name, type in writer.arguments(program, writer.KernelForm(results=True))
        if type.startswith("ptr") and name != writer.RESULTS
    }
    for place, register in enumerate(writer.result_registers(program)[thread]):
        location = result_name(Register(thread, register))
        locations[writer.RESULTS, place * writer.RESULT_BYTES] = location
    return ThreadLaunch({writer.WHO: thread}, locations)


def machine_test(
    test: SourceTest, assembly: Assembly, configuration: CdnaConfiguration
) -> CdnaTest:
    """The compiled kernels as a test of the CDNA machine; raises ``AssemblyError``.

    Its registers are locations; ``run_compiled`` gives them their names again.
    """
    program = test.test.program
    kernels = {
        member: assembly.functions[writer.kernel_name(group)]
        for group, members in writer.groups(program).items()
        for member in members
    }
    for kernel in kernels.values():
        mode = (assembly.chip, bool(kernel.descriptor.get("tg_split")))
        if mode != (configuration.chip, configuration.tgsplit):
            problem = f"the code is for {assembly.chip}, tgsplit {mode[1]}, not for {configuration}"
            raise kernel.error(1, problem)
    places = placements(
        [each.placement for each in program.threads], configuration.l2_per_agent or L2PerAgent.MANY
    )
    threads = tuple(
        Thread(place, read_thread(kernels[number], launch_of(program, number)).instructions)
        for number, place in enumerate(places)
    )
    results = tuple(
        Location(result_name(each), kind=MemoryKind.UNCACHED)
        for each in program.observables()
        if isinstance(each, Register)
    )
    observed = tuple(_renamed(each) for each in program.observables())
    read = Program((*program.locations, *results), threads, observed, program.name)
    return CdnaTest(LitmusTest(read, test.test.condition), configuration)


def _renamed(each: Observable) -> Observable:
    return Memory(result_name(each)) if isinstance(each, Register) else each


def run_compiled(test: SourceTest, compiled: CdnaTest, limits: Limits) -> Run:
    """The behaviour of compiled kernels, in the source's registers and locations."""
    does = run(compiled, limits)
    if does.outcomes is None:
        return does
    back: Mapping[Observable, Observable] = {
        _renamed(each): each for each in test.test.program.observables()
    }
    names = tuple(back[each] for each in does.outcomes.observables)
    return replace(does, outcomes=replace(does.outcomes, observables=names))


def compiled(test: SourceTest, build: Build, file: str = "<llc>") -> CdnaTest:
    """The test as LLVM's machine code; raises ``AssemblyError`` where that cannot be read."""
    chip = build.configuration.chip
    text = assembly_of(lowered(test.test.program, build), chip, build.features)
    return machine_test(test, read_assembly(text, file), build.configuration)
