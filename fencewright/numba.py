"""numba-cuda's kernels lowered, or looked at, while numba compiles them: ``install``, ``enabled``.

    from fencewright import numba
    with numba.enabled("check") as hook:
        kernel[grid, block](...)        # or numba.cuda.compile_ptx(...), without a GPU
    print(*(each for report in hook.reports for each in report.findings()), sep="\\n")

numba has no hook of its own: while one is installed, ``compile_ir`` of
``numba.cuda.cudadrv.nvvm``, which makes PTX of LLVM IR, is wrapped. Kernels from numba's cache on
disk are not compiled, and so not seen. ``lineinfo=True`` gives findings the lines of the kernel.

To lower, the LLVM IR gets explicit synchronisation before libNVVM has it. numba-cuda 0.30 writes
pointers with types, which are refused: such a kernel is compiled as it was, and its report says so.
Source: numba-cuda 0.30.4, numba/cuda/codegen.py CUDACodeLibrary.get_asm_strs.
"""

import re
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, get_args

from fencewright.triton import Mode, NotLoweredError, Report, count

_ENTRY = re.compile(r"^\s*(?:\.visible\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_COMPUTE = re.compile(r"(?:compute|lto|sm)_(\d+\w?)")

_WORDS: Mapping[str, str] = {
    "__syncthreads()": "cuda.syncthreads()",
    "__syncwarp()": "cuda.syncwarp()",
    "__threadfence()": "cuda.threadfence()",
    "atomicAdd()": "cuda.atomic.add()",
}
"""Repairs in numba's words, by those of CUDA's. Source: numba-cuda, numba/cuda/stubs.py."""

_DEFAULT = "compute_75"
"""The architecture of libNVVM where none is given. Source: libNVVM API, nvvmCompileProgram."""

CompileIr = Callable[..., bytes]
"""numba's: LLVM IR, one text or several, and libNVVM's options by name; the PTX."""


class Hook:
    """A wrapper of numba's compiler; ``reports``: of the kernels that were compiled with it."""

    def __init__(
        self, mode: Mode, facts: Sequence[str], on_report: Callable[[Report], None] | None,
        *, strict: bool,
    ) -> None:  # fmt: skip
        self.mode: Mode = mode
        self.facts, self.strict = facts, strict
        self.reports: list[Report] = []
        self._on_report = on_report
        try:
            self._nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
        except ModuleNotFoundError as problem:
            raise ModuleNotFoundError(
                f"numba-cuda is not installed (pip install numba-cuda): {problem}"
            ) from None
        self._replaced: CompileIr = self._nvvm.compile_ir
        self._own = self._compile_ir

    def enter(self) -> None:
        """Take the place of numba's compiler."""
        self._nvvm.compile_ir = self._own

    def leave(self) -> None:
        """Give numba its compiler back. Raises ``RuntimeError`` if another one is in its place."""
        if self._nvvm.compile_ir is not self._own:
            raise RuntimeError(
                "compile_ir of numba.cuda.cudadrv.nvvm was replaced after Fencewright's hook; take "
                "that away first"
            )
        self._nvvm.compile_ir = self._replaced

    def _compile_ir(self, llvmir: str | Sequence[str], **options: Any) -> bytes:
        if "gen-lto" in options:  # LLVM bitcode for the linker, not PTX.
            return self._replaced(llvmir, **options)
        target = _COMPUTE.sub(r"sm_\1", options.get("arch", _DEFAULT))
        given = [llvmir] if isinstance(llvmir, str) else list(llvmir)
        lowered, problem = self._lowered(given, target) if self.mode == "lower" else (given, None)
        made = self._replaced(lowered, **options)
        ptx = made.decode().strip("\0").strip()
        report = Report(
            kernel=next(iter(_ENTRY.findall(ptx)), "a module without a kernel"),
            target=target,
            mode=self.mode,
            after=count(ptx, "ptx"),
            changed=lowered != given,
            problem=problem,
            assembly=ptx,
            words=_WORDS,
        )
        if report.changed:
            report = replace(report, recompile=lambda: self._replaced(given, **options).decode())
        self.reports.append(report)
        if self._on_report is not None:
            self._on_report(report)
        return made

    def _lowered(self, given: list[str], target: str) -> tuple[list[str], str | None]:
        """The modules with explicit synchronisation; as they were, and why, where that fails."""
        from fencewright.passes.pipelines import lower_llvm_ir

        try:
            return [
                lower_llvm_ir(each, target, facts=self.facts, edit=True) for each in given
            ], None
        except Exception as problem:
            if self.strict:
                raise NotLoweredError(f"a kernel for {target}: {problem}") from problem
            said = str(getattr(problem, "msg", problem)) or type(problem).__name__
            warnings.warn(f"a kernel was not lowered: {said}", stacklevel=3)
            return given, said


_installed: list[Hook] = []


def install(
    mode: Mode,
    *,
    facts: Iterable[str] = (),
    strict: bool = False,
    on_report: Callable[[Report], None] | None = None,
) -> Hook:
    """Let numba's kernels be lowered, or only reported on, from here on; the hook has the reports.

    Options as of ``fencewright.triton.install``. Raises ``ValueError`` for an unknown mode,
    ``ModuleNotFoundError`` without numba-cuda.
    """
    if mode not in get_args(Mode):
        raise ValueError(f"unknown mode '{mode}'; accepted: {', '.join(get_args(Mode))}")
    hook = Hook(mode, tuple(facts), on_report, strict=strict)
    hook.enter()
    _installed.append(hook)
    return hook


def uninstall() -> None:
    """Take away the hook that ``install`` made last. Raises ``RuntimeError`` where there is none,
    or another's is in its place."""
    if not _installed:
        raise RuntimeError("no hook of Fencewright is installed")
    _installed[-1].leave()
    _installed.pop()


@contextmanager
def enabled(mode: Mode, **options: Any) -> Generator[Hook]:
    """``install`` with its options for a while; raises what that and ``uninstall`` raise."""
    hook = install(mode, **options)
    try:
        yield hook
    finally:
        uninstall()
