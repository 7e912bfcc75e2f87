"""The memory that explorations may take: 2 GiB or a share of the machine's, or the user's number.

Every exploration and enumeration looks at what its process holds now and then, and ends incomplete
where that is too much, before the kernel ends the process, or another one.
"""

import gc
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

VARIABLE = "FENCEWRIGHT_MEMORY"
"""Environment variable with the limit of this process and of those that it starts, as ``2G``."""

MOST = 2 << 30
SHARE = 4
"""The limit where the user gives none: so many bytes, or a quarter of the machine's memory."""

WITHOUT_LIMITS = ("win32", "emscripten", "wasi")
"""Platforms whose Python has no ``resource``: a process there has no limit and no measure of
memory."""

_EVERY = 1024
"""The states or steps between two looks; a look costs about as much as one of them."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes of a size as ``512M`` or ``2G``. Raises ``ValueError`` where it is none, or 0."""
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if not size:
        raise ValueError(f"'{text}' is no size in bytes; write it as 512M or 2G")
    return size


def size_text(size: int) -> str:
    """A number of bytes in the unit that people read."""
    unit = next((name for name in "TGM" if size >= _UNITS[name]), "K")
    return f"{size / _UNITS[unit]:.3g} {unit}iB"


def memory_limit() -> int | None:
    """Bytes that explorations of this process may hold; None where the memory is not known.

    Raises ``ValueError`` where the environment variable has no size.
    """
    said = os.environ.get(VARIABLE)
    whole = default_limit() if said is None else parse_size(said)
    return None if whole is None else whole // _WORKERS[-1]


@contextmanager
def limited_to(size: str | None) -> Generator[None]:
    """Explorations may hold ``size`` meanwhile, also those of processes that start; None: as
    before."""
    before = os.environ.get(VARIABLE)
    if size is not None:
        os.environ[VARIABLE] = size
    try:
        yield
    finally:
        if before is not None:
            os.environ[VARIABLE] = before
        elif size is not None:
            del os.environ[VARIABLE]


def share_among(workers: int) -> None:
    """From now on this process is one of so many that share the limit."""
    _WORKERS.append(workers)


_WORKERS = [1]


@cache
def default_limit() -> int | None:
    """2 GiB, or a quarter of the memory of the machine, its container or process limit if that is
    less."""
    known = [*_machine(), *(each for each in _process() if each != process_limit())]
    return min(MOST, min(known) // SHARE) if known else None


@cache
def process_limit() -> int | None:
    """Bytes that a whole program may take: three quarters of the memory of the machine or its
    container."""
    known = _machine()
    return min(known) * 3 // 4 if known else None


def limit_process() -> None:
    """Have the system refuse this process, and those that it starts, more than ``process_limit``.

    A request for more is a ``MemoryError`` then. A lower limit that is there stays; elsewhere than
    on Linux nothing is done. Source: Linux manual, getrlimit(2), RLIMIT_DATA.
    """
    most = process_limit()
    if most is None or sys.platform != "linux":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    lower = [each for each in (most, soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(lower), hard))


def _machine() -> list[int]:
    return [
        *_physical(),
        *cgroup_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")),
    ]


def _physical() -> Iterator[int]:
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= names.keys():
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cgroup_limits(membership: Path, root: Path) -> Iterator[int]:
    """The limits of the process's control group and of those around it. Source: Linux
    cgroups(7)."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            folder, file = root, "memory.max"
        elif "memory" in controllers.split(","):
            folder, file = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = folder / path.lstrip("/")
        for each in (inner, *(p for p in inner.parents if p.is_relative_to(folder))):
            try:
                text = (each / file).read_text().strip()
            except OSError:
                continue
            if text.isdecimal():
                yield int(text)


def _process() -> Iterator[int]:
    if sys.platform in WITHOUT_LIMITS:
        return
    import resource

    for each in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(each)
        if soft != resource.RLIM_INFINITY:
            yield soft


def held() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not say.

    Outside Linux the most that it ever held.
    """
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    if sys.platform in WITHOUT_LIMITS:
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


class MemoryWatch:
    """Tells an exploration when its process holds more than the limit."""

    def __init__(self) -> None:
        self.limit = memory_limit()
        self.is_full = False
        self._until_look = _EVERY
        self._has_collected = False

    def count(self, steps: int = 1) -> bool:
        """Note ``steps`` more; True if the memory is full, from then on."""
        self._until_look -= steps
        if self._until_look <= 0 and self.limit is not None:
            self._until_look = _EVERY
            self.is_full = self.is_full or self._exceeds(self.limit)
        return self.is_full

    def _exceeds(self, limit: int) -> bool:
        if held() <= limit:
            return False
        if not self._has_collected:
            self._has_collected = True
            gc.collect()
        return held() > limit

    def note(self, done: int, what: str = "states") -> str:
        """The reason that an exploration ended after so many states or steps."""
        return f"memory limit of {size_text(self.limit or 0)} reached after {done} {what}"
