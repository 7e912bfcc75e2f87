# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# Triton says of few of its names that they are there.
"""Counts the synchronisation of seven Triton kernels, as Triton compiles them and lowered by us.

``python benchmarks/triton_counts.py`` prints the table. Needs Triton 3.9, whose own LLVM makes the
code in every column; no GPU.
"""

import importlib.util
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from harness import Result

_KERNELS = Path(__file__).parent.parent / "tests" / "data" / "triton" / "tutorial_kernels.py"
SEVEN = (
    "split_k",
    "stream_k",
    "attention",
    "layer_norm_backward",
    "look_back",
    "histogram",
    "softmax_in_one_grid",
)
AMD, NVIDIA = ("gfx942", "gfx950"), ("sm_90",)
_SYNCHRONISATION = {"buffer_wbl2": "write-backs", "buffer_inv": "invalidates", "s_waitcnt": "waits"}
_FACT = "cumulative-write-backs"
_ORDERINGS = frozenset({"acquire", "release", "acq_rel", "sc"})


def counts(text: str) -> str:
    """The write-backs / invalidates / waits of AMD, or fences / ordered accesses of PTX."""
    names = [line.split()[0] for line in text.splitlines() if line.split()]
    if ".visible .entry" in text:
        words = [set(each.split(".")) for line in text.splitlines() for each in line.split()[:2]]
        fences = sum(bool(each & {"fence", "membar"}) for each in words)
        ordered = sum(
            bool(each & {"ld", "st", "atom", "red"} and each & _ORDERINGS) for each in words
        )
        return f"{fences} / {ordered}"
    found = Counter(_SYNCHRONISATION.get(each, "") for each in names)
    return " / ".join(str(found[each]) for each in _SYNCHRONISATION.values())


def edited(chip: str, **options: Any) -> Callable[..., tuple[str, str] | None]:
    """A hook that always lowers for ``chip``; ``options`` of ``lower_llvm_ir``."""
    from fencewright import lower_llvm_ir

    def hook(self=None, stages=None, *_: object, **__: object):
        if stages is None:
            return repr(options), repr(options)
        compile_to_llvm_ir = stages["llir"]

        def llir(source, metadata):
            return lower_llvm_ir(compile_to_llvm_ir(source, metadata), chip, edit=True, **options)

        stages["llir"] = llir
        return None

    return hook


def measured(
    chip: str, hook: Callable[..., tuple[str, str] | None] | None = None, *, installed: bool = False
) -> dict[str, str]:
    """The counts of each kernel for ``chip``, as it is, with a hook, or with ours ``installed``."""
    import triton

    from fencewright.triton import enabled

    spec = importlib.util.spec_from_file_location("tutorial_kernels", _KERNELS)
    assert spec is not None
    assert spec.loader is not None
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    found: dict[str, str] = {}
    triton.knobs.runtime.add_stages_inspection_hook = hook
    try:
        with enabled("lower", strict=True) if installed else nullcontext():
            for name in SEVEN:
                kernel = kernels.compiled(name, chip)
                found[name] = counts(kernel.asm.get("amdgcn") or kernel.asm["ptx"])
    finally:
        triton.knobs.runtime.add_stages_inspection_hook = None
    return found


def _sum(column: dict[str, str]) -> str:
    rows = [[int(each) for each in cell.split(" / ")] for cell in column.values()]
    return " / ".join(str(sum(each)) for each in zip(*rows, strict=True))


def results() -> list[Result]:
    """One table; none where Triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        columns: dict[str, dict[str, str]] = {}
        for chip in (*AMD, *NVIDIA):
            columns[f"{chip}, Triton"] = measured(chip)
            columns[f"{chip}, fencewright.triton"] = measured(chip, installed=True)
            columns[f"{chip}, lowered"] = measured(chip, edited(chip, opt_level=2))
            if chip in AMD:
                columns[f"{chip}, with the fact"] = measured(chip, edited(chip, facts=(_FACT,)))
                columns[f"{chip}, compat=llvm"] = measured(chip, edited(chip, compat="llvm"))
    names = list(next(iter(columns.values())))
    rows = [(name, *(column[name] for column in columns.values())) for name in names]
    rows.append(("**sum**", *(f"**{_sum(column)}**" for column in columns.values())))
    note = (
        "Kernels of tests/data/triton/tutorial_kernels.py, all compiled by Triton 3.9 and its own "
        "LLVM: write-backs / invalidates / waits in the assembly, for sm_90 fences / ordered "
        "accesses in PTX. fencewright.triton gives a kernel back as it was in which nothing but "
        "waits would change (triton.md). Lowered: its LLVM IR edited by lower_llvm_ir, whatever "
        "that gains; with the fact cumulative-write-backs, releases within the work-group wait for "
        "no stores that a later write-back covers. One stays in stream_k, for a load past the "
        "caches in flight at the write-back; LLVM has none (differences-from-llvm.md), nor "
        "compat=llvm."
    )
    return [Result("Seven Triton kernels", ("kernel", *columns), tuple(rows), note)]


if __name__ == "__main__":
    print(results()[0].markdown())
