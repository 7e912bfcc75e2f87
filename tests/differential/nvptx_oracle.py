"""LLVM's own PTX for one scoped operation, read off what llvmlite emits.

LLVM ends the process at what it does not support, so the modules are compiled in forks of a
process of their own, which is this file run as a program.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TextIO

from fencewright.lowering.skeleton import merged_ordering
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, RmwKind, Scope

TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True, slots=True)
class Point:
    """One operation to ask both sides for; the names are those of ``lower``."""

    op: Operation
    ordering: Ordering
    scope: Scope
    space: AddressSpace | None = AddressSpace.GLOBAL
    failure_ordering: Ordering | None = None
    kind: RmwKind = RmwKind.ADD
    width: int = 32

    @property
    def merged(self) -> Ordering:
        """The ordering that covers both outcomes."""
        if self.failure_ordering is None:
            return self.ordering
        return merged_ordering(self.ordering, self.failure_ordering)


_LLVM_SCOPE = {
    Scope.SINGLETHREAD: "singlethread",
    Scope.WORKGROUP: "block",
    Scope.CLUSTER: "cluster",
    Scope.AGENT: "device",
    Scope.SYSTEM: "",
}
SPACES = {
    AddressSpace.GENERIC: "",
    AddressSpace.GLOBAL: " addrspace(1)",
    AddressSpace.LOCAL: " addrspace(3)",
}
_O, _L, _S, _F = Ordering, Operation.LOAD, Operation.STORE, Operation.FENCE
_FAILURES = (_O.RELAXED, _O.ACQUIRE, _O.SEQ_CST)


def matrix() -> Iterable[Point]:
    """Every operation x ordering x scope x address space that LLVM can express too."""
    for scope in _LLVM_SCOPE:
        for ordering in (_O.ACQUIRE, _O.RELEASE, _O.ACQ_REL, _O.SEQ_CST):
            yield Point(_F, ordering, scope, None)
        for space in SPACES:
            for ordering in (_O.RELAXED, _O.ACQUIRE, _O.SEQ_CST):
                yield Point(_L, ordering, scope, space)
            for ordering in (_O.RELAXED, _O.RELEASE, _O.SEQ_CST):
                yield Point(_S, ordering, scope, space)
            yield from _read_modify_writes(scope, space)
    for kind in (RmwKind.NAND, RmwKind.FSUB):
        for ordering in Ordering:
            if ordering is not _O.WEAK:
                yield Point(Operation.ATOMIC_RMW, ordering, Scope.AGENT, kind=kind)


def _read_modify_writes(scope: Scope, space: AddressSpace) -> Iterable[Point]:
    for ordering in (o for o in Ordering if o is not _O.WEAK):
        for kind in (RmwKind.ADD, RmwKind.XCHG):
            yield Point(Operation.ATOMIC_RMW, ordering, scope, space, kind=kind)
        for failure in _FAILURES:
            yield Point(Operation.CMPXCHG, ordering, scope, space, failure)
            if scope is Scope.AGENT and space is AddressSpace.GLOBAL:
                yield Point(Operation.CMPXCHG, ordering, scope, space, failure, width=8)


def module(point: Point) -> str:
    """A module whose one function does nothing but ``point``."""
    pointer = f"ptr{SPACES[point.space]}" if point.space is not None else "ptr"
    name = _LLVM_SCOPE[point.scope]
    scope = f' syncscope("{name}")' if name else ""
    body = _BODY[point.op].format(
        p=f"{pointer} %p",
        t="float" if point.kind is RmwKind.FSUB else f"i{point.width}",
        v="1.0" if point.kind is RmwKind.FSUB else "1",
        k=point.kind,
        s=scope,
        o=_llvm(point.ordering),
        f=_llvm(point.failure_ordering),
    )
    return (
        f'target triple = "{TRIPLE}"\n'
        f"define void @f({pointer} %p, ptr %q) {{\n{body}\nret void\n}}\n"
    )


_BODY = {
    _L: "%r = load atomic {t}, {p}{s} {o}, align 4\nstore {t} %r, ptr %q",
    _S: "store atomic {t} {v}, {p}{s} {o}, align 4",
    Operation.ATOMIC_RMW: "%r = atomicrmw {k} {p}, {t} {v}{s} {o}\nstore {t} %r, ptr %q",
    Operation.CMPXCHG: "%r = cmpxchg {p}, {t} 1, {t} 2{s} {o} {f}",
    _F: "fence{s} {o}",
}


def _llvm(ordering: Ordering | None) -> str:
    return "monotonic" if ordering is Ordering.RELAXED else str(ordering)


def llvm_sequences(
    points: Iterable[Point], cpu: str, version: tuple[int, int]
) -> Mapping[Point, tuple[str, ...] | None]:
    """LLVM's sequence for each point, in normal form; None where it ends with an error."""
    points = list(points)
    work = {
        "cpu": cpu,
        "features": f"+ptx{version[0]}{version[1]}",
        "modules": [module(point) for point in points],
    }
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        check=True,
    )
    texts: list[str | None] = json.loads(done.stdout)
    return {
        point: None if text is None else _body(text)
        for point, text in zip(points, texts, strict=True)
    }


def _body(assembly: str) -> tuple[str, ...]:
    lines = [line.strip().rstrip(";") for line in assembly.splitlines()]
    return normal_form(line for line in lines if "[%rd2]" not in line and ".param" not in line)


_KEPT = re.compile(r"(?:ld|st|atom|red|fence|membar)\.\S+")


def normal_form(lines: Iterable[str]) -> tuple[str, ...]:
    """The mnemonics of memory instructions and fences, and ``loop:`` for the first label."""
    kept: list[str] = []
    for line in lines:
        if line.endswith(":") and "loop:" not in kept:
            kept.append("loop:")
        elif _KEPT.match(line):
            kept.append(line.split()[0])
    return tuple(kept)


def _serve() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work = json.load(sys.stdin)
    modules: list[str] = work["modules"]
    target = llvm.Target.from_triple(TRIPLE)
    results: list[str | None] = []

    def compile_on(done: TextIO) -> None:
        machine = target.create_target_machine(cpu=work["cpu"], features=work["features"], opt=2)
        for text in modules[len(results) :]:
            assembly = machine.emit_assembly(llvm.parse_assembly(text))
            print(json.dumps(assembly), file=done, flush=True)

    while len(results) < len(modules):
        results += _until_it_dies(compile_on)
        if len(results) < len(modules):
            results.append(None)
    json.dump(results, sys.stdout)


def _until_it_dies(compile_on: Callable[[TextIO], None]) -> list[str]:
    """What a fork of this process gets done."""
    with tempfile.TemporaryFile("w+") as done:
        child = os.fork()
        if child == 0:
            compile_on(done)
            os._exit(0)
        os.waitpid(child, 0)
        done.seek(0)
        return [json.loads(line) for line in done]


if __name__ == "__main__":
    _serve()
