"""Findings of AMD kernels as text: both accesses with their places, and the order missing between
them."""

from collections.abc import Iterator, Mapping

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.counters.waits import wait_text
from fencewright.lowering.sequence import WaitCounts
from fencewright.simulator.cdna.rows import Counted, CounterClass
from fencewright.simulator.execution.launch import Hang
from fencewright.simulator.race import rules
from fencewright.simulator.race.amd.detector import Fault, Race
from fencewright.simulator.race.amd.facts import Operation
from fencewright.simulator.race.amd.kernels import KernelObserver, Site
from fencewright.simulator.race.amd.rules import Path
from fencewright.simulator.race.findings import Finding, unordered, unordered_text
from fencewright.simulator.race.rules import KINDS

_WRITE_BACKS: Mapping[Generation, str] = {
    Generation.GFX942: "buffer_wbl2 sc1",
    Generation.GFX1250: "global_wb scope:SCOPE_DEV",
}
_INVALIDATES: Mapping[Generation, str] = {
    Generation.GFX908: "buffer_wbinvl1_vol",
    Generation.GFX90A: "buffer_wbinvl1_vol",
    Generation.GFX942: "buffer_inv sc1",
    Generation.GFX1030: "buffer_gl1_inv, buffer_gl0_inv and s_waitcnt vmcnt(0)",
    Generation.GFX1100: "buffer_gl1_inv, buffer_gl0_inv and s_waitcnt vmcnt(0)",
    Generation.GFX1200: "global_inv scope:SCOPE_DEV",
    Generation.GFX1250: "global_inv scope:SCOPE_DEV and s_wait_loadcnt 0x0",
}
"""The instructions that keep memory in order at the agent. Source: LLVM AMDGPUUsage, Memory
Model."""


def findings_of(observer: KernelObserver) -> Iterator[Finding]:
    """The findings of an execution."""
    for race in observer.detector.races.values():
        yield _finding(observer, race)
    row = KINDS[rules.Fault.UNWRITTEN]
    for number, (operation, place) in observer.detector.unwritten.items():
        site = observer.sites[number]
        text = (
            f"{row.words}: {_who(observer, operation)} reads {place} at {site.place} "
            f"({site.name}): {row.lacks}"
        )
        line = site.instruction.line
        key = rules.Fault.UNWRITTEN, line
        yield Finding(rules.Fault.UNWRITTEN, text, line, key, site.instruction.text, is_error=False)


def hang_finding(observer: KernelObserver, hang: Hang) -> Finding:
    """The finding of waves that wait for ever."""
    sites = [observer.sites[each.instruction] for each in hang.waiting]
    text = str(Hang(hang.waiting, observer.name_of))
    lines = tuple(each.instruction.line for each in sites)
    return Finding(
        rules.Fault.HANG, text, lines[0], (rules.Fault.HANG, lines), sites[0].instruction.text
    )


def _finding(observer: KernelObserver, race: Race) -> Finding:
    first, second = observer.sites[race.first.site], observer.sites[race.second.site]
    kind, does, did = _words(race)
    # The value read is the same, whichever of the two writes comes last.
    is_same = kind is rules.Fault.WRITE_WRITE and race.second.is_same
    text = (
        f"{KINDS[kind].words}: {_who(observer, race.second)} {does} {race.place} at {second.place} "
        f"({second.name}); {_who(observer, race.first)} {did} it at {first.place} ({first.name})"
        f"{', with the same value' if is_same else ''}: {_lacks(observer, race, first)}"
    )
    kind = rules.Fault.SAME_VALUE if is_same else kind
    line = second.instruction.line
    key = kind, first.instruction.line, line, race.fault
    has_no_order = race.fault is Fault.UNORDERED and not is_same
    return Finding(
        kind, text, line, key, second.instruction.text, not is_same,
        other=first.instruction.line,
        cause=unordered(_lacks(observer, race, first), first.place, second.place)
        if has_no_order
        else None,
    )  # fmt: skip


def _words(race: Race) -> tuple[rules.Fault, str, str]:
    """The kind of a race, and the actions of the second and the first access."""
    if not race.writes_first:
        return rules.Fault.READ_WRITE, "writes", "read"
    if race.reads:
        return rules.Fault.WRITE_READ, "reads", "wrote"
    return rules.Fault.WRITE_WRITE, "writes", "wrote"


def _who(observer: KernelObserver, operation: Operation) -> str:
    return _name(observer, operation.home.number)


def _name(observer: KernelObserver, number: int) -> str:
    group, wave = divmod(number, observer.waves)
    return f"wave {wave} of work-group {group}"


def _lacks(observer: KernelObserver, race: Race, first: Site) -> str:
    generation = observer.configuration.row.generation
    match race.fault:
        case Fault.UNORDERED if all(
            map(observer.detector.means_to_meet, (race.first, race.second))
        ):
            return (
                "they are to meet, but are performed in different caches: give both the bits of a "
                "scope that has both waves"
            )
        case Fault.UNORDERED:
            groups = {each.home.number // observer.waves for each in (race.first, race.second)}
            is_itself = race.first.site == race.second.site
            return unordered_text(is_itself=is_itself, in_block=len(groups) == 1)
        case Fault.NOT_PERFORMED:
            wait = _wait(observer, race.first.access.counted)
            what = "write" if race.writes_first else "read"
            return (
                f"they are ordered, but the {what} may still be outstanding: put "
                f"{wait} after {first.place}, before what orders them"
            )
        case Fault.NOT_WRITTEN_BACK:
            configuration = observer.configuration
            write_back = _WRITE_BACKS.get(generation, "a write-back of the L2")
            wait = _wait(observer, configuration.counted(CounterClass.WRITE_BACK, False))
            caches = configuration.row.caches
            return (
                f"they are ordered, but the write may be in the {caches.l2} of its own "
                f"{caches.share} alone: put {write_back} and {wait} after {first.place}, before "
                "what orders them"
            )
        case Fault.NOT_INVALIDATED if race.second.access.path is Path.SCALAR:
            return (
                "they are ordered, but the scalar cache may hold what was there before: put "
                "s_dcache_inv between what orders them and the load, or use a vector load"
            )
        case Fault.NOT_INVALIDATED:
            invalidate = _INVALIDATES.get(generation, "an invalidate")
            return (
                "they are ordered, but a cache of the reader may hold what was there before: put "
                f"{invalidate} between what orders them and the load"
            )


def _wait(observer: KernelObserver, counted: Counted) -> str:
    """The wait for all that counters count."""
    counts = WaitCounts(**dict.fromkeys(map(str, counted.counters), 0))
    return wait_text(observer.configuration.row, counts)
