"""What is installed is the package ``fencewright``, all of it, and nothing else."""

import gc
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from imports import imports_of

import fencewright
from fencewright.__main__ import main
from fencewright.extras import GROUPS
from fencewright.tools import programs
from fencewright.tools.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
FOLDERS = ("certificates", "checker", "lowering", "mlir_dialects", "passes", "simulator", "tools")


@pytest.fixture(scope="module")
def setuptools_table() -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        return tomllib.load(stream)["tool"]["setuptools"]


def packages_on_disk() -> set[str]:
    """The packages to install: ``fencewright`` and every folder with Python files but ``DEVELOPERS``."""
    found = {"fencewright"}
    for folder in FOLDERS:
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join(("fencewright", *init.parent.relative_to(ROOT).parts)))
    return {name for name in found if not f"{name}.".startswith(f"{DEVELOPERS}.")}


DEVELOPERS = "fencewright.tools.dev"
"""The tools of those who change the code: in a checkout and an sdist, not in a wheel."""


def test_what_is_installed_does_without_the_tools_of_developers() -> None:
    found = [
        file
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        if ROOT / "tools" / "dev" not in file.parents and DEVELOPERS in file.read_text("utf-8")
    ]
    assert found == []


def test_every_package_is_listed(setuptools_table: dict[str, Any]) -> None:
    assert set(setuptools_table["packages"]) == packages_on_disk()


def test_every_folder_with_code_is_a_package() -> None:
    folders = {file.parent for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_top_folder_is_mapped_and_linked(setuptools_table: dict[str, Any]) -> None:
    mapped = setuptools_table["package-dir"]
    assert mapped == {"fencewright": "fencewright"} | {f"fencewright.{f}": f for f in FOLDERS}
    for folder in FOLDERS:
        link = ROOT / "fencewright" / folder
        assert link.is_symlink()
        assert os.readlink(link) == f"../{folder}"


def test_the_links_lead_to_the_code_that_is_imported() -> None:
    from fencewright.lowering import vocabulary

    assert Path(vocabulary.__file__).resolve() == ROOT / "lowering" / "vocabulary.py"


def test_the_wheel_holds_the_package_and_nothing_else(
    tmp_path: Path, setuptools_table: dict[str, Any]
) -> None:
    # Without build isolation nothing is fetched; an older setuptools builds the same wheel.
    build = "from setuptools import build_meta; print(build_meta.build_wheel({!r}))"
    source = tmp_path / "source"
    source.mkdir()
    for name in ("LICENSE", "README.md", "fencewright", "pyproject.toml", "setup.py", *FOLDERS):
        (source / name).symlink_to(ROOT / name)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    command = [sys.executable, "-c", build.format(str(wheels))]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    version = wheel.name.split("-")[1]
    assert tops == {"fencewright", f"fencewright-{version}.dist-info"}
    assert "fencewright/py.typed" in names
    modules = {name for name in names if name.endswith(".py")}
    expected = {
        f"{package.replace('.', '/')}/{file.name}"
        for package in setuptools_table["packages"]
        for file in (ROOT / "fencewright" / "/".join(package.split(".")[1:])).glob("*.py")
    }
    assert modules == expected


@pytest.fixture
def make_venv(tmp_path: Path) -> Callable[[int, int | None], tuple[int, str, list[str]]]:
    """Runs ``make venv`` with a Python, in an environment with another one or None.

    Gives the exit status, what make says and what was run. Of a Python there is only its minor
    version, and that it makes environments of it.
    """
    log, venv = tmp_path / "log", tmp_path / "venv"

    def python(path: Path, minor: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        asks = f"[ $1 = -c ] && exec {shlex.quote(sys.executable)} -c \"$(cat <<'end'\n"
        told = f'import sys; sys.version_info = (3, {minor}, 0)\nend\n)\n$2"\n'
        makes = f'[ "$2" = venv ] && mkdir -p {venv}/bin && cp "$0" {venv}/bin/python\n'
        path.write_text(f'#!/bin/sh\n{asks}{told}echo "$@" >>{log}\n{makes}exit 0\n')
        path.chmod(0o755)

    def make(minor: int, minor_of_venv: int | None) -> tuple[int, str, list[str]]:
        python(tmp_path / "python", minor)
        if minor_of_venv is not None:
            python(venv / "bin" / "python", minor_of_venv)
        command = ["make", "-C", str(ROOT), "venv", f"VENV={venv}", f"PYTHON={tmp_path}/python"]
        # Nothing of a make that runs these tests.
        alone = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
        done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
        ran = log.read_text().splitlines() if log.exists() else []
        return done.returncode, done.stderr, ran

    return make


@pytest.mark.parametrize(
    ("minor", "minor_of_venv", "is_made"),
    [(11, None, True), (12, 11, False), (11, 10, True), (10, 12, False)],
)
def test_an_environment_of_an_older_python_is_made_anew(
    minor: int,
    minor_of_venv: int | None,
    is_made: bool,
    make_venv: Callable[[int, int | None], tuple[int, str, list[str]]],
) -> None:
    status, said, ran = make_venv(minor, minor_of_venv)
    assert (status, said) == (0, "")
    assert any(each.startswith("-m venv --clear ") for each in ran) == is_made
    assert ran[-1].startswith("-m pip install ")


@pytest.mark.parametrize("minor_of_venv", [None, 10])
def test_make_needs_a_python_that_is_new_enough(
    minor_of_venv: int | None,
    make_venv: Callable[[int, int | None], tuple[int, str, list[str]]],
    tmp_path: Path,
) -> None:
    status, said, ran = make_venv(10, minor_of_venv)
    assert (status, ran) == (2, [])
    first, *others = said.splitlines()
    message = "is no Python 3.11 or later; name another: make PYTHON=PATH"
    assert first == f"error: {tmp_path}/python {message}"
    assert all(line.startswith("make") for line in others)


@pytest.mark.parametrize("name", ["nosuch", "/no/such/python"])
def test_make_says_which_python_is_not_found(name: str, tmp_path: Path) -> None:
    command = ["make", "-C", str(ROOT), "venv", f"VENV={tmp_path / 'venv'}", f"PYTHON={name}"]
    alone = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    first, *_ = done.stderr.splitlines()
    assert done.returncode == 2
    assert first == f"error: {name} is not found; name another: make PYTHON=PATH"


def test_make_asks_for_the_python_that_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"OLDEST := {needed.removeprefix('>=')}\n" in (ROOT / "Makefile").read_text()


def test_types_are_checked_of_each_file_once() -> None:
    """Folders by links too: those of what is imported, not those that the links lead to."""
    included = _pyproject()["tool"]["pyright"]["include"]
    own = [name for name in included if name.startswith("fencewright/")]
    assert own == [f"fencewright/{name}" for name in FOLDERS]
    assert not {*FOLDERS} & {*included}
    links = [each.name for each in (ROOT / "fencewright").iterdir() if each.is_symlink()]
    assert sorted(links) == [*FOLDERS]


# What the package says of itself


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _setup_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fencewright_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PACKAGES = {"cuda-bindings": "cuda", "z3-solver": "z3"}
"""What is imported of a distribution, if not the package of its name."""


def _packages(requirements: list[str]) -> set[str]:
    names = {re.split(r"[<>=~! \[]", each, maxsplit=1)[0] for each in requirements}
    return {PACKAGES.get(name, name) for name in names}


def _imported() -> dict[str, set[str]]:
    """The files that import a package, by its name, of all code that is installed."""
    found = defaultdict[str, set[str]](set)
    for folder in ("fencewright", *FOLDERS):
        for file in (ROOT / folder).glob("**/*.py" if folder in FOLDERS else "*.py"):
            name = file.relative_to(ROOT).as_posix()
            for module in imports_of(name):
                found[module.partition(".")[0]].add(name)
    return found


IMPORTED_BY_NAME = {
    "cuda": "fencewright/gpu.py",
    "distributed": "simulator/core/processes/campaign.py",
    "z3": "checker/verdicts/solver.py",
}
"""What is imported by a name that is computed, and where."""

NOT_YET = {"triton"}
"""Groups that are there for what their users have installed, and imported by nothing."""


def test_what_is_declared_is_imported_and_what_is_imported_is_declared() -> None:
    project = _pyproject()["project"]
    groups = {name: _packages(each) for name, each in project["optional-dependencies"].items()}
    declared = _packages(project["dependencies"]).union(*groups.values())
    imported = _imported()
    used = imported.keys() | {
        name
        for name, file in IMPORTED_BY_NAME.items()
        if re.search(rf"\b{name}\b", (ROOT / file).read_text(encoding="utf-8"))
    }
    assert declared - used - NOT_YET == set()
    foreign = {
        name
        for name, files in imported.items()
        if not all(file.startswith("tools/dev/") for file in files)
    }
    foreign -= set(sys.stdlib_module_names) | {"fencewright", "_typeshed"}
    assert foreign - declared == set()


def test_every_optional_package_says_how_to_get_it() -> None:
    declared = _pyproject()["project"]["optional-dependencies"]
    by_package = {package: group for group, each in declared.items() for package in _packages(each)}
    assert dict(GROUPS) == by_package
    assert set(declared) == set(
        re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    )


def test_programs_are_installed_by_their_names() -> None:
    scripts: dict[str, str] = {}
    for program in PROGRAMS:
        function = program.name.replace("-", "_")
        assert getattr(programs, function) == program.run
        scripts[program.name] = f"{programs.__name__}:{function}"
    scripts["fencewright"] = "fencewright.__main__:main"
    assert _pyproject()["project"]["scripts"] == scripts


def test_there_is_one_version() -> None:
    version = _pyproject()["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert fencewright.__version__ == version
    elsewhere = [
        file
        for folder in ("fencewright", *FOLDERS)
        for file in (ROOT / folder).glob("*.py")
        if f'"{version}"' in file.read_text(encoding="utf-8")
    ]
    assert elsewhere == []


def test_the_license_is_named_as_it_is() -> None:
    project = _pyproject()["project"]
    assert project["license"] == "Apache-2.0 WITH LLVM-exception"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "---- LLVM Exceptions to the Apache 2.0 License ----" in text


README = """# X
[a page](docs/x.md#part), [the index](docs/README.md), [rules](CONTRIBUTING.md), [far](https://llvm.org)

![A picture](docs/images/x.svg)

```text
[not a link](docs/x.md)
```
"""


def test_links_of_the_readme_are_absolute_on_the_index() -> None:
    assert (
        _setup_module().long_description(README, "https://a.org/f/")
        == """# X
[a page](https://a.org/f/x.html#part), [the index](https://a.org/f/pages.html), \
[rules](https://a.org/f/contributing.html), [far](https://llvm.org)

![A picture](https://a.org/f/images/x.svg)

```text
[not a link](docs/x.md)
```
"""
    )


def test_without_an_address_the_readme_has_no_links_that_lead_nowhere() -> None:
    assert (
        _setup_module().long_description(README, "")
        == """# X
a page, the index, rules, [far](https://llvm.org)



```text
[not a link](docs/x.md)
```
"""
    )


# fencewright COMMAND


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fencewright", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_every_program_is_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for program in PROGRAMS:
        for name in (program.name, program.short_name):
            given: list[str] = []
            monkeypatch.setattr(sys, "argv", ["fencewright", name, "--x", "y"])

            def entry(given: list[str] = given) -> int:
                given += sys.argv
                assert gc.isenabled()
                return 7

            module = importlib.import_module(program.module)
            monkeypatch.setattr(module, program.function, entry)
            assert main() == 7
            assert given == [program.name, "--x", "y"]
    monkeypatch.setattr(sys, "argv", ["fencewright"])
    assert main() == 0
    listing = capsys.readouterr().out
    assert all(each.name in listing and each.purpose in listing for each in PROGRAMS)


def test_a_command_is_run_with_its_status() -> None:
    done = _run("opt", "no-such-file.mlir")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "no-such-file.mlir: error: No such file or directory\n"
    done = _run("opz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fencewright: error: no command 'opz'; did you mean 'opt'?\n"


# Packages that are not installed


@pytest.mark.parametrize(
    "words",
    [
        ("access", "--mcpu", "sm_90", "ld.global.b32", "lane*4"),
        ("traffic", "x.mlir", "--mcpu", "sm_90", "--grid", "1", "--block", "64"),
    ],
)
def test_a_package_that_is_not_installed_is_one_line(words: tuple[str, ...]) -> None:
    script = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "from fencewright.tools.fence_sim import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2, done.stderr
    remedy = "this needs numpy, which is not installed: pip install 'fencewright[hierarchy]', or '.[hierarchy]' in a checkout"
    assert done.stderr == f"fence-sim: error: {remedy}\n"


def test_the_api_says_what_to_install() -> None:
    script = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "import fencewright\n"
        "fencewright.lower(op='fence', ordering='acquire', scope='agent', target='gfx942')\n"
        "fencewright.access\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(
        "pip install 'fencewright[hierarchy]', or '.[hierarchy]' in a checkout"
    )
    assert "import of numpy halted" in done.stderr
