"""Registers that a program uses before it has waited for the wgmma that puts its product there.

The register then still has what was there before, which PTX leaves undefined: a mistake of the
program, whatever its condition says. ``paths.too_early`` has it among the outcomes, so that it is
known of executions that the model allows, and of no others. ``tcgen05.ld`` has no such rule: PTX
keeps the order of a register dependency on it. Source: PTX ISA, "wgmma.mma_async",
"wgmma.wait_group"; tcgen05 memory model, "Register dependencies, same thread".
"""

from collections.abc import Collection, Iterator

from fencewright.simulator.core.condition import Observable, Outcomes, Register
from fencewright.simulator.core.program import place_at
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.ptx.instructions import PtxProgram
from fencewright.simulator.ptx.paths import used_too_early


def early_uses(
    program: PtxProgram, found: Outcomes, observed: Collection[Observable]
) -> tuple[Outcomes, tuple[str, ...]]:
    """The outcomes of a program alone, and its uses of registers that were not waited for.

    That a register is left so at the end matters if it is ``observed``.
    """
    kept = [each for each in found.observables if not _is_about_uses(each)]
    if len(kept) == len(found.observables):
        return found, ()
    uses = {text for state in found.as_mappings() for text in _uses(program, state, observed)}
    return found.project(kept), tuple(sorted(uses))


def _is_about_uses(each: Observable) -> bool:
    return isinstance(each, Register) and used_too_early(each.name) is not None


def _uses(
    program: PtxProgram, state: dict[Observable, int | None], observed: Collection[Observable]
) -> Iterator[str]:
    for each, after in state.items():
        name = used_too_early(each.name) if isinstance(each, Register) else None
        if not isinstance(each, Register) or name is None or not after:
            continue
        thread = program.threads[each.thread]
        code = thread.instructions
        if after <= len(code):
            at = place_at(thread.places, after - 1)
            where = "" if at is None else f" at {at}"
            used = f"by [{instruction_text(code[after - 1])}]{where}"
        elif Register(each.thread, name) in observed:
            used = "as it is at the end"
        else:
            continue
        yield f"P{each.thread} uses {name} {used}, before wgmma.wait_group: its value is undefined"
