"""The input of fence-sim: litmus tests from files, lowered as the command line says."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.litmus_run import PtxTest, RunnableTest, SourceTest
from fencewright.tools.diagnostics import ToolError, diagnose, error
from fencewright.tools.inputs.litmus.files import (
    is_columns,
    name_of,
    parse_columns,
    parse_module,
    read_text,
)

if TYPE_CHECKING:
    from argparse import _ArgumentGroup  # pyright: ignore[reportPrivateUsage]  # it has no other name
    from collections.abc import Sequence

    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from fencewright.passes.litmus.drop_instructions import DropInstructionsPass
    from fencewright.passes.litmus.programs import ReadOptions, TestCode
    from fencewright.passes.options import OptLevel
    from fencewright.simulator.cdna.rows import Interpretation

NAME = "fence-sim"


_ONE_COLON = re.compile(r"(?<!:):(?!:)")
"""The colon before policy bits; PTX has names with two, as ``sync_restrict::shared::cluster``."""


@dataclass(frozen=True, slots=True)
class Damage:
    """An instruction to leave out for ``--without``: fewer bits of it, or another in its place."""

    mnemonic: str
    bits: tuple[str, ...] = ()
    replacement: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Damage":
        """``buffer_inv``, ``global_store_dword:sc1`` or ``fence.acq_rel.gpu=fence.acq_rel.cta``."""
        mnemonic, equals, replacement = text.partition("=")
        if equals:
            return cls(mnemonic, (), replacement)
        mnemonic, *bits = _ONE_COLON.split(text, maxsplit=1)
        if not mnemonic:
            raise ArgumentTypeError("expected MNEMONIC, MNEMONIC:BIT or MNEMONIC=OTHER")
        return cls(mnemonic, tuple(filter(None, ",".join(bits).split(","))))


@dataclass(frozen=True, slots=True)
class Lowering:
    """The target to which tests in ``scoped`` are lowered before a run; ``chip`` None: no lowering.

    Tests in CDNA instructions run on ``chip`` as they are. With ``takes_columns`` a test that is
    in PTX already is taken as it is, for any chip.
    """

    chip: str | None = None
    features: tuple[str, ...] = ()
    l2_per_agent: L2PerAgent | None = None
    ptx_version: str | None = None
    ptx_model: str | None = None
    damages: tuple[Damage, ...] = ()
    opt_level: "OptLevel | None" = None
    takes_columns: bool = False
    facts: tuple[str, ...] = ()
    readings: "frozenset[Interpretation] | None" = None

    @property
    def model(self) -> str:
        """The version of the PTX model."""
        return "7.5" if self.ptx_model is None else self.ptx_model

    @property
    def read_options(self) -> "ReadOptions":
        """The options to read lowered tests: of the machine those of the command line."""
        from fencewright.passes.litmus.programs import ReadOptions

        tgsplit = "tgsplit" in self.features
        return ReadOptions(self.l2_per_agent, self.model, self.chip, tgsplit, self.readings)

    @property
    def architecture(self) -> str | None:
        """The architecture of ``chip``: cdna or ptx. Raises ``UnsupportedError`` for another."""
        from fencewright.lowering.targets import architecture_of

        return None if self.chip is None else architecture_of(self.chip)

    @property
    def given(self) -> tuple[str, ...]:
        """The flags that ask for something."""
        flags = {
            "--mcpu": self.chip is not None,
            "--without": bool(self.damages),
            "--mattr": bool(self.features),
            "--l2-per-agent": self.l2_per_agent is not None,
            "--ptx-version": self.ptx_version is not None,
            "-O": self.opt_level is not None,
            "--assume": bool(self.facts),
            "--readings": self.readings is not None,
            "--model": self.ptx_model is not None,
        }
        return tuple(flag for flag, is_given in flags.items() if is_given)

    def check_effect(self, why: str, *flags: str) -> None:
        """Raise :class:`ToolError` with the reason ``why`` if one of ``flags`` was given."""
        for flag in self.given:
            if flag in flags:
                raise error(f"{flag} has no effect: {why}", NAME)


_CDNA_FLAGS = frozenset(
    {"--mcpu", "--mattr", "--l2-per-agent", "-O", "--assume", "--without", "--readings"}
)
_PTX_FLAGS = frozenset({"--mcpu", "--ptx-version", "-O", "--assume", "--without", "--model"})
_COLUMN_FLAGS = frozenset({"--model"})
_COMPILED_FLAGS = frozenset({"--mcpu", "--ptx-version", "--model"})
"""The flags that have an effect on a test, by its lowering or its own language."""


def read(path: str, lowering: Lowering, only: str | None = None) -> list[RunnableTest]:
    """The tests of a file as the simulator runs them, lowered if so asked.

    Raises :class:`ToolError` for what cannot be read, lowered or executed.
    """
    return read_string(path, read_text(path), lowering, only)


def read_string(
    path: str, text: str, lowering: Lowering, only: str | None = None
) -> list[RunnableTest]:
    """As ``read``, of a file's ``text``."""
    if is_columns(path, text):
        return [_read_columns(path, text, lowering, only)]
    return _read_module(path, text, lowering, only)


_IN_PTX = "the test is PTX already, for every chip"


def _read_columns(path: str, text: str, lowering: Lowering, only: str | None) -> RunnableTest:
    from fencewright.simulator.ptx.model import MODELS

    lowers = lowering.chip is not None and not lowering.takes_columns
    if lowers or lowering.damages:
        raise error(
            "a .litmus test is PTX already; 'fence-sim convert' writes it in scoped operations, "
            "which --mcpu lowers",
            name_of(path),
        )
    taken = _COMPILED_FLAGS if lowering.takes_columns else _COLUMN_FLAGS
    lowering.check_effect(_IN_PTX, *(each for each in lowering.given if each not in taken))
    test = parse_columns(path, text)
    if only not in (None, test.name):
        raise error(f"no test '{only}' in the file; its test: {test.name}", name_of(path))
    return PtxTest(test, MODELS[lowering.model])


def _read_module(path: str, text: str, lowering: Lowering, only: str | None) -> list[RunnableTest]:
    from xdsl.utils.exceptions import DiagnosticException

    from fencewright.lowering.sequence import UnsupportedError
    from fencewright.passes.litmus.programs import find_tests
    from fencewright.passes.litmus.read_litmus import read_tests
    from fencewright.passes.litmus.verify_lowering import source_name

    module = parse_module(path, text)
    _drop_other_tests(module, only)
    sources: dict[str, SourceTest] = {}
    try:
        codes = [code for code in find_tests(module) if only in (None, code.name)]
        _check_flags(codes, lowering)
        if lowering.chip is not None:
            _check_clusters(module, lowering.chip)
            sources = _readable_sources(module)
            lower_tests(module, lowering)
        found = list(read_tests(module, lowering.read_options))
    except (DiagnosticException, UnsupportedError) as problem:
        known = diagnose(problem, name_of(path))
        assert known is not None
        raise ToolError((known,)) from problem
    tests = [
        test
        if isinstance(test, SourceTest)
        else replace(test, source=sources.get(source_name(code)))
        for code, test in found
        if only in (None, code.name)
    ]
    if not tests and not found:
        raise error("no litmus.test in the module; a litmus test says what to run", name_of(path))
    if not tests:
        names = ", ".join(code.name for code, _ in found)
        raise error(f"no test '{only}' in the module; its tests: {names}", name_of(path))
    return tests


def _check_flags(codes: "Sequence[TestCode]", lowering: Lowering) -> None:
    """Refuse a flag that has no effect on any of the tests, before they are lowered."""
    taken = [_flags_of(code, lowering) for code in codes]
    for flag in lowering.given:
        reasons = [why for flags, why in taken if flag not in flags]
        if reasons and len(reasons) == len(taken):
            lowering.check_effect(reasons[0], flag)


def _flags_of(code: "TestCode", lowering: Lowering) -> tuple[frozenset[str], str]:
    """The flags that have an effect on a test, and why the others have none."""
    from fencewright.passes.litmus.programs import Language

    architecture, chip = lowering.architecture, lowering.chip
    match code.language:
        case Language.SCOPED if architecture is None:
            return frozenset(), "it needs --mcpu"
        case Language.SCOPED:
            return _PTX_FLAGS if architecture == "ptx" else _CDNA_FLAGS, f"{chip} does not take it"
        case Language.PTX:
            return _COMPILED_FLAGS if lowering.takes_columns else _COLUMN_FLAGS, _IN_PTX
        case Language.CDNA if code.is_in_kernels:
            why = "the test runs kernels of CDNA instructions, which name their chip"
            return frozenset({"--l2-per-agent", "--without", "--readings"}), why
        case Language.CDNA:
            why = "the test is in CDNA instructions already"
            if architecture == "ptx":
                return frozenset(), f"{why}, which {chip} does not have"
            return _CDNA_FLAGS - {"-O", "--assume"}, why


def _readable_sources(module: "ModuleOp") -> "dict[str, SourceTest]":
    """The tests of a module that the source model can run, by name.

    What it does not have, as asynchronous copies, cannot be said to be free of data races.
    """
    from xdsl.utils.exceptions import DiagnosticException

    from fencewright.passes.litmus.programs import Language, find_tests
    from fencewright.passes.litmus.source import read_source

    sources: dict[str, SourceTest] = {}
    for code in find_tests(module):
        if code.language is Language.SCOPED:
            try:
                sources[code.name] = read_source(code)
            except DiagnosticException:
                continue
    return sources


def _check_clusters(module: "ModuleOp", chip: str) -> None:
    """Raise ``DiagnosticException`` at a thread in a cluster that ``chip`` cannot launch."""
    from fencewright.lowering.targets import has_clusters
    from fencewright.mlir_dialects.litmus import TestOp
    from fencewright.passes.litmus.programs import unreadable

    if has_clusters(chip):
        return
    for test in module.walk():
        if not isinstance(test, TestOp) or not test.is_placed_in_clusters:
            continue
        workgroups: dict[tuple[int, int | None], int] = {}
        for number, thread in enumerate(test.threads):
            place = thread.placement.resolve(number)
            cluster = (place.agent, place.cluster)
            if workgroups.setdefault(cluster, place.workgroup) != place.workgroup:
                unreadable(
                    thread,
                    f"{chip} has no clusters, but work-groups {workgroups[cluster]} and "
                    f"{place.workgroup} are in one; leave 'cluster' out, or lower for sm_90, "
                    "gfx1250 or newer",
                )


def _drop_other_tests(module: "ModuleOp", only: str | None) -> None:
    """Take the other tests out of the module, if ``only`` is one: a chip may not have all of them.

    What it says that it lowers stays, and so do all kernels.
    """
    from xdsl.rewriter import Rewriter

    from fencewright.mlir_dialects.litmus import TestOp

    tests = {op.sym_name.data: op for op in module.walk() if isinstance(op, TestOp)}
    kept = tests.get(only) if only is not None else None
    if kept is None:
        return
    source = None if kept.lowers is None else kept.lowers.root_reference.data
    for name, op in tests.items():
        if name not in (only, source):
            Rewriter.erase_op(op)


def lower_tests(module: "ModuleOp", lowering: Lowering) -> None:
    """Lower a module in place, except code that ``lowering`` damages.

    Raises ``UnsupportedError``, ``DiagnosticException`` or :class:`ToolError`.
    """
    from xdsl.context import Context

    from fencewright.passes.litmus.drop_instructions import DropInstructionsPass

    chip = lowering.chip
    assert chip is not None
    is_ptx = lowering.architecture == "ptx"
    others = ("--mattr", "--l2-per-agent") if is_ptx else ("--ptx-version",)
    lowering.check_effect(f"{chip} does not take it", *others)
    passes = _passes(module, chip, lowering)
    drops = [
        DropInstructionsPass(each.mnemonic, each.bits, each.replacement)
        for each in lowering.damages
    ]
    # Before waits are inserted: a wait for data that is left out would only come back.
    names = [step.name for step in passes]
    at = names.index("insert-waits") if "insert-waits" in names else len(names)
    for step in passes[:at]:
        step.apply(Context(), module)
    if drops:
        _check_damage(module, drops)
        for step in drops:
            step.apply(Context(), module)
        # An instruction put in the place of another one may be none.
        module.verify()
    for step in passes[at:]:
        step.apply(Context(), module)


def _passes(module: "ModuleOp", chip: str, lowering: Lowering) -> "Sequence[ModulePass]":
    """The passes that lower a module for ``chip``; none for instructions of a chip only read."""
    from fencewright.lowering.targets import is_only_read, parse_target
    from fencewright.passes.litmus.programs import Language, find_tests
    from fencewright.passes.pipelines import DEFAULT_OPT_LEVEL, pipeline_of

    if is_only_read(chip) and all(
        code.language is not Language.SCOPED for code in find_tests(module)
    ):
        return ()
    level = DEFAULT_OPT_LEVEL if lowering.opt_level is None else lowering.opt_level
    l2s = lowering.l2_per_agent or L2PerAgent.MANY
    target = parse_target(chip, lowering.features, l2s, ptx_version=lowering.ptx_version)
    return pipeline_of(target, opt_level=level, facts=lowering.facts).passes()


def _check_damage(module: "ModuleOp", drops: "list[DropInstructionsPass]") -> None:
    """Raise ``DiagnosticException`` at a test in which there is nothing to leave out.

    If nothing in the whole module is, the passes say so.
    """
    from fencewright.passes.litmus.programs import find_tests, unreadable

    if not any(drop.damages(op) for drop in drops for op in module.walk()):
        return
    for code in find_tests(module):
        operations = (op for thread in code.threads for op in thread.body.walk())
        if not any(drop.damages(op) for op in operations for drop in drops):
            problem = f"--without names nothing in '{code.name}'; choose other tests with --test"
            unreadable(code.test, problem)


# The command line


def add_target(parser: ArgumentParser) -> None:
    """Add the flags of the target of a lowering."""
    group = parser.add_argument_group("lowering")
    group.add_argument("--source", action="store_true", help="run scoped tests as written")
    group.add_argument(
        "--mcpu",
        metavar="CHIP",
        help="lower for gfx942, sm_90.. and run that; CDNA instructions: the chip to run on",
    )
    group.add_argument(
        "--mattr", metavar="FEATURES", default="", help="+tgsplit; of gfx10 and gfx11 +cumode"
    )
    group.add_argument(
        "--l2-per-agent", choices=("one", "many"), help="L2 caches of one agent (default: harder)"
    )
    group.add_argument(
        "--assume",
        metavar="FACTS",
        default="",
        help="what is promised of every launch, comma separated, as of fence-opt",
    )
    group.add_argument(
        "--readings",
        metavar="READINGS",
        help="what the documents of gfx1250, gfx10 and gfx11 leave open and their machine is to "
        "take the harder way: every, none, or names with commas (default: late-invalidate, "
        "write-back-overtakes; queued-invalidate)",
    )
    _add_common(group)


def add_gpu_target(parser: ArgumentParser) -> None:
    """Add the flags that say which NVIDIA GPU to lower and compile for."""
    group = parser.add_argument_group("lowering")
    group.add_argument(
        "--mcpu", metavar="CHIP", help="lower and compile for sm_90.. (default: the GPU at hand)"
    )
    group.add_argument(
        "--sm", metavar="NUMBER", dest="mcpu", type="sm_{}".format, help="as --mcpu sm_NUMBER"
    )
    parser.set_defaults(source=False, mattr="", l2_per_agent=None, assume="", readings=None)
    _add_common(group)


def _add_common(group: "_ArgumentGroup") -> None:
    group.add_argument("--ptx-version", metavar="VERSION", help="PTX version to write, as 8.6")
    group.add_argument(
        "-O",
        dest="opt_level",
        type=int,
        choices=(0, 2),
        help="0: every operation by itself, 2: the fewest instructions (default)",
    )
    group.add_argument(
        "--model",
        choices=("ptx-6.0", "ptx-7.5", "ptx-7.5-stronger"),
        help="text of the PTX memory model (default: ptx-7.5); -stronger: fences with "
        ".sync_restrict synchronise through anything",
    )
    group.add_argument(
        "--without",
        metavar="INSTRUCTION",
        action="append",
        default=[],
        type=Damage.parse,
        help="leave emitted synchronisation out: buffer_inv; a bit of it: "
        "global_store_dword:sc1; or put another in its place: fence.acq_rel.gpu=fence.acq_rel.cta",
    )


def _check_chip(chip: str | None) -> None:
    """Raise :class:`ToolError` for an unknown chip, before any input is read."""
    if chip is None:
        return
    from fencewright.lowering.sequence import UnsupportedError
    from fencewright.lowering.targets import architecture_of

    try:
        architecture_of(chip)
    except UnsupportedError as problem:
        raise error(str(problem), NAME) from problem


def lowering_of(arguments: Namespace) -> Lowering:
    """The lowering that the flags of ``add_target`` ask for. Raises :class:`ToolError`."""
    features = _features(arguments.mcpu, arguments.mattr)
    if arguments.source and arguments.mcpu:
        raise error("--source runs a test as it is written, --mcpu lowers it: choose one", NAME)
    _check_chip(arguments.mcpu)
    return Lowering(
        arguments.mcpu,
        features,
        arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent),
        arguments.ptx_version,
        None if arguments.model is None else arguments.model.removeprefix("ptx-"),
        tuple(arguments.without),
        arguments.opt_level,
        facts=tuple(filter(None, arguments.assume.split(","))),
        readings=_readings(arguments),
    )


def _features(chip: str | None, mattr: str) -> tuple[str, ...]:
    """The features of ``--mattr``, by the chip's words. Raises :class:`ToolError`."""
    from fencewright.lowering.cdna.chips import KNOWN_CHIPS, TGSPLIT

    row = None if chip is None else KNOWN_CHIPS.get(chip)
    mode = None if row is None else row.split_mode
    feature = f"+{TGSPLIT}" if mode is None else mode.feature
    is_split = mode is not None and mode.by_default
    for each in filter(None, mattr.split(",")):
        asked = each if each[0] in "+-" else f"+{each}"
        if asked[1:] != feature[1:]:
            raise error(f"unknown feature '{each}' in --mattr; known: {feature[1:]}", NAME)
        is_split = asked == feature
    return (TGSPLIT,) if is_split else ()


def _readings(arguments: Namespace) -> "frozenset[Interpretation] | None":
    """The readings that ``--readings`` asks for; None where it is not given. Raises
    :class:`ToolError`.
    """
    if arguments.readings is None:
        return None
    from fencewright.simulator.cdna.rows import EVERY_READING, Interpretation, left_open

    if arguments.mcpu is not None and not left_open(arguments.mcpu):
        raise error(
            f"--readings has no effect: the machine of {arguments.mcpu} leaves none open", NAME
        )
    sets = {"every": EVERY_READING, "none": frozenset[Interpretation]()}
    if arguments.readings in sets:
        return sets[arguments.readings]
    names = arguments.readings.split(",")
    if unknown := [each for each in names if each not in set(Interpretation)]:
        known = ", ".join((*sets, *Interpretation))
        raise error(f"unknown reading '{unknown[0]}' in --readings; known: {known}", NAME)
    readings = frozenset(map(Interpretation, names))
    if arguments.mcpu is not None and (closed := readings - left_open(arguments.mcpu)):
        known = ", ".join((*sets, *sorted(left_open(arguments.mcpu))))
        reason = f"the documents of {arguments.mcpu} do not leave '{min(closed)}' open"
        raise error(f"{reason} (--readings); known: {known}", NAME)
    return readings
