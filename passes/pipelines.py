"""The named pipelines: which passes, in which order, lower for a family of targets."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.chips import CHIPS, Counter
from fencewright.lowering.facts import facts_for, may_store_through
from fencewright.lowering.llvm.architecture import ARCHITECTURES
from fencewright.lowering.sequence import Target, UnsupportedError
from fencewright.lowering.targets import backend_of, options_of, several
from fencewright.lowering.vocabulary import Fact
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.verification import verify
from fencewright.passes.options import DEFAULT_OPT_LEVEL, TARGET_ID, OptLevel

if TYPE_CHECKING:
    from fencewright.passes.cdna.caches.cache_pass import CachePass

StorePolicy: TypeAlias = Literal["auto", "back", "through"]
"""Plain stores leave dirty lines that releases write ``back``, or go ``through`` to the agent by
themselves; ``auto``: whichever costs less, kernel by kernel. Where nobody asks: back, or auto under
the fact that such stores are coherent, for which the evidence is divided (docs/minimise.md)."""


@dataclass(frozen=True)
class Pipeline(ModulePass):
    """A list of passes under one name; as a pass of its own it runs them in order."""

    @abstractmethod
    def steps(self) -> tuple[ModulePass, ...]:
        """The steps in order: passes, and pipelines whose passes share their analyses."""

    def passes(self) -> tuple[ModulePass, ...]:
        """The single passes in the order in which they run: for a view between them."""
        return single_passes(self.steps())

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for step in self.steps():
            step.apply(ctx, op)


def single_passes(steps: Iterable[ModulePass]) -> tuple[ModulePass, ...]:
    """Every pipeline among ``steps`` as the passes that it has."""
    return tuple(
        each
        for step in steps
        for each in (step.passes() if isinstance(step, Pipeline) else (step,))
    )


@dataclass(frozen=True)
class OnOneView(Pipeline):
    """Passes on the caches of CDNA code that read it once for all."""

    name = "on-one-view"

    own: "tuple[CachePass, ...]"

    def steps(self) -> "tuple[CachePass, ...]":
        return self.own

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from fencewright.passes.cdna.caches.cache_pass import codes_in

        for code in codes_in(op):
            for step in self.own:
                step.run(code)


@dataclass(frozen=True)
class MinimiseCachesPipeline(Pipeline):
    """Remove write-backs and invalidates of CDNA code, or move them to fewer paths.

    Its passes run on one view of the code. ``facts`` and ``stores`` as of ``CDNAPipeline``.
    """

    name = "minimise-caches"

    facts: tuple[str, ...] = ()
    stores: StorePolicy | None = None

    def steps(self) -> "tuple[CachePass, ...]":
        from fencewright.passes.cdna.caches.clamp_caches import ClampCachesPass
        from fencewright.passes.cdna.caches.drop_invalidates import DropInvalidatesPass
        from fencewright.passes.cdna.caches.drop_write_backs import DropWriteBacksPass
        from fencewright.passes.cdna.caches.elect_release import ElectReleasePass
        from fencewright.passes.cdna.caches.hoist_write_backs import HoistWriteBacksPass
        from fencewright.passes.cdna.caches.sink_invalidates import SinkInvalidatesPass

        facts = frozenset(map(Fact, self.facts))
        return (
            ClampCachesPass(self.facts),
            *_storing(self.stores or ("auto" if may_store_through(facts) else "back")),
            DropWriteBacksPass(),
            ElectReleasePass(),
            HoistWriteBacksPass(),
            DropInvalidatesPass(),
            SinkInvalidatesPass(),
            *_on_ends(),
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        OnOneView(self.steps()).apply(ctx, op)


def _on_scoped(mcpu: str, facts: tuple[str, ...]) -> tuple[ModulePass, ...]:
    """Passes that remove synchronisation from ``scoped``, for all targets."""
    from fencewright.passes.scoped.clamp_scopes import ClampScopesPass
    from fencewright.passes.scoped.merge_fences import MergeFencesPass

    return (ClampScopesPass(mcpu, facts), MergeFencesPass())


def _before_ptx(mcpu: str, ptx_version: str | None) -> tuple[ModulePass, ...]:
    """Passes that remove synchronisation from ``scoped`` before its conversion to PTX."""
    from fencewright.passes.to_ptx.fold_fences import FoldFencesPass

    return (FoldFencesPass(mcpu, ptx_version),)


def _on_ptx() -> tuple[ModulePass, ...]:
    """Passes that remove synchronisation from ``ptx``."""
    from fencewright.passes.to_ptx.merge_ptx_fences import MergePTXFencesPass

    return (MergePTXFencesPass(),)


def _storing(stores: StorePolicy) -> "tuple[CachePass, ...]":
    """Passes that decide the reach of plain stores."""
    from fencewright.passes.cdna.caches.store_through import StoreThroughPass

    if stores == "back":
        return ()
    return (StoreThroughPass(policy="always" if stores == "through" else "cheaper"),)


def _on_ends() -> "tuple[CachePass, ...]":
    """Passes that remove waits that come last, once nothing moves past them any more."""
    from fencewright.passes.cdna.waits.drop_last_waits import DropLastWaitsPass

    return (DropLastWaitsPass(),)


def _on_waits() -> tuple[ModulePass, ...]:
    """Passes that move and loosen ordering waits."""
    from fencewright.passes.cdna.waits.loosen_waits import LoosenWaitsPass
    from fencewright.passes.cdna.waits.sink_waits import SinkWaitsPass

    return (SinkWaitsPass(), LoosenWaitsPass())


def _on_split_counters() -> "tuple[CachePass, ...]":
    """Passes that remove synchronisation where each kind of access has a counter of its own.

    No write-back is moved: all has to be waited for before it (llvm-project#175865), and nothing is
    gained where that wait comes earlier.
    """
    from fencewright.passes.cdna.caches.drop_invalidates import DropInvalidatesPass
    from fencewright.passes.cdna.caches.drop_write_backs import DropWriteBacksPass

    return (DropWriteBacksPass(), DropInvalidatesPass())


def _on_copies(mcpu: str) -> tuple[ModulePass, ...]:
    """Passes that add the waits that asynchronous copies need before others may rely on them."""
    if mcpu not in CHIPS or Counter.ASYNCCNT not in CHIPS[mcpu].counters:
        return ()
    from fencewright.passes.proxies.insert_proxy_fences import InsertProxyFencesPass

    return (InsertProxyFencesPass(),)


def _splits_counters(mcpu: str) -> bool:
    """True if each kind of access to memory has a counter of its own."""
    return mcpu in CHIPS and CHIPS[mcpu].splits_counters


def _as_requested(stores: StorePolicy | None) -> "tuple[CachePass, ...]":
    """At level 0, which compares no costs: stores go through if that was asked for."""
    return _storing("through" if stores == "through" else "back")


_FEATURES = frozenset({"tgsplit"})
"""The options that ``features`` switch on."""


def _check_facts(mcpu: str, opt_level: OptLevel, facts: tuple[str, ...]) -> None:
    """Raise ``UnsupportedError`` for facts that would make no difference, and for no level."""
    if opt_level not in get_args(OptLevel):
        raise UnsupportedError(f"opt-level={opt_level}", "unknown level", ("0", "2"))
    if facts and not opt_level:
        reason = "nothing is taken away at opt-level=0, whatever is known"
        raise UnsupportedError(f"facts {', '.join(facts)}", reason, ("opt-level=2",))
    facts_for(facts, mcpu)


def _check_stores(mcpu: str, stores: StorePolicy | None) -> None:
    """Raise ``UnsupportedError`` for a policy that is not that of the chip, whose passes ask for
    none."""
    is_requested = mcpu in CHIPS and not _splits_counters(mcpu)
    is_its_own = stores is None or (stores == "back" and mcpu in CHIPS)
    if not (is_requested or is_its_own):
        accepted = tuple(chip for chip in CHIPS if not _splits_counters(chip))
        raise UnsupportedError(f"stores={stores} on {mcpu}", "it has no effect there", accepted)


@dataclass(frozen=True)
class CDNAPipeline(Pipeline):
    """``scoped`` to CDNA machine instructions that ``-t asm`` prints.

    ``opt_level``: 2 with the passes that take away synchronisation which nothing needs;
    ``facts`` of ``lowering.facts`` help them. ``stores``: through makes plain stores leave no
    dirty line, so that there is nothing to write back to the agent; auto does so for the
    kernels where it is cheaper, at ``opt_level`` 2; None is back, or auto under the fact
    coherent-stores.
    """

    name = "cdna-pipeline"

    mcpu: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None
    opt_level: OptLevel = DEFAULT_OPT_LEVEL
    facts: tuple[str, ...] = ()
    stores: StorePolicy | None = None
    target_id: str | None = None

    def __post_init__(self) -> None:
        _check_facts(self.mcpu, self.opt_level, self.facts)
        _check_stores(self.mcpu, self.stores)

    def steps(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.cdna.allocate_registers import AllocateRegistersPass
        from fencewright.passes.cdna.waits.insert_waits import InsertWaitsPass
        from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
        from fencewright.passes.scoped.acquire_on_success import AcquireOnSuccessPass
        from fencewright.passes.scoped.infer_address_spaces import InferAddressSpacesPass
        from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass

        return (
            OutlineLitmusThreadsPass(),
            *((InferAddressSpacesPass(), AcquireOnSuccessPass()) if self.opt_level else ()),
            *(_on_scoped(self.mcpu, self.facts) if self.opt_level else ()),
            *_on_copies(self.mcpu),
            ConvertScopedToCDNAPass(
                mcpu=self.mcpu,
                target_id=self.target_id,
                tgsplit=self.tgsplit,
                l2_per_agent=self.l2_per_agent,
                compat=self.compat,
            ),
            *self._on_cdna(),
            InsertWaitsPass(),
            AllocateRegistersPass(),
        )

    def _on_cdna(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.cdna.caches.sink_invalidates import SinkInvalidatesPass

        if _splits_counters(self.mcpu):
            caches = OnOneView((*_on_split_counters(), SinkInvalidatesPass(), *_on_ends()))
            return (caches, *_on_waits()) if self.opt_level else ()
        if self.opt_level:
            return (MinimiseCachesPipeline(self.facts, self.stores), *_on_waits())
        return _as_requested(self.stores)


@dataclass(frozen=True)
class PTXPipeline(Pipeline):
    """``scoped`` to PTX instructions that ``-t asm`` and ``-t ptx`` print.

    ``opt_level``: 2 with the passes that take away synchronisation which nothing needs;
    ``facts`` of ``lowering.facts`` help them. ``fence_reads``: also between a generic read and a
    later async write, as ``insert-proxy-fences`` has it.
    """

    name = "ptx-pipeline"

    mcpu: str
    ptx_version: str | None = None
    opt_level: OptLevel = DEFAULT_OPT_LEVEL
    facts: tuple[str, ...] = ()
    fence_reads: bool = True

    def __post_init__(self) -> None:
        _check_facts(self.mcpu, self.opt_level, self.facts)

    def steps(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
        from fencewright.passes.proxies.insert_proxy_fences import InsertProxyFencesPass
        from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass

        return (
            OutlineLitmusThreadsPass(),
            *(_on_scoped(self.mcpu, self.facts) if self.opt_level else ()),
            InsertProxyFencesPass(fence_reads=self.fence_reads),
            *(_before_ptx(self.mcpu, self.ptx_version) if self.opt_level else ()),
            ConvertScopedToPTXPass(mcpu=self.mcpu, ptx_version=self.ptx_version),
            *(_on_ptx() if self.opt_level else ()),
        )


@dataclass(frozen=True)
class LLVMIRPipeline(Pipeline):
    """LLVM IR with ``scoped`` operations to LLVM IR with explicit synchronisation.

    ``opt_level``: 2 with the passes that take away synchronisation which nothing needs;
    ``facts`` of ``lowering.facts`` help them. ``stores``: on CDNA, as of ``CDNAPipeline``.
    """

    name = "llvm-ir-pipeline"

    mcpu: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None
    ptx_version: str | None = None
    opt_level: OptLevel = DEFAULT_OPT_LEVEL
    facts: tuple[str, ...] = ()
    stores: StorePolicy | None = None

    def __post_init__(self) -> None:
        _check_facts(self.mcpu, self.opt_level, self.facts)
        _check_stores(self.mcpu, self.stores)

    def steps(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass

        return (
            *(self._on_scoped() if self.opt_level else ()),
            LowerScopedLLVMIRPass(
                mcpu=self.mcpu,
                tgsplit=self.tgsplit,
                l2_per_agent=self.l2_per_agent,
                compat=self.compat,
                ptx_version=self.ptx_version,
            ),
            *(self._on_ptx() if self._is_ptx else self._on_cdna()),
        )

    def gains(self, ctx: Context, op: ModuleOp) -> bool:
        """Apply the pipeline; whether it takes anything away, or moves it, that is more than a
        wait.

        On CDNA. Where it does not, LLVM makes the same of the module as it was, but for waits, and
        the rest of the pipeline is left out.
        """
        steps = self.steps()
        lowers = next(n for n, step in enumerate(steps) if step.name == "lower-scoped-llvm-ir")
        waits = next((n for n, step in enumerate(steps) if step.name in _ON_WAITS), len(steps))
        changed = self._is_ptx
        for stage, following in (
            (steps[:lowers], steps[lowers]),
            (steps[lowers + 1 : waits], None),
        ):
            before = None if changed else _order_of(op)
            for step in stage:
                step.apply(ctx, op)
            changed = changed or _order_of(op) != before
            if following is not None:
                following.apply(ctx, op)
        for step in steps[waits:] if changed else ():
            step.apply(ctx, op)
        return changed

    @property
    def _is_ptx(self) -> bool:
        return backend_of(self.mcpu).architecture == "ptx"

    def _on_ptx(self) -> tuple[ModulePass, ...]:
        return _on_ptx() if self.opt_level else ()

    def _on_cdna(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.llvm_ir.await_values import AwaitValuesPass
        from fencewright.passes.llvm_ir.loosen_releases import LoosenReleasesPass
        from fencewright.passes.llvm_ir.show_waits import ShowWaitsPass

        if _splits_counters(self.mcpu):
            caches = OnOneView((*_on_split_counters(), *_on_ends()))
            return (caches, AwaitValuesPass()) if self.opt_level else ()
        if self.opt_level:
            caches = MinimiseCachesPipeline(self.facts, self.stores)
            releases = LoosenReleasesPass(self.mcpu, self.facts)
            return (caches, releases, AwaitValuesPass(), ShowWaitsPass())
        return _as_requested(self.stores)

    def _on_scoped(self) -> tuple[ModulePass, ...]:
        passes = _on_scoped(self.mcpu, self.facts)
        if self._is_ptx:
            from fencewright.passes.llvm_ir.escape_noalias import EscapeNoaliasPass
            from fencewright.passes.scoped.infer_address_spaces import InferAddressSpacesPass
            from fencewright.passes.to_ptx.relax_cuda_atomics import RelaxCudaAtomicsPass
            from fencewright.passes.to_ptx.relax_elements import RelaxElementsPass

            given = self.mcpu, self.facts
            relaxes = (RelaxCudaAtomicsPass(*given), RelaxElementsPass(*given))
            on_scoped = (EscapeNoaliasPass(), InferAddressSpacesPass(), *passes)
            return (*relaxes, *on_scoped, *_before_ptx(self.mcpu, self.ptx_version))
        from fencewright.passes.scoped.acquire_on_success import AcquireOnSuccessPass

        return (AcquireOnSuccessPass(), *passes)


_ON_WAITS = frozenset({"loosen-releases", "await-values", "show-waits"})
"""Passes that change waits alone."""


def _order_of(module: ModuleOp) -> tuple[list[Operation], list[object]]:
    """Every operation but waits, block by block, and how those of ``scoped`` order others."""
    ops = [
        op
        for function in module.ops
        for region in function.regions
        for block in region.blocks
        for op in operations(block)
        if op.name != _WAIT
    ]
    of_scoped = [op.properties for op in ops if "ordering" in op.properties]
    return ops, [(each["ordering"], each.get("scope")) for each in of_scoped]


_WAIT = "cdna.s_waitcnt"

_PIPELINE_OF = {"cdna": CDNAPipeline, "ptx": PTXPipeline}


def pipeline_for(architecture: str, *, llvm_ir: bool) -> str:
    """The name of the pipeline that lowers for ``architecture`` (of ``lowering.targets``)."""
    return LLVMIRPipeline.name if llvm_ir else _PIPELINE_OF[architecture].name


def pipeline_of(target: Target, **options: Any) -> Pipeline:
    """The pipeline that lowers kernels for ``target``, with more of its ``options``."""
    architecture = backend_of(target.chip).architecture
    return _PIPELINE_OF[architecture](**options_of(target), **options)


def lower_module(
    module: ModuleOp,
    target: str,
    *,
    features: Iterable[str] = (),
    l2_per_agent: Literal["one", "many"] = "many",
    compat: Literal["llvm"] | None = None,
    ptx_version: str | None = None,
    opt_level: OptLevel = DEFAULT_OPT_LEVEL,
    facts: Iterable[str] = (),
) -> None:
    """Lower the ``scoped`` kernels of an xDSL module to ``target``'s instructions, in place.

    The options are those of ``lower``; what a target has no use for must be left out.
    ``opt_level``: 2 with the passes that take away synchronisation which nothing needs;
    ``facts``: what is promised of every launch, as ``("single-wave-workgroup",)``.
    Verifies the module before and after. Raises ``UnsupportedError`` for an unknown target or
    option, ``DiagnosticException`` at the operation that cannot be lowered.
    """
    backend = backend_of(target)
    pipeline = _PIPELINE_OF[backend.architecture]
    switches = several("features", features)
    requested: dict[str, Any] = dict.fromkeys(switches, True) | {
        name: value
        for name, value in (
            ("l2_per_agent", None if l2_per_agent == "many" else l2_per_agent),
            ("compat", compat),
            ("ptx_version", ptx_version),
            (TARGET_ID, target if target != backend.chip else None),
        )
        if value is not None
    }
    known = {field.name for field in fields(pipeline)} - {"mcpu", "opt_level", "facts"}
    unknown = sorted((requested.keys() - known) | ({*switches} - _FEATURES))
    if unknown:
        reason = f"{target} has no option {', '.join(unknown)}"
        raise UnsupportedError(f"lowering a module for {target}", reason, tuple(sorted(known)))
    verify(module)
    promised = several("facts", facts)
    pipeline(backend.chip, opt_level=opt_level, facts=promised, **requested).apply(
        Context(), module
    )
    verify(module)


def lower_llvm_ir(
    text: str,
    target: str,
    features: Iterable[str] = (),
    l2_per_agent: str = "many",
    compat: str | None = None,
    ptx_version: str | None = None,
    *,
    opt_level: OptLevel = DEFAULT_OPT_LEVEL,
    facts: Iterable[str] = (),
    stores: StorePolicy | None = None,
    edit: bool = False,
    gains: bool = False,
    file: str = "<string>",
) -> str:
    """LLVM IR whose ordered atomics and fences are explicit synchronisation for ``target``.

    ``text`` and the result are LLVM IR; ``features`` as ``("tgsplit",)``, added to the
    ``target-features`` of each function; ``ptx_version`` as ``8.6``, for PTX only: without it
    that of each function's ``target-features``, or the lowest with all that the chip has. The
    result wants to be compiled for no lower one. ``opt_level``: 2 with the passes that take away
    synchronisation which nothing needs; ``facts``: what is promised of every launch. ``stores``:
    on CDNA, whether plain stores leave dirty lines that releases write ``back``, or go ``through``
    to the agent; auto: whichever costs less; None: back, or auto under the fact coherent-stores;
    gfx1250 has back alone.
    ``edit``: give back ``text`` itself, changed only where synchronisation has changed, and not
    what LLVM 22 prints of it, which other versions may not read; the same string if nothing has.
    ``gains``: with ``edit``, give back ``text`` also where, on CDNA, nothing but waits would
    change.
    ``file`` is named in messages. Raises ``ParseError`` for text that LLVM rejects or that cannot
    be carried, and with ``edit`` where instructions share a line; ``UnsupportedError`` for what
    the target lacks, ``VerifyException`` for a module for another target.
    """
    # The pass itself does not need what reads and writes LLVM IR.
    from fencewright.lowering.collector import collector_paused
    from fencewright.mlir_dialects.llvm_ir.edit import EditedModule
    from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
    from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir

    switches = frozenset(several("features", features))
    backend = backend_of(target)
    known = ARCHITECTURES[backend.architecture].features
    for unknown in sorted(switches - known.keys()):
        reason = f"unknown feature '{unknown}'"
        raise UnsupportedError(f"LLVM IR for {target}", reason, tuple(known))
    pipeline = LLVMIRPipeline(
        backend.chip,
        tgsplit="tgsplit" in switches,
        l2_per_agent=cast(Literal["one", "many"], l2_per_agent),
        compat=cast(Literal["llvm"] | None, compat),
        ptx_version=ptx_version,
        opt_level=opt_level,
        facts=several("facts", facts),
        stores=stores,
    )
    with collector_paused():
        if edit:
            edited = EditedModule(text, file, sparse=True)
            if not gains:
                pipeline.apply(Context(), edited.module)
            elif not pipeline.gains(Context(), edited.module):
                return text
            return edited.written()
        module = import_llvm_ir(text, file)
        pipeline.apply(Context(), module)
        return export_llvm_ir(module)
