"""What is installed is the package ``fencewright``, all of it, and nothing else."""

import os
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("certificates", "checker", "lowering", "mlir_dialects", "passes", "simulator", "tools")


@pytest.fixture(scope="module")
def setuptools_table() -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        return tomllib.load(stream)["tool"]["setuptools"]


def packages_on_disk() -> set[str]:
    """The packages that the folders hold: ``fencewright`` and every folder with Python files."""
    found = {"fencewright"}
    for folder in FOLDERS:
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join(("fencewright", *init.parent.relative_to(ROOT).parts)))
    return found


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
    for name in ("pyproject.toml", "README.md", "fencewright", *FOLDERS):
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
    message = "is no Python 3.11 or later; name one: make PYTHON=python3.12"
    assert first == f"error: {tmp_path}/python {message}"
    assert all(line.startswith("make") for line in others)


def test_make_asks_for_the_python_that_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"OLDEST := {needed.removeprefix('>=')}\n" in (ROOT / "Makefile").read_text()
