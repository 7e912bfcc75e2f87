"""One function of AMD assembly with all that is found out of it, once for every analysis."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.checker.amd.accesses import mode_of
from fencewright.checker.amd.feasible import without_infeasible_paths
from fencewright.checker.amd.guarantees import Guarantees, LiftedFunction, describe, propagated
from fencewright.checker.amd.hazards import ON_A_PATH, Hazards
from fencewright.checker.amd.state import State, code_of, solve
from fencewright.checker.amd.xnack_replay_hazards import find_untranslated
from fencewright.checker.findings.finding import Finding
from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.cdna.code.calls import calls_of
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Assembly, Function
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import L2PerAgent, Scope


@dataclass(frozen=True)
class Checked:
    """A function, the states of its blocks, and the guarantees of its operations."""

    lifted: LiftedFunction
    entries: Mapping[int, State]
    _hazards: Hazards

    @property
    def is_empty(self) -> bool:
        """A function without instructions, which has no verdict."""
        return not self.lifted.code.flow.function.instructions

    def hazards(self) -> Iterator[Finding]:
        """Registers that are used too early, and waits for nothing."""
        code = self.lifted.code
        yield from find_untranslated(code.flow)
        unwaited = {operation.line for operation in code.those(self.lifted.barriers.unwaited())}
        found = self._hazards.findings(unwaited=unwaited)
        if not any(finding.rule in ON_A_PATH for finding in found):
            yield from found
            return
        yield from (finding for finding in found if finding.rule not in ON_A_PATH)
        places, again = self._hazards.places(), self._hazards
        for flow in without_infeasible_paths(code.flow):
            code = code_of(flow, code.mode)
            again = Hazards(code)
            solve(code, again.through, keeps=False)
            places &= again.places()
            if not places:
                return
        yield from (each for each in again.findings(places) if each.rule in ON_A_PATH)

    def _unwaited_write_backs(self) -> set[int]:
        """The lines of write-backs that are in flight where an access may publish what they cover:
        this wave's stores, or those that others surely hand over."""
        code, places = self.lifted.code, self.lifted.places
        own = (1 << code.others) - 1
        known = propagated(code, places)

        def covers_any(covers: Sequence[int]) -> bool:
            mine = covers[Visibility.AGENT] | covers[Visibility.SYSTEM]
            handed = (bits >> code.others & known.at[reach] for reach, bits in enumerate(covers))
            return bool(mine & own) or any(handed)

        return {
            self.lifted.operations[number].line
            for operation in self.lifted.operations
            if operation.writes and not operation.in_lds and operation.scope.includes(Scope.AGENT)
            if operation.number in places
            for number, covers in places[operation.number].covered.items()
            if covers_any(covers)
        }

    def surplus(self) -> Iterator[Finding]:
        """Redundant waits and maintenance of caches with their cost: no write-back whose wait is
        missing."""
        from fencewright.checker.amd.surplus import find_surplus

        found = find_surplus(self.lifted.code, self.entries, self._unwaited_write_backs())
        yield from (surplus.finding for surplus in found)

    def provided(self) -> Iterator[tuple[int, str]]:
        """The line and guarantee of each operation; of a call, the callee."""
        calls = calls_of(self.lifted.code.flow)
        for operation in self.lifted.operations:
            if operation.line in calls and calls[operation.line].name:
                yield operation.line, f"{operation.text} -> call of {calls[operation.line].name}"
            elif operation.line and operation.kind is not Kind.END:
                yield operation.line, f"{operation.text} -> {describe(self.lifted, operation)}"


def check(
    assembly: Assembly, function: Function, l2_per_agent: L2PerAgent | None = None
) -> Checked:
    """The result of a check of a function of ``assembly``; raises ``AssemblyError``."""
    code = code_of(flow_of(function), mode_of(assembly, function, l2_per_agent))
    guarantees = Guarantees(code)
    hazards = Hazards(code, guarantees)
    entries = solve(code, hazards.through, keeps=guarantees.keeps_states)
    return Checked(guarantees.lifted(entries), entries, hazards)
