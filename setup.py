"""What ``pyproject.toml`` cannot say: the page of the package index, and the links of an sdist.

Where the project is published stands in ``[tool.fencewright.addresses]``. Links of README.md lead
to the site there; while it has no address they are text, for a relative link leads nowhere on an
index.
"""

import os
import re
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ADDRESSES: dict[str, str] = PYPROJECT["tool"]["fencewright"]["addresses"]

_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https:)(?P<path>[^)\s]+)\)")


def address_of(link: str, site: str) -> str:
    """The target of a link of README.md on the site, as ``tools/dev/pages/site.py`` names it."""
    path, mark, anchor = link.partition("#")
    place = path.removeprefix("docs/")
    if path == "docs/README.md":
        place = "pages.html"
    elif "/" not in path and path.endswith(".md"):
        place = f"{path.lower().removesuffix('.md')}.html"
    elif path.endswith("README.md"):
        place = f"{place.removesuffix('README.md')}index.html"
    elif path.endswith(".md"):
        place = f"{place.removesuffix('.md')}.html"
    elif not path.startswith("docs/"):
        place = f"source/{path}.html"
    return f"{site.rstrip('/')}/{place}{mark}{anchor}"


def long_description(readme: str, site: str) -> str:
    """README.md as the package index shows it: with absolute links, or without any."""

    def absolute(link: re.Match[str]) -> str:
        if site:
            return f"{link['image']}[{link['text']}]({address_of(link['path'], site)})"
        return "" if link["image"] else link["text"]

    parts = re.split(f"({_CODE.pattern})", readme, flags=_CODE.flags)
    return "".join(each if each.startswith("```") else _LINK.sub(absolute, each) for each in parts)


class LinkedSdist(sdist):
    """An sdist whose folder ``fencewright`` links to the others, as in the repository."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        # distutils, which has it, has no types.
        super().make_release_tree(base_dir, files)  # pyright: ignore[reportUnknownMemberType]
        for name, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items():
            if name != folder:
                os.symlink(f"../{folder}", Path(base_dir, "fencewright", folder))


if __name__ == "__main__":
    setup(
        long_description=long_description(
            (ROOT / "README.md").read_text(encoding="utf-8"), ADDRESSES["site"]
        ),
        long_description_content_type="text/markdown",
        project_urls={
            label: address
            for label, address in (
                ("Documentation", ADDRESSES["site"]),
                ("Changelog", ADDRESSES["site"] and f"{ADDRESSES['site']}/changelog.html"),
                ("Source", ADDRESSES["source"]),
                ("Issues", ADDRESSES["issues"]),
            )
            if address
        },
        cmdclass={"sdist": LinkedSdist},
    )
