"""Triton kernels lowered, or looked at, while Triton compiles them: ``install``, ``uninstall``.

    from fencewright import triton
    triton.install("lower")                 # from here on every kernel that Triton compiles
    with triton.enabled("check") as hook:   # or for a while
        kernel[grid](...)
    print(*hook.reports, sep="\\n")

With ``launches=1`` the hook judges the first launch of each kernel too, before it is made, with
copies of its arguments: ``hook.launches``.

``python -m fencewright.triton --lower script.py`` does it without a change to the script.

The hook is Triton's ``knobs.runtime.add_stages_inspection_hook``, so nothing of Triton is patched,
and a hook that was there before runs as before. To lower, the LLVM IR between Triton's optimiser
and its code generator gets explicit synchronisation (``fencewright.lower_llvm_ir``), by an edit of
Triton's own text. Kernels in which nothing synchronises go on untouched, in microseconds.

Works with Triton 3.6 and later; Triton is imported when a hook is installed. Triton 3.9 has what
the hook makes of kernels apart in its cache. Triton 3.6 does not ask the hook: there its cache
directory is another one while the hook is installed, and a kernel that was launched before stays
as it was until the process ends.
"""

import argparse
import hashlib
import json
import os
import re
import runpy
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

if TYPE_CHECKING:
    from fencewright.simulator.race.verdict import Verdict

Mode: TypeAlias = Literal["check", "lower"]
"""check: kernels stay as they are, and are reported on. lower: their synchronisation is ours."""

Stages: TypeAlias = dict[str, Callable[[Any, dict[str, Any]], Any]]
"""Triton's compilation, stage by stage, in order: (module, metadata) -> next module."""

_METADATA = "fencewright"
"""Where Triton's metadata of a compiled kernel has its report."""


_SCRATCH = 2
"""Parameters that Triton adds at the end: global and profile scratch. Source: Triton, driver.py."""


class NotLoweredError(Exception):
    """A strict hook met a kernel that it could not lower; the message says which and why."""


# What there is in the text


_WORDS = ("acquire", "release", "acq_rel", "seq_cst", "fence.sc", "membar")
"""What no module that orders anything is without; to look for words takes microseconds."""
_BARRIER = "@llvm.nvvm.barrier"
_ORDERED = re.compile(
    r"^\s*(?:%\S+ = )?(?:fence|atomicrmw|cmpxchg|(?:load|store) atomic)\b[^\n]*?"
    r'(?:syncscope\("(?P<scope>[^"\n]*)"\) )?\b(?:acquire|release|acq_rel|seq_cst)\b',
    re.MULTILINE,
)
"""An operation of LLVM IR that orders others."""
_FENCE_OF_PTX = r"\bfence\.(?:sc|acq_rel|acquire|release)\b|\bmembar\."
_ATOM_TO_RED = r"\batom\.(?![\w.:]*\b(?:exch|cas)\b)[\w.:]*\brelease\b"
_GAINING_PTX = re.compile(f"{_FENCE_OF_PTX}|{_ATOM_TO_RED}")
"""What may go or become cheaper in inline PTX, or in what intrinsics are named after."""
_ORDERED_PTX = re.compile(rf"{_FENCE_OF_PTX}|\.(?:acquire|release|acq_rel)\b|@llvm\.nvvm\.barrier")
"""What facts may make needless in inline PTX."""


def may_gain(llvm_ir: str, target: str, features: tuple[str, ...], facts: tuple[str, ...]) -> bool:
    """Whether lowering a module could take anything away; if not, it need not be read at all.

    It cannot where nothing orders. On CDNA it cannot either where all that orders is at scopes for
    which ``target`` maintains no cache: waits alone do, as LLVM inserts them itself. Inline PTX
    without fences can gain only by a ``red``. Facts may take more away. Raises ``UnsupportedError``
    for an unknown target or feature.
    """
    from fencewright.lowering.targets import parse_target

    if not any(word in llvm_ir for word in _WORDS) and not (facts and _BARRIER in llvm_ir):
        return False
    if parse_target(target, features=features).is_ptx:
        gaining = _ORDERED_PTX if facts else _GAINING_PTX
        return any(pattern.search(llvm_ir) is not None for pattern in (_ORDERED, gaining))
    scopes = {each["scope"] for each in _ORDERED.finditer(llvm_ir)}
    return bool(scopes) if facts else not scopes <= _scopes_of_waits(target, features)


@cache
def _scopes_of_waits(target: str, features: tuple[str, ...]) -> frozenset[str | None]:
    """LLVM's names of the scopes at which a fence only waits."""
    from fencewright.lowering.llvm.architecture import ARCHITECTURES
    from fencewright.lowering.lower import lower
    from fencewright.lowering.targets import backend_of

    names = ARCHITECTURES[backend_of(target).architecture].syncscopes
    return frozenset(
        name
        for name, (scope, _) in names.items()
        if all(
            each.wait is not None
            for each in lower(
                op="fence", ordering="seq_cst", scope=scope, target=target, features=features
            ).instructions
        )
    )


_MNEMONIC = re.compile(r"^[^\S\n]*(?:@!?%\w+\s+)?([a-z][\w.:]*)", re.MULTILINE)
_CDNA = re.compile(
    r"buffer_(?:wbl2|inv|invl2|wbinvl1\w*)|global_(?:wb|inv|wbinv)|s_wait\w+|s_barrier\w*"
)
"""What synchronises in AMD assembly. Source: LLVM AMDGPUUsage, Memory Model."""


def _cdna_name(mnemonic: str) -> str | None:
    return mnemonic if _CDNA.fullmatch(mnemonic) else None


@cache
def _ptx_name(mnemonic: str) -> str | None:
    """The count of a PTX instruction: its operation, ordering and scope; None: not counted."""
    from fencewright.lowering.code.effects import Kind
    from fencewright.lowering.ptx.code.statements import ACCESSES, CONTROL, SILENT, read_opcode
    from fencewright.lowering.vocabulary import Ordering

    opcode = read_opcode(mnemonic)
    if opcode.row is None:
        return None
    strong = opcode.ordering not in (None, Ordering.WEAK)
    if opcode.row.kind in ACCESSES and not strong:
        return None
    if opcode.row.kind in SILENT | CONTROL | {Kind.COPY, Kind.TENSOR}:
        return None
    words = (opcode.row.name, opcode.ordering if strong else None, opcode.scope)
    return " ".join(str(word) for word in words if word)


_NAME_OF: Mapping[str, Callable[[str], str | None]] = {"amdgcn": _cdna_name, "ptx": _ptx_name}
"""By the stage that makes assembly, what an instruction is counted as."""


def count(assembly: str, stage: str) -> dict[str, int]:
    """How often each instruction that synchronises is in assembly of ``amdgcn`` or ``ptx``."""
    name_of = _NAME_OF[stage]
    found: Counter[str] = Counter()
    for mnemonic, number in Counter(_MNEMONIC.findall(assembly)).items():
        if (name := name_of(mnemonic)) is not None:
            found[name] += number
    return dict(sorted(found.items()))


# Reports


_TRITON_WORDS = {
    "__syncthreads()": "tl.debug_barrier()",
    "write __threadfence() before the signal, or let it release": 'give the signal sem="release"',
    "write __threadfence() after the wait, or let it acquire": 'give its read sem="acquire"',
    "write __threadfence() before the signal and after it is seen, or let it release and its read "
    "acquire": 'give the signal and its read sem="acq_rel"',
}
"""Repairs in the words of Triton's language, by those of CUDA's."""


@dataclass(frozen=True)
class Report:
    """What became of one kernel.

    ``target``: as ``gfx942`` or ``sm_90a``. ``after``: how often each instruction that synchronises
    is in the assembly that was made. ``changed``: whether that is of other LLVM IR than Triton's.
    ``problem``: why it was not lowered, None if it was or did not have to be. ``seconds`` of
    CPU time that the hook took. ``cached``: Triton had it compiled already, by a hook with the same
    options.
    ``shared``: the bytes of shared memory that Triton launches it with. ``parameters``: the names
    of those that are no constants, once Triton has compiled it; ``words``: those of the author's
    language for CUDA's.
    """

    kernel: str
    target: str
    mode: Mode
    after: Mapping[str, int]
    changed: bool = False
    problem: str | None = None
    seconds: float = 0.0
    cached: bool = False
    assembly: str = field(default="", repr=False)
    shared: int = 0
    recompile: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    parameters: list[str] = field(default_factory=list[str], repr=False, compare=False)
    words: Mapping[str, str] = field(
        default_factory=lambda: _TRITON_WORDS, repr=False, compare=False
    )

    @cached_property
    def before(self) -> Mapping[str, int]:
        """The counts of Triton's own LLVM IR; of a changed kernel it is compiled when first asked.

        Raises ``LookupError`` for a changed kernel that came from Triton's cache.
        """
        if not self.changed:
            return self.after
        if self.recompile is None:
            raise LookupError(f"{self.kernel} came from the cache: what it was before is not known")
        return count(self.recompile(), self.stage)

    @property
    def difference(self) -> dict[str, tuple[int, int]]:
        """The instructions whose number changed, with the numbers before and after."""
        before = self.before
        names = sorted({*before, *self.after})
        pairs = {name: (before.get(name, 0), self.after.get(name, 0)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def stage(self) -> str:
        """Triton's name of the stage that makes the assembly."""
        from fencewright.lowering.targets import parse_target

        return "ptx" if parse_target(self.target).is_ptx else "amdgcn"

    def _scratch(self, _: int) -> Any:
        """A parameter that Triton has added and that nothing uses: null, of AMD a byte."""
        if self.stage == "ptx":
            return 0
        import numpy as np

        return np.zeros(1, np.uint8)

    @property
    def _parameters(self) -> int:
        """The number of parameters of the kernel, those that Triton has added included."""
        if self.stage == "ptx":
            from fencewright.lowering.ptx.code.text import read_ptx

            return len(read_ptx(self.assembly, self.kernel).functions[self.kernel].parameters)
        from fencewright.tools.inputs.amd_kernels import kernels_of_assembly

        kernels = {each.name: each for each in kernels_of_assembly(self.assembly, self.kernel)}
        return len(kernels[self.kernel].read().given)

    def findings(self) -> list[str]:
        """The errors and warnings of ``fence-check`` on the assembly, each at its Python line.

        They are lines of text, and take tenths of a second. Raises ``AssemblyError`` or
        ``PtxError`` for assembly that it cannot read.
        """
        from fencewright.compiled import findings_in

        found = findings_in(self.assembly, self.kernel, self.stage, self.words, self.parameters)
        return [*found]

    def check(self, *, grid: int | Sequence[int], args: Sequence[Any]) -> "Verdict":
        """The verdict on the races of a launch of the kernel, which needs no GPU.

        Triton compiles before it launches: the block, the cluster and the shared memory are known
        to it, ``grid`` and ``args`` to who launches. ``args``: numbers and NumPy arrays, of those
        parameters that are no constants; Triton's own after them are null. Raises
        ``LaunchError``, ``PtxError`` and ``AssemblyError``.
        """
        from fencewright.launches import check

        own = self._parameters - len(args)
        filled = [*args, *map(self._scratch, range(own))] if own <= _SCRATCH else args
        return check(self.assembly, self.kernel, grid=grid, args=filled, shared=self.shared)

    def __str__(self) -> str:
        from fencewright.tools.reports.function_names import short_name

        where = f"{short_name(self.kernel)} ({self.target}): "
        if self.problem is not None:
            return f"{where}compiled as it was: {self.problem}"
        if self.cached:
            return f"{where}{'lowered' if self.changed else 'as it was'}, from the cache"
        if not self.changed:
            counts = ", ".join(f"{name} {number}" for name, number in self.after.items())
            return f"{where}as it was: {counts or 'nothing synchronises'}"
        said = (f"{name} {old} -> {new}" for name, (old, new) in self.difference.items())
        return f"{where}lowered: {', '.join(said) or 'as many instructions of each kind'}"


@dataclass(frozen=True)
class JudgedLaunch:
    """A launch that was judged before it was made; ``problem``: why it was not, or ""."""

    kernel: str
    grid: tuple[int, ...]
    verdict: "Verdict | None"
    problem: str = ""

    def __str__(self) -> str:
        if self.verdict is None:
            return f"{self.kernel}: not judged: {self.problem}"
        return "\n".join(
            [f"{self.kernel}: {self.verdict}", *(f.text for f in self.verdict.findings)]
        )


def _contents(value: Any) -> Any:
    """An argument of a launch, a tensor as a copy of its bytes. Raises ``ValueError``."""
    if not hasattr(value, "data_ptr"):
        return value
    if not value.is_contiguous():
        raise ValueError("a tensor whose elements do not follow each other is not copied")
    bytes_of = sys.modules[type(value).__module__.partition(".")[0]].uint8
    return value.detach().flatten().view(bytes_of).cpu().numpy().copy()


# The hook


@dataclass(frozen=True)
class Options:
    """What a hook does; all of it is in the key of Triton's cache. As of ``lower_llvm_ir``."""

    mode: Mode
    facts: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    opt_level: int = 2

    @cached_property
    def key(self) -> str:
        """What tells kernels compiled with these options, by this code, from all others."""
        said = (self.mode, sorted(self.facts), sorted(self.features), self.opt_level, _own_code())
        return f"fencewright-{json.dumps(said)}"


@cache
def _own_code() -> str:
    """A digest of the code that lowers, so that another version of it has kernels of its own."""
    from fencewright import lowering, mlir_dialects, passes

    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in (lowering, mlir_dialects, passes):
        for file in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class Hook:
    """What Triton calls before it compiles a kernel: made by ``install``."""

    def __init__(
        self,
        options: Options,
        *,
        strict: bool = False,
        on_report: Callable[[Report], None] | None = None,
        launches: int = 0,
    ):
        self.options = options
        self.strict = strict
        self.reports: list[Report] = []
        """One for each kernel compiled or taken from Triton's cache since, in order."""
        self.launches: list[JudgedLaunch] = []
        """The launches judged since, in order."""
        self._most_launches = launches
        self._launched: Counter[str] = Counter()
        self._compiled: dict[str, Report] = {}
        self._watched: dict[int, tuple[Any, Any]] = {}
        self._on_report = on_report
        if find_spec("triton") is None:
            raise ModuleNotFoundError("Triton is not installed: pip install triton")
        self._knobs: Any = import_module("triton.knobs")
        self._replaced: Any = None
        self._before: Any = None
        self._listener: Any = None
        self._listens = False
        self._cache_directory: tuple[str, str | None] | None = None

    def __call__(self, *arguments: Any) -> tuple[str, str] | None:
        """Without arguments: key and hash for Triton's caches; else its stages, to change."""
        if not arguments:
            return self._key
        if self._before is not None:
            self._before(*arguments)
        backend, stages, options, _, capability = arguments
        _Compilation(self, *_target_of(backend, options, capability)).enter(stages)
        return None

    @property
    def _key(self) -> tuple[str, str]:
        others = () if self._before is None else self._before()
        key = "".join([self.options.key, *others[:1]])
        return key, _digest(key)

    def add(self, report: Report) -> None:
        """Note what became of a kernel."""
        self.reports.append(report)
        if self._on_report is not None:
            self._on_report(report)

    # In Triton's settings

    def enter(self) -> None:
        """Become Triton's hook, over the one that is there; a hook of ours rests meanwhile."""
        runtime = self._knobs.runtime
        self._replaced = runtime.add_stages_inspection_hook
        resting = isinstance(self._replaced, Hook)
        self._before = self._replaced._before if resting else self._replaced
        runtime.add_stages_inspection_hook = self
        if resting:
            self._replaced._leave_caches()
        self._enter_caches()

    def leave(self) -> None:
        """Give Triton back the hook that was there. Raises ``RuntimeError`` if this is gone."""
        runtime = self._knobs.runtime
        if runtime.add_stages_inspection_hook is not self:
            raise RuntimeError(
                "another hook was set in triton.knobs.runtime.add_stages_inspection_hook after "
                "Fencewright's; take that one away first"
            )
        self._leave_caches()
        runtime.add_stages_inspection_hook = self._replaced
        if isinstance(self._replaced, Hook):
            self._replaced._enter_caches()

    def _enter_caches(self) -> None:
        compilation = self._knobs.compilation
        self._listener = compilation.listener
        compilation.listener = self._heard
        self._listens = True
        if self._most_launches:
            self._knobs.runtime.launch_enter_hook.add(_ask)
        if not _asks_for_key():
            cache_knobs = self._knobs.cache
            mine = os.path.join(cache_knobs.dir, f"fencewright-{_digest(self.options.key)[:16]}")
            self._cache_directory = (mine, cache_knobs.__dict__.get("dir"))
            _set_cache_directory(self._knobs, mine)

    def _leave_caches(self) -> None:
        compilation = self._knobs.compilation
        if compilation.listener == self._heard:
            compilation.listener = self._listener
        self._listens = False
        self._knobs.runtime.launch_enter_hook.remove(_ask)
        for function, before in self._watched.values():
            function.launch_metadata = before
        self._watched.clear()
        if self._cache_directory is not None:
            mine, before = self._cache_directory
            if self._knobs.cache.dir == mine:
                _set_cache_directory(self._knobs, before)
            self._cache_directory = None

    def _heard(self, **said: Any) -> None:
        """Triton has compiled a kernel, or had it compiled before."""
        if self._listener is not None:
            self._listener(**said)
        metadata = said["metadata"]
        noted = metadata.get(_METADATA)
        if not self._listens or noted is None:
            return
        if said["cache_hit"]:
            report = Report(**noted, cached=True)
            self.add(replace(report, assembly=_stored(said["metadata_group"], report.stage)))
        source = said["src"]
        if not hasattr(source, "fn"):
            return
        names = (name for name, type_ in source.signature.items() if type_ != "constexpr")
        self.reports[-1].parameters[:] = names
        if self._most_launches:
            self._watch(source, metadata["hash"], self.reports[-1])

    # Launches

    def _watch(self, source: Any, number: str, report: Report) -> None:
        """Judge launches of a kernel; Triton asks the function for what it says of a launch."""
        self._compiled[number] = report
        function = source.fn
        if id(function) in self._watched:
            return
        before = function.launch_metadata
        self._watched[id(function)] = function, before

        def said(grid: Any, metadata: Any, arguments: dict[str, Any]) -> dict[str, Any]:
            self._judge(metadata.hash, tuple(grid), arguments)
            return {} if before is None else before(grid, metadata, arguments)

        function.launch_metadata = said

    def _judge(self, number: str, grid: tuple[int, ...], arguments: Mapping[str, Any]) -> None:
        if number not in self._compiled or self._launched[number] >= self._most_launches:
            return
        self._launched[number] += 1
        report = self._compiled[number]
        copies: dict[int, Any] = {}
        verdict, problem = None, ""
        try:
            for name in report.parameters:
                value = arguments[name]
                copies.setdefault(id(value), _contents(value))
            verdict = report.check(
                grid=grid, args=[copies[id(arguments[name])] for name in report.parameters]
            )
        except ValueError as refused:
            # A launch that cannot be judged is made all the same.
            problem = str(refused)
        self.launches.append(JudgedLaunch(report.kernel, grid, verdict, problem))


def _ask(metadata: Any) -> None:
    """Ask for all that is said of a launch, before it is made."""
    metadata.get()


def _stored(files: Mapping[str, str], stage: str) -> str:
    """What a stage made of a kernel that is in Triton's cache; "" where it keeps binaries only."""
    paths = (Path(path) for name, path in files.items() if name.endswith(f".{stage}"))
    return next((path.read_text() for path in paths if path.exists()), "")


def _asks_for_key() -> bool:
    """Whether this Triton asks a hook for what it adds to the key of a kernel: 3.6 does not."""
    compiler: Any = import_module("triton.compiler.compiler")
    return "add_stages_inspection_hook" in compiler.compile.__code__.co_names


def _set_cache_directory(knobs: Any, directory: str | None) -> None:
    """Set Triton's cache directory in this process alone: children may have no hook."""
    propagates = knobs.propagate_env
    knobs.propagate_env = False
    try:
        if directory is None:
            del knobs.cache.dir
        else:
            knobs.cache.dir = directory
    finally:
        knobs.propagate_env = propagates


def _target_of(backend: Any, options: Any, capability: int | None) -> tuple[str, str | None]:
    """What Triton compiles for, as ``lower_llvm_ir`` takes it: the chip and the PTX version."""
    if capability is None:
        return str(options.arch), None
    nvidia: Any = import_module(type(backend).__module__)
    version = nvidia.get_ptx_version_from_options(options, backend.target.arch)
    return nvidia.sm_arch_from_capability(capability), f"{version // 10}.{version % 10}"


class _Compilation:
    """One compilation of one kernel: stands in the place of two of Triton's stages."""

    def __init__(self, hook: Hook, target: str, ptx_version: str | None):
        self.hook = hook
        self.target = target
        self.ptx_version = ptx_version
        self.stage = "amdgcn" if ptx_version is None else "ptx"
        self.given: str | None = None
        self.changed = False
        self.problem: str | None = None
        self.seconds = 0.0

    def enter(self, stages: Stages) -> None:
        """Take the places of the stages that make LLVM IR and assembly."""
        self.make_llir = stages["llir"]
        self.make_assembly = stages[self.stage]
        stages["llir"] = self.llir
        stages[self.stage] = self.assembly

    def llir(self, module: Any, metadata: dict[str, Any]) -> str:
        """Triton's LLVM IR, lowered if that was asked for."""
        text = self.given = self.make_llir(module, metadata)
        options = self.hook.options
        if options.mode == "check":
            return text
        start = time.thread_time()
        lowered = text
        try:
            if may_gain(text, self.target, options.features, options.facts):
                lowered = self._lowered(text)
        except Exception as problem:
            if self.hook.strict:
                raise NotLoweredError(
                    f"{_kernel_in(text)} for {self.target}: {problem}"
                ) from problem
            self.problem = " ".join(str(problem).split()) or type(problem).__name__
            warnings.warn(f"{_kernel_in(text)} was not lowered: {self.problem}", stacklevel=2)
        self.seconds += time.thread_time() - start
        self.changed = lowered != text
        return lowered

    def _lowered(self, text: str) -> str:
        from fencewright.passes.options import OptLevel
        from fencewright.passes.pipelines import lower_llvm_ir

        options = self.hook.options
        return lower_llvm_ir(
            text,
            self.target,
            features=options.features,
            ptx_version=self.ptx_version,
            opt_level=cast(OptLevel, options.opt_level),
            facts=options.facts,
            edit=True,
            gains=bool(options.opt_level),
            file=_kernel_in(text),
        )

    def assembly(self, module: str, metadata: dict[str, Any]) -> str:
        """Triton's assembly, counted and reported."""
        if self.given is None and self.hook.options.mode == "lower":
            self.problem = "Triton was given LLVM IR, which is compiled as it is"
        given, before = self.given, dict(metadata)
        made = self.make_assembly(module, metadata)
        start = time.thread_time()
        report = Report(
            kernel=_kernel_in(module),
            target=self.target,
            mode=self.hook.options.mode,
            after=count(made, self.stage),
            changed=self.changed,
            problem=self.problem,
            assembly=made,
            shared=int(metadata.get("shared") or 0),
            recompile=(lambda: self.make_assembly(given, before)) if self.changed else None,
        )
        self.seconds += time.thread_time() - start
        report = replace(report, seconds=self.seconds)
        metadata[_METADATA] = {name: getattr(report, name) for name in _KEPT}
        self.hook.add(report)
        return made


_KEPT = ("kernel", "target", "mode", "after", "changed", "problem", "shared")
"""What Triton's cache keeps of a report."""

_KERNEL = re.compile(
    r'^define [^@\n]*\b(?:amdgpu|ptx)_kernel\b[^@\n]*@([\w$.]+|"[^"]*")\(', re.MULTILINE
)


def _kernel_in(llvm_ir: str) -> str:
    """The name of the kernel of a module."""
    found = _KERNEL.search(llvm_ir)
    return found[1] if found else "a kernel without a name"


# For those who use it


def install(
    mode: Mode,
    *,
    facts: Iterable[str] = (),
    features: Iterable[str] = (),
    opt_level: int = 2,
    strict: bool = False,
    on_report: Callable[[Report], None] | None = None,
    launches: int = 0,
) -> Hook:
    """Let Triton's kernels be lowered, or only reported on, from here on; the hook has the reports.

    ``mode``: "lower" or "check". ``facts``, ``features`` and ``opt_level`` as of ``lower_llvm_ir``:
    what is promised of every launch is for all kernels. A kernel that cannot be lowered, also one
    for a chip that is not known, is compiled as it was: a warning and its report say why;
    ``strict``: ``NotLoweredError`` is raised instead. ``on_report`` is called with each report.
    ``launches``: so many of each kernel are judged before they are made, with copies of their
    arguments. A hook of another's that is there already still runs; one of ours rests until
    ``uninstall``. Raises
    ``ValueError`` for an unknown mode, level or fact, ``ModuleNotFoundError`` without Triton.
    """
    from fencewright.lowering.vocabulary import Fact

    _require("mode", (mode,), get_args(Mode))
    _require("level", (opt_level,), (0, 2))
    _require("fact", _words("facts", facts), tuple(map(str, Fact)))
    options = Options(mode, _words("facts", facts), _words("features", features), opt_level)
    hook = Hook(options, strict=strict, on_report=on_report, launches=launches)
    hook.enter()
    return hook


def uninstall() -> None:
    """Take away the last hook of ``install``. Raises ``RuntimeError`` where Triton has none."""
    installed = import_module("triton.knobs").runtime.add_stages_inspection_hook
    if not isinstance(installed, Hook):
        raise RuntimeError("Fencewright's hook is not the one that Triton has now")
    installed.leave()


class InstallOptions(TypedDict, total=False):
    """The options of ``install``."""

    facts: Iterable[str]
    features: Iterable[str]
    opt_level: int
    strict: bool
    on_report: Callable[[Report], None] | None
    launches: int


@contextmanager
def enabled(mode: Mode, **options: Unpack[InstallOptions]) -> Generator[Hook]:
    """``install`` with its options for a while; raises as that and ``leave`` do."""
    hook = install(mode, **options)
    try:
        yield hook
    finally:
        hook.leave()


def _require(what: str, given: Iterable[object], accepted: Sequence[object]) -> None:
    for each in given:
        if each not in accepted:
            raise ValueError(f"unknown {what} '{each}'; accepted: {', '.join(map(str, accepted))}")


def _words(name: str, words: Iterable[str]) -> tuple[str, ...]:
    from fencewright.lowering.targets import several

    return several(name, words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a Python program whose Triton kernels are lowered, or only checked.

    What became of each kernel is written to the standard error at the end. The exit status is the
    program's; with --check 1 if it is 0 and something was found.
    """
    from fencewright.tools.arguments import with_errors_of_one_line

    parser = argparse.ArgumentParser(
        prog="python -m fencewright.triton", description=main.__doc__, allow_abbrev=False
    )
    with_errors_of_one_line(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--lower",
        dest="mode",
        action="store_const",
        const="lower",
        help="make the synchronisation of every kernel ours",
    )
    what.add_argument(
        "--check",
        dest="mode",
        action="store_const",
        const="check",
        help="leave kernels as they are; say what they have, and what fence-check finds",
    )
    parser.add_argument(
        "--fact",
        action="append",
        default=[],
        metavar="NAME",
        help="what is promised of every launch, as single-wave-workgroup; may be repeated",
    )
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="NAME",
        help="a feature of the target, as tgsplit; may be repeated",
    )
    parser.add_argument("-O", dest="opt_level", type=int, choices=(0, 2), default=2)
    parser.add_argument(
        "--strict", action="store_true", help="end at the first kernel that cannot be lowered"
    )
    parser.add_argument(
        "--launches", type=int, default=0, metavar="N",
        help="judge the first N launches of each kernel, before they are made",
    )  # fmt: skip
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="PROGRAM is a module's name"
    )
    parser.add_argument("program", metavar="PROGRAM", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's arguments")
    asked = parser.parse_args(arguments)
    if problem := _missing(asked.program, is_module=asked.is_module):
        from fencewright.tools.streams import tell

        tell(f"{asked.program}: error: {problem}")
        sys.exit(2)
    options = {"facts": asked.fact, "features": asked.feature, "opt_level": asked.opt_level}
    try:
        hook = install(asked.mode, strict=asked.strict, launches=asked.launches, **options)
    except ModuleNotFoundError as problem:
        parser.error(f"{problem}; Triton is needed: pip install triton")
    except ValueError as problem:
        parser.error(str(problem))
    status = 0
    try:
        _run(asked.program, asked.arguments, is_module=asked.is_module)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    finally:
        hook.leave()
        found = _tell(hook)
    return status or found


def _missing(program: str, *, is_module: bool) -> str:
    """Why there is no such program; empty if there is one."""
    if not is_module:
        if os.path.isfile(program) or os.path.isfile(os.path.join(program, "__main__.py")):
            return ""
        return (
            "a folder without a __main__.py" if os.path.isdir(program) else "there is no such file"
        )
    sys.path.insert(0, os.getcwd())
    try:
        return "" if find_spec(program) else "there is no such module"
    except ImportError as problem:
        return str(problem)


def _run(program: str, arguments: list[str], *, is_module: bool) -> None:
    sys.argv = [program, *arguments]
    if is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
        runpy.run_path(program, run_name="__main__")


def _tell(hook: Hook) -> int:
    """Write what became of the kernels; 1 if a check found something."""
    found = 0
    for report in hook.reports:
        print(f"fencewright: {report}", file=sys.stderr)
        for finding in report.findings() if hook.options.mode == "check" else ():
            print(finding, file=sys.stderr)
            found = 1
    for launch in hook.launches:
        print(f"fencewright: {launch}", file=sys.stderr)
        found |= int(launch.verdict is not None and bool(launch.verdict.errors))
    if not hook.reports:
        print("fencewright: Triton compiled nothing", file=sys.stderr)
    return found


if __name__ == "__main__":
    # The program may import fencewright.triton, whose hook has to be this one's.
    sys.exit(import_module("fencewright.triton").main())
