"""What would be released: built as a release is, installed in fresh environments, and tried there."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path
from shlex import quote

import pytest

from fencewright.extras import GROUPS
from fencewright.tools.dev.pages.doc_examples import examples_of

ROOT = Path(__file__).parents[2]
START = ROOT / "docs" / "start.md"


def run(*command: str | Path, cwd: Path, status: int = 0, **environment: str) -> str:
    """What a command prints, with its errors; without what belongs to this environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


@dataclass(frozen=True)
class Built:
    """The two files of a release."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist of the checkout, and the wheel of that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    # With the setuptools of this environment: nothing is fetched.
    run(sys.executable, "-m", "build", "--no-isolation", "-o", folder, ROOT, cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="session")
def unpacked(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run("tar", "-xzf", built.sdist, cwd=folder)
    (top,) = folder.iterdir()
    return top


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips what needs the package index where that cannot be reached; in CI it has to be."""
    folder = tmp_path_factory.mktemp("index")
    pip = [sys.executable, "-m", "pip", "--retries", "0", "--timeout", "10"]
    command = [*pip, "download", "--quiet", "--no-deps", "rich>=13", "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "CI" not in os.environ:
        pytest.skip("needs PyPI")
    assert done.returncode == 0, done.stderr


def environment(folder: Path, *requirements: str | Path) -> Path:
    """Makes a fresh environment with ``requirements`` and returns the folder of its programs."""
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", *requirements, cwd=folder)
    return programs


# What is in the files


def test_the_sdist_is_the_repository(unpacked: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    known = run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines()
    assert [name for name in known if not os.path.lexists(unpacked / name)] == []
    links = [name for name in known if (ROOT / name).is_symlink()]
    assert len(links) == 7
    assert all(os.readlink(unpacked / each) == os.readlink(ROOT / each) for each in links)
    files = {
        (Path(folder) / name).relative_to(unpacked).as_posix()
        for folder, _, names in os.walk(unpacked)
        for name in names
    }
    made = {"PKG-INFO", "setup.cfg"}
    extra = {name for name in files - set(known) - made if ".egg-info/" not in name}
    assert extra == set()


def test_the_package_index_can_show_them(built: Built, tmp_path: Path) -> None:
    told = run(
        sys.executable, "-m", "twine", "check", "--strict", built.sdist, built.wheel, cwd=tmp_path
    )
    assert told.count("PASSED") == 2


def test_the_metadata_are_those_of_the_project(built: Built) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(name).decode())
        assert name.replace("METADATA", "licenses/LICENSE") in archive.namelist()
        programs = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert metadata["Version"] == project["version"]
    assert set(metadata.get_all("Provides-Extra", [])) == {*GROUPS.values()}
    needed = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert not any(package in each for each in needed for package in GROUPS)
    # What uvx runs has the name of the distribution.
    assert f"\n{metadata['Name']} = " in programs
    assert metadata["License-Expression"] == "Apache-2.0 WITH LLVM-exception"
    assert metadata["Author"] == "The Fencewright developers"
    assert metadata["Description-Content-Type"] == "text/markdown"
    page = str(metadata.get_payload())
    assert page.startswith("# Fencewright\n")
    assert "](docs/" not in page


# What is installed


def commands_of_the_start_page() -> list[tuple[str, str]]:
    """Each command of the page with what it shows, as far as that does not differ from run to run."""
    found: list[tuple[str, str]] = []
    for example in examples_of(START, START.read_text(encoding="utf-8")):
        if example.language == "python":
            found.append(session_of(example.lines))
        if example.language == "console":
            command, *output = example.lines
            shown = [line for line in output if not line.startswith("Time ")]
            found.append((command.removeprefix("$ "), "\n".join(shown)))
    return found


def session_of(lines: tuple[str, ...]) -> tuple[str, str]:
    """A session of Python as a command, with what it shows."""
    typed = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    shown = [line for line in lines if not line.startswith((">>> ", "... "))]
    return f"python -c {quote(chr(10).join(typed))}", "\n".join(shown).rstrip()


@pytest.mark.usefixtures("index")
def test_the_wheel_does_what_the_start_page_shows(built: Built, tmp_path: Path) -> None:
    programs = environment(tmp_path, built.wheel)
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    for example in examples_of(START, START.read_text(encoding="utf-8")):
        if (name := example.directives.get("file")) is not None:
            (tmp_path / name).write_text("\n".join((*example.lines, "")))
    commands = commands_of_the_start_page()
    assert len(commands) == 4
    for command, shown in commands:
        # The last of several programs decides; a condition that does not hold is status 1.
        told = run("bash", "-c", f"{command}; true", cwd=tmp_path, PATH=path)
        now = "\n".join(line for line in told.splitlines() if not line.startswith("Time "))
        assert now.rstrip() == shown, command

    installed = run(programs / "python", "-m", "pip", "list", cwd=tmp_path)
    assert "numpy" not in installed
    told = run(programs / "fence-sim", "access", "ld.global.b32", "lane*4", "--mcpu", "sm_90",
               cwd=tmp_path, status=2)  # fmt: skip
    assert told.endswith("pip install 'fencewright[hierarchy]', or '.[hierarchy]' in a checkout\n")
    run(
        programs / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        f"{built.wheel}[hierarchy]",
        cwd=tmp_path,
    )
    told = run(programs / "fence-sim", "access", "ld.global.b32", "lane*4", "--mcpu", "sm_90",
               cwd=tmp_path)  # fmt: skip
    assert "ld.global.b32 on sm_90, 32 lanes of 4 bytes" in told
    said = run(programs / "fencewright", "--version", cwd=tmp_path)
    assert said == run(programs / "python", "-m", "fencewright", "--version", cwd=tmp_path)
    assert said.startswith(f"Fencewright {built.wheel.name.split('-')[1]},")
    told = run(
        programs / "fencewright", "opt", "mp.mlir", "--mcpu", "sm_90", "-t", "asm", cwd=tmp_path
    )
    assert "ld.acquire.gpu.global.b32" in told


@pytest.mark.usefixtures("index")
def test_uvx_runs_the_wheel(built: Built, tmp_path: Path) -> None:
    uvx = shutil.which("uvx")
    if uvx is None:
        pytest.skip("needs uvx (pip install uv)")
    (tmp_path / "x.mlir").write_text("scoped.fence acquire agent\n")
    told = run(uvx, "--quiet", "--python", sys.executable, "--from", built.wheel, "fencewright",
               "opt", "x.mlir", cwd=tmp_path)  # fmt: skip
    assert "scoped.fence acquire agent" in told


@pytest.mark.usefixtures("index")
def test_the_sdist_can_be_installed(built: Built, tmp_path: Path) -> None:
    # Neither needs what the project depends on.
    programs = environment(tmp_path, "--no-deps", built.sdist)
    told = run(programs / "fencewright", "--help", cwd=tmp_path)
    assert "fence-check" in told
    script = (
        "import fencewright, sys\n"
        "print(fencewright.__file__)\n"
        "print(fencewright.lower(op='fence', ordering='release', scope='agent', target='sm_90'))"
    )
    file, *lowered = run(programs / "python", "-c", script, cwd=tmp_path).splitlines()
    assert str(tmp_path) in file
    assert lowered == ["fence.release.gpu"]


def test_tests_run_in_an_unpacked_sdist(unpacked: Path) -> None:
    """As far as the packages of this environment go: ``make test`` there installs its own."""
    tests = [
        "tests/unit/test_layering.py",
        "tests/unit/test_docs.py",
        "-k",
        "link or folder or room",
    ]
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    told = run(*command, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert " passed" in told
    script = "import fencewright.lowering as it; print(it.__file__)"
    where = run(sys.executable, "-P", "-c", script, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert where.startswith(str(unpacked))
