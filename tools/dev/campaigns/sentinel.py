"""Compiles random programs with every LLVM that is installed, and checks what comes out.

Each program is one without races, as LLVM IR; each LLVM compiles it at -O2 for every chip that it
and fence-check know, as ``fence-check --run`` does. What is wrong goes into a table by release,
with the seed of the smallest program that shows it::

    python -m fencewright.tools.dev.campaigns.sentinel --programs 400 --jobs 2 --page
    docs/compilers.md python -m fencewright.tools.dev.campaigns.sentinel --seed 17 > 17.ll
    fence-check --run 'llc-22 -O2 -mcpu=gfx942' 17.ll

With ``--clusters`` all work-groups of a program are in one cluster, whose scope is that of what was
the agent's, and it is compiled for the chips that have clusters.
"""

import os
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import llvmlite.binding as llvm

from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.lowering.cdna.caches import WRITE_BACKS
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, ChipRow, Generation, chips_of
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import AssemblyLabel, Function
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.wording import counted
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.read_litmus import ReadOptions, read_only_test
from fencewright.simulator.core.processes.campaign import Task, open_processes, run
from fencewright.simulator.litmus_run import SourceTest
from fencewright.tools.commands.amd_check import checked
from fencewright.tools.commands.compare_source import AssemblyAndSource, compile_and_read, merged
from fencewright.tools.diagnostics import ToolError, output_file, positive
from fencewright.tools.fuzz import llvm_ir_writer
from fencewright.tools.fuzz.checks import meant_by, program_of
from fencewright.tools.fuzz.llvm_ir import in_registers
from fencewright.tools.progress import progress
from fencewright.tools.reports.markdown import markdown_table

TYPED_POINTERS = 14
"""The last LLVM whose pointers have types by default."""

TGSPLIT_BY_OPTION = 22
"""The last LLVM that takes tgsplit mode as a feature; later ones take a function's attribute."""

_TGSPLIT = "+tgsplit"
_ATTRIBUTE = '"amdgpu-tg-split"'

_TOGETHER = 20
"""Programs of one run of a compiler."""


@dataclass(frozen=True, slots=True, order=True)
class Compiler:
    """An ``llc``: its version, the shortest name for it on the PATH, and the chips it knows.

    ``gfx942+tgsplit`` is a chip in tgsplit mode, ``gfx1100+cumode`` one not in WGP mode.
    """

    version: tuple[int, ...]
    name: str
    chips: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(map(str, self.version))

    def command(self, chip: str) -> str:
        """The command that compiles for a chip."""
        name, plus, feature = chip.partition("+")
        old = " -opaque-pointers" if self.version[0] <= TYPED_POINTERS else ""
        is_option = plus and (plus + feature != _TGSPLIT or self.version[0] <= TGSPLIT_BY_OPTION)
        mode = f" -mattr=+{feature}" if is_option else ""
        return f"{self.name} -O2 -mcpu={name}{mode}{old}"


_LLC = re.compile(r"llc(-\d+)?")
_VERSION = re.compile(r"LLVM version (\d+(?:\.\d+)*)")


def compilers() -> tuple[list[Compiler], list[str]]:
    """Every LLVM on the PATH, the newest first, and those that cannot be used and why."""
    names = {
        name
        for folder in os.get_exec_path()
        if os.path.isdir(folder)
        for name in os.listdir(folder)
        if _LLC.fullmatch(name)
    }
    found: dict[tuple[int, ...], Compiler] = {}
    problems: list[str] = []
    # One with a number is named before the same one without.
    for name in sorted(names, key=lambda each: (-len(each), each)):
        version = _VERSION.search(_said([name, "--version"]))
        if version is None:
            problems.append(f"{name}: it does not say its version")
            continue
        number = tuple(map(int, version[1].split(".")))
        chips = _chips(name)
        if number in found:
            continue
        if chips:
            found[number] = Compiler(number, name, chips)
        else:
            problems.append(f"{name}: LLVM {version[1]} knows none of the chips")
    return sorted(found.values(), reverse=True), problems


def _chips(llc: str) -> tuple[str, ...]:
    said = _said([llc, "-mtriple=amdgcn-amd-amdhsa", "-mcpu=help"])
    known = set(re.findall(r"^\s+(gfx\w+)", said, re.M))
    firsts = {chips_of(each)[0] for each in Generation}
    chips = [
        each
        for each in KNOWN_CHIPS.values()
        if each.name in known and (each.lowered or each.name in firsts)
    ]
    return (*(each.name for each in chips), *(n for each in chips for n in _in_other_mode(each)))


def _in_other_mode(chip: ChipRow) -> Iterator[str]:
    """The chip in the mode that it is not in by itself, if it has one."""
    if (mode := chip.split_mode) is not None:
        yield f"{chip.name}+{mode.feature[1:]}"


def _said(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, input="")
    return done.stdout + done.stderr


# Programs

_ATTRIBUTES = re.compile(r"^attributes #\d+ = .*\n|^; Function Attrs:.*\n| #\d+$", re.M)
"""Of the declared barrier alone, whose own every LLVM knows; not all can read the others' text."""


def source_of(seed: int, tgsplit: bool = False, clusters: bool = False) -> str | None:
    """The program of a seed as LLVM IR; None for one that has races, or too many outcomes.

    In tgsplit mode also for one with LDS, which a work-group does not have there. With ``clusters``
    it is in one cluster.
    """
    if seed % IN_ROUNDS == 1:
        text = rounds_of(seed, tgsplit, clusters)
        return _DEFINED.sub(rf"\1 {_ATTRIBUTE} {{", text) if tgsplit else text
    program = program_of(seed)
    if clusters:
        program = program.on_one_agent().in_one_cluster()
    meant = meant_by(program)
    if meant.races or meant.incomplete:
        return None
    test = read_only_test(build(program), ReadOptions())
    assert isinstance(test, SourceTest)
    form = llvm_ir_writer.KernelForm(results=True)
    text = _ATTRIBUTES.sub("", in_registers(llvm_ir_writer.written(test.test.program, form)))
    if seed % _BUFFERS == 0:
        text = through_buffers(text, seed)
    if not tgsplit:
        return text
    return None if _LDS in text else _DEFINED.sub(rf"\1 {_ATTRIBUTE} {{", text)


IN_ROUNDS = 5
"""One program of so many goes round a loop of phases."""

_BARRIERS = {
    scope: (
        f'fence syncscope("{scope}") release',
        f"call void @llvm.amdgcn.s.{name}()",
        f'fence syncscope("{scope}") acquire',
    )
    for scope, name in (("workgroup", "barrier"), ("cluster", "cluster.barrier"))
}


def rounds_of(seed: int, tgsplit: bool = False, clusters: bool = False) -> str:
    """A kernel of four waves that goes round a loop of one to three phases, as LLVM IR.

    A barrier begins each phase. In a phase a lane reads and writes one cell of LDS or of memory,
    which is no other lane's in that phase and may be any other's in the next: there are no races.
    With
    ``clusters`` it is the barrier of the cluster.
    """
    random = Random(seed)
    lines: list[str] = []
    for phase in range(random.randint(1, 3)):
        lines += _BARRIERS["cluster" if clusters else "workgroup"]
        in_memory = random.random() < 0.5 or tgsplit
        space, array = (1, "m") if in_memory else (3, "l")
        other, cell = f"%o{phase}", f"ptr addrspace({space}) %c{phase}"
        lines += [
            f"{other} = xor i32 %t, {random.choice((0, 1, 64, 128, 192))}",
            f"%c{phase} = getelementptr i32, ptr addrspace({space}) %{array}, i32 {other}",
        ]
        value = "%i"
        for place in range(random.randint(1, 3)):
            name = f"%v{phase}.{place}"
            if random.random() < 0.5:
                lines += [f"{name} = load i32, {cell}, align 4"]
                lines += [f"{name}s = add i32 {name}, 1"]
                value = f"{name}s"
            else:
                lines += [f"store i32 {value}, {cell}, align 4"]
        lines += [f"store i32 {value}, {cell}, align 4"] if random.random() < 0.5 else []
    lds = "" if tgsplit else "ptr addrspace(3) %l, "
    text = _ROUNDS.format(lds=lds, body="\n".join(f"  {each}" for each in lines))
    return (
        text.replace("@llvm.amdgcn.s.barrier", "@llvm.amdgcn.s.cluster.barrier")
        if clusters
        else text
    )


_ROUNDS = """\
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @g0(ptr addrspace(1) %m, {lds}i32 %n) {{
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  br label %round

round:
  %i = phi i32 [ 0, %entry ], [ %j, %round ]
{body}
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %round, label %done

done:
  ret void
}}

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
"""

_BUFFERS = 4
"""One program of so many has a location behind a buffer fat pointer."""

_PARAMETER = re.compile(r"ptr addrspace\(1\) %(\w+)(?=[,)])")
_ENTRY = re.compile(r"^(define .*\{\n(?:\w+:.*\n)?)", re.M)


def through_buffers(text: str, seed: int) -> str:
    """The program with one of its locations, the same in all kernels, in a buffer resource."""
    heads = [each[0] for each in re.finditer(r"^define .*$", text, re.M)]
    names = sorted({n for head in heads for n in _PARAMETER.findall(head)} - {_RESULTS})
    if not names:
        return text
    name = names[seed // _BUFFERS % len(names)]
    made = re.sub(rf"ptr addrspace\(1\) %{name}(?!\w)", f"ptr addrspace(7) %{name}", text)
    parts: list[str] = []
    for part in re.split(r"(?=^define )", made, flags=re.M):
        head, body = part.partition("\n")[::2]
        if part.startswith("define ") and f"%{name}" in head:
            head = head.replace(f"ptr addrspace(7) %{name}", f"ptr addrspace(8) %{name}.rsrc")
            cast = f"  %{name} = addrspacecast ptr addrspace(8) %{name}.rsrc to ptr addrspace(7)\n"
            part = _ENTRY.sub(rf"\g<1>{cast}", f"{head}\n{body}", count=1)
        parts.append(part)
    return "".join(parts)


_RESULTS = llvm_ir_writer.RESULTS

_LDS = "addrspace(3)"
_DEFINED = re.compile(r"^(define .*) \{$", re.M)


_KERNEL = re.compile(r"@g(\d+)\(")


def together(sources: Mapping[int, str]) -> str:
    """One module of several programs, with the seed in the names of kernels."""
    first, *others = (
        llvm.parse_assembly(_KERNEL.sub(rf"@s{seed}_g\1(", text)) for seed, text in sources.items()
    )
    module: Any = first
    for each in others:
        module.link_in(each)
    return _ATTRIBUTES.sub("", str(module))


# Findings


@dataclass(frozen=True, slots=True)
class Shape:
    """The instructions that a finding is about: the mnemonics of both, and those around them.

    ``has_write_back``: one stands between the two; ``in_loop``: the later one does.
    """

    later: str
    earlier: str = ""
    has_write_back: bool = False
    in_loop: bool = False


_MEMORY = r"(global|flat|buffer)_.*"
_ANY = r".*"
_GFX9 = r"gfx9.*"
_GFX125X = r"gfx125\d"
_RDNA = r"gfx1([01]\d|20)\d.*"


@dataclass(frozen=True, slots=True)
class Known:
    """A fault that has been reported, by the rules and the instructions of its findings.

    ``earlier`` and ``later``: patterns of whole mnemonics; ``tgsplit``: in that mode alone;
    ``chip``: a pattern of the chips; ``has_write_back``: None if one may stand between or not.
    """

    rules: tuple[Rule, ...]
    reference: str
    earlier: str = _ANY
    later: str = _ANY
    has_write_back: bool | None = False
    in_loop: bool = False
    tgsplit: bool = False
    chip: str = _GFX9

    def is_of(self, rule: Rule, shape: Shape, chip: str) -> bool:
        """True if a finding is this fault."""
        return (
            rule in self.rules
            and re.fullmatch(self.earlier, shape.earlier) is not None
            and re.fullmatch(self.later, shape.later) is not None
            and self.has_write_back in (None, shape.has_write_back)
            and (shape.in_loop or not self.in_loop)
            and (chip.endswith(_TGSPLIT) or not self.tgsplit)
            and re.fullmatch(self.chip, chip) is not None
        )


_ALL_CHIPS = r".*"
_GFX9_OR_RDNA = f"{_GFX9}|{_RDNA}"
_STALE = "llvm/llvm-project#219991, reported of 23 and 24: a scalar load "

_MENDED = "llvm/llvm-project#175865, mended in 23.1.4 and 24: nothing waits "

KNOWN = (
    Known(
        (Rule.TRANSLATION,),
        "llvm/llvm-project#213394, and #166779 of 22: a branch that is not taken is taken for a "
        "wait for translations",
        has_write_back=None, chip=_GFX125X,
    ),
    Known(
        (Rule.COHERENCE,),
        "llvm/llvm-project#213585: an atomic through a buffer fat pointer loses its scope",
        r"buffer_.*", r"buffer_.*", chip=_ALL_CHIPS,
    ),
    Known(
        (Rule.RELEASE,),
        f"{_STALE}of what others write, for which a release does not wait",
        r"s_(buffer_)?load_.*", has_write_back=None, chip=f"{_GFX125X}|{_RDNA}",
    ),
    Known(
        (Rule.RELEASE, Rule.SEQ_CST), f"{_MENDED}before global_wb", _MEMORY,
        has_write_back=True, chip=_GFX125X,
    ),
    Known(
        (Rule.ACQUIRE, Rule.CUMULATIVE_ACQUIRE), f"{_MENDED}for global_inv",
        has_write_back=None, chip=_GFX125X,
    ),
    Known(
        (Rule.RELEASE,),
        "llvm/llvm-project#178316, mended in 23.1.4 and 24: the wait for buffer_wbl2 is dropped "
        "where LLVM takes nothing for outstanding",
        _MEMORY, has_write_back=True,
    ),
    Known(
        (Rule.SCALAR_STALE,), f"{_STALE}after an acquire",
        later=r"s_(buffer_)?load_.*", chip=_ALL_CHIPS,
    ),
    Known(
        (Rule.ACQUIRE,),
        "no report: outside tgsplit mode LLVM takes a work-group's acquire of global memory for "
        "done without a wait, and LDS may be read before",
        _MEMORY, r"ds_.*", chip=_GFX9_OR_RDNA,
    ),
    Known(
        (Rule.ACQUIRE,),
        "no report: LLVM 24 invalidates without a wait for an atomic whose result nobody reads, so "
        "that what it acquired may be read or overwritten before it is done",
        r"(global|flat|buffer)_atomic_.*", _MEMORY, chip=_GFX9_OR_RDNA,
    ),
    Known(
        (Rule.CUMULATIVE_ACQUIRE,),
        "no report: a work-group's release does not wait for an invalidate, which LLVM takes for "
        "no access (llvm/llvm-project#220694 is about buffer_inv of gfx942 and gfx950)",
        has_write_back=None, chip=_GFX9_OR_RDNA,
    ),
    Known(
        (Rule.RELEASE,),
        "llvm/llvm-project#211684: a release at the head of a loop does not wait for what the loop "
        "has in flight",
        in_loop=True, chip=f"{_GFX9_OR_RDNA}|{_GFX125X}",
    ),
    Known(
        (Rule.RELEASE,),
        "no report: in tgsplit mode a work-group's release leaves out the wait where LLVM takes "
        "nothing for outstanding",
        _MEMORY, tgsplit=True,
    ),
)  # fmt: skip
"""The first that fits counts."""


def shape_of(finding: Finding, function: Function) -> Shape:
    """The shape of a finding, from the code that it was found in."""
    by_line = {each.line: each for each in function.instructions}
    generation = KNOWN_CHIPS[function.chip].generation
    first = next((by_line[line] for line in finding.about if line in by_line), None)
    later = by_line[finding.line]
    between = range(first.line, later.line) if first is not None else ()
    backs = [n for n in between if n in by_line and by_line[n].mnemonic in WRITE_BACKS]
    labels = {each.name: each.line for each in function.body if isinstance(each, AssemblyLabel)}
    in_loop = any(
        labels.get(str(each.operands[0]), each.line) <= later.line <= each.line
        for each in function.instructions
        if effects_of(each, generation).kind in (Kind.BRANCH, Kind.JUMP) and each.operands
    )
    return Shape(later.mnemonic, "" if first is None else first.mnemonic, bool(backs), in_loop)


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """The fault in the code of one compiler for one chip; ``lacks``: in words, without places.

    ``reference``: where it is known from; empty if it is not.
    """

    compiler: str
    chip: str
    rule: str
    lacks: str
    reference: str = ""


@dataclass
class Tally:
    """The findings in ``programs`` without races, of all ``tried``.

    By fault how many programs show it, and of the smallest of them size and seed.

    ``functions``: by compiler and chip, how many kernels were compared, of how many; ``refused``:
    how many programs a compiler refused, by its command and what it said; ``checked``: by compiler
    and chip, how many programs it was given.
    """

    tried: int = 0
    programs: int = 0
    faults: Counter[Fault] = field(default_factory=Counter[Fault])
    smallest: dict[Fault, tuple[int, int]] = field(default_factory=dict[Fault, tuple[int, int]])
    functions: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    compared: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    refused: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    checked: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def add(self, other: "Tally") -> None:
        """Add the findings of another."""
        self.tried += other.tried
        self.programs += other.programs
        self.faults += other.faults
        self.functions += other.functions
        self.compared += other.compared
        self.refused += other.refused
        self.checked += other.checked
        for fault, example in other.smallest.items():
            self.smallest[fault] = min(example, self.smallest.get(fault, example))


_PLACES = re.compile(
    r",? which the .* requires| of lines? [\d, ]*\d| by line \d+|\b[vs]\d+\b|\[\d.*?\]"
)


def lacks_of(finding: Finding) -> str:
    """The lack that a finding reports, without lines and registers."""
    return _PLACES.sub("", finding.message.rpartition(": ")[2]).strip()


_CLUSTERED = frozenset(each.name for each in KNOWN_CHIPS.values() if each.clusters)


def check(seeds: Sequence[int], wanted: Sequence[Compiler], clusters: bool = False) -> Tally:
    """The tally over every compiler for the programs of seeds; ``clusters``: each in one."""
    sources, split = (
        {seed: text for seed in seeds if (text := source_of(seed, mode, clusters)) is not None}
        for mode in (False, True)
    )
    tally = Tally(tried=len(seeds), programs=len(sources))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "programs.ll"))
        for compiler in wanted:
            for chip in compiler.chips:
                if clusters and chip not in _CLUSTERED:
                    continue
                programs = split if chip.endswith(_TGSPLIT) else sources
                _check_all(file, compiler, chip, programs, tally)
    return tally


def _check_all(
    file: str, compiler: Compiler, chip: str, sources: Mapping[int, str], tally: Tally
) -> None:
    """Check all programs at once, or one by one where one is refused, which is counted."""
    if not sources:
        return
    tally.checked[str(compiler), chip] += len(sources)
    Path(file).write_text(together(sources), encoding="utf-8")
    try:
        _check_one(file, compiler, chip, sources, tally)
    except (ToolError, AssemblyError) as problem:
        if len(sources) > 1:
            tally.checked[str(compiler), chip] -= len(sources)
            for seed, text in sources.items():
                _check_all(file, compiler, chip, {seed: text}, tally)
            return
        said = _REFUSAL.sub("", str(problem).replace(f"{file}: ", ""))
        tally.refused[compiler.command(chip), said] += 1


_REFUSAL = re.compile(
    r"<unknown>:\d+:\d+: in function \S+ void \(.*?\): |(\S*/llc-\d+: error: )?\S+\.ll:\d+:\d+: "
    r"(?=error)"
    r"|\S*/llc-\d+: error: "
)
"""The position in LLVM's message of a refusal, which is removed."""


def _check_one(
    file: str, compiler: Compiler, chip: str, sources: Mapping[int, str], tally: Tally
) -> None:
    beside = compile_and_read(file, compiler.command(chip), None)
    assert isinstance(beside, AssemblyAndSource)
    functions = list(checked(beside.code, file))
    comparisons = beside.comparisons(None)
    tally.functions[str(compiler), chip] += len(comparisons)
    tally.compared[str(compiler), chip] += sum(each.was_compared for each in comparisons)
    own = [each for one in functions for each in one.hazards()]
    name_of = {
        instruction.line: name
        for name, function in beside.code.functions.items()
        for instruction in function.instructions
    }
    seen: set[tuple[Fault, int]] = set()
    for each in merged(own, comparisons):
        if each.level is not Level.ERROR:
            continue
        name = name_of[each.line]
        seed = int(name.partition("_")[0].removeprefix("s"))
        known = reference_of(each, beside.code.functions[name], chip)
        fault = Fault(str(compiler), chip, str(each.rule), lacks_of(each), known)
        if (fault, seed) in seen:
            continue
        seen.add((fault, seed))
        tally.faults[fault] += 1
        example = (len(sources[seed]), seed)
        tally.smallest[fault] = min(example, tally.smallest.get(fault, example))


def campaign(
    first: int, number: int, jobs: int, wanted: Sequence[Compiler], clusters: bool = False
) -> Iterator[Tally]:
    """The tally so far, after each batch."""
    total = Tally()
    starts = range(first, first + number, _TOGETHER)
    tasks = (
        Task(
            str(start),
            check,
            (range(start, min(start + _TOGETHER, first + number)), wanted, clusters),
        )
        for start in starts
    )
    with open_processes(jobs) as executor:
        for _, found in run(tasks, executor):
            total.add(found)
            yield total


# The page

_HEAD = """\
<!-- Written by 'make sentinel'; do not edit. -->
# Faults of compilers

Random race-free programs, as LLVM IR, compiled at -O2 by every installed LLVM, and checked
[against their source](checker-amd.md#against-the-source), each kernel of a work-group
alone. A line is one kind of fault, with the smallest program that shows it.
In a checkout, `python -m fencewright.tools.dev.campaigns.sentinel --seed SEED > k.ll` writes the program, and `fence-check --run 'COMMAND' k.ll`
shows the fault and its execution. `tools/dev/newer_llvms.sh` fetches newer
LLVMs. `gfx942+tgsplit` is a chip in tgsplit mode, `gfx1100+cumode` one in CU mode.
"""


def reference_of(finding: Finding, function: Function, chip: str) -> str:
    """The reference from which a fault is known; empty if it is not."""
    shape = shape_of(finding, function)
    for each in KNOWN:
        if each.is_of(finding.rule, shape, chip):
            return each.reference
    return ""


def page(
    tally: Tally, wanted: Sequence[Compiler], problems: Sequence[str], first: int, number: int
) -> str:
    """All that was found, as a page."""
    parts = [
        _HEAD,
        "## Releases\n",
        f"Seeds {first} to {first + number - 1}, of which {tally.programs} have no races.\n",
        markdown_table(
            ("LLVM", "chip", "programs", "kernels compared", "faults"),
            [_release(tally, each, chip) for each in wanted for chip in each.chips],
        ),
        "## Faults\n",
        _faults(tally, wanted),
    ]
    if tally.refused or problems:
        refused = (
            f"`{command}`: {counted(n, 'program')}: {said}"
            for (command, said), n in sorted(tally.refused.items())
        )
        parts += ["## Not checked\n", _list([*problems, *refused])]
    return "\n".join(parts)


def _release(tally: Tally, compiler: Compiler, chip: str) -> Sequence[str]:
    command, key = compiler.command(chip), (str(compiler), chip)
    refused = sum(n for (by, _), n in tally.refused.items() if by == command)
    faults = sum(n for each, n in tally.faults.items() if (each.compiler, each.chip) == key)
    compared = f"{tally.compared[key]:,} of {tally.functions[key]:,}"
    return (*key, str(tally.checked[key] - refused), compared, str(faults))


def _faults(tally: Tally, wanted: Sequence[Compiler]) -> str:
    """A line for each kind of fault, the newest compiler first."""
    if not tally.faults:
        return "None.\n"
    columns = ("LLVM", "chip", "rule", "what is missing", "programs", "seed", "command", "known as")
    rows: list[Sequence[str]] = []
    for compiler in wanted:
        mine = [each for each in tally.faults if each.compiler == str(compiler)]
        for each in sorted(mine, key=lambda each: (each.chip, -tally.faults[each])):
            _, seed = tally.smallest[each]
            known = each.reference or "new"
            command = f"`{compiler.command(each.chip)}`"
            mode = " --tgsplit" if each.chip.endswith(_TGSPLIT) else ""
            numbers = (str(tally.faults[each]), f"{seed}{mode}")
            rows.append((str(compiler), each.chip, each.rule, each.lacks, *numbers, command, known))
    return markdown_table(columns, rows)


def _list(lines: Iterable[str]) -> str:
    return "".join(f"* {each}\n" for each in lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Check every compiler's code for random programs."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--programs", metavar="N", type=positive, default=400)
    parser.add_argument("--first", metavar="SEED", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--jobs", metavar="N", type=positive, default=1, help="processes (1)")
    parser.add_argument("--page", metavar="FILE", help="write what was found as a page")
    parser.add_argument("--seed", type=int, help="print this program and do nothing else")
    parser.add_argument("--tgsplit", action="store_true", help="with --seed: in tgsplit mode")
    parser.add_argument("--clusters", action="store_true", help="each program in one cluster")
    arguments = parser.parse_args(argv)
    if arguments.seed is not None:
        text = source_of(arguments.seed, arguments.tgsplit, arguments.clusters)
        print(text if text is not None else f"; seed {arguments.seed} has races")
        return 0
    wanted, problems = compilers()
    for each in problems:
        print(each, file=sys.stderr)
    if not wanted:
        print("no llc is on the PATH", file=sys.stderr)
        return 2
    tally = Tally()
    with progress(arguments.programs, "programs") as display:
        for tally in campaign(
            arguments.first, arguments.programs, arguments.jobs, wanted, arguments.clusters
        ):
            display.update(tally.tried, tally.faults.total())
    for fault, number in sorted(tally.faults.items()):
        _, seed = tally.smallest[fault]
        known = fault.reference or "new"
        found = f"{counted(number, 'program')}, smallest seed {seed}: {fault.lacks}"
        print(f"LLVM {fault.compiler}, {fault.chip}: {found} [{fault.rule}]: {known}")
    print(
        f"{counted(tally.programs, 'program')} without races, {tally.refused.total()} times refused"
    )
    if arguments.page is not None:
        with output_file(arguments.page) as stream:
            stream.write(page(tally, wanted, problems, arguments.first, arguments.programs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
