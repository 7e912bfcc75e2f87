"""Right kernels with one barrier, fence, scope, order or wait taken away or weakened."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.text import PtxInstruction, read_ptx
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.kernels.amd.kernel import program_of
from fencewright.simulator.race.amd.kernels import Site, sites_of
from fencewright.simulator.race.amd.rules import Access, Barrier, Cache, Wait
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.race.verdict import Judgement, Verdict, judge
from fencewright.simulator.threads.launch import Module, parse_launch


class Change(Enum):
    """The change of an instruction."""

    BARRIER = "barrier deleted"
    FENCE = "fence deleted"
    WAIT = "wait for copies deleted"
    BYTES = "expected bytes deleted"
    ORDER = "order relaxed"
    SCOPE = "scope narrowed to cta"


class Noticed(Enum):
    """The way in which a mutant is noticed."""

    ORDERS = "in both orders"
    DELAY = "by a delay"
    SILENT = "not"


@dataclass(frozen=True)
class Mutant:
    """A kernel with one change; ``instruction``: the text of the changed one."""

    kernel: str
    change: Change
    line: int
    instruction: str
    text: str


_WAITS = ("cp.async.wait_group", "cp.async.wait_all", "cp.async.bulk.wait_group")
_ORDERS = re.compile(r"\.(acquire|release|acq_rel)\b")
_SCOPES = re.compile(r"\.(gpu|sys|cluster)\b")


def _changes(instruction: PtxInstruction) -> Iterator[tuple[Change, str]]:
    """The changes of an instruction, and what each makes of its text; "" takes it away."""
    statement = instruction.statement
    name, kind = statement.opcode.name, statement.kind
    if kind is Kind.BARRIER and not name.startswith("mbarrier"):
        yield Change.BARRIER, ""
    elif kind is Kind.FENCE:
        yield Change.FENCE, ""
    elif name.startswith(_WAITS):
        yield Change.WAIT, ""
    elif ".expect_tx" in name:
        yield Change.BYTES, "expect_tx"
    # The order of a fence cannot go without the fence, that of an access can.
    if _ORDERS.search(name) and kind is not Kind.FENCE and "barrier.cluster" not in name:
        yield Change.ORDER, "relaxed"
    if _SCOPES.search(name) and "shared::cluster" not in name:
        yield Change.SCOPE, "cta"


def _changed(written: str, change: Change, to: str) -> str:
    if not to:
        return " " * len(written)
    if change is Change.BYTES:
        return re.sub(r",\s*\d+\s*$", "", written.replace(".expect_tx", ""))
    pattern = _ORDERS if change is Change.ORDER else _SCOPES
    return pattern.sub(f".{to}", written, count=1)


def mutants(kernel: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a kernel."""
    function = read_ptx(text, "k.ptx").functions[kernel]
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:line])) for line in range(len(lines))]
    for each in function.instructions:
        begin = starts[each.line - 1] + each.column - 1
        end = text.index(";", begin)
        for change, to in _changes(each):
            new = _changed(text[begin:end], change, to)
            # A label keeps a statement after it: one that does nothing.
            new = new if new.strip() else "mov.u32 %r0, %tid.x"
            mutant = text[:begin] + new + text[end:]
            yield Mutant(kernel, change, each.line, each.text, mutant)


def noticed(mutant: Mutant, launch: str) -> Noticed:
    """The way in which a mutant is noticed; an execution that ends early is one."""
    module = Module(read_ptx(mutant.text, "k.ptx"))
    return _noticed(judge(module, parse_launch(launch)))


def _noticed(verdict: Verdict) -> Noticed:
    if verdict.judgement is Judgement.NO_RACE:
        return Noticed.SILENT
    return Noticed.ORDERS if verdict.schedules == len(ORDERS) else Noticed.DELAY


# Of AMD


class AmdChange(Enum):
    """The change of an instruction of an AMD kernel."""

    BARRIER = "barrier deleted"
    WAIT = "wait deleted"
    WRITE_BACK = "write-back deleted"
    INVALIDATE = "invalidate deleted"
    SCOPE = "scope bits deleted"


@dataclass(frozen=True)
class AmdMutant:
    """A kernel with one change; ``instruction``: the text of the changed one."""

    change: AmdChange
    line: int
    instruction: str
    text: str


def _amd_change(site: Site) -> tuple[AmdChange, str] | None:
    """The change of an instruction, and the text that it becomes; None: it has none."""
    instruction = site.instruction
    match site.rule:
        case Barrier():
            return AmdChange.BARRIER, "s_nop 0"
        case Wait():
            return AmdChange.WAIT, "s_nop 0"
        case Cache(effect):
            change = AmdChange.WRITE_BACK if effect.write_back else AmdChange.INVALIDATE
            return change, "s_nop 0"
        case Access() as access if access.is_scoped and not access.is_atomic:
            kept = tuple(each for each in instruction.modifiers if each not in _SCOPE_BITS)
            return AmdChange.SCOPE, instruction.with_modifiers(kept).text
        case _:
            return None


_SCOPE_BITS = ("sc0", "sc1", "glc")


def amd_mutants(kernel: str, text: str) -> Iterator[AmdMutant]:
    """Every mutant of an AMD kernel."""
    assembly = read_assembly(text, "k.s")
    function = assembly.functions[kernel]
    configuration = CdnaConfiguration(function.chip)
    program = program_of(function, configuration.l2_per_agent)
    lines = text.splitlines()
    for site in sites_of(function, program, configuration, assembly.files):
        changed = _amd_change(site)
        if changed is not None:
            change, new = changed
            line = site.instruction.line
            mutant = "\n".join([*lines[: line - 1], f"\t{new}", *lines[line:], ""])
            yield AmdMutant(change, line, site.instruction.text, mutant)


def amd_noticed(mutant: AmdMutant, launch: str) -> Noticed:
    """The way in which a mutant is noticed."""
    return _noticed(judge_kernel(read_assembly(mutant.text, "k.s"), parse_launch(launch)))
