"""The patterns of ``examples/patterns``: every one holds, and the page says what each order is for."""

from collections.abc import Mapping

import pytest
from xdsl.ir import Operation

from fencewright.mlir_dialects.scoped_async import MulticastOperation
from fencewright.passes.options import OptLevel
from fencewright.passes.proxies import edges, function
from fencewright.tools.dev.campaigns.patterns import (
    FOLDER,
    Change,
    Pattern,
    Verdict,
    judged,
    patterns,
    patterns_of,
    weakenings,
)
from fencewright.tools.dev.pages import patterns_page as pages
from fencewright.tools.dev.pages.patterns_page import OnGpu, PageError, gpu_results, patterns_parts

EXAMPLES = FOLDER.parent / "async"
PATTERNS = [*patterns()]


def only(name: str) -> Pattern:
    return next(each for each in PATTERNS if each.name == name)


def test_every_asynchronous_example_has_its_pattern() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.mlir")}
    assert len(names) == 22
    assert names <= {each.name for each in PATTERNS}


@pytest.mark.parametrize("level", [0, 2])
def test_every_pattern_holds_at_every_level(level: OptLevel) -> None:
    for path in sorted(FOLDER.glob("*.mlir")):
        for pattern in patterns_of(path, level):
            assert judged(pattern, pattern.test).verdict is Verdict.HOLDS, pattern.name


def test_a_pattern_without_its_proxy_fence_fails() -> None:
    pattern = only("core_to_tma_store")
    found = {
        (each.instruction, each.number, each.change): judged(pattern, each.test)
        for each in weakenings(pattern)
    }
    fence = found["fence.proxy.async.shared::cta", 0, Change.REMOVED]
    assert (fence.verdict, fence.shown) == (Verdict.FAILS, "out=0")
    assert {number for text, number, _ in found if text.startswith("bar.cta")} == {0, 1}
    assert all(result.verdict is not Verdict.HOLDS for result in found.values())


@pytest.mark.parametrize("name", ["multicast_flag_to_tma", "tma_store_to_multicast_flag"])
def test_what_releases_or_acquires_by_a_multicast_address_synchronises(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_others = function.sync_of

    def of_none(op: Operation) -> edges.Sync | None:
        return None if isinstance(op, MulticastOperation) else of_others(op)

    monkeypatch.setattr(function, "sync_of", of_none)
    broken = {each.name: each for each in patterns_of(FOLDER / "multicast.mlir")}[name]
    assert judged(broken, broken.test).verdict is Verdict.FAILS


def test_a_barrier_of_the_cluster_goes_with_its_wait() -> None:
    (first, second, relaxed) = weakenings(only("cluster_barrier_dsmem"))
    for each, arrivals in ((first, 1), (second, 1), (relaxed, 2)):
        for thread in each.test.test.program.threads:
            texts = [str(type(code).__name__) for code in thread.instructions]
            assert texts.count("ClusterBarrier") == 2 * arrivals
    assert relaxed.change is Change.RELAXED


def test_what_holds_without_something_needs_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "REASONS", ())
    with pytest.raises(PageError, match="and no reason is given"):
        patterns_parts()


def test_a_gpu_is_asked_in_the_words_of_a_weakening(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(text: str) -> Mapping[tuple[str, str], OnGpu]:
        taken = "`fence.proxy.async.shared::cta` of P1 removed"
        return {
            ("tma_reduce_to_peer", taken): OnGpu(3, 4),
            ("completed_too_late", "nothing"): OnGpu(1, 2),
        }

    monkeypatch.setattr(pages, "gpu_results", shown)
    page = patterns_parts()["programs"]
    assert "| wrong: `P0:r0=4` | 3 of 4 |" in page
    assert "shows the fault (sm_90; H200: 1 of 2 shown)" in page


def test_a_gpu_that_shows_what_the_model_forbids_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shown(text: str) -> Mapping[tuple[str, str], OnGpu]:
        return {("tma_to_core", "no fence.mbarrier_init"): OnGpu(1, 2)}

    monkeypatch.setattr(pages, "gpu_results", shown)
    with pytest.raises(PageError, match="wrong on a GPU, but the model says that it holds"):
        patterns_parts()


def test_every_reason_and_every_row_of_the_gpu_is_used() -> None:
    found = [each for pattern in PATTERNS for each in weakenings(pattern)]
    for reason in pages.REASONS:
        assert any(reason.covers(each) for each in found), reason
    known = gpu_results(pages.GPU_PAGE.read_text(encoding="utf-8"))
    assert known["tma_to_core", "wait relaxed"] == OnGpu(0, 2_112_000, "same machine code")
    in_words = {(each.pattern.name, each.words) for each in found}
    assert {each for each in known if each[1].startswith("`")} <= in_words
    tried = {words for _, words in known if words != "nothing" and not words.startswith("`")}
    named = {each.words for each in pages.SHOWN}
    assert tried - named == {
        "no barrier at the end", "no barrier of the wavefront", "map copied without its release",
    }  # fmt: skip
