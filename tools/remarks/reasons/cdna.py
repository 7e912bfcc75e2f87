"""Reasons for changes of the passes on ``cdna`` to write-backs, invalidates, waits and stores."""

from collections.abc import Set
from functools import cache, partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import Visibility, access_effect
from fencewright.lowering.cdna.chips import chips_of
from fencewright.lowering.cdna.performance.costs import write_back_time
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.facts import CACHE_CLAMPS, CacheClamp, are_write_backs_cumulative
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import FACT_TEXT, Fact, Phase
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.cdna import PHASES, CacheOp, RegisterType, StoreOp, WaitOp
from fencewright.passes.analysis.caches import CacheCode, CacheStep, modifiers_of
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.analysis.election import WAVE
from fencewright.passes.analysis.llvm_ir_memory import lowered_functions
from fencewright.passes.cdna.caches import drop_invalidates, drop_write_backs, elect_release
from fencewright.passes.cdna.caches.cache_pass import codes_in
from fencewright.passes.cdna.dataflow import COUNTED
from fencewright.passes.cdna.waits.loosen_waits import must_be_acquired
from fencewright.passes.llvm_ir import await_values
from fencewright.passes.llvm_ir.caches import llvm_ir_codes
from fencewright.passes.llvm_ir.cdna import OWN
from fencewright.passes.llvm_ir.loosen_releases import LoosenReleasesPass, loosened
from fencewright.tools.remarks.remarks import (
    Change,
    Finding,
    Parts,
    Reason,
    RemarkArgument,
    at,
    helped_by,
    synchronises,
    told_of,
)
from fencewright.tools.remarks.search import (
    Judge,
    Judgement,
    Lines,
    OperationLines,
    code_in,
    finds,
    line_after,
)

# Write-backs

_ONE_L2 = "; an agent with one L2 (--l2-per-agent one) needs none"
_THROUGH = "; stores that go through leave nothing dirty (--assume coherent-stores)"


def write_backs(module: ModuleOp, following: ModulePass) -> Reason:
    """The stores that a write-back has to write, or the point since which there are none."""
    reasons: dict[Operation, Parts] = {}
    for code in codes_in(module):
        published = code.known(drop_write_backs.solve).published
        droppable = set(drop_write_backs.droppable_write_backs(code))
        lines = _lines_of(code)
        stays = finds(partial(_stays, droppable))
        dirties = cache(partial(_dirties, published))
        for step in lines.place:
            reach = step.meaning.writes_back
            if reach is None:
                continue
            if step.op in droppable:
                reasons[step.op] = _is_clean(lines, step, stays)
                continue
            dirty = lines.earlier(step, dirties(reach))
            facts = (*_needless_if(dirty, reach), *_would_help(step.op, code.chip))
            reasons[step.op] = (*_dirtied(dirty, code), *_executed(code), *facts)
    return lambda finding: reasons.get(finding.before.op)


def _lines_of(code: CacheCode) -> Lines[CacheStep]:
    return Lines({block: code.steps[block] for block in code.blocks})


def _is_clean(lines: Lines[CacheStep], step: CacheStep, stays: Judge[CacheStep]) -> Parts:
    earlier = lines.earlier(step, stays)
    if earlier is None:
        return ("nothing is dirty since the kernel began",)
    return ("nothing is dirty since ", *at(earlier.op, "Since"))


def _stays(gone: Set[Operation], each: CacheStep) -> bool:
    return each.meaning.writes_back is not None and each.op not in gone


def _dirties(published: drop_write_backs.Published, reach: Visibility) -> Judge[CacheStep]:
    """The judge of steps that by themselves leave stores to write back; none: from before."""
    clean = drop_write_backs.stores_of(drop_write_backs.DONE, drop_write_backs.DONE)

    def judge(each: CacheStep) -> Judgement:
        written = each.meaning.writes_back
        if written is not None:
            return Judgement.STOP if written >= reach else Judgement.ON
        level = drop_write_backs.level(drop_write_backs.after(each, clean, published), reach)
        return Judgement.FOUND if level == drop_write_backs.DIRTY else Judgement.ON

    return judge


def _dirtied(by: CacheStep | None, code: CacheCode) -> Parts:
    if by is None:
        return ("what earlier kernels or other waves have stored may be dirty",)
    if by.meaning.is_barrier:
        return (*at(by.op, "By"), " hands on what other waves have stored")
    if by.meaning.acquires:
        return (*at(by.op, "By"), " may take in what other waves have stored")
    left = _bytes_of(by.op, code)
    dirty = () if left is None else (" (", RemarkArgument("Bytes", str(left)), " bytes a wave)")
    return (*at(by.op, "By"), " leaves a dirty line", *dirty)


def _bytes_of(op: Operation, code: CacheCode) -> int | None:
    """The bytes that a wave stores by ``op``, if all its threads do; None if not known."""
    lanes = min(WAVE, code.threads or WAVE)
    if isinstance(op, StoreOp):
        data = op.operands[1].type
        return data.size.data * 4 * lanes if isinstance(data, RegisterType) else None
    width = scoped.width_of(op.value.type) if isinstance(op, scoped.StoreOp) else None
    return None if not width else width * lanes // 8


def _executed(code: CacheCode, by: str = "; it takes a wave") -> Parts:
    """The time of each wave for a write-back, and their number; ``by``: words for its subject."""
    took = write_back_time(code.chip)
    if took is None:
        return ()
    of_several = code.waves is not None and code.waves > 1
    waves = (f" (of up to {code.waves} in a work-group)",) if of_several else ()
    time = RemarkArgument("Nanoseconds", str(took))
    return (by, *waves, " ", time, " ns, one after another on an XCD")


def elected(module: ModuleOp, following: ModulePass) -> Reason:
    """The place where one wave writes back for its work-group, or the reason that all waves do."""
    reasons: dict[Operation, Parts] = {}
    for code in codes_in(module):
        if code.waves == 1 and len(code.entries) == 1:
            continue
        for reach in (Visibility.AGENT, Visibility.SYSTEM):
            found = elect_release.tried(code, reach)
            if found is None:
                continue
            for op in found.write_backs:
                reasons[op] = _elected(found, code)
    return lambda finding: reasons.get(finding.before.op)


def _elected(found: elect_release.Moved, code: CacheCode) -> Parts:
    if found.refused is None:
        for_whom = ("one wave writes back for its work-group after the barrier, before ",)
        before = at(found.places[0].needed_by, "Before")
        return (*for_whom, *before, *_executed(code, "; it took every wave"))
    why = found.refused.refusal.value
    if found.refused.because_of is None:
        return (why,)
    return (f"{why}: ", *at(found.refused.because_of, "Because"))


def _needless_if(dirty: CacheStep | None, reach: Visibility) -> Parts:
    """The facts or policies with which there would be nothing to write back."""
    if reach is not Visibility.AGENT:
        return ()
    is_store = dirty is not None and dirty.meaning.stores is not None
    return (_ONE_L2, _THROUGH) if is_store else (_ONE_L2,)


def hoisted(module: ModuleOp, following: ModulePass) -> Reason:
    """The operation directly before a write-back that has moved."""

    def reason(finding: Finding) -> Parts | None:
        if finding.change is Change.GONE:
            return ("one that begins earlier covers it",)
        if not _is_copy(finding):
            return None
        previous = finding.after[0].op.prev_op
        if previous is None or not synchronises(previous):
            return ("it begins earlier, while other work is done",)
        return ("it begins right behind ", *at(previous, "Behind"), ", while other work is done")

    return reason


def _is_copy(finding: Finding) -> bool:
    """True if an operation has moved by copies elsewhere."""
    return all(each.op is not finding.before.op for each in finding.after)


# Invalidates

_KEPT_BY_READER = "; loads with scope bits of their own do not need it"


def invalidates(module: ModuleOp, following: ModulePass) -> Reason:
    """The reads of the caches that an invalidate empties, or the point before which none come."""
    reasons: dict[Operation, Parts] = {}
    for code in codes_in(module):
        needs = code.known(drop_invalidates.solve_needs)
        useless = set(drop_invalidates.useless_invalidates(code))
        lines = _lines_of(code)
        covers = cache(partial(_covering, useless))
        looks = cache(partial(_looks, needs))
        for step in lines.place:
            if not step.meaning.invalidates:
                continue
            if step.op in useless:
                reasons[step.op] = _nobody_looks(lines, step, covers(step.meaning.invalidates))
            else:
                reasons[step.op] = (
                    *_looked_into(lines, step, looks(step.meaning.invalidates), code.chip),
                    *_would_help(step.op, code.chip),
                )
    return lambda finding: reasons.get(finding.before.op)


def _nobody_looks(lines: Lines[CacheStep], step: CacheStep, covers: Judge[CacheStep]) -> Parts:
    later = lines.later(step, covers)
    if later is None:
        return ("nobody looks into those caches before the kernel ends",)
    return ("nobody looks into those caches before ", *at(later.op, "Before"))


def _covering(gone: Set[Operation], caches: int) -> Judge[CacheStep]:
    return finds(lambda each: _covers(each, caches) and each.op not in gone)


def _looks(needs: drop_invalidates.Needs, caches: int) -> Judge[CacheStep]:
    def judge(each: CacheStep) -> Judgement:
        if drop_invalidates.needed_at(each, needs) & caches:
            return Judgement.FOUND
        return Judgement.STOP if _covers(each, caches) else Judgement.ON

    return judge


def _looked_into(
    lines: Lines[CacheStep], step: CacheStep, looks: Judge[CacheStep], chip: str
) -> Parts:
    caches = step.meaning.invalidates
    by = lines.later(step, looks)
    if by is None:
        return ("kernels that come later count on the system's caches",)
    if by.meaning.reads & caches:
        helps = not by.meaning.acquires and _bits_help(chip, caches)
        hint = (_KEPT_BY_READER,) if helps else ()
        return (*at(by.op, "By"), " may find a stale line", *hint)
    return (*at(by.op, "By"), " hands on to waves that do not invalidate for themselves")


def _bits_help(chip: str, caches: int) -> bool:
    """True if a load with some policy bits looks into none of ``caches``."""
    return any(not access_effect(chip, Kind.LOAD, bits).reads & caches for bits in _BITS)


_BITS = (("sc1",), ("sc0", "sc1"), ("glc",))


def _covers(step: CacheStep, caches: int) -> bool:
    return not caches & ~step.meaning.invalidates


def sunk(module: ModuleOp, following: ModulePass) -> Reason:
    """The path that an invalidate moved to."""

    def reason(finding: Finding) -> Parts | None:
        if not _is_copy(finding):
            return None
        lines = sorted({line for each in finding.after if (line := line_after(each.op))})
        if not lines:
            return ("only some of the ways on need it",)
        ways = " and ".join(f"line {line}" for line in lines)
        return ("only the way to ", RemarkArgument("To", ways), " needs it")

    return reason


# Waits

_RELEASES = PHASES[Phase.RELEASE]


def waits(module: ModuleOp, following: ModulePass) -> Reason:
    """The nearest operation that an ordering wait has to cover."""
    covered: dict[Operation, Operation | None] = {}
    counts: dict[Operation, WaitCounts] = {}
    for kernel in top_level(module):
        code = code_in(kernel.regions)
        for op in code.place:
            if isinstance(op, WaitOp) and op.phase is not None:
                counts[op] = op.counts
                covered[op] = code.earlier(op, _COUNTED if op.phase == _RELEASES else _ACQUIRED)

    def reason(finding: Finding) -> Parts | None:
        wait = finding.before.op
        if not isinstance(wait, WaitOp) or wait not in covered:
            return None
        by = covered[wait]
        if finding.change is Change.GONE or by is None:
            return ("nothing that it has to cover is outstanding",)
        complete = (*at(by, "By"), " has to be complete")
        if finding.change is Change.KEPT:
            return complete
        if wait.counts.vmcnt is not None and wait.counts.vmcnt == counts[wait].vmcnt:
            return (*complete, ", no access to LDS has")
        return (*complete, ", what was issued behind it has not")

    return reason


_COUNTED: Judge[Operation] = finds(lambda op: type(op) in COUNTED)
_ACQUIRED: Judge[Operation] = finds(must_be_acquired)


last_waits = told_of(WaitOp, "the wave does nothing after it that it could order")
"""The reason that a last wait is removed."""


def sunk_waits(module: ModuleOp, following: ModulePass) -> Reason:
    """The operation before which a wait comes, now that it has moved."""

    def reason(finding: Finding) -> Parts | None:
        if not isinstance(finding.before.op, WaitOp):
            return None
        line = line_after(finding.before.op)
        if line is None:
            return ("what takes no part in ordering is done meanwhile",)
        where = RemarkArgument("To", f"line {line}")
        return ("it comes right before ", where, ", other work is done meanwhile")

    return reason


def awaited(module: ModuleOp, following: ModulePass) -> Reason:
    """The waits that LLVM inserts by itself, or the operations that a wait has to cover."""
    covered: dict[Operation, Operation | None] = {}
    for function, target in lowered_functions(module):
        code = code_in(function.regions)
        of_flag = finds(partial(_is_of_flag, target.chip))
        for op in code.place:
            if isinstance(op, WaitOp):
                covered[op] = _outstanding_at(op, code, of_flag)

    def reason(finding: Finding) -> Parts | None:
        wait = finding.before.op
        if wait not in covered:
            return None
        by = covered[wait]
        if finding.change is Change.CHANGED:
            return ("nothing else that it has to cover is outstanding",)
        if finding.change is Change.KEPT:
            cause = ("what the function's callers did",) if by is None else at(by, "By")
            return (*cause, " has to be complete")
        if by is None or wait.properties.get("phase") == _RELEASES:
            return ("nothing that it has to cover is outstanding",)
        return ("LLVM waits by itself for what ", *at(by, "By"), " reads")

    return reason


def _outstanding_at(
    wait: WaitOp, code: OperationLines, of_flag: Judge[Operation]
) -> Operation | None:
    """The nearest operation that a wait in LLVM IR has to cover."""
    if OWN in wait.attributes:
        return await_values.access_before(wait)
    return code.earlier(wait, _ISSUES if wait.phase == _RELEASES else of_flag)


def _is_of_flag(chip: str, op: Operation) -> bool:
    nothing = await_values.FlagAccesses()
    return type(op) is not WaitOp and await_values.flags_after(op, nothing, chip) != nothing


def _issues(op: Operation) -> bool:
    nothing = await_values.Outstanding()
    return type(op) is not WaitOp and await_values.issued(op, nothing) != nothing


_ISSUES = finds(_issues)


_COVERED = "a wave of the work-group that releases it more widely writes back, which covers it"


def loosened_releases(module: ModuleOp, following: ModulePass) -> Reason:
    """The reason that a release within the work-group does not wait for memory, or the fact by
    which it need not."""
    assert isinstance(following, LoosenReleasesPass)
    rows = frozenset({Fact.CUMULATIVE_WRITE_BACKS})
    helps = are_write_backs_cumulative(rows, following.mcpu)
    needless = {wait for code in llvm_ir_codes(module) for wait in loosened(code)} if helps else ()

    def reason(finding: Finding) -> Parts | None:
        if finding.before.op not in needless:
            return None
        return helped_by(rows) if finding.change is Change.KEPT else (_COVERED,)

    return reason


covered_waits = told_of(WaitOp, "nothing is outstanding that the wait before it does not cover")
"""The reason that an ordering wait is removed when waits for data come."""


# Policies and facts


through = told_of(
    (StoreOp, scoped.StoreOp), "it goes past the L2 by itself and leaves nothing to write back"
)
"""The purpose of the policy bits of a store."""


def clamped_caches(module: ModuleOp, following: ModulePass) -> Reason:
    """The promise that made cache maintenance needless."""
    rows = {
        op: _clamps_of(op, code.chip)
        for code in codes_in(module)
        for block in code.blocks
        for op in block.ops
        if isinstance(op, CacheOp)
    }

    def reason(finding: Finding) -> Parts | None:
        op = finding.before.op
        if not isinstance(op, CacheOp):
            return None
        return ("; ".join(FACT_TEXT[row.fact] for row in rows[op]),)

    return reason


def _would_help(op: Operation, chip: str) -> Parts:
    """The facts with which cache maintenance could be less."""
    assert isinstance(op, CacheOp)
    helped = helped_by(row.fact for row in _clamps_of(op, chip))
    return () if helped is None else ("; ", *helped)


def _clamps_of(op: CacheOp, chip: str) -> list[CacheClamp]:
    instruction = op.opcode.data, modifiers_of(op)
    return [
        row
        for row in CACHE_CLAMPS
        if chip in chips_of(row.generation) and (row.mnemonic, row.bits) == instruction
    ]
