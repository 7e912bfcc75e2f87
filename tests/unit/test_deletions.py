"""Whatever is deleted of our own output of the eighteen kernels is noticed."""

from pathlib import Path

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Level
from fencewright.checker.verdicts.amd.judge import judged
from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.tools import fence_opt
from fencewright.tools.dev.campaigns import deletions
from fencewright.tools.dev.campaigns.deletions import Deleted, Noticed

ROOT = Path(__file__).parents[2]


def lowered(path: Path) -> Assembly:
    kernels = ROOT / "examples/kernels-cdna/kernels.mlir"
    assert (
        fence_opt.main(["--mcpu", "gfx942", "-O2", "-t", "asm", "-o", str(path), str(kernels)]) == 0
    )
    return read_assembly(path.read_text())


def test_every_deletion_is_noticed(tmp_path: Path) -> None:
    assembly = lowered(tmp_path / "k.s")
    total, missed = deletions.counts(assembly)
    assert missed == []
    kinds = {kind for kind, _ in total}
    assert {kind: sum(total[kind, how] for how in Noticed) for kind in kinds} == {
        Deleted.WAIT: 53,
        Deleted.BIT: 19,
        Deleted.WRITE_BACK: 8,
        Deleted.INVALIDATE: 8,
    }
    page = (ROOT / "docs/checker-measured.md").read_text()
    assert deletions.printed(total) in page
    found = [
        each
        for one in assembly.functions.values()
        for each in judged(check(assembly, one)).findings
        if each.level is not Level.NOTE
    ]
    assert found == []
