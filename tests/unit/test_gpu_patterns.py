"""benchmarks/gpu/patterns.py: which patterns a GPU runs, and that their kernels do what they say."""

import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gpu_interpreter import Interpreter
from scripts import load_script

from fencewright.simulator.gpu.litmus import Stress, run_prepared
from fencewright.tools.dev.pages.patterns_page import gpu_results

ROOT = Path(__file__).parents[2]
PTXAS = shutil.which("ptxas")
script = load_script(ROOT / "benchmarks" / "gpu" / "patterns.py")
WHOLE = [
    *("elected_copy", "completed_by_hand", "completed_too_late"),
    *("tma_reduce_to_global", "tma_reduce_to_peer", "red_async_to_peer"),
    *(
        "mbarrier_cluster_fences",
        "mbarrier_cluster_too_narrow",
        "fence_gpu_shared",
        "fence_cta_global",
    ),
]
STRESS = Stress(instances=32, launches=2, block_sizes=(32,), strides=(5,), spacings=(16, 128))


@cache
def trials() -> dict[tuple[str, str], Any]:
    return {(each.pattern.name, each.taken): each for each in script.trials("sm_90")}


def test_most_are_run_and_the_others_have_a_reason() -> None:
    run = [each for each in trials().values() if each.prepared is not None]
    assert len(run) > 80
    assert all(each.reason for each in trials().values() if each.prepared is None)
    not_run = {each.pattern.name for each in trials().values() if each.prepared is None}
    assert not_run == {
        *("multicast_store", "multicast_alias", "multicast_flag_to_tma"),
        *("tma_store_to_multicast_flag", "named_barrier"),
        *("store_then_load", "own_store_then_load", "mma_then_mma"),
    }


@pytest.mark.parametrize("name", WHOLE)
def test_a_pattern_as_lowered_ends_as_it_says(name: str) -> None:
    trial = trials()[name, script.NOTHING]
    result = run_prepared(name, trial.prepared, trial.allowed, Interpreter(), STRESS)
    assert result.forbidden == {}
    # The interpreter is sequentially consistent: it shows no fault.
    assert trial.wrong(result) == 0


def test_what_is_computed_wrongly_is_counted() -> None:
    trial = trials()["tma_reduce_to_peer", script.NOTHING]
    prepared = trial.prepared
    (module,) = prepared.modules
    changed = replace(prepared, modules=(module.replace("max.u32", "min.u32"),))
    result = run_prepared("t", changed, trial.allowed, Interpreter(), STRESS)
    assert trial.wrong(result) == result.instances


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", WHOLE)
def test_ptxas_accepts_their_kernels(name: str, tmp_path: Path) -> None:
    (module,) = trials()[name, script.NOTHING].prepared.modules
    source = tmp_path / "kernel.ptx"
    source.write_text(module)
    command = [str(PTXAS), "-arch=sm_90", str(source), "-o", str(tmp_path / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_table_is_read_back_by_the_page() -> None:
    trial = trials()["tma_reduce_to_peer", script.NOTHING]
    result = run_prepared("t", trial.prepared, trial.allowed, Interpreter(), STRESS)
    weaker = next(
        each
        for name, each in trials().items()
        if name[0] == "tma_reduce_to_peer" and each is not trial
    )
    known = gpu_results(script.table([(trial, result), (weaker, result)]))
    assert known["tma_reduce_to_peer", "nothing"].instances == 64
    assert known["tma_reduce_to_peer", weaker.taken].wrong == 0


def test_the_list_needs_no_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--emit"]) == 0
    assert "red_async_to_peer, nothing: ready" in capsys.readouterr().out
