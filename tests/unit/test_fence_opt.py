"""fence-opt as a program: one line per error, whole output files or none, quick to start."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.universe import XDSL_UNIVERSE

from fencewright.tools import fence_opt
from fencewright.tools.diagnostics import TRACEBACK_VARIABLE
from fencewright.universe import PASSES, UNIVERSE

GOOD = "func.func @f() {\n  func.return\n}\n"
BAD = "func.func @f() {\n  a.b\n}\n"
PROGRAM = [sys.executable, "-m", "fencewright.tools.fence_opt"]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    return path


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (b"", "", "the input is empty"),
        (b" \n", "", "the input is empty"),
        (b"// fine\nfunc.func \xff", ":2:11", "not UTF-8 text: byte 0xff; save it as UTF-8"),
        (b"func.func @f() {", ":1:17", ""),
        (b"a.b", ":1:1", "operation 'a.b' is not registered"),
        (b"\n  %0 = arith.constant 1 : i99999999999", ":2:27", "type expected"),
        (b'"func.return"() : () -> ()\x00', ":1:27", ""),
        (b"func.func @f() {\n  func.return %x : i32\n}", ":3:2", "values used but not defined"),
    ],
)
def test_bad_content_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    place: str,
    message: str,
) -> None:
    path = tmp_path / "x.mlir"
    path.write_bytes(content)
    assert fence_opt.main([str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"{path}{place}: error: {message}")
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_deep_nesting_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.mlir"
    path.write_text("builtin.module {\n" * 5000 + "}\n" * 5000)
    assert fence_opt.main([str(path)]) == 2
    assert capsys.readouterr().err == f"{path}: error: nested too deeply\n"


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_opt.main(["/proc/self/mem"]) == 2
    assert capsys.readouterr().err == "/proc/self/mem: error: Input/output error\n"


def test_usage_errors_have_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_opt.main(["--no-such-option"]) == 2
    assert "fence-opt: error: unrecognized arguments" in capsys.readouterr().err


def test_failure_leaves_the_output_as_it_was(tmp_path: Path, bad: Path) -> None:
    output = tmp_path / "out.mlir"
    assert fence_opt.main([str(bad), "-o", str(output)]) == 2
    assert not output.exists()
    output.write_text("before")
    assert fence_opt.main([str(bad), "-o", str(output)]) == 2
    assert output.read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.mlir", "out.mlir"}


def test_output_keeps_mode_and_link(tmp_path: Path, good: Path) -> None:
    real, link = tmp_path / "real.mlir", tmp_path / "link.mlir"
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real)
    assert fence_opt.main([str(good), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert "func.func @f" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert fence_opt.main([str(good), "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


def test_output_is_never_the_input(good: Path) -> None:
    before = good.read_text()
    assert fence_opt.main([str(good), "-o", str(good)]) == 2
    assert good.read_text() == before


@pytest.mark.parametrize(
    ("flags", "status"), [([], 3), (["--verify-lowering"], 3), (["--verify-low"], 3)]
)
def test_interrupt(
    good: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    status: int,
) -> None:
    def interrupted(self: object, text: str, line_offset: int) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(fence_opt.FenceOptMain, "_process", interrupted)
    output = good.with_name("out.mlir")
    assert fence_opt.main([str(good), "-o", str(output), *flags]) == status
    assert capsys.readouterr().err == "fence-opt: error: interrupted\n"
    assert list(good.parent.iterdir()) == [good]


@pytest.mark.parametrize(
    ("tracer", "printed"), [("None", "out\n"), ("lambda *_: None", "out\nlate\n")]
)
def test_a_command_leaves_without_tidying_up_unless_it_is_traced(tracer: str, printed: str) -> None:
    script = (
        "import atexit, sys; from fencewright.tools.diagnostics import leave; "
        "atexit.register(print, 'late'); print('out'); "
        f"sys.settrace({tracer}); leave(3)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, printed)


def test_our_own_bug_is_one_line_and_can_be_traced(
    good: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, text: str, line_offset: int) -> str:
        raise TypeError("broken on purpose")

    monkeypatch.setattr(fence_opt.FenceOptMain, "_process", broken)
    assert fence_opt.main([str(good)]) == 3
    error = capsys.readouterr().err
    assert error.startswith("fence-opt: error: internal error, please report it")
    assert error.endswith("TypeError: broken on purpose\n")
    assert error.count("\n") == 1
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    assert fence_opt.main([str(good)]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_process_wide_switches_are_put_back(good: Path) -> None:
    before = Attribute.__post_init__
    assert fence_opt.main([str(good), "--disable-verify"]) == 0
    assert Attribute.__post_init__ is before


@pytest.mark.parametrize(("flags", "times"), [([], 2), (["--verify-each"], 3)])
def test_verification(
    good: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], times: int
) -> None:
    count = 0
    verify = fence_opt.verify

    def counted(module: Operation) -> None:
        nonlocal count
        count += 1
        verify(module)

    monkeypatch.setattr(fence_opt, "verify", counted)
    assert fence_opt.main([str(good), "-p", "cse,canonicalize", *flags]) == 0
    assert count == times


def test_invalid_ir_from_a_pass_is_caught(
    good: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

    def drop_terminators(self: object, ctx: object, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name == "func.return":
                inner.detach()
                inner.erase()

    monkeypatch.setattr(CommonSubexpressionElimination, "apply", drop_terminators)
    assert fence_opt.main([str(good), "-p", "cse"]) == 2
    assert "contains empty block" in capsys.readouterr().err


def test_start_up_loads_only_what_it_uses(good: Path) -> None:
    script = (
        "import sys; from fencewright.tools.fence_opt import main; "
        f"status = main([{str(good)!r}]); "
        "heavy = {'llvmlite', 'numpy', 'rich', 'fencewright.mlir_dialects.scoped', "
        "'fencewright.lowering.cdna.chips', 'fencewright.passes.pipelines'}; "
        "print(heavy & sys.modules.keys(), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "set()\n")


def test_llvm_ir_for_cdna_loads_no_dialect_that_it_has_nothing_of(tmp_path: Path) -> None:
    """Each of them is a twentieth of a short run."""
    source = tmp_path / "x.ll"
    source.write_text(
        "define amdgpu_kernel void @k(ptr addrspace(1) %p) {\n"
        '  %v = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("agent") acq_rel, align 4\n'
        '  fence syncscope("agent") release\n  ret void\n}\n'
    )
    script = (
        "import sys; from fencewright.tools.fence_opt import main; "
        f"status = main([{str(source)!r}, '--mcpu', 'gfx942', '-t', 'llvm', '-o', '/dev/null']); "
        "dialects = {f'xdsl.dialects.{name}' for name in ('arith', 'cf', 'gpu', 'memref')}; "
        "ours = {'fencewright.mlir_dialects.scoped_async', 'fencewright.lowering.ptx.code.statements'}; "
        "print(sorted((dialects | ours) & sys.modules.keys()), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


_FOREIGN = ("arith", "cf", "gpu", "math", "memref", "vector")
_SCOPED = """func.func @k(%p: !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
  func.return
}
"""
_NVIDIA = """define ptx_kernel void @k(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  ret void
}
"""
_LITMUS = "fencewright.passes.litmus.outlining"
_ASYNC = "fencewright.mlir_dialects.scoped_async"
_PROXIES = "fencewright.passes.proxies.dataflow"
_INLINE_PTX = "fencewright.mlir_dialects.llvm_ir.inline_ptx"


def _imported(
    source: Path, text: str, chip: str, output: str, unneeded: Iterable[str]
) -> tuple[int, str]:
    """The exit status of fence-opt, and which of the ``unneeded`` modules it has imported."""
    source.write_text(text)
    script = (
        "import sys; from fencewright.tools.fence_opt import main; "
        f"status = main([{str(source)!r}, '--mcpu', {chip!r}, '-t', {output!r}, '-o', '/dev/null']); "
        f"print(sorted(set({tuple(unneeded)!r}) & sys.modules.keys())); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("chip", ["gfx942", "gfx1250", "sm_90"])
def test_a_kernel_loads_no_dialect_that_it_has_nothing_of(chip: str, tmp_path: Path) -> None:
    unneeded = [*(f"xdsl.dialects.{name}" for name in _FOREIGN), _LITMUS, _PROXIES, _ASYNC]
    if chip.startswith("gfx"):
        unneeded.append("fencewright.mlir_dialects.ptx")
    assert _imported(tmp_path / "x.mlir", _SCOPED, chip, "asm", unneeded) == (0, "[]\n")


def test_what_a_kernel_has_is_loaded(tmp_path: Path) -> None:
    """What the others do not load can be seen."""
    with_constant = _SCOPED.replace("  func.return", "  %c = arith.constant 1 : i32\n  func.return")
    expected = (0, "['xdsl.dialects.arith']\n")
    unneeded = [f"xdsl.dialects.{name}" for name in ("arith", "math", "vector")]
    assert _imported(tmp_path / "x.mlir", with_constant, "gfx942", "asm", unneeded) == expected
    with_fence = _SCOPED.replace("  func.return", "  scoped.wgmma_fence\n  func.return")
    expected = (0, f"[{_ASYNC!r}]\n")
    assert _imported(tmp_path / "x.mlir", with_fence, "sm_90a", "asm", [_ASYNC]) == expected


def test_a_version_is_told_without_the_program() -> None:
    script = (
        "import sys; from fencewright.tools.programs import fence_opt; "
        "sys.argv = ['fence-opt', '--version']; status = fence_opt(); "
        "print('xdsl' in sys.modules, file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "False\n")
    assert done.stdout.startswith("Fencewright ")


def test_llvm_ir_for_ptx_loads_no_grammar_of_inline_ptx(tmp_path: Path) -> None:
    unneeded = [
        *(f"xdsl.dialects.{name}" for name in _FOREIGN),
        _INLINE_PTX,
        "fencewright.mlir_dialects.scoped_async",
    ]
    assert _imported(tmp_path / "x.ll", _NVIDIA, "sm_90", "llvm", unneeded) == (0, "[]\n")


def test_universe_names_are_what_they_name() -> None:
    assert {name: make().name for name, make in UNIVERSE.all_dialects.items()} == {
        name: name for name in UNIVERSE.all_dialects
    }
    for factories in (UNIVERSE.all_passes, UNIVERSE.all_targets):
        assert {name: make().name for name, make in factories.items()} == {
            name: name for name in factories
        }


def test_universe_takes_no_name_of_xdsl() -> None:
    ours, theirs = UNIVERSE, XDSL_UNIVERSE
    assert not ours.all_dialects.keys() & theirs.all_dialects.keys()
    assert not ours.all_passes.keys() & theirs.all_passes.keys()
    assert not ours.all_targets.keys() & theirs.all_targets.keys()


def test_xdsl_opt_sees_the_plugin(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text("scoped.fence release agent\n")
    xdsl_opt = Path(sys.executable).with_name("xdsl-opt")
    done = subprocess.run([xdsl_opt, path], capture_output=True, text=True, check=False)
    assert "scoped.fence release agent" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("passes", "said"),
    [
        ("insert-waits{x=1}", "pass 'insert-waits': Provided arguments [\"x\"] not found"),
        (
            "convert-scoped-to-cdna",
            "pass 'convert-scoped-to-cdna': convert-scoped-to-cdna requires argument \"mcpu\"",
        ),
        (
            "lower-scoped-llvm-ir{mcpu=gfx1}",
            "pass 'lower-scoped-llvm-ir': target gfx1: unknown target; accepted: gfx908",
        ),
        ("cdna-pipeline{mcpu=gfx942 facts=x}", "pass 'cdna-pipeline': fact 'x': unknown fact"),
    ],
)
def test_xdsl_opt_says_in_one_line_what_is_wrong_with_an_option(
    passes: str, said: str, good: Path
) -> None:
    xdsl_opt = Path(sys.executable).with_name("xdsl-opt")
    command = [xdsl_opt, good, "-p", passes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"xdsl-opt: error: {said}")
    assert done.stderr.count("\n") == 1


def test_xdsl_opt_shows_the_traceback_of_a_wrong_option(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    command = [Path(sys.executable).with_name("xdsl-opt"), good, "-p", "insert-waits{x=1}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("Traceback")


def test_a_failure_of_our_own_keeps_its_traceback_in_xdsl_opt(good: Path) -> None:
    script = (
        "import fencewright.passes.cdna.waits.insert_waits as broken\n"
        "def fail(*_): raise ValueError('a bug')\n"
        "broken.InsertWaitsPass.apply = fail\n"
        "from xdsl.tools.xdsl_opt import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script, str(good), "-p", "insert-waits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")


def test_every_pass_calls_the_chip_mcpu() -> None:
    options = {field.name for make in PASSES.values() for field in fields(make())}
    assert "mcpu" in options
    assert not options & {"target", "chip", "cpu", "arch"}


def test_help_has_a_line_for_each_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_opt.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "xdsl-opt with the passes of Fencewright" in text
    before, heading, after = text.partition("\npasses:\n")
    assert heading
    assert "canonicalize" not in before
    ours, _, xdsls = after.partition("\npasses of xDSL: ")
    assert "canonicalize," in xdsls.split()
    lines = ours.splitlines()
    named = [line.partition(":") for line in lines if line.startswith("  ") and line[2] != " "]
    assert [name.strip() for name, _, _ in named] == [*PASSES]
    for name, _, text in named:
        assert text.strip(), name
        assert text.split()[0] not in ("What", "Which", "Whether", "Where"), name
