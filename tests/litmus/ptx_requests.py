"""Requests for single operations on NVIDIA GPUs, each with the code that a chip needs for it.

As ``select_requests`` for CDNA: fences of some memories only, forms that a chip or a PTX version has not,
updates that nobody reads, loops, private memory.
Source: NVIDIA PTX Writer's Guide, Atomics ABI; PTX ISA, fence, ld, st, atom, red, barrier.
"""

from typing import Any

from fencewright.lowering.ptx.select import NO_ACQUIRE_FENCE_AFTER, NO_RELAXED_BARRIER

FILE = "lowering/ptx/select.py"
"""What decides this."""


def asked(
    target: str, op: str, ordering: str, scope: str, space: str | None = None, **more: Any
) -> dict[str, Any]:
    """What is asked for."""
    return dict(target=target, op=op, ordering=ordering, scope=scope, space=space, **more)


REQUESTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a release fence of shared memory, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "release",
            "cluster",
            spaces=("local",),
            features=(NO_RELAXED_BARRIER,),
        ),
        ["fence.release.sync_restrict::shared::cta.cluster"],
    ),
    "a release fence of shared memory that a relaxed barrier may carry": (
        asked("sm_90", "fence", "release", "cluster", spaces=("local",)),
        ["fence.release.cluster"],
    ),
    "an acquire fence of a cluster's shared memory, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "acquire",
            "agent",
            spaces=("shared_cluster", "local"),
            features=(NO_RELAXED_BARRIER,),
        ),
        ["fence.acquire.sync_restrict::shared::cluster.cluster"],
    ),
    "a release fence of a cluster's shared memory, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "release",
            "cluster",
            spaces=("shared_cluster",),
            features=(NO_RELAXED_BARRIER,),
        ),
        ["fence.release.cluster"],
    ),
    "a release fence of shared and private memory, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "release",
            "cluster",
            spaces=("local", "private"),
            features=(NO_RELAXED_BARRIER,),
        ),
        ["fence.release.sync_restrict::shared::cta.cluster"],
    ),
    "a release fence of shared and global memory, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "release",
            "agent",
            spaces=("local", "global"),
            features=(NO_RELAXED_BARRIER,),
        ),
        ["fence.release.gpu"],
    ),
    "a fence of both halves of shared memory, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "acq_rel",
            "cluster",
            spaces=("local",),
            features=(NO_RELAXED_BARRIER,),
        ),
        [
            "fence.acquire.sync_restrict::shared::cluster.cluster",
            "fence.release.sync_restrict::shared::cta.cluster",
        ],
    ),
    "a release fence of shared memory before PTX 8.6": (
        asked(
            "sm_90",
            "fence",
            "release",
            "cluster",
            spaces=("local",),
            features=(NO_RELAXED_BARRIER,),
            ptx_version="8.0",
        ),
        ["fence.acq_rel.cluster"],
    ),
    "a release fence of shared memory where there are no clusters": (
        asked(
            "sm_70", "fence", "release", "system", spaces=("local",), features=(NO_RELAXED_BARRIER,)
        ),
        ["fence.acq_rel.cta"],
    ),
    "a release fence of shared memory for a work-group, without relaxed barriers": (
        asked(
            "sm_90",
            "fence",
            "release",
            "workgroup",
            spaces=("local",),
            features=(NO_RELAXED_BARRIER,),
        ),
        ["fence.release.cta"],
    ),
    "a seq_cst fence of shared memory, without relaxed barriers": (
        asked(
            "sm_90", "fence", "seq_cst", "system", spaces=("local",), features=(NO_RELAXED_BARRIER,)
        ),
        ["fence.sc.sys"],
    ),
    "a seq_cst fence of private memory": (
        asked("sm_90", "fence", "seq_cst", "system", spaces=("private",)),
        ["fence.sc.sys"],
    ),
    "a release fence of private memory": (
        asked("sm_90", "fence", "release", "system", spaces=("private",)),
        [],
    ),
    "a release fence of private and global memory": (
        asked("sm_90", "fence", "release", "system", spaces=("private", "global")),
        ["fence.release.sys"],
    ),
    "a release fence of constant and generic memory": (
        asked("sm_90", "fence", "release", "system", spaces=("constant", "generic")),
        ["fence.release.sys"],
    ),
    "a fence for nobody else": (asked("sm_90", "fence", "acq_rel", "singlethread"), []),
    "a seq_cst fence for nobody else": (asked("sm_90", "fence", "seq_cst", "singlethread"), []),
    "a fence of a cluster where there are none": (
        asked("sm_80", "fence", "release", "cluster"),
        ["fence.acq_rel.cta"],
    ),
    "a fence of a cluster's shared memory where there are none": (
        asked("sm_80", "fence", "release", "agent", spaces=("shared_cluster",)),
        [
            "error: fence release agent: sm_80 has no cluster scope and shared::cluster in this PTX version; accepted: sm_90 with PTX 7.8"
        ],
    ),
    "a load of a cluster's shared memory where there are none": (
        asked("sm_80", "load", "relaxed", "agent", "shared_cluster"),
        [
            "error: load relaxed agent i32 on shared_cluster: sm_80 has no cluster scope and shared::cluster in this PTX version; accepted: sm_90 with PTX 7.8"
        ],
    ),
    "a release fence for an agent, of a width that no access has": (
        asked("sm_70", "fence", "release", "agent", width=24),
        ["fence.acq_rel.gpu"],
    ),
    "a volatile load for PTX": (
        asked("sm_70", "load", "weak", "singlethread", "global", volatile=True),
        ["ld.volatile.global.b32 {dst}, [{addr}]"],
    ),
    "a volatile relaxed store": (
        asked("sm_90", "store", "relaxed", "agent", "global", volatile=True),
        ["st.volatile.global.b32 [{addr}], {data}"],
    ),
    "a nontemporal load for PTX": (
        asked("sm_90", "load", "weak", "singlethread", "global", nontemporal=True),
        ["ld.weak.global.cs.b32 {dst}, [{addr}]"],
    ),
    "a volatile nontemporal store for PTX": (
        asked("sm_90", "store", "weak", "singlethread", "global", volatile=True, nontemporal=True),
        ["st.volatile.global.b32 [{addr}], {data}"],
    ),
    "a nontemporal relaxed load": (
        asked("sm_90", "load", "relaxed", "agent", "global", nontemporal=True),
        ["ld.relaxed.gpu.global.b32 {dst}, [{addr}]"],
    ),
    "a volatile load of private memory": (
        asked("sm_90", "load", "weak", "singlethread", "private", volatile=True),
        [
            ".reg .b64 {generic}",
            "cvta.local.u64 {generic}, {addr}",
            "ld.volatile.b32 {dst}, [{generic}]",
        ],
    ),
    "a volatile store to private memory": (
        asked("sm_90", "store", "weak", "singlethread", "private", volatile=True),
        [
            ".reg .b64 {generic}",
            "cvta.local.u64 {generic}, {addr}",
            "st.volatile.b32 [{generic}], {data}",
        ],
    ),
    "a load of private memory for PTX": (
        asked("sm_90", "load", "weak", "singlethread", "private"),
        ["ld.weak.local.b32 {dst}, [{addr}]"],
    ),
    "a seq_cst load of private memory": (
        asked("sm_90", "load", "seq_cst", "system", "private"),
        ["ld.weak.local.b32 {dst}, [{addr}]"],
    ),
    "a load that acquires for nobody else": (
        asked("sm_90", "load", "acquire", "singlethread", "global"),
        ["ld.relaxed.cta.global.b32 {dst}, [{addr}]"],
    ),
    "a seq_cst store for nobody else": (
        asked("sm_90", "store", "seq_cst", "singlethread", "global"),
        ["st.relaxed.cta.global.b32 [{addr}], {data}"],
    ),
    "a plain load": (
        asked("sm_90", "load", "weak", "singlethread", "global"),
        ["ld.weak.global.b32 {dst}, [{addr}]"],
    ),
    "a load of 128 bits": (
        asked("sm_90", "load", "relaxed", "agent", "global", width=128),
        ["ld.relaxed.gpu.global.b128 {dst}, [{addr}]"],
    ),
    "a load of 128 bits for the whole system": (
        asked("sm_90", "load", "relaxed", "system", "global", width=128),
        ["ld.relaxed.sys.global.b128 {dst}, [{addr}]"],
    ),
    "a load of 128 bits before PTX 8.3": (
        asked("sm_90", "load", "weak", "singlethread", "global", width=128, ptx_version="8.0"),
        [
            "error: load weak i128 on global: sm_90 has no 128-bit access in this PTX version; accepted: sm_90 with PTX 8.3"
        ],
    ),
    "a load of 128 bits for the whole system before PTX 8.4": (
        asked("sm_90", "load", "relaxed", "system", "global", width=128, ptx_version="8.3"),
        [
            "error: load relaxed system i128 on global: sm_90 has no 128-bit access at system scope in this PTX version; accepted: sm_90 with PTX 8.4"
        ],
    ),
    "a load of 128 bits for an agent before PTX 8.4": (
        asked("sm_90", "load", "relaxed", "agent", "global", width=128, ptx_version="8.3"),
        ["ld.relaxed.gpu.global.b128 {dst}, [{addr}]"],
    ),
    "a load of 24 bits": (
        asked("sm_70", "load", "weak", "singlethread", "global", width=24),
        [
            "error: load weak i24 on global: PTX has no 24-bit access; accepted: i8, i16, i32, i64, i128"
        ],
    ),
    "an exchange of 8 bits that acquires if it fails": (
        asked(
            "sm_70", "cmpxchg", "release", "agent", "global", width=8, failure_ordering="acquire"
        ),
        [
            ".reg .b32 {old}, {comparand}, {new}",
            ".reg .pred {again}, {differs}",
            ".reg .b64 {word}",
            ".reg .b32 {shift}, {expected}, {found}",
            ".reg .b32 {merged}",
            "and.b64 {word}, {addr}, -4",
            "cvt.u32.u64 {shift}, {addr}",
            "and.b32 {shift}, {shift}, 3",
            "shl.b32 {shift}, {shift}, 3",
            "cvt.u32.u8 {comparand}, {compare}",
            "cvt.u32.u8 {new}, {data}",
            "ld.acquire.gpu.global.b32 {expected}, [{word}]",
            "{retry}:",
            "bfe.u32 {old}, {expected}, {shift}, 8",
            "setp.ne.u32 {differs}, {old}, {comparand}",
            "@{differs} bra {done}",
            "bfi.b32 {merged}, {new}, {expected}, {shift}, 8",
            "atom.acq_rel.gpu.global.cas.b32 {found}, [{word}], {expected}, {merged}",
            "setp.ne.b32 {again}, {found}, {expected}",
            "mov.b32 {expected}, {found}",
            "@{again} bra {retry}",
            "{done}:",
            "cvt.u16.u8 {dst}, {old}",
        ],
    ),
    "an exchange of 8 bits that acquires if it succeeds": (
        asked(
            "sm_70", "cmpxchg", "acquire", "agent", "global", width=8, failure_ordering="relaxed"
        ),
        [
            ".reg .b32 {old}, {comparand}, {new}",
            ".reg .pred {again}, {differs}",
            ".reg .b64 {word}",
            ".reg .b32 {shift}, {expected}, {found}",
            ".reg .b32 {merged}",
            "and.b64 {word}, {addr}, -4",
            "cvt.u32.u64 {shift}, {addr}",
            "and.b32 {shift}, {shift}, 3",
            "shl.b32 {shift}, {shift}, 3",
            "cvt.u32.u8 {comparand}, {compare}",
            "cvt.u32.u8 {new}, {data}",
            "ld.relaxed.gpu.global.b32 {expected}, [{word}]",
            "{retry}:",
            "bfe.u32 {old}, {expected}, {shift}, 8",
            "setp.ne.u32 {differs}, {old}, {comparand}",
            "@{differs} bra {done}",
            "bfi.b32 {merged}, {new}, {expected}, {shift}, 8",
            "atom.acquire.gpu.global.cas.b32 {found}, [{word}], {expected}, {merged}",
            "setp.ne.b32 {again}, {found}, {expected}",
            "mov.b32 {expected}, {found}",
            "@{again} bra {retry}",
            "{done}:",
            "cvt.u16.u8 {dst}, {old}",
        ],
    ),
    "an exchange of 8 bits for nobody else": (
        asked(
            "sm_70",
            "cmpxchg",
            "acquire",
            "singlethread",
            "global",
            width=8,
            failure_ordering="acquire",
        ),
        [
            ".reg .b32 {old}, {comparand}, {new}",
            ".reg .pred {again}, {differs}",
            ".reg .b64 {word}",
            ".reg .b32 {shift}, {expected}, {found}",
            ".reg .b32 {merged}",
            "and.b64 {word}, {addr}, -4",
            "cvt.u32.u64 {shift}, {addr}",
            "and.b32 {shift}, {shift}, 3",
            "shl.b32 {shift}, {shift}, 3",
            "cvt.u32.u8 {comparand}, {compare}",
            "cvt.u32.u8 {new}, {data}",
            "ld.relaxed.cta.global.b32 {expected}, [{word}]",
            "{retry}:",
            "bfe.u32 {old}, {expected}, {shift}, 8",
            "setp.ne.u32 {differs}, {old}, {comparand}",
            "@{differs} bra {done}",
            "bfi.b32 {merged}, {new}, {expected}, {shift}, 8",
            "atom.relaxed.cta.global.cas.b32 {found}, [{word}], {expected}, {merged}",
            "setp.ne.b32 {again}, {found}, {expected}",
            "mov.b32 {expected}, {found}",
            "@{again} bra {retry}",
            "{done}:",
            "cvt.u16.u8 {dst}, {old}",
        ],
    ),
    "an exchange of 16 bits": (
        asked(
            "sm_70", "cmpxchg", "relaxed", "agent", "global", width=16, failure_ordering="acquire"
        ),
        ["atom.acquire.gpu.global.cas.b16 {dst}, [{addr}], {compare}, {data}"],
    ),
    "an exchange of 128 bits": (
        asked(
            "sm_90", "cmpxchg", "acquire", "agent", "global", width=128, failure_ordering="acquire"
        ),
        ["atom.acquire.gpu.global.cas.b128 {dst}, [{addr}], {compare}, {data}"],
    ),
    "an exchange of 128 bits where there is none": (
        asked(
            "sm_70", "cmpxchg", "acquire", "agent", "global", width=128, failure_ordering="acquire"
        ),
        [
            "error: cmpxchg acquire acquire agent i128 on global: sm_70 has no 128-bit atomic in this PTX version; accepted: sm_90 with PTX 8.3"
        ],
    ),
    "an exchange of 128 bits for the whole system before PTX 8.4": (
        asked(
            "sm_90",
            "cmpxchg",
            "relaxed",
            "system",
            "global",
            width=128,
            failure_ordering="relaxed",
            ptx_version="8.3",
        ),
        [
            "error: cmpxchg relaxed relaxed system i128 on global: sm_90 has no 128-bit atomic at system scope in this PTX version; accepted: sm_90 with PTX 8.4"
        ],
    ),
    "an exchange of 128 bits for an agent before PTX 8.4": (
        asked(
            "sm_90",
            "cmpxchg",
            "relaxed",
            "agent",
            "global",
            width=128,
            failure_ordering="relaxed",
            ptx_version="8.3",
        ),
        ["atom.relaxed.gpu.global.cas.b128 {dst}, [{addr}], {compare}, {data}"],
    ),
    "an exchange of 128 bits in private memory": (
        asked(
            "sm_90", "cmpxchg", "acquire", "agent", "private", width=128, failure_ordering="acquire"
        ),
        [
            "error: cmpxchg acquire acquire agent i128 on private: private memory has no atom, and PTX computes and compares nothing on 128 bits; accepted: i64, a load and a store"
        ],
    ),
    "an exchange of 64 bits in private memory": (
        asked(
            "sm_90", "cmpxchg", "acquire", "agent", "private", width=64, failure_ordering="acquire"
        ),
        [
            ".reg .pred {equal}",
            "ld.weak.local.b64 {dst}, [{addr}]",
            "setp.eq.b64 {equal}, {dst}, {compare}",
            "@{equal} st.weak.local.b64 [{addr}], {data}",
        ],
    ),
    "128 bits put into private memory": (
        asked("sm_90", "atomic_rmw", "acquire", "agent", "private", kind="xchg", width=128),
        [
            "error: atomic_rmw xchg acquire agent i128 on private: private memory has no atom, and PTX computes and compares nothing on 128 bits; accepted: i64, a load and a store"
        ],
    ),
    "128 bits put into global memory for the whole system": (
        asked("sm_90", "atomic_rmw", "acquire", "system", "global", kind="xchg", width=128),
        ["atom.acquire.sys.global.exch.b128 {dst}, [{addr}], {data}"],
    ),
    "a sum of 128 bits": (
        asked("sm_90", "atomic_rmw", "relaxed", "agent", "global", kind="add", width=128),
        [
            "error: atomic_rmw add relaxed agent i128 on global: PTX exchanges and compares 128 bits, but computes nothing on them; accepted: xchg"
        ],
    ),
    "a sum in private memory": (
        asked("sm_90", "atomic_rmw", "acquire", "agent", "private", kind="add", width=64),
        [
            ".reg .b64 {new}",
            "ld.weak.local.b64 {dst}, [{addr}]",
            "add.u64 {new}, {dst}, {data}",
            "st.weak.local.b64 [{addr}], {new}",
        ],
    ),
    "a difference that nobody reads": (
        asked(
            "sm_90",
            "atomic_rmw",
            "release",
            "agent",
            "global",
            kind="sub",
            returns=False,
            features=(NO_ACQUIRE_FENCE_AFTER,),
        ),
        [
            ".reg .b32 {negated}",
            "neg.s32 {negated}, {data}",
            "red.release.gpu.global.add.u32 [{addr}], {negated}",
        ],
    ),
    "a difference": (
        asked("sm_90", "atomic_rmw", "release", "agent", "global", kind="sub"),
        [
            ".reg .b32 {negated}",
            "neg.s32 {negated}, {data}",
            "atom.release.gpu.global.add.u32 {dst}, [{addr}], {negated}",
        ],
    ),
    "a sum that nobody reads, where an acquire fence may follow": (
        asked("sm_90", "atomic_rmw", "relaxed", "agent", "global", kind="add", returns=False),
        ["atom.relaxed.gpu.global.add.u32 _, [{addr}], {data}"],
    ),
    "a sum that nobody reads and that acquires": (
        asked(
            "sm_90",
            "atomic_rmw",
            "acquire",
            "agent",
            "global",
            kind="add",
            returns=False,
            features=(NO_ACQUIRE_FENCE_AFTER,),
        ),
        ["atom.acquire.gpu.global.add.u32 _, [{addr}], {data}"],
    ),
    "a sum that nobody reads, for nobody else": (
        asked(
            "sm_90", "atomic_rmw", "relaxed", "singlethread", "global", kind="add", returns=False
        ),
        ["red.relaxed.cta.global.add.u32 [{addr}], {data}"],
    ),
    "a sum that somebody reads, where no acquire fence follows": (
        asked(
            "sm_90",
            "atomic_rmw",
            "relaxed",
            "agent",
            "global",
            kind="add",
            features=(NO_ACQUIRE_FENCE_AFTER,),
        ),
        ["atom.relaxed.gpu.global.add.u32 {dst}, [{addr}], {data}"],
    ),
    "a value put there that nobody reads": (
        asked(
            "sm_90",
            "atomic_rmw",
            "release",
            "agent",
            "global",
            kind="xchg",
            returns=False,
            features=(NO_ACQUIRE_FENCE_AFTER,),
        ),
        ["atom.release.gpu.global.exch.b32 _, [{addr}], {data}"],
    ),
    "128 bits put there that nobody reads": (
        asked(
            "sm_90",
            "atomic_rmw",
            "release",
            "agent",
            "global",
            kind="xchg",
            returns=False,
            width=128,
            features=(NO_ACQUIRE_FENCE_AFTER,),
        ),
        ["atom.release.gpu.global.exch.b128 _, [{addr}], {data}"],
    ),
    "a sum of 16 bits": (
        asked("sm_70", "atomic_rmw", "relaxed", "agent", "global", kind="add", width=16),
        [
            ".reg .b16 {old}, {new}",
            ".reg .pred {again}",
            "ld.relaxed.gpu.global.b16 {dst}, [{addr}]",
            "{retry}:",
            "mov.b16 {old}, {dst}",
            "add.u16 {new}, {old}, {data}",
            "atom.relaxed.gpu.global.cas.b16 {dst}, [{addr}], {old}, {new}",
            "setp.ne.b16 {again}, {dst}, {old}",
            "@{again} bra {retry}",
        ],
    ),
    "a sum of 8 bits that nobody reads": (
        asked(
            "sm_90", "atomic_rmw", "acq_rel", "agent", "global", kind="add", width=8, returns=False
        ),
        [
            ".reg .b32 {old}, {new}, {operand}",
            ".reg .pred {again}",
            ".reg .b64 {word}",
            ".reg .b32 {shift}, {expected}, {found}",
            ".reg .b32 {merged}",
            "and.b64 {word}, {addr}, -4",
            "cvt.u32.u64 {shift}, {addr}",
            "and.b32 {shift}, {shift}, 3",
            "shl.b32 {shift}, {shift}, 3",
            "cvt.u32.u8 {operand}, {data}",
            "ld.relaxed.gpu.global.b32 {expected}, [{word}]",
            "{retry}:",
            "bfe.u32 {old}, {expected}, {shift}, 8",
            "add.u32 {new}, {old}, {operand}",
            "bfi.b32 {merged}, {new}, {expected}, {shift}, 8",
            "atom.acq_rel.gpu.global.cas.b32 {found}, [{word}], {expected}, {merged}",
            "setp.ne.b32 {again}, {found}, {expected}",
            "mov.b32 {expected}, {found}",
            "@{again} bra {retry}",
        ],
    ),
    "a sum of bf16 in a loop": (
        asked("sm_80", "atomic_rmw", "relaxed", "agent", "global", kind="fadd", type="bf16"),
        [
            ".reg .b16 {old}, {new}, {unit}",
            ".reg .pred {again}",
            "ld.relaxed.gpu.global.b16 {dst}, [{addr}]",
            "{retry}:",
            "mov.b16 {old}, {dst}",
            "mov.b16 {unit}, 0x3F80",
            "fma.rn.bf16 {new}, {data}, {unit}, {old}",
            "atom.relaxed.gpu.global.cas.b16 {dst}, [{addr}], {old}, {new}",
            "setp.ne.b16 {again}, {dst}, {old}",
            "@{again} bra {retry}",
        ],
    ),
    "a sum of bf16 where there is none": (
        asked("sm_70", "atomic_rmw", "relaxed", "agent", "global", kind="fadd", type="bf16"),
        [
            "error: atomic_rmw fadd relaxed agent bf16 on global: sm_70 has no multiply-add of bf16 and bf16x2 in this PTX version; accepted: sm_80 with PTX 7.0"
        ],
    ),
    "a sum of bf16": (
        asked("sm_90", "atomic_rmw", "relaxed", "agent", "global", kind="fadd", type="bf16"),
        ["atom.relaxed.gpu.global.add.noftz.bf16 {dst}, [{addr}], {data}"],
    ),
    "a sum of f16, each by itself": (
        asked(
            "sm_90",
            "atomic_rmw",
            "relaxed",
            "agent",
            "global",
            kind="fadd",
            type="f16x2",
            elementwise=True,
        ),
        ["atom.relaxed.gpu.global.add.noftz.f16x2 {dst}, [{addr}], {data}"],
    ),
    "a sum of f16, both at once": (
        asked("sm_90", "atomic_rmw", "relaxed", "agent", "global", kind="fadd", type="f16x2"),
        [
            ".reg .b32 {old}, {new}",
            ".reg .pred {again}",
            "ld.relaxed.gpu.global.b32 {dst}, [{addr}]",
            "{retry}:",
            "mov.b32 {old}, {dst}",
            "add.rn.f16x2 {new}, {old}, {data}",
            "atom.relaxed.gpu.global.cas.b32 {dst}, [{addr}], {old}, {new}",
            "setp.ne.b32 {again}, {dst}, {old}",
            "@{again} bra {retry}",
        ],
    ),
    "a sum of f16 in private memory": (
        asked("sm_90", "atomic_rmw", "relaxed", "agent", "private", kind="fadd", type="f16"),
        [
            ".reg .b16 {new}",
            "ld.weak.local.b16 {dst}, [{addr}]",
            "add.rn.f16 {new}, {dst}, {data}",
            "st.weak.local.b16 [{addr}], {new}",
        ],
    ),
    "the greater f32": (
        asked("sm_90", "atomic_rmw", "relaxed", "agent", "global", kind="fmax", type="f32"),
        [
            ".reg .b32 {old}, {new}",
            ".reg .pred {again}",
            "ld.relaxed.gpu.global.b32 {dst}, [{addr}]",
            "{retry}:",
            "mov.b32 {old}, {dst}",
            "max.f32 {new}, {old}, {data}",
            "atom.relaxed.gpu.global.cas.b32 {dst}, [{addr}], {old}, {new}",
            "setp.ne.b32 {again}, {dst}, {old}",
            "@{again} bra {retry}",
        ],
    ),
    "an f16 put there": (
        asked("sm_70", "atomic_rmw", "relaxed", "agent", "global", kind="xchg", type="f16"),
        [
            ".reg .b16 {old}, {new}",
            ".reg .pred {again}",
            "ld.relaxed.gpu.global.b16 {dst}, [{addr}]",
            "{retry}:",
            "mov.b16 {old}, {dst}",
            "mov.b16 {new}, {data}",
            "atom.relaxed.gpu.global.cas.b16 {dst}, [{addr}], {old}, {new}",
            "setp.ne.b16 {again}, {dst}, {old}",
            "@{again} bra {retry}",
        ],
    ),
    "a relaxed barrier of a cluster": (
        asked("sm_90", "barrier", "relaxed", "cluster"),
        ["barrier.cluster.arrive.relaxed", "barrier.cluster.wait"],
    ),
    "a barrier of a cluster whose warps are converged": (
        asked("sm_90", "barrier", "acq_rel", "cluster", features=("converged",)),
        ["barrier.cluster.arrive.release", "barrier.cluster.wait.acquire"],
    ),
    "a barrier of a cluster": (
        asked("sm_90", "barrier", "acq_rel", "cluster"),
        ["barrier.cluster.arrive.release", "barrier.cluster.wait.acquire"],
    ),
    "a relaxed barrier of a cluster before PTX 8.0": (
        asked("sm_90", "barrier", "relaxed", "cluster", ptx_version="7.8"),
        ["barrier.cluster.arrive", "barrier.cluster.wait"],
    ),
    "a barrier of a cluster where there are none": (
        asked("sm_80", "barrier", "acq_rel", "cluster"),
        ["barrier.sync 0"],
    ),
    "a barrier of an agent": (
        asked("sm_90", "barrier", "acq_rel", "agent"),
        [
            "error: barrier acq_rel agent: no PTX barrier joins more than the CTAs of a cluster; build a grid barrier of atomics; accepted: cluster, workgroup, wavefront"
        ],
    ),
    "what LLVM would do": (
        asked("sm_90", "fence", "release", "agent", compat="llvm"),
        [
            "error: fence release agent: compat=llvm is for CDNA; LLVM drops orderings of PTX atomics; accepted: no compat"
        ],
    ),
    "an L2 for each agent": (
        asked("sm_90", "fence", "release", "agent", l2_per_agent="one"),
        ["error: fence release agent: partition modes are CDNA's; accepted: many"],
    ),
    "tgsplit on an NVIDIA GPU": (
        asked("sm_90", "fence", "release", "agent", features=("tgsplit",)),
        [
            "error: fence release agent +tgsplit: sm_90 has no feature tgsplit; accepted: converged, no-acquire-fence-after, no-relaxed-barrier"
        ],
    ),
    "an atomic load of constant memory for PTX": (
        asked("sm_90", "load", "relaxed", "agent", "constant"),
        [
            "error: load relaxed agent i32 on constant: constant memory has no atomic accesses; accepted: weak, global"
        ],
    ),
    "a PTX version before the chip": (
        asked("sm_70", "fence", "release", "agent", ptx_version="5.0"),
        [
            "error: fence release agent: PTX 5.0 does not assemble for sm_70; accepted: sm_70 with PTX 6.0, up to 8.8"
        ],
    ),
    "a PTX version behind the chip's last": (
        asked("sm_70", "fence", "release", "agent", ptx_version="9.3"),
        [
            "error: fence release agent: PTX 9.3 does not assemble for sm_70; accepted: sm_70 with PTX 6.0, up to 8.8"
        ],
    ),
    "a PTX version that there never was": (
        asked("sm_70", "fence", "release", "agent", ptx_version="7.9"),
        [
            "error: fence release agent: PTX 7.9 does not assemble for sm_70; accepted: sm_70 with PTX 6.0, up to 8.8"
        ],
    ),
    "one-sided fences before PTX 8.6": (
        asked("sm_90", "fence", "acquire", "agent", ptx_version="8.5"),
        ["fence.acq_rel.gpu"],
    ),
}
"""What is asked for, and its code; or that there is none, and why."""
