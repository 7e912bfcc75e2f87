"""fence-sim as a program: exit statuses, one line per error, output for tools, quick to start."""

import json
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from litmus_modules import MESSAGE_PASSING

from fencewright.lowering.sequence import Target
from fencewright.simulator.certify.certificate import Certificate
from fencewright.simulator.core.exploration import LimitReached
from fencewright.simulator.core.processes.campaign import TaskError
from fencewright.simulator.ptx.formats.columns import parse_litmus, read_litmus
from fencewright.tools import fence_sim
from fencewright.tools.commands import certify as certificate_commands
from fencewright.tools.commands import fuzz as fuzz_commands
from fencewright.tools.commands import gpu as gpu_commands
from fencewright.tools.commands import pictures as picture_commands
from fencewright.tools.diagnostics import TRACEBACK_VARIABLE
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, USAGE

HEAVY = ("xdsl.dialects", "llvmlite", "numpy", "fencewright.simulator.source", "fencewright.gpu")
CORPUS = Path(__file__).parents[1] / "litmus" / "ptx"
SEEN = MESSAGE_PASSING.replace("forall (P1:r0 = 1)", "exists (P1:r0 = 1)")


@pytest.fixture
def mp(tmp_path: Path) -> str:
    path = tmp_path / "mp.mlir"
    path.write_text(MESSAGE_PASSING)
    return str(path)


def write(folder: Path, text: str) -> str:
    path = folder / "other.mlir"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], HOLDS),
        (["--source"], HOLDS),
        (["--mcpu", "gfx942"], HOLDS),
        (["--mcpu", "gfx942", "--mattr", "+tgsplit"], HOLDS),
        (["--mcpu", "gfx942", "--l2-per-agent", "one"], HOLDS),
        (["--mcpu", "gfx942", "-O0"], HOLDS),
        (["--mcpu", "sm_90", "-O2"], HOLDS),
        (["--mcpu", "gfx942", "--progress-check"], HOLDS),
        (["--mcpu", "sm_90", "--ptx-version", "8.6", "--model", "ptx-6.0"], HOLDS),
        (["--mcpu", "gfx942", "--without", "buffer_inv"], DOES_NOT_HOLD),
        (["--mcpu", "gfx942", "--assume", "coherent-stores"], HOLDS),
        (["--mcpu", "gfx942", "--assume", "coherent-stores", "--without", "buffer_wbl2"], USAGE),
        (["--mcpu", "gfx942", "--assume", "nothing"], USAGE),
        (["--mcpu", "gfx942", "--assume", "coherent-stores", "-O0"], USAGE),
        (["--assume", "coherent-stores"], USAGE),
        (["--mcpu", "gfx942", "--without", "buffer_inv:sc1"], DOES_NOT_HOLD),
        (["--mcpu", "sm_90", "--without", "ld.acquire=ld.relaxed"], DOES_NOT_HOLD),
        (["--mcpu", "gfx942", "--without", "global_store_dword:sc1", "--progress-check"], DOES_NOT_HOLD),
        (["--mcpu", "gfx942", "--state-limit", "10"], INCOMPLETE),
        (["--mcpu", "gfx942", "--random", "5"], INCOMPLETE),
        (["--mcpu", "gfx942", "--progress-check", "--state-limit", "15"], INCOMPLETE),
        (["--mcpu", "gfx1100"], USAGE),
        (["--mcpu", "gfx942", "--source"], USAGE),
        (["--mcpu", "gfx942", "--mattr", "wave32"], USAGE),
        (["--mcpu", "gfx942", "--without", "nothing"], USAGE),
        (["--mcpu", "gfx942", "--without", ""], USAGE),
        (["--without", "buffer_inv"], USAGE),
        (["--mcpu", "sm_90", "--random", "50"], INCOMPLETE),
        (["--mcpu", "sm_90", "--state-limit", "5"], INCOMPLETE),
        (["--state-limit", "5"], INCOMPLETE),
        (["--random", "5"], INCOMPLETE),
        (["--mcpu", "sm_90", "--progress-check"], HOLDS),
        (["--bound", "0"], USAGE),
        (["--model", "ptx-8.0"], USAGE),
        (["--test", "other"], USAGE),
    ],
)  # fmt: skip
def test_statuses(
    mp: str, arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run", mp, *arguments]) == status
    captured = capsys.readouterr()
    if status == USAGE:
        assert "error: " in captured.err
        assert not captured.out
    else:
        assert not captured.err
        assert captured.out.startswith("Test mp ")


def test_a_racy_source_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    racy = write(tmp_path, MESSAGE_PASSING.replace("store release", "store relaxed"))
    assert fence_sim.main(["run", racy]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert "Race: data race on x" in out
    assert "Racy: no outcome is defined" in out


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_a_lowering_does_not_hide_that_its_source_races(
    chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    racy = MESSAGE_PASSING.replace("store release", "store relaxed").replace("r0 = 1", "f = 1")
    racy = racy.replace("P1:f", "f").replace("@P1 {", "@P1 at <workgroup = 1, xcd = 0, cu = 0> {")
    path = write(tmp_path, racy.replace("@P0 {", "@P0 at <workgroup = 0, xcd = 0, cu = 0> {"))
    assert fence_sim.main(["run", path, "--mcpu", chip]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert "States" in out
    assert "Race of the source: data race on x" in out
    assert "Racy: the source has no defined outcome" in out
    assert fence_sim.main(["run", path, "--mcpu", chip, "--json"]) == DOES_NOT_HOLD
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "racy_source"
    assert len(found["races"]) == 1


def test_a_source_that_was_not_looked_at_to_the_end_is_said(
    mp: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "Not decided whether the source races: "
    assert fence_sim.main(["run", mp, "--mcpu", "gfx942"]) == HOLDS
    assert said not in capsys.readouterr().out

    def one_state(_: object) -> int:
        return 1

    monkeypatch.setattr("fencewright.simulator.litmus_run._affordable", one_state)
    assert fence_sim.main(["run", mp, "--mcpu", "gfx942"]) == HOLDS
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("chip", "status"),
    [("gfx90a", USAGE), ("gfx942", USAGE), ("sm_70", USAGE), ("sm_80", USAGE), ("sm_90", HOLDS)],
)
def test_a_cluster_on_a_chip_without_clusters_is_refused(
    chip: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def placed(text: str, *clusters: int) -> str:
        for number, cluster in enumerate(clusters):
            at = f"@P{number} at <workgroup = {number}, cluster = {cluster}> {{"
            text = text.replace(f"@P{number} {{", at)
        return write(tmp_path, text)

    together = placed(MESSAGE_PASSING.replace("agent", "cluster"), 0, 0)
    assert fence_sim.main(["run", together, "--mcpu", chip]) == status
    errors = capsys.readouterr().err.splitlines()
    if status == USAGE:
        (error,) = errors
        assert error.startswith(f"{together}:12:3: error: {chip} has no clusters")
    apart = placed(MESSAGE_PASSING, 0, 1)
    assert fence_sim.main(["run", apart, "--mcpu", chip]) == HOLDS


def test_what_was_sampled_is_certain_if_more_could_not_change_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = write(tmp_path, SEEN)
    arguments = ["run", seen, "--mcpu", "gfx942", "--random", "50"]
    assert fence_sim.main(arguments) == HOLDS
    broken = [*arguments[:-1], "2000", "--without", "buffer_inv"]
    everywhere = write(tmp_path, MESSAGE_PASSING)
    assert fence_sim.main([*broken[:1], everywhere, *broken[2:]]) == DOES_NOT_HOLD
    never = write(tmp_path, MESSAGE_PASSING.replace("forall", "exists not"))
    assert fence_sim.main(["run", never, "--mcpu", "gfx942", "--random", "50"]) == INCOMPLETE
    out = capsys.readouterr().out
    assert out.count("random walks") == 3


def test_a_sampled_source_may_still_have_a_race(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = write(tmp_path, SEEN)
    assert fence_sim.main(["run", seen]) == HOLDS
    assert fence_sim.main(["run", seen, "--random", "50"]) == INCOMPLETE
    racy = write(tmp_path, SEEN.replace("store release", "store relaxed"))
    assert fence_sim.main(["run", racy, "--random", "50"]) == DOES_NOT_HOLD
    assert "Race: data race on x" in capsys.readouterr().out


def test_the_worst_status_of_several_tests(
    mp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = write(tmp_path, MESSAGE_PASSING.replace("r0 = 1", "r0 = 2"))
    assert fence_sim.main(["run", mp, wrong, mp]) == DOES_NOT_HOLD
    assert capsys.readouterr().out.count("Test mp") == 3


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_an_unreadable_input_stops_no_other(
    mp: str, tmp_path: Path, extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    absent, bad = str(tmp_path / "absent.mlir"), tmp_path / "bad.mlir"
    bad.write_text("litmus.test @t {\n  litmus.location @x = 0 : i64\n}\n")
    wrong = write(tmp_path, MESSAGE_PASSING.replace("r0 = 1", "r0 = 2"))
    assert fence_sim.main(["run", absent, mp, str(bad), mp, *extra]) == USAGE
    captured = capsys.readouterr()
    assert len(captured.out.split("Test mp (" if not extra else '"test": "mp"')) == 3
    assert len(captured.err.splitlines()) == 2
    assert "No such file" in captured.err
    assert fence_sim.main(["run", absent, wrong, mp, *extra]) == DOES_NOT_HOLD
    limited = ["run", absent, mp, "--state-limit", "5", *extra]
    assert fence_sim.main(limited) == INCOMPLETE


@pytest.mark.parametrize("flags", [["--mcpu", "gfx1100"], ["--without", "buffer_inv"]])
def test_a_wrong_command_line_is_said_once(
    mp: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_sim.main(["run", mp, mp, *flags]) == USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_store_that_replaced_a_write_back_can_be_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By an exchange the flag is set without policy bits: those of the data alone are taken away."""
    text = MESSAGE_PASSING.replace("scoped.store release agent %one, %f : i32, !llvm.ptr<1>",
        "%old = scoped.atomic_rmw xchg release agent %f, %one : !llvm.ptr<1>, i32")  # fmt: skip
    through = ["run", write(tmp_path, text), "--mcpu", "gfx942", "--assume", "coherent-stores"]
    assert fence_sim.main(through) == HOLDS
    assert fence_sim.main([*through, "--without", "global_store_dword:sc1"]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert ":> P1:r0=0; x=1; f=1;" in out
    assert "May hang" not in out
    back = [*through[:-2], "--without", "global_store_dword:sc1"]
    assert fence_sim.main(back) == USAGE
    assert "no instruction has these bits" in capsys.readouterr().err


def test_a_damage_that_touches_another_test_only_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relaxed = MESSAGE_PASSING.replace("@mp", "@relaxed")
    for ordering in ("acquire", "release"):
        relaxed = relaxed.replace(ordering, "relaxed")
    both = write(tmp_path, MESSAGE_PASSING + relaxed)
    damaged = ["run", both, "--mcpu", "gfx942", "--without", "buffer_inv"]
    assert fence_sim.main([*damaged, "--test", "mp"]) == DOES_NOT_HOLD
    assert fence_sim.main(damaged) == USAGE
    assert fence_sim.main([*damaged, "--test", "relaxed"]) == USAGE
    of_both, alone = capsys.readouterr().err.splitlines()
    assert "--without names nothing in 'relaxed'" in of_both
    assert "no synchronising instruction is called so" in alone


def test_json(mp: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", mp, "--json", "--mcpu", "gfx942", "--without", "buffer_inv"]
    assert fence_sim.main(arguments) == DOES_NOT_HOLD
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["verdict"] == "fails"
    assert {"P1:r0": 0, "x": 1, "f": 1} in found["outcomes"]
    assert (found["positive"], found["negative"]) == (1, 1)
    assert found["machine_states"] > 0
    assert found["execution"][-1].split() == ["P1:r0=0", "x=1", "f=1"]


def test_json_errors_are_lines_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = write(tmp_path, "litmus.test @t {\n  litmus.location @x = 0 : i64\n}\n")
    assert fence_sim.main(["run", bad, "--json"]) == USAGE
    captured = capsys.readouterr()
    assert not captured.out
    (line,) = captured.err.splitlines()
    assert json.loads(line) == {
        "severity": "error",
        "file": bad,
        "line": 2,
        "column": 3,
        "message": "a location holds an i32, not i64",
    }


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("a.litmus", "PTX t\n{ x=0; }\n P0@cta 0 ;\nexists (x == 1)\n", ":3:2", "expected 'P0@cta N,gpu N'"),
        ("a.litmus", "PTX t { x=0; }\n P0@cta 0,gpu 0 ;\n frob x ;\nexists (x == 1)", ":3:2", "unknown instruction"),
        ("a.mlir", "litmus.test @t {\n  frob\n}", ":2:3", "operation 'frob' is not registered"),
        ("a.mlir", "func.func @f() {\n  func.return\n}", "", "no litmus.test in the module"),
        ("a.mlir", " \n", "", "the input is empty"),
        ("a.mlir", "litmus.test @t {\n litmus.location @x = 0 : i32\n}\n", ":1:1", "a test needs a thread"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    tmp_path: Path,
    name: str,
    text: str,
    place: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert fence_sim.main(["run", str(path)]) == USAGE
    err = capsys.readouterr().err
    assert err.startswith(f"{path}{place}: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["run", "/no/such.mlir"]) == USAGE
    assert capsys.readouterr().err == "/no/such.mlir: error: No such file or directory\n"


def test_no_traceback_unless_asked(
    mp: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("whoops")

    monkeypatch.setattr(fence_sim, "run", fail)
    assert fence_sim.main(["run", mp]) == INCOMPLETE
    said = capsys.readouterr().err
    assert said.startswith(f"{mp}: error: internal error, please report it")
    assert said.endswith(": ZeroDivisionError: whoops\n")


COUNTING = """PTX counting
{ x=0; }
P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
L: | L: ;
atom.add r0, x, 1 | atom.add r0, x, 1 ;
add r1, r1, 1 | add r1, r1, 1 ;
blt r1, 6, L | blt r1, 6, L ;
exists (x == 12)
"""


def test_a_counting_loop_reaches_a_limit_or_is_sampled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "counting.litmus"
    path.write_text(COUNTING)
    whole = ["run", str(path), "--bound", "6", "--trace", "never"]
    assert fence_sim.main([*whole, "--state-limit", "20000"]) == INCOMPLETE
    assert "Incomplete: limit reached after 20000 steps" in capsys.readouterr().out
    assert fence_sim.main([*whole, "--random", "100"]) == HOLDS
    assert "Incomplete: 100 random walks" in capsys.readouterr().out
    path.write_text(COUNTING.replace("exists (x == 12)", "forall (x == 12)"))
    assert fence_sim.main([*whole, "--random", "100"]) == INCOMPLETE


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (MemoryError(), "out of memory; lower --memory-limit"),
    ],
)
def test_what_was_interrupted_is_incomplete(
    mp: str,
    failure: BaseException,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(fence_sim, "run", fail)
    assert fence_sim.main(["run", mp]) == INCOMPLETE
    assert f": error: {message}" in capsys.readouterr().err
    assert fence_sim.main(["run", mp, "--json"]) == INCOMPLETE
    assert json.loads(capsys.readouterr().err)["message"].startswith(message)


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        (fence_sim, "run_tests", ["run", "x"]),
        (fence_sim, "convert", ["convert", "x"]),
        (gpu_commands, "run_on_gpu", ["run-gpu", "x"]),
        (certificate_commands, "certify_chip", ["certify", "gfx942"]),
        (certificate_commands, "explain_operation", ["explain", "gfx942", "fence", "acquire"]),
        (picture_commands, "draw_graph", ["graph", "x"]),
        (picture_commands, "draw_timeline", ["timeline", "x"]),
        (fuzz_commands, "fuzz", ["fuzz"]),
    ],
)
def test_every_command_can_be_interrupted(
    module: ModuleType,
    function: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, function, interrupted)
    assert fence_sim.main(arguments) == INCOMPLETE
    assert capsys.readouterr().err == "fence-sim: error: interrupted\n"


def heed_interrupts() -> None:
    """What runs in the background of a shell inherits that it ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_from_the_keyboard(mp: str, tmp_path: Path) -> None:
    slow = tmp_path / "slow.litmus"
    slow.write_text(COUNTING)
    command = [sys.executable, "-m", "fencewright.tools.fence_sim", "run", mp, str(slow)]
    process = subprocess.Popen(
        [*command, "--bound", "6", "--state-limit", "1000000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert process.stdout is not None
    process.stdout.readline()  # The first test is done, and printed before all are.
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == INCOMPLETE
    assert err == "fence-sim: error: interrupted\n"


def test_a_task_that_fails_leaves_a_certificate_incomplete(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def limited(*_: object, **__: object) -> None:
        raise TaskError("load acquire: CertificateError: limit reached after 9 states")

    monkeypatch.setattr("fencewright.simulator.certify.certificate.certify_mode", limited)
    assert fence_sim.main(["certify", "gfx942"]) == INCOMPLETE
    assert "limit reached after 9 states" in capsys.readouterr().err


@pytest.fixture
def two_modes(monkeypatch: pytest.MonkeyPatch) -> tuple[Target, Target]:
    """What ``certify all`` certifies here, in no time."""
    first, second = Target("gfx942"), Target("sm_90")
    monkeypatch.setattr("fencewright.simulator.certify.certificate.modes", lambda: (first, second))

    def certify(mode: Target, **_: object) -> Certificate:
        return Certificate(mode, ())

    monkeypatch.setattr("fencewright.simulator.certify.certificate.certify_mode", certify)
    return first, second


def test_certificates_are_written_to_a_folder_that_is_made(
    two_modes: tuple[Target, Target], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "certificates"
    for _ in range(2):
        assert fence_sim.main(["certify", "all", "-o", str(folder)]) == HOLDS
        made = {Certificate.from_json(path.read_text()).mode for path in folder.iterdir()}
        assert made == set(two_modes)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("all", "-o", "file"), "file: error: is a file: give a folder"),
        (("all", "-o", "file/new"), "file/new: error: Not a directory"),
        (("all", "-o", "-"), "fence-sim: error: the certificates are many"),
        (("gfx942", "-o", "file/one.json"), "file: error: is no folder"),
        (("gfx942", "-o", "new/one.json"), "new: error: is no folder"),
    ],
)
def test_certificates_that_have_no_place_are_not_begun(
    command: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def begun(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("fencewright.simulator.certify.certificate.certify_mode", begun)
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert fence_sim.main(["certify", *command]) == USAGE
    err = capsys.readouterr().err
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


CERTIFICATES = Path(__file__).parents[2] / "certificates"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nonsense --recheck gfx90a.json", "fence-sim: error: target nonsense: unknown target"),
        (
            "gfx942 --recheck gfx90a.json",
            "gfx90a.json: error: is the certificate of gfx90a, not of gfx942: give `gfx90a` as",
        ),
        (
            "gfx942 --recheck gfx942-tgsplit-one-l2.json",
            "not of gfx942: give `gfx942 --mattr +tgsplit --l2-per-agent one` as the chip",
        ),
        ("gfx90a --mattr +tgsplit --recheck gfx90a.json", "is the certificate of gfx90a, not of"),
        ("sm_90 --recheck sm_90-ptx8.6.json", "give `sm_90 --ptx-version 8.6` as the chip"),
        ("all --recheck gfx90a.json", "--recheck is of one certificate: give `gfx90a` for all"),
        ("gfx90a --recheck gfx90a.json -o x.json", "-o has no effect: --recheck writes no"),
        ("gfx90a --recheck gfx90a.json --stream x", "--stream has no effect: --recheck has no"),
        ("gfx90a --recheck gfx90a.json --jobs 2", "--jobs has no effect: --recheck runs in one"),
        ("gfx90a --sample 3", "--sample has no effect: it is of --recheck"),
        ("gfx90a --seed 0", "--seed has no effect: it is of --recheck"),
        ("all --mattr +tgsplit", "--mattr has no effect: all has every mode"),
        ("all --l2-per-agent many", "--l2-per-agent has no effect: all has every mode"),
    ],
)
def test_words_that_contradict_a_certificate_are_errors(
    command: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(CERTIFICATES)
    assert fence_sim.main(["certify", *command.split()]) == USAGE
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_certificate_is_checked_for_its_own_mode(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CERTIFICATES)
    words = ["gfx942", "--l2-per-agent", "one", "--recheck", "gfx942-one-l2.json", "--sample", "1"]
    assert fence_sim.main(["certify", *words]) == HOLDS
    assert capsys.readouterr().out == "the sample of the certificate holds\n"


def test_a_certificate_of_another_mode_explains_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CERTIFICATES)
    words = ["explain", "gfx942", "load", "acquire", "--certificate", "gfx90a.json"]
    assert fence_sim.main(words) == USAGE
    assert "is the certificate of gfx90a, not of gfx942" in capsys.readouterr().err


@pytest.mark.parametrize(
    "where", ["os.replace", "fencewright.simulator.certify.certificate.certify_mode"]
)
def test_an_interrupt_leaves_no_half_of_a_certificate(
    where: str,
    two_modes: tuple[Target, Target],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While the second one is made, or when all of it is written but its name."""
    module, name = where.rsplit(".", 1)
    real = getattr(import_module(module), name)
    calls: list[object] = []

    def interrupted(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(where, interrupted)
    assert fence_sim.main(["certify", "all", "-o", str(tmp_path)]) == INCOMPLETE
    assert capsys.readouterr().err == "fence-sim: error: interrupted\n"
    (made,) = tmp_path.iterdir()
    assert Certificate.from_json(made.read_text()).mode == two_modes[0]


def test_a_picture_that_is_too_large_is_incomplete(
    mp: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def limited(*_: object, **__: object) -> None:
        raise LimitReached(7)

    monkeypatch.setattr("fencewright.simulator.cdna.trace.find_counterexample", limited)
    assert fence_sim.main(["timeline", mp, "--mcpu", "gfx942"]) == INCOMPLETE
    assert "limit reached after 7 states" in capsys.readouterr().err


def test_an_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    source = str(CORPUS / "MP.litmus")
    assert fence_sim.main(["convert", source, "-o", "/no/such/folder/x.mlir"]) == USAGE
    assert "/no/such/folder/x.mlir: error: No such file" in capsys.readouterr().err


def test_columns_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["run", str(CORPUS / "MP+rel+acq.litmus")]) == HOLDS
    assert "Test MP+rel+acq (PTX model 7.5)" in capsys.readouterr().out
    assert fence_sim.main(["run", str(CORPUS / "MP.litmus"), "--mcpu", "gfx942"]) == USAGE
    assert "a .litmus test is PTX already" in capsys.readouterr().err


def test_convert_to_scoped_operations_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = CORPUS / "MP+cas-lock.litmus"
    written = str(tmp_path / "lock.mlir")
    assert fence_sim.main(["convert", str(source), "-o", written]) == HOLDS
    assert fence_sim.main(["run", written, "--mcpu", "gfx942"]) == HOLDS
    capsys.readouterr()
    assert fence_sim.main(["convert", written, "--mcpu", "sm_90"]) == HOLDS
    again = parse_litmus(capsys.readouterr().out)
    assert again.condition == read_litmus(source).condition
    assert again.name == "MP+cas-lock"


def test_what_cannot_be_converted(mp: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["convert", mp]) == USAGE
    assert "'mp' is in scoped; columns are for PTX: pass --mcpu sm_90" in capsys.readouterr().err
    assert fence_sim.main(["convert", str(CORPUS / "async.load.litmus")]) == USAGE
    assert "scoped operations have no aliases and no mbarriers" in capsys.readouterr().err


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["explain", "gfx942", "load", "acquire", "agent", "--at", "2"]) == HOLDS
    out = capsys.readouterr().out
    assert "-> buffer_inv sc1" in out
    assert "without it" in out
    assert fence_sim.main(["explain", "sm_90", "load", "release", "agent"]) == USAGE
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize("version", ["8", "8.x", "8.6.1"])
def test_a_version_that_is_none(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", "sm_90", "fence", "acquire", "agent", "--ptx-version", version]
    assert fence_sim.main(arguments) == USAGE
    assert f"'{version}' is not a PTX version" in capsys.readouterr().err


def test_columns_need_no_framework() -> None:
    """A PTX test in columns is run without loading xDSL's dialects."""
    script = (
        "import sys\n"
        "from fencewright.tools.fence_sim import main\n"
        f"main(['run', {str(CORPUS / 'MP.litmus')!r}])\n"
        f"print([n for n in sys.modules if n.startswith({HEAVY})])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


ROOT = Path(__file__).parents[2]
RACY = ROOT / "tests" / "litmus" / "ptx" / "CoWW.races.litmus"
RIGHT = ROOT / "tests" / "litmus" / "ptx" / "2+2W.litmus"
PASSING = ROOT / "examples" / "litmus" / "message_passing.mlir"


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        ([str(RACY)], "Flag data-race x: P0, 'st.weak x, 1' and P1, 'st.weak x, 2'"),
        ([str(RIGHT)], "Flag no data-race"),
        ([str(PASSING)], "Flag no data-race"),
        ([str(PASSING), "--mcpu", "sm_90"], "Flag no data-race"),
        ([str(PASSING), "--mcpu", "gfx942"], "Flag no data-race"),
        (
            [str(PASSING), "--mcpu", "sm_90", "--without", "st.release=st.relaxed"],
            "Flag data-race data: P0, 'st.weak data, 42' and P1, 'ld.weak r2, data'",
        ),
    ],
)
def test_races_are_flagged_where_they_are_asked_for(
    arguments: list[str], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fence_sim.main(["run", *arguments])
    assert "Flag" not in capsys.readouterr().out
    fence_sim.main(["run", "--races", *arguments])
    assert flag in capsys.readouterr().out.splitlines()
    fence_sim.main(["run", "--races", "--json", *arguments])
    row = json.loads(capsys.readouterr().out)
    assert row["data_race"] == ("no race" if "no data-race" in flag else "race")
    assert bool(row["data_races"]) is (row["data_race"] == "race")
