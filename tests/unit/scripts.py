"""Scripts of this repository as modules, and a GPU for them that runs nothing."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GPU_BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "gpu"


def load_script(path: Path) -> Any:
    """The script at ``path``, known by a name that no other module has."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class ScriptedDevice:
    """A device whose counters come from ``counts``, by what each loaded module's text has in it."""

    name = "Scripted"
    cuda_version = (13, 0)

    def __init__(self, counts: Callable[[str], Mapping[int, int]]):
        self.counts = counts
        self.now: Mapping[int, int] = {}
        self.address = 0x100
        self.size = 0

    def __call__(self) -> "ScriptedDevice":
        return self

    def allocate(self, size: int) -> "ScriptedDevice":
        self.size = size
        return self

    def load(self, ptx: str) -> "ScriptedDevice":
        self.now = self.counts(ptx)
        return self

    def kernel(self, name: str) -> "ScriptedDevice":
        return self

    def synchronize(self) -> None:
        return None

    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None:
        return None

    def launch(self, *arguments: object, **options: object) -> None:
        return None

    def read(self) -> bytes:
        """The counters; those of negative numbers are from the end."""
        size = self.size // 4
        now = {number % size: count for number, count in self.now.items()}
        return b"".join(now.get(each, 0).to_bytes(4, "little") for each in range(size))
