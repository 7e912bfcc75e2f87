"""Repairs in words: of the source's language and lines where they are known, else of the code."""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType

from fencewright.checker.repair.edits import Action, Edit, Repair
from fencewright.lowering.code.source_location import SourceLocation

SOURCE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "bar.sync 0": "__syncthreads()",
        "bar.warp.sync 0xffffffff": "__syncwarp()",
        "fence.acq_rel.cta": "__threadfence_block()",
        "fence.acq_rel.gpu": "__threadfence()",
        "fence.acq_rel.sys": "__threadfence_system()",
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned": (
            "cluster.sync()"
        ),
        "fence.proxy.async.shared::cta": "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)",
        "fence.proxy.async.global": "cuda::ptx::fence_proxy_async(cuda::ptx::space_global)",
        "fence.proxy.async": "cuda::ptx::fence_proxy_async()",
        "fence.mbarrier_init.release.cluster": (
            "cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster)"
        ),
        "griddepcontrol.wait": "cudaGridDependencySynchronize()",
        "cp.async.wait_group 0": "__pipeline_wait_prior(0)",
        "cp.async.wait_all": "__pipeline_wait_prior(0)",
        "cp.async.bulk.wait_group.read 0": (
            "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>())"
        ),
        "cp.async.bulk.wait_group 0": (
            "cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>())"
        ),
        "s_barrier": "__syncthreads()",
        "s_barrier_signal -1; s_barrier_wait -1": "__syncthreads()",
    }
)
"""The source text of statements, in CUDA or HIP.

Sources: CUDA C++ Programming Guide; libcu++; HIP, C++ language extensions.
"""

_ORDER_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "release": "`__threadfence()` before it, or `cuda::memory_order_release`",
        "acquire": "`__threadfence()` after it, or `cuda::memory_order_acquire`",
        "acq_rel": "`__threadfence()` before and after it, or `cuda::memory_order_acq_rel`",
    }
)
"""An order that an access gains, in CUDA's words."""

_UPDATES: Mapping[str, str] = MappingProxyType(
    {each: f"atomic{each.capitalize()}" for each in ("add", "min", "max", "and", "or", "xor")}
)
"""CUDA's functions for updates."""
_UPDATE = re.compile(rf"\b(?:red|atom)\.(?:[\w:]+\.)*({'|'.join(_UPDATES)})\.\w+ ")

Places = Callable[[int], SourceLocation | None]
"""The author's place of the statement at a line of the code, if it is known."""


def described(repair: Repair, line_of: Callable[[int], int], place_of: Places) -> Iterator[str]:
    """Instructions to the author, a sentence for each edit; one for the copies that the code has of
    one access of the source.

    ``line_of``: the line of the code as it was given; ``place_of``: the author's place of that.
    """
    by_place: dict[Hashable, list[Edit]] = {}
    for edit in repair:
        place = place_of(line_of(edit.at.line))
        names = [_first(edit.text), _first(edit.at.text)] if place else [edit.at]
        by_place.setdefault((place, edit.action, *names), []).append(edit)
    for edit, *copies in by_place.values():
        text = _described(edit, line_of(edit.at.line), place_of)
        lines = ", ".join(str(line_of(each.at.line)) for each in copies)
        yield f"{text}; likewise in line{'s' if copies[1:] else ''} {lines}" if copies else text


def _first(text: str) -> str:
    """The name of the first instruction of a text, without its guard."""
    return next((each for each in text.split() if not each.startswith("@")), "")


def _described(edit: Edit, line: int, place_of: Places) -> str:
    text = _joined(edit.text)
    place = place_of(line)
    match edit.action:
        case Action.BEFORE | Action.AFTER:
            word = SOURCE_WORDS.get(text)
            where = f"{'before' if edit.action is Action.BEFORE else 'after'} line {line}"
            if word is None or place is None:
                return f"put `{text}` {where}{_of(place)}"
            return f"put `{word}` {_between(edit.action, line, place, place_of)} (`{text}` {where})"
        case Action.REPLACE:
            old = _joined(edit.at.text)
            said = f"write `{text}` in place of `{old}`, line {line}{_of(place)}"
            gained = set(text.split()[0].split(".")) - set(old.split()[0].split("."))
            ways = [
                way for word, way in _ORDER_WORDS.items() if place is not None and word in gained
            ]
            if place is not None and not _UPDATE.search(old):
                ways += [f"`{_UPDATES[found[1]]}()`" for found in _UPDATE.finditer(text)]
            return f"{said}: {ways[0]}" if ways else said
        case Action.DELETE:
            word = SOURCE_WORDS.get(_joined(edit.at.text))
            what = f"`{word}`, " if word is not None and place is not None else ""
            return f"remove {what}`{_joined(edit.at.text)}`, line {line}{_of(place)}"


def _joined(text: str) -> str:
    """Statements in one line, without the end of the last."""
    return " ".join("; ".join(each.strip().rstrip(";") for each in text.split("\n")).split())


def _of(place: SourceLocation | None) -> str:
    return "" if place is None else f" ({place})"


def _between(action: Action, line: int, place: SourceLocation, place_of: Places) -> str:
    """The place in the source: between two lines where the code keeps their order."""
    step = -1 if action is Action.BEFORE else 1
    other = next(
        (
            found
            for each in range(line + step, max(line + step * _NEAR, 0), step)
            if (found := place_of(each)) is not None and found.line != place.line
        ),
        None,
    )
    first, last = (other, place) if action is Action.BEFORE else (place, other)
    if first is not None and last is not None and first.file == last.file:
        if first.line < last.line:
            return f"between lines {first.line} and {last.line} of {place.file}"
    word = "before" if action is Action.BEFORE else "after"
    return f"{word} line {place.line} of {place.file}"


_NEAR = 200
"""Lines of the code in which the next line of the source is looked for."""
