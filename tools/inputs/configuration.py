"""The configuration of fence-check: ``[tool.fence-check]`` of pyproject.toml, or fence-check.toml.

The file of the nearest folder counts, from the current one upwards, as with ruff. Options of the
command line come before it.
"""

import re
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fencewright.checker.findings.finding import Level, Rule
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.race.rules import RULES
from fencewright.tools.diagnostics import Diagnostic, ToolError, error, read_text
from fencewright.tools.statuses import USAGE

TABLE = "fence-check"
OWN_FILE = "fence-check.toml"
PYPROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The options of a file, by their names in ``argparse``, and the rules that it ignores.

    ``ignored``: the reason to ignore each of them.
    """

    options: Mapping[str, Any]
    ignored: Mapping[str, str]


NONE = Configuration({}, {})
"""The configuration without a file."""

_WORDS: Mapping[str, tuple[str, ...]] = {"fail-on": tuple(Level), "l2-per-agent": tuple(L2PerAgent)}
"""The values of options that are words."""
_FLAGS = ("notes", "surplus")
_PATHS = ("baseline",)
_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")
"""A fault of TOML, as Python's parser reports it."""


def configuration(path: str | None, *, isolated: bool) -> Configuration:
    """The configuration in ``path``, or in the nearest file; ``isolated``: none.

    Raises ``OSError``, and ``ToolError`` for what is none.
    """
    if isolated:
        return NONE
    if path is not None:
        return _read(Path(path))
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (own := folder / OWN_FILE).is_file():
            return _read(own)
        if (project := folder / PYPROJECT).is_file() and _has_table(project):
            return _read(project)
    return NONE


def _has_table(path: Path) -> bool:
    """True of a project that configures fence-check; other files may be unreadable."""
    return TABLE in (text := read_text(str(path))) and TABLE in _parsed(text, path).get("tool", {})


def _parsed(text: str, path: Path) -> dict[str, Any]:
    # Most folders have no configuration.
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        found = _PLACE.fullmatch(str(problem))
        text, line, column = found.groups() if found else (str(problem), "0", "0")
        fault = Diagnostic(f"not TOML: {text}", str(path), int(line), int(column))
        raise ToolError((fault,), status=USAGE) from problem


def _read(path: Path) -> Configuration:
    document = _parsed(read_text(str(path)), path)
    is_project = path.name == PYPROJECT or "tool" in document
    table = document.get("tool", {}).get(TABLE, {}) if is_project else document
    if not isinstance(table, dict):
        raise error(f"'{TABLE}' is no table", str(path))
    options = dict(cast("dict[str, Any]", table))
    ignored = _ignored(options.pop("ignore", {}), path)
    given = {key.replace("-", "_"): _value(key, value, path) for key, value in options.items()}
    return Configuration(given, ignored)


def _value(key: str, value: Any, path: Path) -> Any:
    if key in _FLAGS:
        if not isinstance(value, bool):
            raise error(f"{key} is true or false", str(path))
        return value
    if words := _WORDS.get(key):
        if value not in words:
            raise error(f"{key} is one of {', '.join(words)}", str(path))
        return Level(value) if key == "fail-on" else value
    if key in _PATHS:
        if not isinstance(value, str):
            raise error(f"{key} is a path", str(path))
        return str(path.parent / value)
    known = ", ".join(sorted((*_FLAGS, *_WORDS, *_PATHS, "ignore")))
    raise error(f"there is no option '{key}': it has {known}", str(path))


def _ignored(value: Any, path: Path) -> Mapping[str, str]:
    """The reasons by rule."""
    if not isinstance(value, dict):
        raise error("ignore is a table: a reason for each rule", str(path))
    reasons = cast("dict[str, Any]", value)
    for rule, reason in reasons.items():
        if rule not in {*map(str, Rule), *RULES}:
            raise error(f"'{rule}' is no rule: fence-check --list-rules lists them", str(path))
        if not isinstance(reason, str) or not reason.strip():
            raise error(f"no reason to ignore {rule}: write it as a string", str(path))
    return reasons


def add_configuration_options(parser: ArgumentParser) -> None:
    """Add the options that say which configuration counts."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"read the configuration of that file, not of the nearest {OWN_FILE} or {PYPROJECT}",
    )
    parser.add_argument("--isolated", action="store_true", help="read no configuration")
