"""Requests for single operations, each with the code that a CDNA chip needs for it.

Here is what programs do not say, and words that only together make a difference: volatile and
private accesses, an address space by itself, what a chip refuses.
Source: LLVM AMDGPUUsage, Memory Model code sequences; where LLVM assumes LDS to be in order, what is
asked for without ``compat`` waits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ptx_requests

from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError

FILE = "lowering/cdna/select.py"
"""What decides this."""


def asked(
    target: str, op: str, ordering: str, scope: str, space: str | None = None, **more: Any
) -> dict[str, Any]:
    """What is asked for."""
    return dict(target=target, op=op, ordering=ordering, scope=scope, space=space, **more)


REQUESTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a failure that orders more than the success": (
        asked("gfx942", "cmpxchg", "relaxed", "agent", "global", failure_ordering="acquire"),
        [
            "global_atomic_cmpswap {dst}, {addr}, {data}, off sc0",
            "s_waitcnt vmcnt(0)",
            "buffer_inv sc1",
        ],
    ),
    "a failure of seq_cst after a release": (
        asked("gfx90a", "cmpxchg", "release", "system", "global", failure_ordering="seq_cst"),
        [
            "buffer_wbl2",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "global_atomic_cmpswap {dst}, {addr}, {data}, off glc",
            "s_waitcnt vmcnt(0)",
            "buffer_invl2",
            "buffer_wbinvl1_vol",
        ],
    ),
    "a barrier that orders LDS, where the hardware needs more": (
        asked("gfx908", "barrier", "acq_rel", "workgroup", spaces=("local",)),
        ["s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_barrier"],
    ),
    "a barrier that waits once": (
        asked("gfx908", "barrier", "acq_rel", "workgroup"),
        ["s_waitcnt vmcnt(0) lgkmcnt(0)", "s_barrier"],
    ),
    "a seq_cst load where loads and stores count apart": (
        asked("gfx1250", "load", "seq_cst", "agent", "global"),
        [
            "s_wait_storecnt_dscnt 0x0",
            "global_load_b32 {dst}, {addr}, off scope:SCOPE_DEV",
            "s_wait_loadcnt 0x0",
            "global_inv scope:SCOPE_DEV",
            "s_wait_loadcnt 0x0",
        ],
    ),
    "the same as LLVM has it": (
        asked("gfx1250", "load", "seq_cst", "agent", "global", compat="llvm"),
        [
            "s_wait_storecnt 0x0",
            "s_wait_loadcnt_dscnt 0x0",
            "global_load_b32 {dst}, {addr}, off scope:SCOPE_DEV",
            "s_wait_loadcnt 0x0",
            "global_inv scope:SCOPE_DEV",
            "s_wait_loadcnt 0x0",
        ],
    ),
    "an acquire fence where loads and stores count apart": (
        asked("gfx1250", "fence", "acquire", "agent"),
        [
            "s_wait_storecnt 0x0",
            "s_wait_loadcnt_dscnt 0x0",
            "global_inv scope:SCOPE_DEV",
            "s_wait_loadcnt 0x0",
        ],
    ),
    "a volatile load": (
        asked("gfx942", "load", "weak", "singlethread", "global", volatile=True),
        ["global_load_dword {dst}, {addr}, off sc0 sc1", "s_waitcnt vmcnt(0)"],
    ),
    "a volatile store through a generic pointer": (
        asked("gfx908", "store", "weak", "singlethread", "generic", volatile=True),
        ["flat_store_dword {addr}, {data}", "s_waitcnt vmcnt(0)"],
    ),
    "a volatile store to LDS": (
        asked("gfx942", "store", "weak", "singlethread", "local", volatile=True),
        ["ds_write_b32 {addr}, {data}"],
    ),
    "a volatile nontemporal store": (
        asked("gfx942", "store", "weak", "singlethread", "global", volatile=True, nontemporal=True),
        ["global_store_dword {addr}, {data}, off sc0 sc1", "s_waitcnt vmcnt(0)"],
    ),
    "a nontemporal load": (
        asked("gfx942", "load", "weak", "singlethread", "global", nontemporal=True),
        ["global_load_dword {dst}, {addr}, off nt"],
    ),
    "an atomic nontemporal load": (
        asked("gfx942", "load", "relaxed", "agent", "global", nontemporal=True),
        ["global_load_dword {dst}, {addr}, off sc1"],
    ),
    "a volatile load that acquires": (
        asked("gfx942", "load", "acquire", "agent", "global", volatile=True),
        ["global_load_dword {dst}, {addr}, off sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"],
    ),
    "a volatile atomic store to private memory": (
        asked("gfx908", "store", "seq_cst", "workgroup", "private", volatile=True),
        ["buffer_store_dword {data}, {addr}, {resource}, 0 offen", "s_waitcnt vmcnt(0)"],
    ),
    "a nontemporal atomic load of private memory": (
        asked("gfx942", "load", "relaxed", "agent", "private", nontemporal=True),
        ["scratch_load_dword {dst}, {addr}, off"],
    ),
    "a volatile exchange in private memory": (
        asked(
            "gfx90a",
            "cmpxchg",
            "seq_cst",
            "workgroup",
            "private",
            failure_ordering="relaxed",
            volatile=True,
        ),
        [
            "buffer_load_dword {dst}, {addr}, {resource}, 0 offen glc",
            "s_waitcnt vmcnt(0)",
            "buffer_store_dword {new}, {addr}, {resource}, 0 offen",
        ],
    ),
    "a load of private memory": (
        asked("gfx90a", "load", "weak", "singlethread", "private"),
        ["buffer_load_dword {dst}, {addr}, {resource}, 0 offen"],
    ),
    "a store to private memory": (
        asked("gfx90a", "store", "weak", "singlethread", "private"),
        ["buffer_store_dword {data}, {addr}, {resource}, 0 offen"],
    ),
    "ordering without availability": (
        asked("gfx90a", "fence", "seq_cst", "agent", availability="none"),
        ["s_waitcnt vmcnt(0) lgkmcnt(0)"],
    ),
    "a fence of both halves": (
        asked("gfx942", "fence", "acq_rel", "agent"),
        ["s_waitcnt lgkmcnt(0)", "buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"],
    ),
    "a fence of both halves without LDS": (
        asked("gfx942", "fence", "seq_cst", "agent", spaces=("global",)),
        ["buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"],
    ),
    "a fence of both halves for LDS": (
        asked("gfx942", "fence", "acq_rel", "agent", spaces=("local",)),
        ["s_waitcnt lgkmcnt(0)"],
    ),
    "a fence of both halves with nothing to write back": (
        asked("gfx942", "fence", "seq_cst", "agent", l2_per_agent="one"),
        ["s_waitcnt vmcnt(0) lgkmcnt(0)", "buffer_inv sc1"],
    ),
    "a fence of one address space by itself": (
        asked(
            "gfx90a",
            "fence",
            "release",
            "workgroup",
            one_as=True,
            spaces=("global",),
            features=("tgsplit",),
        ),
        ["s_waitcnt vmcnt(0)"],
    ),
    "a fence of generic and global memory": (
        asked("gfx942", "fence", "release", "system", spaces=("generic", "global")),
        ["buffer_wbl2 sc0 sc1", "s_waitcnt vmcnt(0) lgkmcnt(0)"],
    ),
    "a fence of all address spaces, each by itself": (
        asked("gfx942", "fence", "release", "agent", one_as=True),
        ["buffer_wbl2 sc1", "s_waitcnt vmcnt(0) lgkmcnt(0)"],
    ),
    "LLVM's fence of all address spaces, each by itself": (
        asked("gfx908", "fence", "release", "agent", one_as=True, compat="llvm"),
        ["s_waitcnt vmcnt(0)"],
    ),
    "LLVM's fence": (
        asked("gfx908", "fence", "release", "agent", compat="llvm"),
        ["s_waitcnt vmcnt(0) lgkmcnt(0)"],
    ),
    "an exchange in LDS by itself": (
        asked("gfx908", "atomic_rmw", "seq_cst", "agent", "local", one_as=True),
        ["s_waitcnt lgkmcnt(0)", "ds_add_rtn_u32 {dst}, {addr}, {data}", "s_waitcnt lgkmcnt(0)"],
    ),
    "LLVM's exchange in LDS by itself": (
        asked("gfx908", "atomic_rmw", "acquire", "workgroup", "local", one_as=True, compat="llvm"),
        ["ds_add_rtn_u32 {dst}, {addr}, {data}"],
    ),
    "an exchange in global memory by itself": (
        asked("gfx942", "atomic_rmw", "seq_cst", "agent", "global", one_as=True),
        [
            "buffer_wbl2 sc1",
            "s_waitcnt vmcnt(0)",
            "global_atomic_add {dst}, {addr}, {data}, off sc0",
            "s_waitcnt vmcnt(0)",
            "buffer_inv sc1",
        ],
    ),
    "an exchange in global memory that orders private": (
        asked(
            "gfx90a",
            "cmpxchg",
            "release",
            "system",
            "global",
            failure_ordering="acquire",
            spaces=("private",),
        ),
        [
            "s_waitcnt vmcnt(0)",
            "global_atomic_cmpswap {dst}, {addr}, {data}, off glc",
            "s_waitcnt vmcnt(0)",
        ],
    ),
    "an exchange by a generic pointer": (
        asked("gfx942", "atomic_rmw", "seq_cst", "agent", "generic", returns=False),
        [
            "buffer_wbl2 sc1",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "flat_atomic_add {addr}, {data}",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "buffer_inv sc1",
        ],
    ),
    "an exchange by a generic pointer, each space by itself": (
        asked("gfx942", "atomic_rmw", "seq_cst", "agent", "generic", one_as=True),
        [
            "buffer_wbl2 sc1",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "flat_atomic_add {dst}, {addr}, {data} sc0",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "buffer_inv sc1",
        ],
    ),
    "LLVM's exchange by a generic pointer, each space by itself": (
        asked("gfx942", "atomic_rmw", "seq_cst", "agent", "generic", one_as=True, compat="llvm"),
        [
            "buffer_wbl2 sc1",
            "s_waitcnt vmcnt(0)",
            "flat_atomic_add {dst}, {addr}, {data} sc0",
            "s_waitcnt vmcnt(0)",
            "buffer_inv sc1",
        ],
    ),
    "an exchange by a generic pointer that orders LDS by itself": (
        asked(
            "gfx942",
            "cmpxchg",
            "acquire",
            "agent",
            "generic",
            failure_ordering="seq_cst",
            one_as=True,
            spaces=("local",),
        ),
        [
            "s_waitcnt lgkmcnt(0)",
            "flat_atomic_cmpswap {dst}, {addr}, {data} sc0",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
        ],
    ),
    "LLVM's load by a generic pointer, each space by itself": (
        asked("gfx942", "load", "acquire", "agent", "generic", one_as=True, compat="llvm"),
        ["flat_load_dword {dst}, {addr} sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"],
    ),
    "a flag in LDS of the whole agent": (
        asked("gfx942", "store", "release", "agent", "local"),
        ["s_waitcnt vmcnt(0) lgkmcnt(0)", "ds_write_b32 {addr}, {data}"],
    ),
    "numbers of 16 bits": (
        asked("gfx942", "atomic_rmw", "relaxed", "agent", "global", kind="fadd", type="f16x2"),
        ["global_atomic_pk_add_f16 {dst}, {addr}, {data}, off sc0"],
    ),
    "tgsplit where there is none": (
        asked("gfx908", "fence", "release", "agent", features=("tgsplit",)),
        ["error: fence release agent +tgsplit: gfx908 has no feature tgsplit; accepted: none"],
    ),
    "an atomic load of constant memory": (
        asked("gfx90a", "load", "relaxed", "agent", "constant"),
        [
            "error: load relaxed agent i32 on constant: constant memory has no atomic accesses; accepted: weak, global"
        ],
    ),
    "a fence of memory that there is not": (
        asked("gfx942", "fence", "release", "agent", spaces=("shared_cluster",)),
        [
            "error: fence release agent: gfx942 has no shared_cluster memory; accepted: generic, global, local, constant, private"
        ],
    ),
    "a barrier of the cluster": (
        asked("gfx942", "barrier", "acq_rel", "cluster"),
        [
            "error: barrier acq_rel cluster: s_barrier joins the waves of one work-group only; accepted: workgroup, wavefront"
        ],
    ),
    "a sum that there is no instruction for": (
        asked("gfx90a", "atomic_rmw", "relaxed", "agent", "generic", kind="fadd"),
        [
            "error: atomic_rmw fadd relaxed agent i32 on generic: gfx90a has no such instruction; accepted: i64"
        ],
    ),
    "a product of halves": (
        asked("gfx942", "atomic_rmw", "relaxed", "agent", "global", kind="fmax", type="f16x2"),
        [
            "error: atomic_rmw fmax relaxed agent f16x2 on global: gfx942 has no such instruction; accepted: a compare-exchange loop"
        ],
    ),
}
"""What is asked for, and its code; or that there is none, and why."""


BY_FILE = {FILE: REQUESTS, ptx_requests.FILE: ptx_requests.REQUESTS}
ALL = {**REQUESTS, **ptx_requests.REQUESTS}
assert len(ALL) == sum(map(len, BY_FILE.values()))


@dataclass(frozen=True)
class RequestTrial:
    """One of the ``REQUESTS``, here or of ``ptx_requests``."""

    name: str

    is_fit = True

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"

    def problem(self) -> str:
        """What there is now that should not be; empty if the code is right."""
        question, code = ALL[self.name]
        try:
            made = [each.text for each in lower(**question).instructions]
        except UnsupportedError as problem:
            made = [f"error: {problem}"]
        return "" if made == code else "; ".join(made) or "nothing"


PREFIX = "request: "


class StagedRequest:
    """A request that is lowered again and again; see ``pass_trials.Staged``."""

    is_cheap = True

    def __init__(self, trial: RequestTrial):
        self.trial = trial

    def again(self) -> tuple[str, int] | None:
        """What is wrong now, if anything."""
        problem = self.trial.problem()
        return (problem, 0) if problem else None


def staged(file: str) -> Iterator[StagedRequest]:
    """The requests for a file, if there are any."""
    for name in BY_FILE.get(file, ()):
        yield StagedRequest(RequestTrial(name))
