"""Fences between proxies that order nothing: the verdict on every pair is the same without them."""

from collections.abc import Iterator
from dataclasses import replace

from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Fence, Kernel, Region, Verdict
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.code.effects import Proxy

_SHARED = frozenset({Region.SHARED})


def idle_proxy_fences(
    kernel: Kernel, verdict: Verdict, launch: Launch | None
) -> Iterator[tuple[int, bool]]:
    """The lines of the fences between proxies that a verdict on every pair does not depend on,
    together; with True, of those of which the part about shared memory is enough.

    Without accesses by the async proxy no verdict does, but other kernels may access global memory.
    """
    is_decided = verdict.kind.decides_all
    is_open = not is_decided and any(each.proxy is Proxy.ASYNC for each in kernel.accesses)
    if kernel.obstacles or is_open:
        return
    fences = [
        each
        for each in kernel.fences
        if Proxy.ASYNC in each.proxies and (is_decided or each.regions == _SHARED)
    ]
    for line in reversed(dict.fromkeys(kernel.line_of(each.instruction) for each in fences)):
        own = [each for each in fences if kernel.line_of(each.instruction) == line]
        for is_narrowed in (False, True):
            if any(each.is_one_sided or (is_narrowed and each.regions) for each in own):
                break
            less = _without(kernel, own, is_narrowed=is_narrowed)
            if _decided(judge(less, launch)) == _decided(verdict):
                kernel = less
                yield line, is_narrowed
                break


def _decided(verdict: Verdict) -> object:
    """All that a verdict says of pairs of accesses."""
    conflicts = ((each.first, each.second, each.condition) for each in verdict.conflicts)
    return verdict.kind, verdict.notes, tuple(conflicts)


def _without(kernel: Kernel, fences: list[Fence], *, is_narrowed: bool) -> Kernel:
    """A kernel without some fences, or with fences of shared memory in their place."""
    kept = [each for each in kernel.fences if each not in fences]
    if is_narrowed:
        kept += (replace(each, regions=_SHARED) for each in fences)
    return replace(kernel, fences=tuple(kept), _memo={})
