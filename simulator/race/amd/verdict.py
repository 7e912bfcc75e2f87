"""The verdict on a launch of an AMD kernel: the findings of its schedules, and their coverage."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.cdna.code.text import Assembly, Function
from fencewright.lowering.cdna.code.variables import Variable
from fencewright.lowering.vocabulary import MOST_THREADS, L2PerAgent
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.execution import launch as execution
from fencewright.simulator.execution.executor import LateCopies, Pauses, execute
from fencewright.simulator.execution.program import LaneProgram, MemoryInstruction, MemorySpace
from fencewright.simulator.kernels.amd.kernel import program_of, with_calls
from fencewright.simulator.race.amd.findings import findings_of, hang_finding
from fencewright.simulator.race.amd.kernels import KernelObserver, Site, sites_of
from fencewright.simulator.race.amd.rules import Access
from fencewright.simulator.race.findings import Finding
from fencewright.simulator.race.schedules import delays
from fencewright.simulator.race.verdict import Missed, Verdict, verdict_of, without_explained
from fencewright.simulator.threads.launch import Launch, LaunchError

MOST_INSTRUCTIONS = 100_000
"""Instructions that one wave executes at most."""


def judge_kernel(
    assembly: Assembly,
    launch: Launch,
    l2_per_agent: L2PerAgent | None = None,
    given: Mapping[int, bytes] | None = None,
    variables: Mapping[str, Variable] = MappingProxyType({}),
) -> Verdict:
    """Execute a launch of an AMD kernel in both orders, then with delays until something is found.

    Without ``l2_per_agent``: where the chip may have either, many. ``given``: the bytes that arrays
    begin with, by argument; ``variables``: of the module. Raises ``LaunchError``.
    """
    function = _kernel(assembly, launch.kernel)
    try:
        function = with_calls(function, assembly.functions)
        configuration = _configuration(function, l2_per_agent)
        program = program_of(function, configuration.l2_per_agent, variables=variables)
        sites = sites_of(function, program, configuration, assembly.files)
    except ValueError as problem:
        return Verdict(launch, (), str(problem), 0, 0, ())
    block = launch.block or program.block_size or _stated_block(function)
    if block is None:
        raise LaunchError(f"{launch.kernel} does not say its size: give the block, as <<<4, 128>>>")
    launch = replace(launch, block=block)
    asked = execution.Launch(
        launch.grid,
        block,
        tuple(_arguments(launch, given or {})),
        shared=launch.shared,
        cluster=launch.cluster or program.cluster or (1, 1, 1),
    )
    memory = execution.allocate(program, asked)
    if prod(asked.cluster) > 1:
        problem = "work-groups of an AMD cluster have no rules of order here"
        return Verdict(launch, (), problem, 0, 0, ())
    trial = _Trial(sites, program, asked, memory, configuration)
    trial.run()
    first = _first_parts(sites)
    accesses = {
        first[site.number]: Missed(site.name, site.place, site.instruction.line)
        for site, each in zip(sites, program.instructions, strict=True)
        if isinstance(each, MemoryInstruction)
        and each.space is not MemorySpace.PRIVATE
        and site.number not in trial.of_arguments
    }
    findings, executed = trial.findings.values(), {first[each] for each in trial.executed}
    found = without_explained(findings)
    return verdict_of(launch, found, trial.problem, trial.runs, accesses, executed)


def _first_parts(sites: Sequence[Site]) -> Mapping[int, int]:
    """The number of the first part of each instruction: a flat one has a part for each memory."""
    found: dict[int, int] = {}
    before: Site | None = None
    for each in sites:
        is_part = before is not None and each.instruction is before.instruction
        found[each.number] = found[each.number - 1] if is_part else each.number
        before = each
    return found


class _Trial:
    """The runs of a launch, and their findings together."""

    def __init__(
        self,
        sites: Sequence[Site],
        program: LaneProgram,
        launch: execution.Launch,
        memory: execution.Memory,
        configuration: CdnaConfiguration,
    ):
        self.sites, self.program, self.launch = sites, program, launch
        self.memory, self.configuration = memory, configuration
        self.pausing = frozenset(
            each.number
            for each in sites
            if isinstance(each.rule, Access)
            and (each.polls or each.rule.is_atomic or each.rule.is_scoped)
        )
        self.findings: dict[tuple[object, ...], Finding] = {}
        self.executed: set[int] = set()
        self.of_arguments: set[int] = set()
        self.problem = ""
        self.runs = 0

    def run(self) -> None:
        """Run in both orders, in reverse with late copies to LDS; with delays where values that
        were read order something, or where something was not executed, until there is an error."""
        in_order = self.pauses()
        ran = [self.add(in_order), self.add(self.pauses(), is_reverse=True)]
        reached = all(each.number in self.executed for each in self.sites)
        if reached and not any(each.detector.is_ordered_by_values for each in ran):
            return
        work = ran[0].detector.accesses + in_order.turns
        for each in delays(in_order.seen, work):
            if self.problem or any(found.is_error for found in self.findings.values()):
                return
            self.add(self.pauses((each.thread, each.stop)))

    def pauses(self, held: tuple[int, int] | None = None) -> Pauses:
        """The pauses of a run, in which a wave may be held."""
        return Pauses(self.pausing, held)

    def add(self, pauses: Pauses, *, is_reverse: bool = False) -> KernelObserver:
        """Add the findings of one run."""
        self.runs += 1
        copies = LateCopies() if is_reverse else None
        observer = KernelObserver(
            self.sites, self.program, self.launch, self.memory, self.configuration, copies
        )
        try:
            execute(
                self.program, self.launch, self.memory, observer, limit=MOST_INSTRUCTIONS,
                with_parts=True, is_reverse=is_reverse, pauses=pauses, copies=copies,
            )  # fmt: skip
        except execution.Hang as hang:
            finding = hang_finding(observer, hang)
            self.findings.setdefault(finding.key, finding)
        except LaunchError as stopped:
            self.problem = self.problem or str(stopped)
        for each in findings_of(observer):
            self.findings.setdefault(each.key, each)
        self.executed |= observer.executed
        self.of_arguments |= observer.of_arguments
        return observer


def _stated_block(function: Function) -> tuple[int, int, int] | None:
    """The largest block, where the source states one: compilers write the chip's own if not."""
    most = function.threads
    return None if most is None or most == MOST_THREADS else (most, 1, 1)


def _kernel(assembly: Assembly, name: str) -> Function:
    kernels = {key: each for key, each in assembly.functions.items() if each.descriptor}
    if name not in kernels:
        raise LaunchError(f"there is no kernel '{name}': there is {', '.join(kernels) or 'none'}")
    if not {"next_free_vgpr", "user_sgpr_count"} & kernels[name].descriptor.keys():
        raise LaunchError("how a kernel of a code object begins is not read: give its assembly")
    return kernels[name]


def _configuration(function: Function, l2_per_agent: L2PerAgent | None) -> CdnaConfiguration:
    chip = KNOWN_CHIPS.get(function.chip)
    if chip is None:
        raise ProgramError(f"what the caches of {function.chip or 'this chip'} do is not known")
    split = chip.split_mode
    is_split = split is not None and split.is_on(function.descriptor)
    return CdnaConfiguration(function.chip, is_split, l2_per_agent)


def _arguments(launch: Launch, given: Mapping[int, bytes]) -> Iterator[execution.ArgumentValue]:
    for number, each in enumerate(launch.arguments):
        content = given.get(number)
        yield each if content is None else np.frombuffer(content, dtype=np.uint8)
