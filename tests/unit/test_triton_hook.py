"""fencewright.triton in the Triton at hand, compiling for chips that nobody needs to have.

With FENCEWRIGHT_THOROUGH every kernel is compiled for every chip. ``make tritons`` runs this file with
the oldest Triton, which keeps its cache otherwise.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from in_process import in_fork
from scripts import load_script

from fencewright import triton as hook
from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Rule
from fencewright.compiled import findings_in
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.passes import pipelines
from fencewright.tools import fence_check

pytest.importorskip("triton", reason="needs triton (make oracles)")

DATA = Path(__file__).parents[1] / "data" / "triton"
THOROUGH = bool(os.environ.get("FENCEWRIGHT_THOROUGH"))
CHIPS = ("gfx942", "gfx950", "sm_80", "sm_90") if THOROUGH else ("gfx942", "sm_90")
UNCACHED = "uncached-memory"
SYNCHRONISING = ("layer_norm_backward", "look_back", "softmax_in_one_grid")
UNORDERED = "unordered-elements"

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Triton's cache, empty."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def nothing_left_installed() -> Iterator[None]:
    yield
    assert knobs().runtime.add_stages_inspection_hook is None
    assert knobs().compilation.listener is None
    assert "dir" not in vars(knobs().cache)


def knobs() -> Any:
    return import_module("triton.knobs")


@pytest.fixture(scope="module")
def kernels() -> Any:
    return load_script(DATA / "tutorial_kernels.py")


def text_of(compiled: Any) -> tuple[str, str]:
    """The LLVM IR and the assembly of a compiled kernel."""
    return compiled.asm["llir"], compiled.asm.get("amdgcn") or compiled.asm["ptx"]


# What becomes of kernels


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", SYNCHRONISING if not THOROUGH else (
    "softmax", "matmul", "layer_norm", "attention", "split_k", "stream_k", *SYNCHRONISING, "histogram",
))  # fmt: skip
def test_a_kernel_off_checked_and_lowered(kernels: Any, name: str, chip: str) -> None:
    off = kernels.compiled(name, chip)
    with hook.enabled("check") as checks:
        checked = kernels.compiled(name, chip)
    with hook.enabled("lower", strict=True) as lowers:
        lowered = kernels.compiled(name, chip)
    (check,), (report,) = checks.reports, lowers.reports
    assert text_of(checked) == text_of(off)
    assert (check.kernel, check.changed, check.problem, check.cached) == (name, False, None, False)
    assert report.before == check.after
    assert report.changed == (text_of(lowered) != text_of(off))
    assert report.problem is None
    assert "hsaco" in lowered.asm or "cubin" in lowered.asm
    if chip.startswith("gfx"):
        caches = [each for each in report.before if each.startswith("buffer")]
        assert all(report.after.get(each, 0) <= report.before[each] for each in caches)
        gained = any(report.after.get(each, 0) < report.before[each] for each in caches)
        assert gained or report.after["s_waitcnt"] <= report.before["s_waitcnt"]
    else:
        assert not report.changed


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", SYNCHRONISING if THOROUGH else ["look_back"])
def test_fence_check_is_content(kernels: Any, name: str, chip: str, tmp_path: Path) -> None:
    with hook.enabled("lower", strict=True) as lowers:
        compiled = kernels.compiled(name, chip)
    file = tmp_path / "kernel.s"
    file.write_text(compiled.asm["amdgcn"])
    assert fence_check.main([str(file)]) == 0
    assert not [each for each in lowers.reports[0].findings() if ": error: " in each]


def test_a_launch_of_a_compiled_kernel_is_judged() -> None:
    """Triton knows the block and the shared memory, who launches it the grid and the arguments."""
    np = pytest.importorskip("numpy")
    atomics = load_script(DATA / "atomic_kernels.py")
    with hook.enabled("check") as checks:
        atomics.llvm_ir("sum_last_block", "sm_90")
    (report,) = checks.reports
    sums, values, ticket = np.zeros(8, np.int32), np.ones(1024, np.int32), np.zeros(1, np.int32)
    verdict = report.check(grid=3, args=(sums, values, ticket, 3))
    assert str(verdict).startswith("no race in this launch (3 blocks x 128 threads")
    relaxed = replace(report, assembly=report.assembly.replace(".acq_rel", ".relaxed"))
    verdict = relaxed.check(grid=3, args=(sums, values, ticket, 3))
    assert str(verdict).startswith("race in this launch")
    assert "atomic_kernels.py" in verdict.findings[0].text


def test_a_launch_of_a_kernel_for_amd_is_judged() -> None:
    np = pytest.importorskip("numpy")
    atomics = load_script(DATA / "atomic_kernels.py")
    with hook.enabled("check") as checks:
        atomics.llvm_ir("sum_last_block", "gfx942")
    (report,) = checks.reports
    sums, values, ticket = np.zeros(8, np.int32), np.ones(1024, np.int32), np.zeros(1, np.int32)
    verdict = report.check(grid=3, args=(sums, values, ticket, 3))
    assert str(verdict).startswith("no race in this launch (3 blocks x 256 threads"), str(verdict)
    lost = "\n".join(line for line in report.assembly.splitlines() if "buffer_wbl2" not in line)
    verdict = replace(report, assembly=f"{lost}\n").check(grid=3, args=(sums, values, ticket, 3))
    assert str(verdict).startswith("race in this launch"), str(verdict)
    assert "buffer_wbl2" in verdict.findings[0].text


class Tensor:
    """As much of a tensor as Triton and the hook ask for."""

    def __init__(self, values: Any, *, has_gaps: bool = False):
        self.values, self.has_gaps = values, has_gaps
        self.dtype = f"torch.{values.dtype}"

    def data_ptr(self) -> int:
        return int(self.values.ctypes.data) & ~15

    def is_contiguous(self) -> bool:
        return not self.has_gaps

    def view(self, dtype: Any) -> "Tensor":
        return Tensor(self.values.view(dtype))

    def numpy(self) -> Any:
        return self.values

    def _itself(self) -> "Tensor":
        return self

    detach = flatten = cpu = _itself


class Device:
    """A driver whose launches are only noted, with the arguments at their time."""

    def __init__(self) -> None:
        self.launched: list[tuple[Any, ...]] = []
        self.utils = self

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        def launch(x: int, y: int, z: int, stream: Any, function: Any, packed: Any, said: Any,
                   enter: Any, leave: Any, *arguments: Any) -> None:  # fmt: skip
            enter(said)
            self.launched.append((x, y, z))
            leave(said)

        return launch

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> Any:
        return import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": 1 << 17}

    def load_binary(self, *arguments: Any) -> tuple[int, ...]:
        return 0, 0, 0, 0, 1024


def test_launches_are_judged_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first launch of each kernel, with copies; what cannot be judged is launched all the same."""
    np = pytest.importorskip("numpy")
    package = sys.modules[Tensor.__module__.partition(".")[0]]
    monkeypatch.setattr(package, "uint8", np.uint8, raising=False)
    driver, device = import_module("triton.runtime").driver, Device()
    monkeypatch.setattr(driver, "_active", device)
    kernel = load_script(DATA / "atomic_kernels.py").sum_last_block
    sums, values, ticket = (Tensor(np.ones(size, np.int32)) for size in (8, 1025, 1))
    ticket.values[0] = 0
    with hook.enabled("check", launches=1) as checks:
        kernel[(3,)](sums, values, ticket, 3, BLOCK=256)
        kernel[(4,)](sums, values, ticket, 4, BLOCK=256)
        kernel[(1, 2)](sums, Tensor(values.values, has_gaps=True), ticket, 2, BLOCK=128)
    kernel[(3,)](sums, values, ticket, 3, BLOCK=256)
    assert device.launched == [(3, 1, 1), (4, 1, 1), (1, 2, 1), (3, 1, 1)]
    first, second = checks.launches
    assert (first.kernel, first.grid, first.problem) == ("sum_last_block", (3,), "")
    assert str(first).startswith("sum_last_block: no race in this launch (3 blocks x 128 threads")
    assert second.verdict is None
    assert "do not follow each other" in str(second)
    assert ticket.values[0] == 0
    assert kernel.launch_metadata is None
    assert not knobs().runtime.launch_enter_hook.calls


LEFT: dict[str, dict[Rule, int]] = {
    "split_k": {Rule.SURPLUS_WRITE_BACK: 1, Rule.SURPLUS_WAIT: 1},
    "stream_k": {},
    "layer_norm_backward": {Rule.SURPLUS_WAIT: 1},
    "look_back": {},
    "histogram": {},
    "softmax_in_one_grid": {Rule.SURPLUS_WAIT: 1},
}
"""What ``fence-check --surplus`` would take out of lowered kernels, barriers aside (docs/triton.md)."""


@pytest.mark.parametrize("stage", ["ptx", "amdgcn"])
def test_a_finding_names_the_line_of_the_kernel(stage: str) -> None:
    """The kernel's own line, not that of a helper that was inlined there."""
    found = [*findings_in(CODE[stage], "k", stage)]
    assert found
    place = r"/x/user\.py:[79]: \w+: .* \[[\w-]+\] \(k:\d+\)"
    assert all(re.fullmatch(place, each) for each in found), found


def test_code_without_lines_has_the_lines_of_the_assembly() -> None:
    (found,) = findings_in(CODE["amdgcn"].replace(".loc", ";"), "k", "amdgcn")
    assert found.startswith("k:6: error: ")


CODE = {
    "ptx": """\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
.reg .b32 %r<6>;
.shared .align 4 .b8 tile[256];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, tile;
add.u32 %r4, %r3, %r2;
.loc 1 7 3
st.shared.b32 [%r4], %r1;
.loc 2 90 3, function_name $L__info_string0, inlined_at 1 9 4
ld.shared.b32 %r5, [tile];
ret;
}
.file 1 "/x/user.py"
.file 2 "/triton/standard.py"
""",
    "amdgcn": """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.file 1 "/x" "user.py"
k:
.loc 1 7 3
s_load_dword s0, s[4:5], 0x0
s_add_u32 s1, s0, 1
s_endpgm
""",
}


@pytest.mark.parametrize("name", LEFT if THOROUGH else ["split_k", "softmax_in_one_grid"])
def test_what_is_left_that_can_go_is_known(kernels: Any, name: str) -> None:
    with hook.enabled("lower", strict=True):
        compiled = kernels.compiled(name, "gfx942")
    assembly = read_assembly(compiled.asm["amdgcn"])
    found = Counter(
        each.rule
        for function in assembly.functions.values()
        for each in check(assembly, function).surplus()
    )
    assert found == LEFT[name]


def test_every_line_of_an_assembly_text_is_counted(kernels: Any) -> None:
    """LLVM indents the first one alone."""
    with hook.enabled("lower", facts=(UNCACHED,)) as lowers:
        compiled = kernels.compiled("layer_norm_backward", "gfx942")
    report = lowers.reports[0]
    for name, count in report.after.items():
        assert count == len(re.findall(rf"^\s*{name}\b", compiled.asm["amdgcn"], re.MULTILINE))
    assert report.changed
    assert report.after["buffer_inv"] <= report.before["buffer_inv"]
    assert "buffer_wbl2" not in report.after


def test_a_kernel_that_gains_nothing_is_triton_s_own(kernels: Any) -> None:
    with hook.enabled("lower", strict=True) as lowers:
        lowered = kernels.compiled("look_back", "gfx942")
    assert not lowers.reports[0].changed
    assert lowers.reports[0].seconds > 0
    assert lowered.asm["amdgcn"] == kernels.compiled("look_back", "gfx942").asm["amdgcn"]


def test_elements_without_an_order(kernels: Any) -> None:
    with hook.enabled("lower", facts=(UNORDERED,), strict=True) as lowers:
        compiled = kernels.compiled("split_k", "sm_80")
    report = lowers.reports[0]
    assert "cubin" in compiled.asm
    assert report.difference["atom acq_rel agent"] == (32, 0)
    assert report.findings() == []
    assert report.parameters[:2] == kernels.split_k.arg_names[:2]


def test_nothing_to_gain_is_told_without_reading(
    kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: object, **__: object) -> str:
        raise AssertionError("was read")

    monkeypatch.setattr(pipelines, "lower_llvm_ir", no)
    with hook.enabled("lower", strict=True) as lowers:
        for chip in ("gfx942", "sm_90"):
            kernels.compiled("histogram", chip)
    assert [each.changed for each in lowers.reports] == [False, False]


# What cannot be lowered


def refused(*_: object, **__: object) -> str:
    raise ValueError("no\nsuch thing")


def test_a_kernel_that_is_not_lowered_is_compiled_as_it_was(
    kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = text_of(kernels.compiled("look_back", "gfx942"))
    monkeypatch.setattr(pipelines, "lower_llvm_ir", refused)
    with (
        hook.enabled("lower") as lowers,
        pytest.warns(UserWarning, match="look_back was not lowered: no such thing"),
    ):
        assert text_of(kernels.compiled("look_back", "gfx942")) == off
    report = lowers.reports[0]
    assert (report.problem, report.changed) == ("no such thing", False)
    assert str(report) == "look_back (gfx942): compiled as it was: no such thing"


def test_strict(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "lower_llvm_ir", refused)
    with (
        hook.enabled("lower", strict=True),
        pytest.raises(hook.NotLoweredError, match="look_back for gfx942: no"),
    ):
        kernels.compiled("look_back", "gfx942")


def test_a_fact_that_the_chip_has_no_use_for_is_a_problem(kernels: Any) -> None:
    with (
        hook.enabled("lower", facts=(UNORDERED,)) as lowers,
        pytest.warns(UserWarning, match="was not lowered"),
    ):
        kernels.compiled("look_back", "gfx942")
    assert "gfx942 has no use for it" in str(lowers.reports[0].problem)


# The caches


def reported(kernels: Any, mode: hook.Mode, **options: Any) -> hook.Report:
    """The one report of one compilation."""
    with hook.enabled(mode, **options) as entered:
        kernels.compiled("layer_norm_backward", "gfx942")
    (report,) = entered.reports
    return report


def test_kernels_of_other_options_are_others(kernels: Any, own_cache: Path) -> None:
    """Each is compiled once, and then comes from the cache with its own report."""
    off = text_of(kernels.compiled("layer_norm_backward", "gfx942"))
    asked: list[tuple[hook.Mode, dict[str, Any]]] = [
        ("check", {}),
        ("lower", {}),
        ("lower", {"opt_level": 0}),
        ("lower", {"facts": (UNCACHED,)}),
        ("lower", {"features": ("tgsplit",)}),
    ]
    first = [reported(kernels, mode, **options) for mode, options in asked]
    assert not any(each.cached for each in first)
    assert len({tuple(each.after.items()) for each in first}) > 2
    again = [reported(kernels, mode, **options) for mode, options in reversed(asked)]
    assert [replace(each, seconds=0, recompile=None) for each in first] == [
        replace(each, cached=False, seconds=0) for each in reversed(again)
    ]
    assert all(each.cached for each in again)
    assert text_of(kernels.compiled("layer_norm_backward", "gfx942")) == off


def test_what_is_cached_is_checked_too(kernels: Any) -> None:
    facts = (UNCACHED,)
    first = reported(kernels, "lower", facts=facts)
    cached = reported(kernels, "lower", facts=facts)
    assert first.findings() == cached.findings()
    with pytest.raises(LookupError, match="came from the cache"):
        _ = cached.before
    assert str(cached) == "layer_norm_backward (gfx942): lowered, from the cache"


def test_a_key_that_did_not_tell_them_apart(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trap: who asks for a lowered kernel would get the one that was only looked at."""
    monkeypatch.setattr(hook.Options, "key", "fencewright")
    assert not reported(kernels, "check").cached
    wrong = reported(kernels, "lower")
    assert (wrong.cached, wrong.mode) == (True, "check")


def test_without_the_cache(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    first, second = reported(kernels, "lower"), reported(kernels, "lower")
    assert not second.cached
    assert first.after == second.after


def test_another_process_has_the_same_key(kernels: Any, own_cache: Path) -> None:
    first = reported(kernels, "lower")
    done = run("--lower", own_cache=own_cache)
    assert f"fencewright: {replace(first, cached=True)}" in done.stderr


def test_children_of_the_process_have_no_hook_and_no_cache_of_it(
    kernels: Any, own_cache: Path
) -> None:
    with hook.enabled("lower"):
        assert os.environ["TRITON_CACHE_DIR"] == str(own_cache)


# Hooks of others


def test_a_hook_that_was_there_still_runs(kernels: Any) -> None:
    seen: list[str] = []

    def other(*arguments: Any) -> tuple[str, str] | None:
        if not arguments:
            return "other", "other"
        seen.extend(arguments[1])
        return None

    runtime = knobs().runtime
    runtime.add_stages_inspection_hook = other
    try:
        with hook.enabled("check") as outer, hook.enabled("lower") as inner:
            kernels.compiled("layer_norm_backward", "gfx942")
            key = inner()
        assert runtime.add_stages_inspection_hook is other
    finally:
        runtime.add_stages_inspection_hook = None
    assert "llir" in seen
    assert key is not None
    assert key[0].endswith("other")
    assert [len(outer.reports), len(inner.reports)] == [0, 1]


def test_a_hook_that_came_later_has_to_go_first() -> None:
    installed = hook.install("check")
    runtime = knobs().runtime
    runtime.add_stages_inspection_hook = print
    with pytest.raises(RuntimeError, match="take that one away first"):
        installed.leave()
    with pytest.raises(RuntimeError, match="not the one that Triton has now"):
        hook.uninstall()
    runtime.add_stages_inspection_hook = installed
    hook.uninstall()


def test_a_listener_that_was_there_still_hears(kernels: Any) -> None:
    heard: list[bool] = []

    def listen(**said: Any) -> None:
        heard.append(said["cache_hit"])

    knobs().compilation.listener = listen
    try:
        for _ in range(2):
            reported(kernels, "check")
    finally:
        knobs().compilation.listener = None
    assert heard == [False, True]


def test_each_report_is_told(kernels: Any) -> None:
    told: list[hook.Report] = []
    report = reported(kernels, "check", on_report=told.append)
    assert [each is report for each in told] == [True]


@pytest.mark.parametrize(
    ("mode", "options", "problem"),
    [
        ("weaken", {}, "unknown mode 'weaken'; accepted: check, lower"),
        ("lower", {"opt_level": 1}, "unknown level '1'; accepted: 0, 2"),
        ("lower", {"facts": ("lucky",)}, "unknown fact 'lucky'; accepted: single-wave-workgroup, "),
    ],
)
def test_unknown_words(mode: Any, options: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        hook.install(mode, **options)


# The command

PROGRAM = f"""
import sys
sys.path.insert(0, {str(DATA)!r})
import tutorial_kernels
tutorial_kernels.compiled("layer_norm_backward", "gfx942")
print("program", *sys.argv[1:])
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


def arguments_of(words: Sequence[str], folder: Path) -> list[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    return [*words[0].split(), str(program), *words[1:]]


def run(*words: str, own_cache: Path) -> "subprocess.CompletedProcess[str]":
    arguments = arguments_of(words, own_cache.parent)
    return subprocess.run(
        [sys.executable, "-m", "fencewright.triton", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def forked(*words: str, own_cache: Path) -> "subprocess.CompletedProcess[str]":
    """As ``run``, without a new Python that has to import Triton."""
    arguments = arguments_of(words, own_cache.parent)
    return in_fork(own_cache.parent, lambda: hook.main(arguments))


def test_a_program_without_a_change_to_it(own_cache: Path) -> None:
    lowered = forked(f"--lower --fact {UNCACHED}", "3", own_cache=own_cache)
    assert (lowered.returncode, lowered.stdout) == (3, "program 3\n")
    said = "fencewright: layer_norm_backward \\(gfx942\\): lowered: .*buffer_wbl2 3 -> 0"
    assert re.search(said, lowered.stderr)
    checked = forked("--check", own_cache=own_cache)
    assert checked.returncode == int(": warning: " in checked.stderr)
    assert "layer_norm_backward (gfx942): as it was: buffer_inv 3" in checked.stderr


def test_a_program_that_fails(own_cache: Path, tmp_path: Path) -> None:
    done = forked("--lower", "x", own_cache=own_cache)
    assert done.returncode == 1
    assert "ValueError: invalid literal" in done.stderr
    missing = [sys.executable, "-m", "fencewright.triton", "--lower", str(tmp_path / "none.py")]
    done = subprocess.run(missing, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.py: error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--lower none.py", "none.py: error: there is no such file"),
        ("--lower folder", "folder: error: a folder without a __main__.py"),
        ("--check -m no_such_module", "no_such_module: error: there is no such module"),
        ("--check -m no_such.module", "no_such.module: error: No module named 'no_such'"),
        ("--check", "python -m fencewright.triton: error: .*PROGRAM.*; try .* --help"),
        ("k.py", "python -m fencewright.triton: error: one of .* is required; try .* --help"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    command = [sys.executable, "-m", "fencewright.triton", *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"{told}\n", done.stderr), done.stderr


def test_a_folder_with_a_program_runs(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("import beside\n")
    (tmp_path / "folder" / "beside.py").write_text("print('ran')\n")
    command = [sys.executable, "-m", "fencewright.triton", "--lower", "folder"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
