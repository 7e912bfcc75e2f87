"""Fuzzing the passes: random programs, lowered for every target, must behave as their source may.

Every program is drawn from its seed, and checked on one CDNA and one PTX setting, which the seed
chooses as well; as LLVM IR, compiled by LLVM, on another. What a setting may not do: end as the
source forbids, use a register that was not waited for, never end where the unoptimised code does,
or synchronise more than that.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.caches import WRITE_BACKS
from fencewright.lowering.cdna.chips import CHIPS, GFX90A, GFX908, GFX942, GFX950, GFX1250
from fencewright.lowering.facts import are_write_backs_cumulative
from fencewright.lowering.sequence import Target
from fencewright.lowering.targets import has_clusters
from fencewright.lowering.vocabulary import Fact, FastStrEnum, L2PerAgent
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.mlir_dialects.ptx import FenceOp
from fencewright.passes.analysis.control_flow import successors, top_level
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.cdna import UnwaitedArgumentError
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.options import OptLevel
from fencewright.passes.pipelines import StorePolicy, pipeline_of
from fencewright.simulator.cdna.rows import EVERY_READING, CdnaConfiguration
from fencewright.simulator.core.exploration import LimitReached
from fencewright.simulator.core.processes.campaign import Task, code_digest
from fencewright.simulator.core.processes.campaign import run as run_tasks
from fencewright.simulator.core.program import MemoryKind
from fencewright.simulator.litmus_run import (
    CdnaTest,
    Limits,
    Run,
    SourceTest,
    execution,
    forbidden,
    formula_of,
    run,
    stuck_waves,
)
from fencewright.simulator.random.programs import (
    SmallProgram,
    electing_program,
    has_loop,
    random_program,
    shrink,
    varied_program,
)
from fencewright.tools.fuzz.totals import Totals, Violation

if TYPE_CHECKING:
    from fencewright.tools.fuzz.llvm_ir import Build

LIMITS = Limits(states=8_000, bound=2)
"""The limits of one check; a program that needs more is too large, which proves nothing."""

PROGRESS = Limits(states=1_500)
"""The limits of the search for executions that never end, on a machine with many more states."""


class LoweringRoute(FastStrEnum):
    """The route of a program: the passes on MLIR, or those on LLVM IR and LLVM itself.

    ``llvm-ir-noalias``: each pointer promises that no other reaches its memory; ``llvm-ir-calls``:
    every other access is in a function of its own, and constants are copied from memory;
    ``llvm-ir-edit``: every other weak access is ``unordered``, and the text is given back as it was
    but for what has changed.
    """

    MLIR = "mlir"
    LLVM_IR = "llvm-ir"
    LLVM_IR_NOALIAS = "llvm-ir-noalias"
    LLVM_IR_CALLS = "llvm-ir-calls"
    LLVM_IR_EDIT = "llvm-ir-edit"


LLVM_IR_FORMS = tuple(each for each in LoweringRoute if each is not LoweringRoute.MLIR)
"""The ways to write programs as LLVM IR."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The target of a program's lowering, and the machine that runs it.

    ``machine`` is how many L2s an agent of the machine has, None for as many as ``mode`` says.
    ``facts`` hold of the programs that are checked on it. What a chip's documents leave open the
    machine takes the harder way.
    """

    mode: Target
    stores: StorePolicy = "back"
    machine: L2PerAgent | None = None
    facts: tuple[Fact, ...] = ()
    through: LoweringRoute = LoweringRoute.MLIR
    opt_level: OptLevel = 2

    def __str__(self) -> str:
        """A name: ``gfx942-tgsplit``, ``gfx942-through``, ``gfx942@one-l2``, ``sm_90+no-clusters``,
        ``gfx1250-O0``.

        With ``:llvm-ir`` after it if it is for programs in LLVM IR.
        """
        stores = "" if self.stores == "back" else f"-{self.stores}"
        machine = f"@{self.machine}-l2" if self.machine else ""
        through = "" if self.through is LoweringRoute.MLIR else f":{self.through}"
        level = "" if self.opt_level else "-O0"
        return (
            f"{self.mode}{stores}{level}{machine}" + "".join(f"+{f}" for f in self.facts) + through
        )

    @property
    def options(self) -> ReadOptions:
        """The options to read its code for the simulator."""
        one = L2PerAgent.ONE
        l2_per_agent = self.machine or (one if self.mode.l2_per_agent is one else None)
        return ReadOptions(
            l2_per_agent=l2_per_agent,
            chip=self.mode.chip,
            tgsplit=self.mode.tgsplit,
            readings=EVERY_READING,
        )

    def passes(self, opt_level: OptLevel) -> tuple[ModulePass, ...]:
        """The passes that lower for it."""
        facts = self.facts if opt_level else ()
        stores = {} if self.mode.is_ptx else {"stores": self.stores}
        return pipeline_of(self.mode, opt_level=opt_level, facts=facts, **stores).passes()

    def place(self, program: SmallProgram) -> SmallProgram:
        """The program in memory of the kinds that the setting has."""
        if Fact.UNCACHED_MEMORY in self.facts:
            return program.in_memory(MemoryKind.UNCACHED)
        return program.for_chip(self.mode.chip)


ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY
_TGSPLIT = frozenset({"tgsplit"})
_NOTHING = frozenset[str]()

_CDNA_SETTINGS = (
    Setting(Target(GFX942.name)),
    Setting(Target(GFX950.name)),
    Setting(Target(GFX90A.name)),
    Setting(Target(GFX942.name, _NOTHING, ONE)),
    Setting(Target(GFX942.name, _TGSPLIT)),
    Setting(Target(GFX942.name), "auto"),
    Setting(Target(GFX942.name), "through"),
    Setting(Target(GFX908.name)),
    Setting(Target(GFX942.name), machine=ONE),
    Setting(Target(GFX950.name, _TGSPLIT)),
    Setting(Target(GFX90A.name, _TGSPLIT)),
    Setting(Target(GFX942.name, _NOTHING, ONE), "auto"),
    Setting(Target(GFX950.name, _NOTHING, ONE), "through"),
    Setting(Target(GFX942.name, _TGSPLIT, ONE)),
    Setting(Target(GFX942.name, _TGSPLIT), "through"),
    Setting(Target(GFX950.name), "auto"),
    Setting(Target(GFX942.name, _TGSPLIT), machine=ONE),
    Setting(Target(GFX942.name, _TGSPLIT), "auto"),
    Setting(Target(GFX942.name), facts=(Fact.UNCACHED_MEMORY, Fact.NO_CLUSTERS)),
    Setting(Target(GFX942.name), facts=(Fact.SINGLE_WAVE_WORKGROUP,)),
    Setting(Target(GFX90A.name), facts=(Fact.UNCACHED_MEMORY,)),
)
CLUSTER_SETTINGS = (
    Setting(Target(GFX1250.name)),
    Setting(Target(GFX1250.name), opt_level=0),
    Setting(Target(GFX1250.name, _NOTHING, ONE)),
    Setting(Target(GFX1250.name), machine=ONE),
)
"""Those of chips with clusters, which are checked where their chip is asked for."""

_SETTLED = {each.mode.chip for each in _CDNA_SETTINGS}
_GENERATIONS = {CHIPS[each].generation for each in _SETTLED}
_FURTHER = [
    chip
    for chip in CHIPS.values()
    if chip.name not in _SETTLED and chip.generation in _GENERATIONS and not chip.generic
]
CDNA_SETTINGS = (
    *_CDNA_SETTINGS,
    *(Setting(Target(chip.name, each)) for chip in _FURTHER for each in chip.feature_sets),
)
"""Every chip in every mode; seeds take them in turn, so that their order stays."""

PTX_SETTINGS = (
    *(
        Setting(Target(chip))
        for chip in (
            "sm_90", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89",
            "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_120", "sm_120a",
        )
    ),
    Setting(Target("sm_90"), facts=(Fact.NO_CLUSTERS,)),
)  # fmt: skip


def _in_llvm_ir(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    of = tuple(settings)
    return tuple(replace(each, through=through) for through in LLVM_IR_FORMS for each in of)


_CUMULATIVE = frozenset({Fact.CUMULATIVE_WRITE_BACKS})
LLVM_IR_SETTINGS = (
    *_in_llvm_ir(CDNA_SETTINGS),
    *(
        replace(each, through=LoweringRoute.LLVM_IR, facts=(*each.facts, *_CUMULATIVE))
        if are_write_backs_cumulative(_CUMULATIVE, each.mode.chip)
        else replace(each, through=LoweringRoute.LLVM_IR)
        for each in CDNA_SETTINGS
    ),
)
"""Every CDNA setting for LLVM IR of every form, then with a fact of LLVM IR alone."""

CLUSTER_LLVM_IR_SETTINGS = _in_llvm_ir(CLUSTER_SETTINGS)
"""The same of chips with clusters."""

SETTINGS = {
    str(each): each
    for each in (
        *CDNA_SETTINGS, *CLUSTER_SETTINGS, *PTX_SETTINGS, *LLVM_IR_SETTINGS,
        *CLUSTER_LLVM_IR_SETTINGS,
    )
}  # fmt: skip


def llvm_ir_settings_on(chip: str) -> tuple[Setting, ...]:
    """Every setting of a chip for programs in LLVM IR."""
    known = (*LLVM_IR_SETTINGS, *CLUSTER_LLVM_IR_SETTINGS)
    return tuple(each for each in known if each.mode.chip == chip)


def llvm_ir_setting_of(seed: int, chip: str | None = None) -> Setting:
    """The setting that a seed's program is checked on in LLVM IR, of ``chip`` if given."""
    if chip is None:
        return LLVM_IR_SETTINGS[seed % len(LLVM_IR_SETTINGS)]
    on = llvm_ir_settings_on(chip)
    # Each time round from another one: which programs are in a cluster also goes round.
    return on[(seed + seed // len(on)) % len(on)]


def settings_on(chip: str) -> tuple[Setting, ...]:
    """Every setting of a chip for programs that are not LLVM IR."""
    direct = (*CDNA_SETTINGS, *CLUSTER_SETTINGS, *PTX_SETTINGS)
    return tuple(each for each in direct if each.mode.chip == chip)


def settings_of(seed: int, chip: str | None = None) -> tuple[Setting, ...]:
    """The settings that a seed's program is checked on: of ``chip``, or each architecture."""
    if chip is not None:
        on = settings_on(chip)
        return (on[seed % len(on)],)
    return CDNA_SETTINGS[seed % len(CDNA_SETTINGS)], PTX_SETTINGS[seed % len(PTX_SETTINGS)]


VARIED = 1_000_000_000
"""The first seed whose program is varied."""

ELECTING = 2_000_000_000
"""The first seed whose program has a work-group that releases as a whole."""


class CheckVerdict(FastStrEnum):
    """The result of a check of a program on a setting."""

    SOUND = "sound"
    TOO_LARGE = "too large"
    NOT_EXECUTED = "not executed"
    UNSOUND = "unsound"
    WRONG = "wrong code"
    STUCK = "stuck"
    MORE = "more synchronisation"
    FAILED = "failed"

    @property
    def is_violation(self) -> bool:
        """True if something is wrong with the passes."""
        return self not in (CheckVerdict.SOUND, CheckVerdict.TOO_LARGE, CheckVerdict.NOT_EXECUTED)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result, in words too; synchronisation ``before`` and ``after`` the passes."""

    verdict: CheckVerdict
    message: str = ""
    before: int = 0
    after: int = 0


_CLUSTERED = 3
"""One program in so many has one cluster, on chips that have them."""


def program_of(seed: int, chip: str | None = None) -> SmallProgram:
    """The program that a seed stands for, from ``VARIED`` or ``ELECTING`` on one of those.

    One for tgsplit has no LDS, and work-groups on two CUs. On a ``chip`` with clusters some have
    one, whose scope is that of all that was the agent's.
    """
    setting, *_ = settings_of(seed, chip)
    mates = Fact.SINGLE_WAVE_WORKGROUP not in setting.facts
    drawn = random_program
    if seed >= VARIED:
        drawn = varied_program if seed < ELECTING else electing_program
    made = drawn(seed, lds=not setting.mode.tgsplit, split=setting.mode.tgsplit, mates=mates)
    clusters = (
        chip is not None and has_clusters(chip) and seed // len(settings_on(chip)) % _CLUSTERED
    )
    return made.in_one_cluster() if clusters == 1 and made.agents == 1 else made


def meant_by(program: SmallProgram) -> Run:
    """The behaviour that a program may have."""
    return meaning(build(program))


def meaning(module: ModuleOp) -> Run:
    """The behaviour of the one litmus test of a module on ``scoped``."""
    return run(read_only_test(module, ReadOptions()), LIMITS)


def lowered(module: ModuleOp, passes: Iterable[ModulePass]) -> ModuleOp:
    """The module, with the passes run on it."""
    for step in passes:
        step.apply(Context(), module)
    return module


def check(
    program: SmallProgram, setting: Setting, meant: Run, passes: Iterable[ModulePass] | None = None
) -> Checked:
    """The verdict on code optimised by ``passes``: as ``meant``, with no more synchronisation.

    ``meant`` must have no races.
    """

    def module() -> ModuleOp:
        return build(setting.place(program))

    return check_module(module, setting, meant, passes, has_loop(program))


def check_module(
    module: Callable[[], ModuleOp],
    setting: Setting,
    meant: Run,
    passes: Iterable[ModulePass] | None = None,
    progress: bool = True,
) -> Checked:
    """As ``check``, of a program that ``module`` gives as a litmus test, anew each time.

    ``progress``: whether to see that it ends.
    """
    if setting.through is not LoweringRoute.MLIR:
        return _check_compiled(module(), setting, meant, progress)
    try:
        code = lowered(module(), setting.passes(setting.opt_level) if passes is None else passes)
        plain = lowered(module(), setting.passes(0))
        found = judge(code, setting, meant, plain if progress else None)
    except Exception as problem:  # A fuzzer tells of whatever a pass raises.
        return Checked(CheckVerdict.FAILED, f"{type(problem).__name__}: {problem}")
    before, after = synchronisation(plain), synchronisation(code)
    if found.verdict is CheckVerdict.SOUND and (more := after - before):
        words = ", ".join(f"{before[name]} -> {after[name]} {name}" for name in sorted(more))
        found = Checked(CheckVerdict.MORE, words)
    return replace(found, before=before.total(), after=after.total())


def judge(code: ModuleOp, setting: Setting, meant: Run, plain: ModuleOp | None = None) -> Checked:
    """A check that lowered code behaves only as ``meant``, and ends where ``plain`` code does."""
    try:
        test = read_only_test(code, setting.options)
    except UnwaitedArgumentError as problem:
        return Checked(CheckVerdict.WRONG, str(problem))
    except DiagnosticException as problem:  # It is right, but no model has it.
        return Checked(CheckVerdict.NOT_EXECUTED, str(problem))
    does = run(test, LIMITS)
    if plain is None or not isinstance(test, CdnaTest):
        return judged(meant, does)
    return judged(meant, does, test, lambda: _cdna_test(plain, setting))


def _check_compiled(module: ModuleOp, setting: Setting, meant: Run, progress: bool) -> Checked:
    """As ``check_module``, of the machine code that LLVM makes."""
    from fencewright.simulator.programs.amd.thread import HazardError
    from fencewright.tools.fuzz import llvm_ir

    try:
        source = read_only_test(module, ReadOptions())
        assert isinstance(source, SourceTest)
        how = build_of(setting)
        test = llvm_ir.compiled(source, how)
        does = llvm_ir.run_compiled(source, test, LIMITS)
        if not progress:
            return judged(meant, does)
        plain = replace(how, opt_level=0, facts=())
        return judged(meant, does, test, lambda: llvm_ir.compiled(source, plain))
    except HazardError as problem:
        return Checked(CheckVerdict.WRONG, str(problem))
    except Exception as problem:  # Of whatever a pass, LLVM or the reader raises.
        return Checked(CheckVerdict.FAILED, f"{type(problem).__name__}: {problem}")


def build_of(setting: Setting) -> "Build":
    """The build of programs in LLVM IR for a setting."""
    from fencewright.tools.fuzz.llvm_ir import Build

    return Build(
        configuration_of(setting),
        l2_per_agent=setting.mode.l2_per_agent,
        stores=setting.stores,
        facts=setting.facts,
        opt_level=setting.opt_level,
        noalias=setting.through is LoweringRoute.LLVM_IR_NOALIAS,
        calls=setting.through is LoweringRoute.LLVM_IR_CALLS,
        edit=setting.through is LoweringRoute.LLVM_IR_EDIT,
        unordered=setting.through is LoweringRoute.LLVM_IR_EDIT,
    )


def configuration_of(setting: Setting) -> CdnaConfiguration:
    """The machine of a CDNA setting."""
    return CdnaConfiguration(
        setting.mode.chip, setting.mode.tgsplit, setting.options.l2_per_agent, EVERY_READING
    )


def judged(
    meant: Run, does: Run, test: CdnaTest | None = None, plain: Callable[[], CdnaTest] | None = None
) -> Checked:
    """The verdict on code: ``does`` is within ``meant``; with ``test``, it ends where ``plain``
    code does, or always."""
    if does.errors:
        return Checked(CheckVerdict.WRONG, does.errors[0])
    extra = forbidden(meant, does)
    if extra is not None and not meant.incomplete:
        return Checked(CheckVerdict.UNSOUND, " ".join(str(extra).splitlines()[0].split()))
    if does.incomplete or extra is not None:
        return Checked(CheckVerdict.TOO_LARGE, does.incomplete or meant.incomplete)
    if test is None:
        return Checked(CheckVerdict.SOUND)
    try:
        stuck = stuck_waves(test, PROGRESS)
        if stuck and not (plain and stuck_waves(plain(), PROGRESS)):
            return Checked(CheckVerdict.STUCK, stuck[0])
    except LimitReached:
        pass  # Its outcomes are right all the same.
    return Checked(CheckVerdict.SOUND)


def _cdna_test(module: ModuleOp, setting: Setting) -> CdnaTest:
    test = read_only_test(module, setting.options)
    assert isinstance(test, CdnaTest)
    return test


def synchronisation(module: ModuleOp) -> Counter[str]:
    """The largest amount of each kind of synchronisation on a path through each kernel.

    No loop is gone round twice. A kind that stands on two edges instead of before them counts once.
    """
    counts: Counter[str] = Counter()
    for kernel in top_level(module):
        if len(kernel.regions) == 1 and kernel.regions[0].blocks:
            counts += _most_on_a_path(kernel.regions[0].blocks[0], frozenset())
    return counts


def _most_on_a_path(block: Block, before: frozenset[Block]) -> Counter[str]:
    passed = before | {block}
    most: Counter[str] = Counter()
    for following in successors(block):
        if following not in passed:
            most |= _most_on_a_path(following, passed)
    return most + Counter(kind for kind in map(_kind, block.ops) if kind)


def _kind(op: Operation) -> str:
    """The kind of costly synchronisation of an operation; empty for others."""
    if isinstance(op, CacheOp):
        return "write-backs" if op.opcode.data in WRITE_BACKS else "invalidates"
    return "fences" if isinstance(op, FenceOp) else ""


def explanation_of(program: SmallProgram, setting: Setting, meant: Run) -> str:
    """The reason that a setting's code can end as the source forbids, in one sentence.

    Empty where it does not, or where it is compiled by LLVM.
    """
    if setting.through is not LoweringRoute.MLIR:
        return ""
    try:
        code = lowered(build(setting.place(program)), setting.passes(setting.opt_level))
        test = read_only_test(code, setting.options)
        does = run(test, LIMITS)
        extra = None if does.errors else forbidden(meant, does)
        if extra is None:
            return ""
        steps = execution(test, formula_of(extra, min(extra.states, key=str)), LIMITS)
    except (DiagnosticException, LimitReached):
        return ""
    return steps[0] if steps else ""


def guilty_pass(program: SmallProgram, setting: Setting, meant: Run) -> str:
    """The first pass with which a program that is not right stops being right.

    Empty if it is wrong without those that take synchronisation away, or compiled by LLVM.
    """
    if setting.through is not LoweringRoute.MLIR:
        return ""
    plain = setting.passes(0)
    passes = setting.passes(setting.opt_level)
    if check(program, setting, meant, plain).verdict.is_violation:
        return ""
    for place, step in enumerate(passes):
        if step in plain:
            continue
        so_far = [each for n, each in enumerate(passes) if n <= place or each in plain]
        if check(program, setting, meant, so_far).verdict.is_violation:
            return step.name
    return ""


# Campaigns


@dataclass(slots=True)
class Tally:
    """The results of the programs that were checked on one setting."""

    verdicts: Counter[str] = field(default_factory=Counter[str])
    before: int = 0
    after: int = 0

    def add(self, checked: Checked) -> None:
        """Count one program."""
        self.verdicts[checked.verdict] += 1
        if checked.verdict is CheckVerdict.SOUND:
            self.before += checked.before
            self.after += checked.after

    @property
    def violations(self) -> int:
        """The number of programs that show a mistake."""
        return sum(n for word, n in self.verdicts.items() if CheckVerdict(word).is_violation)


@dataclass(slots=True)
class SettingTotals(Totals):
    """The totals of programs through the passes, with a tally of each setting.

    A program that is ``racy`` or ``too_large`` for the source model is on no setting.
    """

    racy: int = 0
    too_large: int = 0
    settings: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    def count(self, verdict: str) -> int:
        """The number of checks with that verdict, on all settings together."""
        return sum(tally.verdicts[verdict] for tally in self.settings.values())


def check_seeds(
    first: int, count: int, llvm_ir: int = 0, chip: str | None = None
) -> dict[str, Any]:
    """Check ``count`` seeds from ``first`` on; the data of their ``SettingTotals``.

    As many as ``llvm_ir`` of them in LLVM IR too. With ``chip`` on its settings alone.
    """
    start = time.process_time()
    totals = SettingTotals()
    for seed in range(first, first + count):
        _check_seed(seed, totals, seed < first + llvm_ir, chip)
    totals.seconds = time.process_time() - start
    return totals.data()


def _check_seed(seed: int, totals: SettingTotals, llvm_ir: bool, chip: str | None) -> None:
    totals.programs += 1
    program = program_of(seed, chip)
    meant = meant_by(program)
    if meant.races:
        totals.racy += 1
        return
    if meant.incomplete:
        totals.too_large += 1
        return
    also = (llvm_ir_setting_of(seed, chip),) if llvm_ir else ()
    for setting in (*settings_of(seed, chip), *also):
        checked = check(program, setting, meant)
        name = str(setting)
        totals.settings[name].add(checked)
        if checked.verdict.is_violation:
            found = Violation(seed, name, checked.verdict, checked.message)
            totals.violations.append(found)


HEAD = "// fuzz: "
"""The beginning of a file with a program; the name of a setting follows."""

CHUNK = 50
"""The number of seeds that one task checks: a second or two, which is the loss at Ctrl-C."""


def campaign(
    first: int,
    count: int,
    executor: Executor | None = None,
    stream: Path | None = None,
    llvm_ir: int = 0,
    chip: str | None = None,
) -> Generator[SettingTotals]:
    """The totals of ``count`` seeds from ``first`` on, growing as tasks are done.

    The first ``llvm_ir`` of them are checked in LLVM IR too. With ``chip`` on its settings alone.
    With ``stream`` results are kept, and those that it has already are not computed again;
    results of other code are refused with a ``CampaignError``.
    """
    tasks = (
        Task(
            f"{start}+{size}" + (f" llvm-ir {also}" if also else "") + (f" {chip}" if chip else ""),
            check_seeds,
            (start, size, also, chip),
        )
        for start in range(first, first + count, CHUNK)
        for size in (min(CHUNK, first + count - start),)
        for also in (min(size, max(0, first + llvm_ir - start)),)
    )
    totals = SettingTotals()
    for _, data in run_tasks(tasks, executor, stream, f"fuzz {code_digest()}"):
        totals.include(data)
        yield totals


def smallest(violation: Violation, chip: str | None = None) -> tuple[SmallProgram, str]:
    """The smallest program found that shows a seed's fault (on ``chip``), and its pass."""
    setting = SETTINGS[violation.setting]

    def fails(program: SmallProgram) -> bool:
        meant = meant_by(program)
        if meant.races or meant.incomplete:
            return False
        return check(program, setting, meant).verdict == violation.verdict

    program = shrink(program_of(violation.seed, chip), fails)
    return program, guilty_pass(program, setting, meant_by(program))
