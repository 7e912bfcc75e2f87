"""Remarks: that they are true of what the passes did, that the facts they name help, that tools read them."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from work_count import growth
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass, PassPipeline

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.costs import cost_of
from fencewright.mlir_dialects import cdna, ptx
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.pipelines import CDNAPipeline, LLVMIRPipeline, Pipeline, PTXPipeline
from fencewright.tools import fence_opt
from fencewright.tools.inputs.located_parser import LocatedParser
from fencewright.tools.llvm_tools import find_llvm_tool
from fencewright.tools.remarks import observer as remark_observer
from fencewright.tools.remarks.observer import Observer, lowered_for
from fencewright.tools.remarks.reasons.every_pass import LOWERINGS, REASONS
from fencewright.tools.remarks.remarks import (
    Reason,
    Remark,
    RemarkArgument,
    RemarkKind,
)
from fencewright.tools.remarks.search import Judgement, Lines
from fencewright.tools.reports.remark_writer import diagnostic, to_yaml
from fencewright.universe import UNIVERSE

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "kernels-cdna" / "kernels.mlir"
KERNELS_LLVM = KERNELS.with_suffix(".ll")
REMARKUTIL = find_llvm_tool("llvm-remarkutil")

SILENT = {
    "outline-litmus-threads": "moves functions about",
    "insert-proxy-fences": "adds what async operations need, and takes nothing away",
    "allocate-registers": "touches no synchronisation",
    "relax-elements": "changes the text of inline PTX, and adds the fences that it then takes",
    "escape-noalias": "adds what LLVM has to know, and takes nothing away",
    "show-waits": "writes waits in LLVM's words, and takes none away",
}
"""Passes of the pipelines that are not remarked on, and why not."""


def parse(text: str) -> ModuleOp:
    context = Context()
    for name, factory in UNIVERSE.all_dialects.items():
        context.register_dialect(name, factory)
    from xdsl.dialects import get_all_dialects

    for name, factory in get_all_dialects().items():
        if name not in context.registered_dialect_names:
            context.register_dialect(name, factory)
    return LocatedParser(context, text, "x.mlir").parse_module()


def observed(text: str, pipeline: Pipeline) -> tuple[list[Remark], ModuleOp]:
    """The remarks on a module, and what the pipeline made of it."""
    module = parse(text)
    passes = pipeline.passes()
    remarks: list[Remark] = []
    observer = Observer(remarks, lowered_for(passes))
    PassPipeline(passes, observer.between).apply(Context(), module)
    return remarks, module


def kernel(*lines: str, arguments: str = "%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32") -> str:
    """A kernel whose first operation is on line 2."""
    return "\n".join([f"func.func @k({arguments}) {{", *lines, "  func.return", "}", ""])


STORE = "  scoped.store weak %v, %d : i32, !llvm.ptr<1>"
RELEASE = "  scoped.fence release agent"
FLAG = "  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>"

BACK = CDNAPipeline("gfx942", stores="back")


def named(remarks: list[Remark], name: str) -> list[Remark]:
    return [each for each in remarks if each.name == name]


def caches(module: ModuleOp, opcode: str) -> dict[str, int]:
    """How many of one cache instruction each kernel has."""
    found = Counter[str]()
    for each in top_level(module):
        if isinstance(each, cdna.KernelOp):
            found[each.sym_name.data] += sum(
                isinstance(op, cdna.CacheOp) and op.opcode.data == opcode for op in each.walk()
            )
    return dict(found)


# What is said is what was done


def test_remarks_change_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for target in ("gfx942", "sm_90"):
        outputs: list[str] = []
        for flags in ((), ("--remarks", "--remarks-output", str(tmp_path / "r.yaml"))):
            assert fence_opt.main([*flags, str(KERNELS), "--mcpu", target, "-t", "asm"]) == 0
            captured = capsys.readouterr()
            outputs.append(captured.out)
            assert bool(captured.err) == bool(flags)
        assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("opcode", "dropped", "kept"),
    [
        ("buffer_wbl2", "WriteBackDropped", "WriteBackKept"),
        ("buffer_inv", "InvalidateDropped", "InvalidateKept"),
    ],
)
def test_every_cache_instruction_is_accounted_for(opcode: str, dropped: str, kept: str) -> None:
    text = KERNELS.read_text(encoding="utf-8")
    _, lowered = observed(text, CDNAPipeline("gfx942", opt_level=0))
    without = caches(lowered, opcode)
    remarks, module = observed(text, BACK)
    left = caches(module, opcode)
    assert sum(left.values()) == 8
    gone = Counter(each.function for each in named(remarks, dropped))
    stay = Counter(each.function for each in named(remarks, kept))
    merged = Counter(each.function for each in named(remarks, "FenceMerged"))
    for function, count in left.items():
        assert stay[function] == count
        assert gone[function] + stay[function] + merged[function] >= without[function]
        assert gone[function] + stay[function] <= without[function]


def test_an_observer_tells_only_what_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reasons say: what was removed, and what was not, it has seen for itself."""

    def liar(module: ModuleOp, following: ModulePass) -> Reason:
        return lambda finding: ("a lie about ", finding.before.text)

    lies = REASONS["drop-write-backs"]._replace(prepare=liar)
    monkeypatch.setattr(remark_observer, "REASONS", {**REASONS, "drop-write-backs": lies})
    remarks, module = observed(kernel(STORE, RELEASE, FLAG, RELEASE, FLAG), BACK)
    assert caches(module, "buffer_wbl2") == {"k": 1}
    about = "a lie about buffer_wbl2 sc1"
    dropped = [r.place for r in named(remarks, "WriteBackDropped") if about in r.message]
    kept = [r.place for r in named(remarks, "WriteBackKept") if about in r.message]
    assert (dropped, kept) == ([SourceLocation("x.mlir", 5, 3)], [SourceLocation("x.mlir", 3, 3)])


@pytest.mark.parametrize("flags", [{"l2_per_agent": "one"}, {"facts": ("uncached-memory",)}])
def test_the_facts_that_a_remark_names_help(flags: dict[str, object]) -> None:
    text = KERNELS.read_text(encoding="utf-8")
    remarks, _ = observed(text, BACK)
    hint = {"l2_per_agent": "--l2-per-agent one", "facts": "--assume uncached-memory"}
    kept = named(remarks, "WriteBackKept")
    assert kept
    assert all(hint[name] in each.message for name in flags for each in kept)
    _, module = observed(text, CDNAPipeline("gfx942", stores="back", **flags))  # pyright: ignore[reportArgumentType]  (one of the two)
    assert sum(caches(module, "buffer_wbl2").values()) == 0


def test_no_fact_is_named_that_cannot_hold_or_does_hold() -> None:
    fence = "  scoped.fence release workgroup"
    text = kernel(STORE, fence, FLAG)
    remarks, _ = observed(text, BACK)
    assert "--assume single-wave-workgroup" in named(remarks, "ScopeKept")[0].message
    large = text.replace(") {", ") attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {", 1)
    assert not named(observed(large, BACK)[0], "ScopeKept")
    small = large.replace("256", "64")
    clamped = named(observed(small, BACK)[0], "ScopeClamped")
    assert "no work-group has more than one wavefront" in clamped[0].message


def test_machine_code_in_a_thread_is_left_as_it_is_written() -> None:
    thread = """litmus.test @t {
  litmus.thread @P0 {
    cdna.cache buffer_wbl2 {modifiers = ["sc1"]}
    cdna.end s_endpgm
  }
}
"""
    uncached = CDNAPipeline("gfx942", facts=("uncached-memory",), stores="back")
    remarks, module = observed(kernel(STORE, RELEASE, FLAG) + thread, uncached)
    assert len(named(remarks, "CacheClamped")) == 1
    assert sum(isinstance(op, cdna.CacheOp) for op in module.walk()) == 1


def test_the_store_that_is_blamed_is_the_one() -> None:
    lines = [STORE, "  %l = scoped.load weak %d : !llvm.ptr<1> -> i32", RELEASE, FLAG]
    (kept,) = named(observed(kernel(*lines), BACK)[0], "WriteBackKept")
    assert (kept.place, kept.function) == (SourceLocation("x.mlir", 4, 3), "k")
    blamed = [each.place for each in kept.arguments if each.place is not None]
    assert blamed == [SourceLocation("x.mlir", 2, 3)]
    remarks, module = observed(kernel(*lines[1:]), BACK)
    assert not named(remarks, "WriteBackKept")
    assert len(named(remarks, "WriteBackDropped")) == 1
    assert caches(module, "buffer_wbl2") == {"k": 0}


def test_the_load_that_is_blamed_is_the_one() -> None:
    acquire = "  %a = scoped.load acquire agent %f : !llvm.ptr<1> -> i32"
    load = "  %l = scoped.load weak %d : !llvm.ptr<1> -> i32"
    (kept,) = named(observed(kernel(acquire, load), BACK)[0], "InvalidateKept")
    assert [each.place for each in kept.arguments if each.place] == [SourceLocation("x.mlir", 3, 3)]
    remarks, module = observed(kernel(acquire), BACK)
    assert len(named(remarks, "InvalidateDropped")) == 1
    assert caches(module, "buffer_inv") == {"k": 0}


def test_bits_of_a_load_are_named_where_the_chip_has_them() -> None:
    acquire = "  %a = scoped.load acquire {} %f : !llvm.ptr<1> -> i32"
    load = "  %l = scoped.load weak %d : !llvm.ptr<1> -> i32"
    store = "  scoped.store weak %l, %f : i32, !llvm.ptr<1>"
    named_bits: dict[tuple[str, str], bool] = {}
    for chip in ("gfx90a", "gfx942"):
        for scope in ("agent", "system"):
            text = kernel(acquire.format(scope), load, store)
            remarks, _ = observed(text, CDNAPipeline(chip, stores="back"))
            kept = [
                r for r in named(remarks, "InvalidateKept") if "may find a stale line" in r.message
            ]
            for each in kept:
                opcode = each.message.split("'")[1]
                named_bits[opcode, scope] = "scope bits of their own" in each.message
    # No load of gfx90a bypasses the L2 where other agents write.
    assert named_bits == {
        ("buffer_wbinvl1_vol", "agent"): True,
        ("buffer_wbinvl1_vol", "system"): True,
        ("buffer_invl2", "system"): False,
        ("buffer_inv sc1", "agent"): True,
        ("buffer_inv sc0 sc1", "system"): True,
    }


def test_no_fact_is_named_that_needs_a_whole_kernel_where_there_is_none() -> None:
    fence = "  scoped.fence release workgroup"
    copy = "  scoped.async_wait_group 0"
    assert named(observed(kernel(STORE, fence, FLAG), PTXPipeline("sm_90"))[0], "ScopeKept") == []
    barrier = "  scoped.barrier workgroup"
    alone, _ = observed(kernel(STORE, barrier), PTXPipeline("sm_90"))
    assert len(named(alone, "ScopeKept")) == 1
    beside, _ = observed(kernel(STORE, copy, barrier), PTXPipeline("sm_90"))
    assert named(beside, "ScopeKept") == []


def test_the_fence_that_does_the_work_is_named() -> None:
    remarks, _ = observed(kernel(STORE, RELEASE, RELEASE, FLAG), BACK)
    (merged,) = named(remarks, "FenceMerged")
    assert merged.place == SourceLocation("x.mlir", 4, 3)
    assert merged.message.startswith(
        "'fence release agent' removed: 'fence release agent' at line 3 does its work; saves "
    )
    remarks, _ = observed(kernel(STORE, RELEASE, FLAG, RELEASE, FLAG), BACK)
    assert not named(remarks, "FenceMerged")
    (kept,) = named(remarks, "FenceKept")
    assert "'store relaxed agent' at line 4 stands between it and" in kept.message


def test_half_a_fence() -> None:
    read = "  %a = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32"
    lines = (read, "  scoped.fence acquire agent", STORE, "  scoped.fence acq_rel agent", FLAG)
    (halved,) = named(observed(kernel(*lines), BACK)[0], "FenceHalved")
    assert halved.place == SourceLocation("x.mlir", 5, 3)
    assert halved.message.startswith(
        "'fence acq_rel agent' changed to 'fence release agent': "
        "'fence acquire agent' at line 3 does its work; saves 26 (estimated)"
    )


# PTX


def test_why_a_reduction_is_one_or_none() -> None:
    rmw = "  %o = scoped.atomic_rmw add release agent %f, %v : !llvm.ptr<1>, i32"
    pipeline = PTXPipeline("sm_90")
    (made,) = named(observed(kernel(STORE, rmw), pipeline)[0], "Reduction")
    assert "'red.release.gpu.global.add.u32'" in made.message
    fence = "  scoped.fence acquire agent"
    load = "  %l = scoped.load weak %d : !llvm.ptr<1> -> i32"
    (missed,) = named(observed(kernel(STORE, rmw, fence, load), pipeline)[0], "CheaperFormMissed")
    assert "'fence acquire agent' at line 4 may acquire by what it reads" in missed.message


def test_what_the_lowering_remarks_is_remarked() -> None:
    fence = "  scoped.fence release wavefront"
    remarks, _ = observed(kernel(STORE, fence, FLAG), PTXPipeline("sm_90", opt_level=0))
    (wider,) = named(remarks, "LoweredWider")
    assert "PTX has no wavefront scope: widened to .cta" in wider.message
    assert wider.place == SourceLocation("x.mlir", 3, 3)


# Prices


def test_a_price_is_that_of_the_rows() -> None:
    remarks, _ = observed(kernel(STORE, RELEASE, FLAG), BACK)
    (kept,) = named(remarks, "WriteBackKept")
    amount = cost_of("gfx942", "buffer_wbl2 sc1").amount
    assert kept.message.endswith(f"; costs {amount} (estimated)")
    remarks, _ = observed(kernel(RELEASE, FLAG), PTXPipeline("sm_90a", opt_level=0))
    fence, flag = named(remarks, "Lowered")
    assert fence.message == "'fence release agent' becomes 'fence.release.gpu'; costs 263 cycles"
    assert flag.message.endswith("; costs 8 (estimated)")


def test_the_price_of_a_function_before_and_after() -> None:
    remarks, _ = observed(kernel(STORE, RELEASE, RELEASE, FLAG), BACK)
    (total,) = named(remarks, "FunctionCost")
    prices = {each.key: each.value for each in total.arguments}
    # Store, write-back and wait, flag; a release fence more as it was written.
    assert prices["Cost"] == str(1 + 96 + 8 + 2)
    assert prices["AsWritten"] == str(1 + 2 * (96 + 8) + 2)
    assert total.place == SourceLocation("x.mlir", 1, 1)


def test_without_a_target_nothing_has_a_price() -> None:
    module = parse(kernel(STORE, RELEASE, RELEASE, FLAG))
    from fencewright.passes.scoped.merge_fences import MergeFencesPass

    remarks: list[Remark] = []
    passes = (MergeFencesPass(),)
    observer = Observer(remarks, lowered_for(passes))
    PassPipeline(passes, observer.between).apply(Context(), module)
    (merged,) = remarks
    assert merged.message.endswith("does its work")


def test_kernels_that_were_lowered_before_have_prices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for target, step in (("gfx942", "drop-write-backs"), ("sm_90a", "merge-ptx-fences")):
        path = tmp_path / f"{target}.mlir"
        path.write_text(kernel(STORE, "  scoped.fence seq_cst agent", RELEASE, FLAG))
        flags = ("-p", f"convert-scoped-to-{'cdna' if target == 'gfx942' else 'ptx'}")
        lowered = path.with_suffix(".lowered.mlir")
        assert fence_opt.main([str(path), *flags, "--mcpu", target, "-o", str(lowered)]) == 0
        capsys.readouterr()
        assert fence_opt.main([str(lowered), "-p", step, "--remarks"]) == 0
        err = capsys.readouterr().err
        assert f": {step}]" in err
        assert re.search(r"(saves|costs) \d+ (\(estimated\)|cycles)", err)


# Coverage


@pytest.mark.parametrize(
    "pipeline",
    [
        BACK,
        CDNAPipeline("gfx942", stores="through"),
        PTXPipeline("sm_90"),
        LLVMIRPipeline("gfx942"),
        LLVMIRPipeline("sm_90"),
    ],
    ids=str,
)
def test_every_pass_is_remarked_on_or_has_nothing_to_say(pipeline: Pipeline) -> None:
    names = {each.name for each in pipeline.passes()}
    assert names <= REASONS.keys() | LOWERINGS | SILENT.keys()


def test_every_pass_with_reasons_exists() -> None:
    assert REASONS.keys() | LOWERINGS <= UNIVERSE.all_passes.keys()


# Locations


def _located(op: Operation) -> int | None:
    return op.location.line.data if isinstance(op.location, FileLineColLoc) else None


@pytest.mark.parametrize(
    ("pipeline", "kinds"),
    [
        (CDNAPipeline("gfx942", opt_level=0), (cdna.CacheOp, cdna.StoreOp)),
        (PTXPipeline("sm_90", opt_level=0), (ptx.FenceOp, ptx.StoreOp)),
    ],
    ids=str,
)
def test_instructions_are_where_their_operation_was(
    pipeline: Pipeline, kinds: tuple[type[Operation], ...]
) -> None:
    _, module = observed(kernel(STORE, RELEASE, FLAG), pipeline)
    lines = [_located(op) for op in module.walk() if isinstance(op, kinds)]
    assert lines == [2, 3, 4]


def test_inline_assembly_is_where_its_operation_was(capsys: pytest.CaptureFixture[str]) -> None:
    for target, instruction in (("gfx942", "buffer_inv sc1"), ("sm_90", "st.release.gpu")):
        source = (
            KERNELS_LLVM if target == "gfx942" else ROOT / "tests/lit/passes/llvm_ir/lower-nvptx.ll"
        )
        assert fence_opt.main(["--remarks", str(source), "--mcpu", target, "-t", "llvm"]) == 0
        lowered = [
            line
            for line in capsys.readouterr().err.splitlines()
            if "lower-scoped-llvm-ir]" in line and "becomes" in line
        ]
        assert any(instruction.partition(".")[0] in line for line in lowered)
        assert all(re.match(r".*\.ll:\d+:\d+: remark: ", line) for line in lowered)


# Text and YAML

REMARK = Remark(
    RemarkKind.MISSED,
    "drop-write-backs",
    "WriteBackKept",
    "a 'k'",
    SourceLocation("dir/it's.mlir", 3, 5),
    (
        RemarkArgument("String", "kept: 'it'\nis"),
        RemarkArgument("By", "store: {x}", SourceLocation("y", 1, 2)),
    ),
)


def test_a_remark_is_one_line() -> None:
    line = str(diagnostic(REMARK, "-"))
    assert line == ("dir/it's.mlir:3:5: remark: kept: 'it' isstore: {x} [missed: drop-write-backs]")


def test_yaml_has_what_llvm_has() -> None:
    yaml = pytest.importorskip("yaml")

    # LLVM's tags mark kinds of mappings.
    text = re.sub(r"^--- !(\w+)$", r"---\nKind: \1", to_yaml([REMARK]), flags=re.MULTILINE)
    (found,) = yaml.safe_load_all(text)
    assert found == {
        "Kind": "Missed",
        "Pass": "drop-write-backs",
        "Name": "WriteBackKept",
        "DebugLoc": {"File": "dir/it's.mlir", "Line": 3, "Column": 5},
        "Function": "a 'k'",
        "Args": [
            {"String": "kept: 'it' is"},
            {"By": "store: {x}", "DebugLoc": {"File": "y", "Line": 1, "Column": 2}},
        ],
    }


@pytest.mark.skipif(REMARKUTIL is None, reason="llvm-remarkutil is not installed")
def test_llvm_reads_the_yaml(tmp_path: Path) -> None:
    assert REMARKUTIL is not None
    path = tmp_path / "remarks.yaml"
    arguments = [str(KERNELS), "--mcpu", "gfx942", "-o", str(tmp_path / "out"), "-t", "asm"]
    assert fence_opt.main(["--remarks-output", str(path), *arguments]) == 0
    bitstream = tmp_path / "remarks.bitstream"
    run(REMARKUTIL, "yaml2bitstream", path, "-o", bitstream)
    assert run(REMARKUTIL, "bitstream2yaml", bitstream).count("--- !") == path.read_text().count(
        "--- !"
    )
    count = run(
        REMARKUTIL, "count", "--parser=yaml", "--count-by=arg", "--args=AsWritten",
        "--group-by=function", path,
    )  # fmt: skip
    assert "two_release_fences,211" in count


def run(*command: str | Path) -> str:
    return subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True
    ).stdout


# The driver


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "x.mlir"
    path.write_text(kernel(STORE, RELEASE, RELEASE, FLAG), encoding="utf-8")
    return path


ASM = ("--mcpu", "gfx942", "-t", "asm")


def test_a_file_after_the_flag_is_the_input(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_opt.main(["--remarks", str(source), *ASM]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith(f"{source}:") and ": remark: " in line for line in lines)
    places = [tuple(map(int, line.split(":")[1:3])) for line in lines]
    assert places == sorted(places)
    assert len(places) > 4


def test_yaml_on_stderr_and_in_a_file(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "r.yaml"
    assert (
        fence_opt.main(["--remarks=yaml", "--remarks-output", str(output), str(source), *ASM]) == 0
    )
    assert capsys.readouterr().err == output.read_text()
    assert "--- !Passed\nPass:            'merge-fences'\n" in output.read_text()


def test_an_unknown_format_is_wrong_usage(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_opt.main(["--remarks=html", str(source), *ASM]) == 2
    assert "text, yaml" in capsys.readouterr().err.replace("'", "")


def test_remarks_are_written_though_the_input_has_errors(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text(f"{source.read_text()}// -----\na.b\n")
    assert fence_opt.main(["--remarks", "--split-input-file", str(source), *ASM]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert ": remark: " in lines[0]
    assert "error: operation 'a.b' is not registered" in lines[-1]


def test_an_expected_remark_that_is_not_made_is_an_error(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = source.read_text()
    right = "// expected-remark @+4 {{at line 4 does its work}}\n"
    for annotation, status in ((right, 0), (right.replace("line 4", "line 9"), 1)):
        source.write_text(annotation + text)
        flags = ("--remarks", "--verify-diagnostics")
        assert fence_opt.main([*flags, str(source), *ASM]) == status
        captured = capsys.readouterr()
        assert ("was not produced" in captured.err) == bool(status)
        assert ": remark: " not in captured.err


# Address spaces


GENERIC = "%d : !llvm.ptr, %f : !llvm.ptr, %v : i32"
GENERIC_STORE = "  scoped.store weak %v, %d : i32, !llvm.ptr"


def spaces(*lines: str) -> list[tuple[str, int | None, str]]:
    """The remarks on address spaces: name, line, and what follows the operation."""
    remarks, _ = observed(kernel(*lines, arguments=GENERIC), CDNAPipeline("gfx942"))
    found = [each for each in remarks if each.pass_name == "infer-address-spaces"]
    return [(r.name, r.place and r.place.line, r.message.partition("' ")[2]) for r in found]


def test_accesses_that_become_global_are_told_of() -> None:
    (found,) = spaces(GENERIC_STORE)
    assert found[:2] == ("AddressSpaceInferred", 2)
    assert found[2].startswith("changed from generic to global memory: its pointer comes of")
    assert spaces(RELEASE, GENERIC_STORE) == [(found[0], 3, found[2])]


def test_what_keeps_an_access_generic_is_named() -> None:
    """Without the operation that is named the access becomes global."""
    handed_on = "  scoped.store weak %d, %f : !llvm.ptr, !llvm.ptr"
    found = spaces(handed_on, GENERIC_STORE)
    assert [each[:2] for each in found] == [("AddressSpaceInferred", 2), ("AddressSpaceKept", 3)]
    assert "'store weak' at line 2 may hand it on" in found[1][2]
    made = "  %q = scoped.load weak %f : !llvm.ptr -> !llvm.ptr"
    through = "  scoped.store weak %v, %q : i32, !llvm.ptr"
    found = spaces(made, through)
    assert [each[:2] for each in found] == [("AddressSpaceInferred", 2), ("AddressSpaceKept", 3)]
    assert "'load weak' at line 2 makes it" in found[1][2]


def test_other_passes_do_not_tell_of_plain_accesses() -> None:
    remarks, _ = observed(kernel(GENERIC_STORE, RELEASE, arguments=GENERIC), CDNAPipeline("gfx942"))
    about = {r.pass_name for r in remarks if r.message.startswith("'store weak'")}
    assert about == {"infer-address-spaces"}


WITHOUT_A_ROW = """target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, half %v) {{
{}
  ret void
}}
"""


def test_remarks_where_there_is_no_row_take_linear_work(tmp_path: Path) -> None:
    def remarks_on(count: int) -> Callable[[], object]:
        path = tmp_path / f"{count}.ll"
        update = (
            '  %r{} = atomicrmw fmax ptr addrspace(1) %p, half %v syncscope("agent") monotonic, '
            "align 2"
        )
        path.write_text(WITHOUT_A_ROW.format("\n".join(map(update.format, range(count)))))
        arguments = [str(path), "--mcpu", "gfx942", "--remarks-output", "/dev/null"]
        return lambda: fence_opt.main([*arguments, "-o", "/dev/null"])

    assert growth(remarks_on, 20) < 1.1


def test_what_is_far_away_is_searched_for_once():
    """Each thing is judged once, however many ask with the same judge."""
    size = 300
    block = Block()
    lines = Lines({block: range(size)})
    asked: list[int] = []

    def is_first_or_last(each: int) -> Judgement:
        asked.append(each)
        return Judgement.FOUND if each in (0, size - 1) else Judgement.ON

    for each in range(1, size - 1):
        assert lines.earlier(each, is_first_or_last) == 0
        assert lines.later(each, is_first_or_last) == size - 1
    assert len(asked) == size
    assert lines.earlier(0, is_first_or_last) is None
