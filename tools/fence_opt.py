"""fence-opt: the pass driver, with the conventions of ``xdsl-opt`` and ``mlir-opt``."""

import gc
import re
import sys
import time
from argparse import ArgumentParser
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from io import BytesIO
from itertools import accumulate
from typing import IO, TYPE_CHECKING, Any, ClassVar, NoReturn, cast, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.diagnostic import Diagnostic as IRDiagnostic
from xdsl.utils.exceptions import DiagnosticException, ParseError, ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import FACT_TEXT
from fencewright.mlir_dialects.staged_context import StagedContext
from fencewright.mlir_dialects.verification import verify
from fencewright.passes.options import DEFAULT_OPT_LEVEL, TARGET_ID, OptLevel
from fencewright.tools.arguments import add_completion, with_errors_of_one_line
from fencewright.tools.diagnostics import (
    Diagnostic,
    ToolError,
    as_text,
    diagnose,
    error,
    is_bitcode,
    leave,
    output_file,
    read_bytes,
    run_tool,
)
from fencewright.tools.inputs.expectations import Expectations
from fencewright.tools.inputs.located_parser import LocatedParser
from fencewright.tools.outputs import check_folders, check_outputs
from fencewright.tools.statuses import DOES_NOT_HOLD, USAGE
from fencewright.tools.version import VERSION
from fencewright.universe import ASYNCHRONOUS, PASSES, SYNCHRONOUS, UNIVERSE, installed

if TYPE_CHECKING:
    from fencewright.mlir_dialects.llvm_ir.edit import EditedModule
    from fencewright.passes.litmus.programs import ReadOptions
    from fencewright.tools.remarks.observer import Observer
    from fencewright.tools.remarks.remarks import Remark

NAME = "fence-opt"
STDIN = "<stdin>"
CHUNK_SEPARATOR = "// -----"
MLIR = "mlir-translate"
"""The program that turns the input of ``--import-mlir`` into LLVM IR."""

REMARKS = "--remarks"
VERIFY_LOWERING = "--verify-lowering"
FEATURES = ("tgsplit",)
"""The features that ``--mattr`` switches."""

FLAGS = {**dict.fromkeys(FEATURES, "--mattr"), "opt_level": "-O", "facts": "--assume"}
"""The flag that sets an option, if not the flag of its name."""


_DESCRIPTION = (
    "fence-opt: xdsl-opt with the passes of Fencewright: lower scoped operations to AMD or NVIDIA "
    "code, raise LLVM IR and other dialects to them, and verify lowered code. As in "
    "fence-opt FILE --mcpu gfx942 -t asm."
)

_HELP = {
    "passes": "passes to run, comma separated, with options in braces, as "
    "convert-scoped-to-ptx{mcpu=sm_90},merge-ptx-fences; the list is at the end",
    "target": "output: mlir (the default), asm (AMD assembly or PTX), ptx, llvm (LLVM IR), or a "
    "target of xDSL; asm{explain=true} comments each instruction",
    "disable_verify": "do not verify the module between parsing, passes and printing",
    "version": "print the version and exit",
}
"""The help of xDSL's options, in place of its own."""

_COMMENT_LINE = re.compile(r"^[ \t]*;.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class LLVMTarget(Target):
    """``-t llvm``: LLVM IR text. xDSL's own target of that name drops orderings.

    What came as LLVM IR is given back as it was written, but for what has changed, with its
    ``comments`` or without the lines that are nothing else.
    """

    name = "llvm"

    comments: bool = True

    def edited(self, text: str) -> str:
        """The output for ``text`` that was edited."""
        return text if self.comments else _COMMENT_LINE.sub("", text)

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from fencewright.tools.inputs.llvm_child import export_guarded

        output.write(export_guarded(module))


class FenceOptMain(xDSLOptMain):
    """xDSL's driver with Fencewright's dialects, passes, targets and one-line errors."""

    version_format: ClassVar[str] = VERSION

    def register_all_dialects(self) -> None:
        self.ctx = context = StagedContext()
        parts = {"scoped": SYNCHRONOUS}
        for name, factory in {**installed().all_dialects, **UNIVERSE.all_dialects, **parts}.items():
            context.register_dialect(name, factory)
        context.register_rest("scoped", ASYNCHRONOUS)

    def register_all_passes(self) -> None:
        self.available_passes.update({**installed().all_passes, **PASSES})

    def register_all_targets(self) -> None:
        self.available_targets.update({**installed().all_targets, **UNIVERSE.all_targets})
        self.available_targets[LLVMTarget.name] = lambda: LLVMTarget

    def register_all_frontends(self) -> None:
        # Other packages' frontends are left out: a search for them takes longer than a small input.
        self.available_frontends = {"mlir": self._read_mlir, "ll": self._read_llvm_ir}

    def _passes(self) -> str:
        """A line for each pass that is not xDSL's own: the first sentence of its documentation."""
        from textwrap import fill

        from xdsl.transforms import get_all_passes

        xdsls = get_all_passes()
        lines = ["passes:"]
        for name, factory in self.available_passes.items():
            if name not in xdsls:
                words = (factory().__doc__ or "").partition("\n\n")[0].replace("``", "").split()
                text = f"{name}: {' '.join(words)}"
                lines.append(fill(text, 100, initial_indent="  ", subsequent_indent="    "))
        others = f"passes of xDSL: {', '.join(xdsls)}"
        return "\n".join([*lines, "", fill(others, 100, break_on_hyphens=False)])

    def register_all_arguments(self, arg_parser: ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = NAME
        arg_parser.description = _DESCRIPTION
        # xDSL lists the names of all passes in one paragraph, and says nothing of some options.
        for action in arg_parser._actions:  # pyright: ignore[reportPrivateUsage]
            action.help = _HELP.get(action.dest, action.help)
        with_errors_of_one_line(arg_parser, self._passes)
        add_completion(arg_parser)
        lowering = arg_parser.add_argument_group("lowering")
        lowering.add_argument(
            "--mcpu",
            metavar="CHIP",
            help="chip to lower for, as gfx942 or gfx942:xnack-; without -p its pipeline runs",
        )
        lowering.add_argument(
            "--mattr",
            metavar="FEATURES",
            default="",
            help="target features, comma separated: +tgsplit (or tgsplit) on, "
            "-tgsplit off (write --mattr=-tgsplit)",
        )
        lowering.add_argument(
            "--l2-per-agent",
            choices=("one", "many"),
            help="L2 caches of one agent: one (partition mode CPX) or many (the default)",
        )
        lowering.add_argument(
            "--compat", choices=("llvm",), help="reproduce LLVM's choices where they differ"
        )
        lowering.add_argument(
            "--ptx-version",
            metavar="VERSION",
            help="PTX version to write, as 8.6 (default: the lowest with all that the chip has)",
        )
        lowering.add_argument(
            "-O",
            dest="opt_level",
            type=int,
            choices=get_args(OptLevel),
            help="0: every operation with all the synchronisation that it needs by itself; "
            f"2: the fewest that a whole kernel needs (default: {DEFAULT_OPT_LEVEL})",
        )
        lowering.add_argument(
            "--assume",
            dest="facts",
            metavar="FACTS",
            help="what is promised of every launch, comma separated: "
            + "; ".join(f"{fact}: {meaning}" for fact, meaning in FACT_TEXT.items()),
        )
        lowering.add_argument(
            "--import-llvm",
            dest="imports",
            action="store_const",
            const="ll",
            help="the input is LLVM IR (taken for granted for files named .ll and for bitcode)",
        )
        lowering.add_argument(
            "--import-mlir",
            dest="imports",
            action="store_const",
            const=MLIR,
            help="the input is MLIR in the llvm, nvvm and rocdl dialects: mlir-translate makes "
            "LLVM IR of it, which is imported",
        )
        lowering.add_argument(
            "--mlir-sync",
            action="store_true",
            help="the input is MLIR in generic form (mlir-opt --mlir-print-op-generic), whose "
            "dialects are not registered: what synchronises in it becomes scoped, or is an error; "
            "what does not stays",
        )
        lowering.add_argument(
            "--mlir-sync-keep",
            action="store_true",
            help="the same, but what synchronises and scoped cannot say stays too, with a warning",
        )
        arg_parser.add_argument(
            "--verify-each",
            action="store_true",
            help="verify between the passes too, not only after parsing and before printing IR",
        )
        arg_parser.add_argument(
            VERIFY_LOWERING,
            action="store_true",
            help="check that every outcome of a lowered litmus test is one of its source; "
            "status 1 with a counterexample if not, 3 if that cannot be decided",
        )
        arg_parser.add_argument(
            "--print-ir-after-all",
            "--mlir-print-ir-after-all",
            action="store_true",
            help="print the IR to stderr after each pass",
        )
        remarks = arg_parser.add_argument_group("remarks")
        remarks.add_argument(
            REMARKS,
            nargs="?",
            choices=("text", "yaml"),
            help="print the fate of each fence and ordered operation on stderr, its reason and "
            f"cost: {REMARKS} or {REMARKS}=text for one line each, {REMARKS}=yaml as LLVM writes "
            "them",
        )
        remarks.add_argument(
            f"{REMARKS}-output", metavar="FILE", help="write the remarks to FILE, as LLVM's YAML"
        )

    # Pipeline

    def setup_pipeline(self) -> None:
        self._check_frontend()
        options = self._target_options()
        specs = tuple(parse_pipeline(self.args.passes))
        if not specs and "mcpu" in options:
            from fencewright.lowering.targets import backend_of
            from fencewright.passes.pipelines import pipeline_for

            architecture = backend_of(options["mcpu"]).architecture
            specs = (ArgSpec(pipeline_for(architecture, llvm_ir=self._is_llvm_ir()), {}),)
        taken = set[str]()
        passes = [self._make_pass(spec, options, taken) for spec in specs]
        for name in options.keys() - taken - {TARGET_ID}:
            flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
            names = ", ".join(spec.name for spec in specs)
            needs = f"nothing in '{names}' takes it" if specs else "it needs --mcpu or -p"
            raise error(f"{flag} has no effect: {needs}", NAME)
        self.pipeline = PassPipeline(self._steps(passes), self._between_passes)
        self.observer: Observer | None = None
        self.edited: EditedModule | None = None
        self.remarks: list[Remark] = []
        self._pass_start = time.perf_counter()
        self._running: ModulePass | None = None

    def _steps(self, passes: Sequence[ModulePass]) -> tuple[ModulePass, ...]:
        """The passes to run, in order."""
        if not passes:
            return ()
        from fencewright.passes.pipelines import Pipeline, single_passes

        steps = tuple(
            step for p in passes for step in (p.steps() if isinstance(p, Pipeline) else (p,))
        )
        return single_passes(steps) if self._looks_between_passes() else steps

    def _looks_between_passes(self) -> bool:
        """True if anyone sees the module between two passes."""
        args = self.args
        return bool(
            args.time_passes
            or args.verify_each
            or args.print_between_passes
            or args.print_ir_after_all
            or args.remarks
            or args.remarks_output
        )

    @property
    def _is_sparse(self) -> bool:
        """True if only our pipeline sees the imported LLVM IR, and LLVM has verified it."""
        args = self.args
        return not (args.passes or args.verify_lowering or self._looks_between_passes())

    def _target_options(self) -> dict[str, Any]:
        """The flags that choose a target, by the name of the pass option that they set."""
        options: dict[str, Any] = {}
        if self.args.mcpu is not None:
            from fencewright.lowering.targets import backend_of

            options["mcpu"] = backend_of(self.args.mcpu).chip
            if options["mcpu"] != self.args.mcpu:
                # Only assembly says for which settings it is; LLVM has its own flags for them.
                options[TARGET_ID] = self.args.mcpu
        for feature in filter(None, self.args.mattr.split(",")):
            name = feature.removeprefix("+").removeprefix("-")
            if name not in FEATURES:
                known = ", ".join(FEATURES)
                raise error(f"unknown feature '{feature}' in --mattr; known: {known}", NAME)
            options[name] = not feature.startswith("-")
        for name in ("l2_per_agent", "compat", "ptx_version", "opt_level"):
            if (value := getattr(self.args, name)) is not None:
                options[name] = value
        if self.args.facts is not None:
            options["facts"] = tuple(self.args.facts.split(","))
        return options

    def _read_options(self) -> "ReadOptions":
        """The flags' description of the machine that lowered tests run on."""
        from fencewright.lowering.vocabulary import L2PerAgent
        from fencewright.passes.litmus.programs import ReadOptions

        options = self._target_options()
        l2s = options.get("l2_per_agent")
        return ReadOptions(
            None if l2s is None else L2PerAgent(l2s),
            chip=options.get("mcpu"),
            tgsplit=options.get("tgsplit", False),
        )

    def _make_pass(self, spec: ArgSpec, options: dict[str, Any], taken: set[str]) -> ModulePass:
        """The pass of ``spec``, options that it leaves open set from the command line."""
        if spec.name not in self.available_passes:
            from difflib import get_close_matches

            near = get_close_matches(spec.name, self.available_passes, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; {NAME} --help lists them"
            raise error(f"unknown pass '{spec.name}'{hint}", NAME)
        pass_type = self.available_passes[spec.name]()
        given = spec.normalize_parameter_names().parameters
        known = {field.name for field in fields(pass_type)}
        filled: dict[str, tuple[Any, ...]] = {}
        for name, value in options.items():
            if name in known:
                filled[name] = value if isinstance(value, tuple) else (value,)
                taken.add(name)
        try:
            return pass_type.from_spec(ArgSpec(spec.name, {**filled, **given}))
        except ValueError as problem:
            raise error(f"pass '{spec.name}': {problem}", NAME) from problem

    def _between_passes(
        self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        if previous and self.args.time_passes:
            print(f"Pass {previous.name} took {time.perf_counter() - self._pass_start} seconds")
        # Assembly is not verified as IR once more: that costs a fifth of the whole run.
        prints_ir = following is None and self.args.target == "mlir"
        if not self.args.disable_verify and (
            (previous is None and not (self.edited and self._is_sparse))
            or prints_ir
            or self.args.verify_each
        ):
            verify(module)
        if self.observer is not None:
            self.observer.between(previous, module, following)
        if previous and following and self.args.print_between_passes:
            print(f"IR after {previous.name}:\n{module}\n\n\n")
        if previous and self.args.print_ir_after_all:
            header = (
                f"// -----// IR Dump After {type(previous).__name__} ({previous.name}) //----- //"
            )
            print(f"{header}\n{module}\n", file=sys.stderr)
        self._running = following
        self._pass_start = time.perf_counter()

    # Input and output

    def get_input_name(self) -> str:
        return STDIN if self.args.input_file in (None, "-") else self.args.input_file

    @cached_property
    def _content(self) -> bytes:
        name = self.get_input_name()
        try:
            return read_bytes(None if name == STDIN else name)
        except OSError as problem:
            raise ToolError((cast(Diagnostic, diagnose(problem, name)),)) from problem

    @property
    def _frontend(self) -> str | None:
        """The reader of the input, as far as flags name it: ``mlir``, ``ll`` or ``MLIR``."""
        return self.args.imports or self.args.frontend

    def _check_frontend(self) -> None:
        """Raise ``ToolError`` where ``-f`` contradicts the other flags, or has options."""
        given, imports = self.args.frontend, self.args.imports
        if given not in (None, *self.available_frontends):
            raise error(f"-f {given}: it has no options here", NAME)
        if given is not None and imports not in (None, given):
            flag = "--import-mlir" if imports == MLIR else "--import-llvm"
            raise error(f"-f {given} and {flag} exclude each other", NAME)

    def _is_llvm_ir(self) -> bool:
        by_name = self._frontend in ("ll", MLIR) or self.get_input_name().endswith(".ll")
        return by_name or is_bitcode(self._content)

    def _refuse_llvm_ir(self) -> None:
        """Raise ``ToolError`` where flags say that the input is MLIR, and it is not."""
        is_sync = self.args.mlir_sync or self.args.mlir_sync_keep
        flags = ["--import-mlir"] * (self._frontend == MLIR) + ["--mlir-sync"] * is_sync
        if len(flags) > 1 or (is_sync and self._frontend == "ll"):
            raise error("--mlir-sync, --import-mlir and --import-llvm exclude each other", NAME)
        name = self.get_input_name()
        if flags and (name.endswith(".ll") or is_bitcode(self._content)):
            raise error(f"this is LLVM IR, and {flags[0]} reads MLIR", name)

    def _read_input(self) -> str:
        self._refuse_llvm_ir()
        name = self.get_input_name()
        if is_bitcode(self._content):
            from fencewright.tools.inputs.llvm_child import disassemble_guarded

            return disassemble_guarded(self._content, name)
        try:
            text = as_text(self._content)
        except UnicodeDecodeError as problem:
            raise ToolError((cast(Diagnostic, diagnose(problem, name)),)) from problem
        if not text.strip():
            raise error("the input is empty", name)
        return text

    def _chunks(self, text: str) -> list[tuple[str, int]]:
        """The pieces of the input that are processed on their own, with their line offsets."""
        if not self.args.split_input_file:
            return [(text, 0)]
        chunks = text.split(CHUNK_SEPARATOR)
        offsets = accumulate((chunk.count("\n") for chunk in chunks[:-1]), initial=0)
        return list(zip(chunks, offsets, strict=True))

    def _parse(self, text: str, line_offset: int) -> ModuleOp:
        name = self.get_input_name()
        if self._frontend == MLIR:
            from fencewright.tools.inputs.mlir_translate import llvm_ir_of

            text = llvm_ir_of(text, name, line_offset)
        if self._is_llvm_ir():
            if parse_spec(self.args.target).name == LLVMTarget.name:
                from fencewright.tools.inputs.llvm_child import edit_guarded

                self.edited = edit_guarded(text, name, sparse=self._is_sparse)
                return self.edited.module
            return self._read_llvm_ir(BytesIO(text.encode()))
        keep = self.args.mlir_sync_keep
        if self.args.mlir_sync or keep:
            from fencewright.tools.inputs.mlir_sync import read_mlir_sync

            implicit = not self.args.no_implicit_module
            return read_mlir_sync(text, name, line_offset, keep=keep, implicit_module=implicit)
        return self._read_mlir(BytesIO(text.encode()), line_offset)

    def _read_mlir(self, stream: IO[bytes], line_offset: int = 0) -> ModuleOp:
        text, name = stream.read().decode(), self.get_input_name()
        parser = LocatedParser(self.ctx, text, name, line_offset)
        return parser.parse_module(not self.args.no_implicit_module)

    def _read_llvm_ir(self, stream: IO[bytes]) -> ModuleOp:
        from fencewright.tools.inputs.llvm_child import import_guarded

        return import_guarded(stream.read().decode(), self.get_input_name())

    def apply_passes(self, prog: ModuleOp) -> None:
        try:
            super().apply_passes(prog)
        except Exception as problem:
            at = self._running
            if at is None or at.name in PASSES or _is_told(problem):
                raise
            raise _of_xdsl(f"pass '{at.name}'", problem) from problem

    def output_resulting_program(self, prog: ModuleOp) -> str:
        target = parse_spec(self.args.target)
        name = target.name
        if self.edited is not None:
            return LLVMTarget.from_spec(target).edited(self.edited.written())
        try:
            return super().output_resulting_program(prog)
        except Exception as problem:
            if _is_told(problem):
                raise
            if isinstance(problem, ValueError):
                raise error(f"target '{name}': {problem}", NAME) from problem
            if name in UNIVERSE.all_targets or name == LLVMTarget.name:
                raise
            raise _of_xdsl(f"target '{name}'", problem) from problem

    def _observe(self) -> None:
        """Collect remarks on the chunk that comes now, if they are asked for."""
        if self.args.remarks is None and self.args.remarks_output is None:
            return
        from fencewright.tools.remarks.observer import Observer, lowered_for

        self.observer = Observer(self.remarks, lowered_for(self.pipeline.passes))

    def _write_remarks(self) -> list[Diagnostic]:
        """Write the remarks of all chunks where they are to go, in the order of the input.

        Returns those that go to stderr as lines.
        """
        if self.observer is None:
            return []
        from fencewright.tools.reports.remark_writer import diagnostic, in_order, to_yaml

        remarks = in_order(self.remarks)
        if self.args.remarks_output is not None:
            with output_file(self.args.remarks_output) as output:
                output.write(to_yaml(remarks))
        if self.args.remarks == "yaml":
            sys.stderr.write(to_yaml(remarks))
        if self.args.remarks != "text":
            return []
        return [diagnostic(each, self.get_input_name()) for each in remarks]

    def _process(self, text: str, line_offset: int) -> str:
        """One chunk from text to text."""
        module = self._parse(text, line_offset)
        self._observe()
        if self.args.verify_lowering:
            from fencewright.tools.commands.lowering_check import LoweringCheck

            if not self.args.disable_verify:
                verify(module)
            check = LoweringCheck(self._read_options())
            check.around(module, lambda: self.apply_passes(module), self.get_input_name())
        else:
            self.apply_passes(module)
        return self.output_resulting_program(module)

    def run(self) -> None:
        """Process the input chunk by chunk.

        Raises :class:`ToolError` with every chunk's error, after the last chunk.
        """
        self._check_outputs()
        text = self._read_input()
        # Without the flag an annotation is a comment, whatever is in it.
        annotated = text if self.args.verify_diagnostics else ""
        expectations = Expectations.parse(annotated, self.get_input_name())
        matching = bool(expectations)
        found: list[Diagnostic] = []
        with output_file(self.args.output_file) as output:
            for index, (chunk, line_offset) in enumerate(self._chunks(text)):
                if index:
                    output.write(CHUNK_SEPARATOR + "\n")
                try:
                    output.write(self._process(chunk, line_offset))
                except ShrinkException:
                    if not self.args.shrink:
                        raise
                    print("Success, can shrink")
                    return
                except (
                    ParseError,
                    DiagnosticException,
                    UnsupportedError,
                    RecursionError,
                ) as problem:
                    if not matching and self._prints(problem):
                        print(*(problem, *getattr(problem, "__notes__", ())), sep="\n")
                        continue
                    found.append(
                        cast(Diagnostic, diagnose(problem, self.get_input_name(), line_offset))
                    )
            remarks = self._write_remarks()
            if matching:
                found = expectations.mismatches([*found, *remarks])
            elif remarks:
                print(*remarks, sep="\n", file=sys.stderr)
            if found:
                raise ToolError(tuple(found), status=DOES_NOT_HOLD if matching else USAGE)
        if self.args.shrink:
            print("Failure, can't shrink")
            sys.exit(1)

    def _check_outputs(self) -> None:
        """Raise :class:`ToolError` for an output in the place of the input or of the other."""
        name = self.get_input_name()
        outputs = {"-o": self.args.output_file, f"{REMARKS}-output": self.args.remarks_output}
        check_folders(outputs.values())
        check_outputs(NAME, outputs, [None if name == STDIN else name])

    def _prints(self, problem: Exception) -> bool:
        """True if a flag asks for this problem to be printed and passed over, as xdsl-opt does."""
        if isinstance(problem, ParseError):
            return self.args.parsing_diagnostics
        return self.args.verify_diagnostics


def _is_told(problem: Exception) -> bool:
    """True if an exception is meant for the user."""
    return isinstance(problem, ToolError | ShrinkException) or diagnose(problem, NAME) is not None


def _of_xdsl(what: str, problem: Exception) -> ToolError:
    """The error for a failure of a pass or target of xDSL's own: no bug of ours."""
    reason = str(problem).partition("\n")[0] or type(problem).__name__
    return error(f"{what} of xDSL cannot take this module: {reason}", NAME)


@contextmanager
def _xdsl_globals_restored() -> Generator[None]:
    """Undo the changes of ``--disable-verify`` and ``--syntax-highlight`` for the whole process."""
    saved = Attribute.__post_init__, IRDiagnostic.colored
    try:
        yield
    finally:
        Attribute.__post_init__, IRDiagnostic.colored = saved


def main(argv: Sequence[str] | None = None) -> int:
    """Run fence-opt on ``argv`` (None: the command line) and return the exit status."""

    def body() -> int:
        with _xdsl_globals_restored():
            FenceOptMain(NAME, arguments).run()
        return 0

    # argparse would take the file that comes after it for the value.
    given = sys.argv[1:] if argv is None else argv
    arguments = [f"{REMARKS}=text" if each == REMARKS else each for each in given]
    if argv is None:
        # One run and out: the IR lives to the end, and collecting costs 1.5x on rewrites.
        gc.disable()
    return run_tool(NAME, body)


def command() -> NoReturn:
    """The command ``fence-opt``."""
    leave(main())


if __name__ == "__main__":
    command()
