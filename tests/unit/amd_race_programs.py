"""Chains of waves that hand a value on, as programs for the AMD race detector and for the machine.

The first wave accesses the data, each of the others waits for the one before it, and the last
accesses the data again. In executions in which every flag is read as it was written, the machine
shows what a race may do: a value that is older, or memory that ends with an earlier write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    Atomic,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.rows import RETURNS, SCOPES, CdnaConfiguration
from fencewright.simulator.core.condition import Memory, Observable, Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Location, Placement, Program, Thread
from fencewright.simulator.race.amd.detector import Detector
from fencewright.simulator.race.amd.litmus import LitmusExecution

CONFIGURATIONS = (
    CdnaConfiguration("gfx942"),
    CdnaConfiguration("gfx942"),
    CdnaConfiguration("gfx950", tgsplit=True),
    CdnaConfiguration("gfx942", l2_per_agent=L2PerAgent.ONE),
    CdnaConfiguration("gfx90a"),
    CdnaConfiguration("gfx90a", tgsplit=True),
)


@dataclass(frozen=True)
class AmdChain:
    """A program on a chip; ``flags``: what their loads read; ``final``: the other values at its end."""

    configuration: CdnaConfiguration
    program: CdnaProgram
    flags: dict[tuple[int, str], int]
    final: dict[Observable, int]

    def __str__(self) -> str:
        lines = [self.configuration.name]
        for n, thread in enumerate(self.program.threads):
            place = thread.placement
            code = "; ".join(map(str, thread.instructions))
            lines.append(f"P{n} (group {place.workgroup}, XCD {place.xcd}, CU {place.cu}): {code}")
        return "\n".join([*lines, str({str(k): v for k, v in self.final.items()})])


def chain(seed: int) -> AmdChain:
    """A random chain of two to four waves."""
    return _Maker(Random(seed), CONFIGURATIONS).made()


def later_chain(seed: int, generation: Generation) -> AmdChain:
    """A random chain of two to four waves of a chip after CDNA."""
    return _LaterMaker(Random(seed), LATER[generation], WORDS[generation]).made()


class _Maker:
    """Chains of CDNA chips."""

    def __init__(self, random: Random, configurations: Sequence[CdnaConfiguration]):
        self.random = random
        self.configuration = random.choice(configurations)
        mode = self.configuration.row.split_mode
        self.has_lds = not self.configuration.tgsplit or (mode is not None and mode.lds)
        self.is_old = self.configuration.chip == "gfx90a"
        self.has_many = self.configuration.l2_per_agent is L2PerAgent.MANY
        self.code: list[list[CdnaInstruction]] = []
        self.flags: dict[tuple[int, str], int] = {}
        self.final: dict[Observable, int] = {}
        self.values: dict[str, int] = {}
        self.locations: dict[str, Location] = {}
        self.registers = 0
        self.right = random.choice((0.6, 0.8, 0.93))

    def made(self) -> AmdChain:
        """The whole chain."""
        count = self.random.choice((2, 2, 2, 3, 3, 4))
        self.places = self._placed(count)
        self.code = [[] for _ in self.places]
        links = [self._link(n) for n in range(count - 1)]
        names = self._data(count)
        for n in range(count):
            if n:
                links[n - 1](n, False)
            for name in names:
                self._touch(n, count, name)
            if n + 1 < count:
                links[n](n, True)
        self.final |= {Memory(name): self.values.get(name, 0) for name in names}
        threads = tuple(
            Thread(place, tuple(code)) for place, code in zip(self.places, self.code, strict=True)
        )
        observed = (*(Register(*key) for key in self.flags), *self.final)
        program = Program(tuple(self.locations.values()), threads, observed, "chain")
        return AmdChain(self.configuration, program, self.flags, self.final)

    def _placed(self, count: int) -> list[Placement]:
        random, found = self.random, list[Placement]()
        for n in range(count):
            xcd = random.choice((0, 1)) if self.has_many else 0
            cu = random.choice((0, 0, 1))
            split = self.configuration.tgsplit
            group = 10 * xcd + (0 if split else cu)
            if random.random() < 0.3:
                group = 100 + n
            found.append(Placement(group, cu, xcd, cluster=xcd))
        return found

    def _same(self, one: int, two: int, *, group: bool = False) -> bool:
        a, b = self.places[one], self.places[two]
        return a.workgroup == b.workgroup if group else (a.xcd, a.cu) == (b.xcd, b.cu)

    def _data(self, count: int) -> list[str]:
        names = self.random.choice((["x"], ["x"], ["x", "y"]))
        places = {each.workgroup for each in self.places}
        if len(places) == 1 and self.has_lds and self.random.random() < 0.5:
            (group,) = places
            names = self.random.choice((["s"], ["s", "x"]))
            self.locations["s"] = Location("s", space=AddressSpace.LOCAL, workgroup=group)
        for name in names:
            self.locations.setdefault(name, Location(name))
        return names

    def _maybe(self) -> bool:
        return self.random.random() < self.right

    def _register(self) -> str:
        self.registers += 1
        return f"r{self.registers}"

    # Links

    def _link(self, n: int) -> Callable[[int, bool], None]:
        mates = [each for each in range(len(self.places)) if self._same(n, each, group=True)]
        if mates == [n, n + 1] and self.random.random() < 0.6:
            return self._barrier
        in_lds = self._same(n, n + 1, group=True) and self.has_lds
        if in_lds and self.random.random() < 0.3:
            name = f"l{n}"
            group = self.places[n].workgroup
            self.locations[name] = Location(name, space=AddressSpace.LOCAL, workgroup=group)
            return lambda wave, sends: self._lds_flag(wave, name, sends)
        name = f"f{n}"
        self.locations[name] = Location(name)
        near = self.places[n].xcd == self.places[n + 1].xcd
        here = self._same(n, n + 1)
        return lambda wave, sends: self._flag(wave, name, near, here, sends)

    def _barrier(self, wave: int, sends: bool) -> None:
        if sends:
            self._release(wave)
            self.code[wave] += self._meeting(sends=True)
        else:
            self.code[wave] += self._meeting(sends=False)
            self._acquire(wave)

    def _meeting(self, *, sends: bool) -> list[CdnaInstruction]:
        return [WorkgroupBarrier()]

    def _lds_flag(self, wave: int, name: str, sends: bool) -> None:
        if sends:
            self._release(wave)
            self.code[wave].append(VectorStore(name, 1, segment=Segment.LDS))
            return
        dst = self._register()
        self.flags[wave, dst] = 1
        self.code[wave].append(VectorLoad(dst, name, segment=Segment.LDS))
        self._acquire(wave)

    def _flag(self, wave: int, name: str, near: bool, here: bool, sends: bool) -> None:
        random = self.random
        wide = self._wide(near)
        if sends:
            self._release(wave)
            if random.random() < 0.3:
                self.code[wave].append(Atomic(RmwKind.ADD, name, 1, bits=self._atomic(wide)))
                return
            bits = wide if not near or (random.random() < 0.7 and not self.is_old) else ()
            self.code[wave].append(VectorStore(name, 1, bits))
            return
        dst = self._register()
        self.flags[wave, dst] = 1
        if random.random() < 0.2:
            bits = (*self._atomic(wide), self._returning())
            self.code[wave].append(Atomic(RmwKind.ADD, name, 0, dst, bits))
        else:
            bits = () if here and random.random() < 0.5 else wide
            self.code[wave].append(VectorLoad(dst, name, bits))
        self._acquire(wave)

    def _wide(self, near: bool) -> tuple[str, ...]:
        if self.is_old:
            return ("glc",)
        return self.random.choice((("sc1",), ("sc1",), ("sc0", "sc1")))

    def _atomic(self, wide: tuple[str, ...]) -> tuple[str, ...]:
        return ()

    def _returning(self) -> str:
        return "glc" if self.is_old else "sc0"

    def _release(self, wave: int) -> None:
        code = self.code[wave]
        if self._maybe() and self.random.random() < 0.3:
            code.append(Wait(vmcnt=0))
        if not self.is_old and self._maybe():
            code.append(CacheInstruction("buffer_wbl2", self._scope()))
        if self._maybe():
            code.append(Wait(vmcnt=self._count()))
        if self._maybe():
            code.append(Wait(lgkmcnt=0))

    def _acquire(self, wave: int) -> None:
        code = self.code[wave]
        if self._maybe():
            code.append(Wait(vmcnt=self._count()))
        if self._maybe():
            code.append(Wait(lgkmcnt=0))
        if self._maybe():
            if self.is_old:
                code.append(CacheInstruction("buffer_wbinvl1_vol"))
            else:
                code.append(CacheInstruction("buffer_inv", self._scope()))
        if self.random.random() < 0.3:
            code.append(CacheInstruction("s_dcache_inv"))

    def _scope(self) -> tuple[str, ...]:
        return self.random.choice((("sc1",), ("sc1",), ("sc1",), ("sc0", "sc1"), ("sc0",)))

    def _count(self) -> int:
        return self.random.choice((0, 0, 0, 0, 1, 2))

    # Data

    def _bits(self, *, is_store: bool) -> tuple[str, ...]:
        if self.is_old:
            return () if is_store else self.random.choice(((), (), ("glc",)))
        return self.random.choice(((), (), (), ("sc0",), ("sc1",), ("sc0", "sc1"), ("nt",)))

    def _touch(self, wave: int, count: int, name: str) -> None:
        random = self.random
        is_first, is_last = wave == 0, wave == count - 1
        if not (is_first or is_last) and random.random() < 0.6:
            return
        how = random.choices(("load", "store", "atomic", "scalar"), (5, 5, 1, 1))[0]
        if is_first and random.random() < 0.6:
            how = "store"
        if name == "s" and how == "scalar":
            how = "load"
        value = self.values.get(name, 0)
        code, new = self.code[wave], 1 + len(self.final) + wave
        if how in ("load", "scalar"):
            dst = self._register()
            self.final[Register(wave, dst)] = value
            if how == "scalar":
                code.append(ScalarLoad(dst, name))
            elif name == "s":
                code.append(VectorLoad(dst, name, segment=Segment.LDS))
            else:
                code.append(VectorLoad(dst, name, self._bits(is_store=False)))
            return
        if how == "store":
            self.values[name] = new
            code.append(
                VectorStore(name, new, segment=Segment.LDS)
                if name == "s"
                else VectorStore(name, new, self._bits(is_store=True))
            )
            return
        self.values[name] = value + 16
        code.append(
            Atomic(RmwKind.ADD, name, 16, segment=Segment.LDS)
            if name == "s"
            else Atomic(RmwKind.ADD, name, 16, bits=self._atomic(()))
        )


@dataclass(frozen=True)
class Words:
    """The instructions and bits by which chips of a generation hand data on.

    ``wide``: bits of flags, ``near``: of those that waves below one L2 may have besides; ``loads``,
    ``stores``: of data.
    """

    wide: tuple[tuple[str, ...], ...]
    near: tuple[tuple[str, ...], ...]
    loads: tuple[tuple[str, ...], ...]
    stores: tuple[tuple[str, ...], ...]
    returning: str
    invalidates: tuple[tuple[CacheInstruction, ...], ...]
    write_backs: tuple[CacheInstruction, ...] = ()
    has_scopes: bool = False


_GL0, _GL1 = CacheInstruction("buffer_gl0_inv"), CacheInstruction("buffer_gl1_inv")
_RDNA_INVALIDATES = ((_GL1, _GL0), (_GL1, _GL0), (_GL0,), (_GL1,), (_GL0, _GL1))
_SE, _DEV, _SYS = ((each,) for each in SCOPES)
_SCOPED = Words(
    wide=(_DEV, _DEV, _SYS), near=(_SE,), loads=((), (), _SE, _DEV, _SYS), stores=((), (), _SE, _DEV, _SYS),
    returning=RETURNS,
    invalidates=tuple((CacheInstruction("global_inv", each),) for each in (_DEV, _DEV, _SYS, _SE)),
    write_backs=tuple(CacheInstruction("global_wb", each) for each in (_DEV, _DEV, _SYS, _SE)),
    has_scopes=True,
)  # fmt: skip
WORDS: Mapping[Generation, Words] = {
    Generation.GFX1030: Words(
        (("glc", "dlc"),), (("glc",),), ((), (), ("glc",), ("glc", "dlc")), ((),),
        "glc", _RDNA_INVALIDATES,
    ),
    Generation.GFX1100: Words(
        (("glc",),), (), ((), (), ("glc",)), ((),), "glc", _RDNA_INVALIDATES,
    ),
    Generation.GFX1200: _SCOPED,
    Generation.GFX1250: _SCOPED,
}  # fmt: skip
LATER: Mapping[Generation, tuple[CdnaConfiguration, ...]] = {
    Generation.GFX1030: tuple(CdnaConfiguration("gfx1030", each) for each in (False, True)),
    Generation.GFX1100: tuple(CdnaConfiguration("gfx1100", each) for each in (False, True)),
    Generation.GFX1200: tuple(CdnaConfiguration("gfx1200", each) for each in (False, True)),
    Generation.GFX1250: tuple(
        CdnaConfiguration("gfx1250", l2_per_agent=each)
        for each in (L2PerAgent.MANY, L2PerAgent.MANY, L2PerAgent.ONE)
    ),
}
"""The configurations of each generation after CDNA."""


class _LaterMaker(_Maker):
    """Chains of the chips after CDNA, whose loads and stores have a counter each."""

    def __init__(self, random: Random, configurations: Sequence[CdnaConfiguration], words: Words):
        super().__init__(random, configurations)
        self.words = words

    def _wide(self, near: bool) -> tuple[str, ...]:
        return self.random.choice((*self.words.wide, *(self.words.near if near else ())))

    def _atomic(self, wide: tuple[str, ...]) -> tuple[str, ...]:
        return (wide or self._wide(near=True)) if self.words.has_scopes else ()

    def _returning(self) -> str:
        return self.words.returning

    def _bits(self, *, is_store: bool) -> tuple[str, ...]:
        return self.random.choice(self.words.stores if is_store else self.words.loads)

    def _meeting(self, *, sends: bool) -> list[CdnaInstruction]:
        if not self.words.has_scopes:
            return [WorkgroupBarrier()]
        signal, wait = BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE)
        return [signal] if sends and self._maybe() else [signal, wait]

    def _wait(self, *, loads: int | None = None, stores: int | None = None) -> CdnaInstruction:
        if self.words.has_scopes:
            return Wait(loadcnt=loads, storecnt=stores)
        return Wait(vmcnt=loads, vscnt=stores)

    def _wait_for_lds(self) -> CdnaInstruction:
        return Wait(dscnt=0) if self.words.has_scopes else Wait(lgkmcnt=0)

    def _release(self, wave: int) -> None:
        code, random = self.code[wave], self.random
        if self.words.write_backs and self._maybe():
            if self._maybe():
                code.append(self._wait(loads=0))
            if self._maybe():
                code.append(self._wait(stores=0))
            code.append(random.choice(self.words.write_backs))
        if self._maybe():
            code.append(self._wait(stores=self._count()))
        if self._maybe():
            code.append(self._wait(loads=self._count()))
        if self._maybe():
            code.append(self._wait_for_lds())

    def _acquire(self, wave: int) -> None:
        code = self.code[wave]
        if self._maybe():
            code.append(self._wait(loads=self._count()))
        if self._maybe():
            code.append(self._wait_for_lds())
        if self._maybe():
            code += self.random.choice(self.words.invalidates)
            if self._maybe():
                code.append(self._wait(loads=0))


def races(one: AmdChain, detector: type[Detector] = Detector) -> list[object]:
    """The findings of the detector in two schedules. ValueError where flags never come."""
    found: dict[object, object] = {}
    waves = range(len(one.program.threads))
    for order in (tuple(waves), tuple(reversed(waves))):
        run = LitmusExecution(one.program, one.configuration, order, one.flags, detector)
        if not run.run():
            raise ValueError(f"never ends:\n{one}")
        found |= run.detector.races
    return list(found.values())


STATES = 60_000


def may_fail(one: AmdChain) -> bool | None:
    """True where an execution has every flag as written and other data; None: too large."""
    found = explore(CdnaEngine(one.program, one.configuration), STATES)
    if not found.complete:
        return None
    flags = {Register(*key): value for key, value in one.flags.items()}
    for state in found.outcomes.as_mappings():
        if all(state[key] == value for key, value in flags.items()) and any(
            state[key] != value for key, value in one.final.items()
        ):
            return True
    return False
