"""What is installed is the package ``fencewright``, all of it, and nothing else."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("certificates", "lowering", "mlir_dialects", "passes", "simulator", "tools")


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
