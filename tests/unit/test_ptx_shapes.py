"""Shapes of wrong synchronisation in PTX: each wrong form has its finding, each right form none of it.

Those that are instructive are exhibits of the museum; here are the others, and what only looks like one.
"""

import pytest
from shapes import Shape

from fencewright.checker.findings.finding import Level
from fencewright.checker.nvidia.findings import find_problems
from fencewright.lowering.ptx.code.text import read_ptx

pytest.importorskip("z3")

HEAD = """.version 8.6
.target {target}
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag, .param .u64 out, .param .u64 map, .param .u32 n)
{{
.reg .pred %p<9>; .reg .b32 %r<60>; .reg .f32 %f<80>; .reg .b64 %rd<30>;
.shared .align 1024 .b8 tile[8192]; .shared .align 1024 .b8 other[8192];
.shared .align 8 .b64 full[4]; .shared .align 8 .b64 empty[4];
.shared .align 4 .b32 slot; .shared .align 4 .b32 taddr;
ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag]; ld.param.u64 %rd3, [out];
ld.param.u64 %rd4, [map]; ld.param.u32 %r20, [n];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5; add.s64 %rd7, %rd3, %rd5;
"""


def said(body: str, target: str = "sm_90a") -> list[tuple[str, str]]:
    text = f"{HEAD.format(target=target)}{body}\nret;\n}}\n"
    module = read_ptx(text, "k.ptx")
    found = find_problems(module, module.functions["k"])
    return [(str(each.rule), str(each.level)) for each in found]


def loud(body: str, target: str = "sm_90a") -> list[tuple[str, str]]:
    return [each for each in said(body, target) if each[1] != Level.NOTE]


SHAPES = (
    Shape(
        "spin-volatile", "sm_90a", "unordered-wait", "warning",
        """
POLL:
ld.volatile.global.b32 %r2, [%rd2];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra POLL;
+fence.acq_rel.sys;
ld.global.b32 %r3, [%rd6];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "spin-narrow-acquire", "sm_90a", "unordered-wait", "warning",
        """
POLL:
ld.relaxed.gpu.global.b32 %r2, [%rd2];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra POLL;
-fence.acq_rel.cta;
+fence.acq_rel.gpu;
ld.global.b32 %r3, [%rd6];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "lock-relaxed", "sm_90a", "unordered-wait", "error",
        """
POLL:
-atom.relaxed.gpu.global.cas.b32 %r2, [%rd2], 0, 1;
+atom.acquire.gpu.global.cas.b32 %r2, [%rd2], 0, 1;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra POLL;
ld.global.b32 %r3, [%rd1];
add.u32 %r3, %r3, 1;
st.global.b32 [%rd1], %r3;
st.release.gpu.global.b32 [%rd2], 0;
""",
    ),
    Shape(
        "unlock-relaxed", "sm_90a", "unordered-signal", "error",
        """
POLL:
atom.acquire.gpu.global.cas.b32 %r2, [%rd2], 0, 1;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra POLL;
ld.global.b32 %r3, [%rd1];
add.u32 %r3, %r3, 1;
st.global.b32 [%rd1], %r3;
-atom.relaxed.gpu.global.exch.b32 %r4, [%rd2], 0;
+atom.release.gpu.global.exch.b32 %r4, [%rd2], 0;
""",
    ),
    Shape(
        "last-block-no-acquire", "sm_90a", "unordered-wait", "error",
        """
mov.u32 %r4, %ctaid.x; mov.u32 %r5, %nctaid.x; add.u32 %r6, %r5, -1;
mul.wide.u32 %rd8, %r4, 4; add.s64 %rd9, %rd1, %rd8;
@!%p1 bra DONE;
st.global.b32 [%rd9], %r4;
fence.acq_rel.gpu;
atom.global.add.u32 %r2, [%rd2], 1;
setp.ne.u32 %p2, %r2, %r6;
@%p2 bra DONE;
+fence.acq_rel.gpu;
ld.global.b32 %r3, [%rd1];
st.global.b32 [%rd3], %r3;
DONE:
""",
    ),
    Shape(
        "narrow-fence-flag", "sm_90a", "unordered-signal", "warning",
        """
st.global.b32 [%rd1], 1;
-fence.acq_rel.cta;
+fence.acq_rel.gpu;
st.relaxed.gpu.global.b32 [%rd2], 1;
POLL:
ld.acquire.gpu.global.b32 %r2, [%rd2+4];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra POLL;
""",
    ),
    Shape(
        "producer-only-relaxed-after-fence-cta", "sm_90a", "unordered-signal", "warning",
        """
st.global.b32 [%rd1], 1;
-fence.acq_rel.cta;
+fence.acq_rel.sys;
st.relaxed.sys.global.b32 [%rd2], 1;
""",
    ),
    Shape(
        "shared-elected-no-bar", "sm_90a", "missing-barrier", "error",
        """
@%p1 st.shared.b32 [slot], %r20;
+bar.sync 0;
ld.shared.b32 %r3, [slot];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "shared-elected-branch-no-bar", "sm_90a", "missing-barrier", "error",
        """
@!%p1 bra NEXT;
st.shared.b32 [slot], %r20;
NEXT:
+bar.sync 0;
ld.shared.b32 %r3, [slot];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "shared-neighbour-no-bar", "sm_90a", "missing-barrier", "error",
        """
mov.u32 %r5, tile;
shl.b32 %r6, %r1, 2;
add.u32 %r7, %r5, %r6;
st.shared.b32 [%r7], %r20;
+bar.sync 0;
xor.b32 %r8, %r6, 128;
add.u32 %r9, %r5, %r8;
ld.shared.b32 %r10, [%r9];
st.global.b32 [%rd7], %r10;
""",
    ),
    Shape(
        "cp-async-no-bar", "sm_90a", "missing-barrier", "warning",
        """
mov.u32 %r5, tile;
shl.b32 %r6, %r1, 4;
add.u32 %r7, %r5, %r6;
cp.async.cg.shared.global [%r7], [%rd6], 16;
cp.async.commit_group;
cp.async.wait_group 0;
+bar.sync 0;
ld.shared.b32 %r10, [tile];
st.global.b32 [%rd7], %r10;
""",
    ),
    Shape(
        "cp-async-bar-before-wait", "sm_90a", "missing-barrier", "warning",
        """
mov.u32 %r5, tile;
shl.b32 %r6, %r1, 4;
add.u32 %r7, %r5, %r6;
cp.async.cg.shared.global [%r7], [%rd6], 16;
cp.async.commit_group;
+cp.async.wait_group 0;
bar.sync 0;
-cp.async.wait_group 0;
ld.shared.b32 %r10, [tile];
st.global.b32 [%rd7], %r10;
""",
    ),
    Shape(
        "cp-async-no-commit", "sm_90a", "async-unwaited", "error",
        """
cp.async.cg.shared.global [tile], [%rd6], 16;
+cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
ld.shared.b32 %r10, [tile];
st.global.b32 [%rd7], %r10;
""",
    ),
    Shape(
        "cp-async-wait-one-too-many", "sm_90a", "async-unwaited", "error",
        """
cp.async.cg.shared.global [tile], [%rd6], 16;
cp.async.commit_group;
cp.async.cg.shared.global [other], [%rd6+16], 16;
cp.async.commit_group;
-cp.async.wait_group 2;
+cp.async.wait_group 1;
bar.sync 0;
ld.shared.b32 %r10, [tile];
st.global.b32 [%rd7], %r10;
""",
    ),
    Shape(
        "bulk-store-no-commit", "sm_90a", "async-unwaited", "error",
        """
@!%p1 bra D;
st.shared.b32 [tile], 1;
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 128;
+cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
st.shared.b32 [tile], 0;
D:
""",
    ),
    Shape(
        "bulk-store-then-flag", "sm_90a", "async-unwaited", "warning",
        """
st.shared.b32 [tile], 1;
fence.proxy.async.shared::cta;
bar.sync 0;
cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 128;
cp.async.bulk.commit_group;
-cp.async.bulk.wait_group.read 0;
+cp.async.bulk.wait_group 0;
+fence.proxy.async;
st.release.gpu.global.b32 [%rd2], 1;
""",
    ),
    Shape(
        "bulk-load-no-wait", "sm_90a", "async-unwaited", "error",
        """
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
+W:
+mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
+@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "bulk-load-wrong-mbarrier", "sm_90a", "async-unwaited", "error",
        """
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
W:
-mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [empty], 0;
+mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "bulk-load-wrong-slot", "sm_90a", "async-unwaited", "error",
        """
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full+8], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full+8];
W:
-mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
+mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full+8], 0;
@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "mbar-no-expect", "sm_90a", "mbarrier-bytes", "warning",
        """
mbarrier.init.shared::cta.b64 [full], 1;
fence.mbarrier_init.release.cluster;
bar.sync 0;
@!%p1 bra W;
+mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
-mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
W:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "mbar-expect-too-little", "sm_90a", "mbarrier-bytes", "warning",
        """
-mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 1024;
+mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 2048;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 1024, [full];
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [other], [%rd1+1024], 1024, [full];
W:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
ld.shared.b32 %r3, [other];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "mbar-wait-unchecked", "sm_90a", "mbarrier-wait", "warning",
        """
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
+W:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
+@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "mbar-wait-ahead", "sm_90a", "mbarrier-wait", "warning",
        """
mov.u32 %r9, 0;
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [full], %r9;
+W:
+mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], %r9;
+@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd3], %r3;
""",
    ),
    Shape(
        "mbar-wait-relaxed-generic", "sm_90a", "mbarrier-order", "warning",
        """
@!%p1 bra W;
st.shared.b32 [tile], %r20;
mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
W:
-mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p2, [full], 0;
+mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "mbar-arrive-relaxed-generic", "sm_90a", "mbarrier-order", "warning",
        """
@!%p1 bra W;
st.shared.b32 [tile], %r20;
-mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [full];
+mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
W:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "mbar-init-no-bar", "sm_90a", "mbarrier-init", "error",
        """
@%p1 mbarrier.init.shared::cta.b64 [full], 32;
+bar.sync 0;
mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
W:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
""",
    ),
    Shape(
        "proxy-store-after-bar", "sm_90a", "proxy-fence", "error",
        """
mov.u32 %r5, tile;
shl.b32 %r6, %r1, 2;
add.u32 %r7, %r5, %r6;
st.shared.b32 [%r7], %r20;
+fence.proxy.async.shared::cta;
bar.sync 0;
@!%p1 bra D;
cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 1024;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
D:
""",
    ),
    Shape(
        "proxy-tensor-store", "sm_90a", "proxy-fence", "warning",
        """
st.shared.b32 [tile], 1;
+fence.proxy.async.shared::cta;
bar.sync 0;
@!%p1 bra D;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {%r2, %r3}], [tile];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
D:
""",
    ),
    Shape(
        "proxy-global-written", "sm_90a", "proxy-fence", "error",
        """
@%p1 mbarrier.init.shared::cta.b64 [full], 1;
bar.sync 0;
@%p1 st.global.b32 [%rd1], 1;
+fence.proxy.async.global;
@%p1 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 128;
@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
W:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
""",
    ),
    Shape(
        "wgmma-no-wait", "sm_90a", "async-unwaited", "error",
        """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
+wgmma.wait_group.sync.aligned 0;
st.global.f32 [%rd7], %f0;
-wgmma.wait_group.sync.aligned 0;
""",
    ),
    Shape(
        "wgmma-no-commit", "sm_90a", "async-unwaited", "error",
        """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, 1, 0, 0;
+wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
st.global.f32 [%rd7], %f0;
""",
    ),
    Shape(
        "tcgen05-no-commit", "sm_100a", "async-unwaited", "error",
        """
@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r29], %rd10, %rd11, %r28, %p3;
+@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
+W:
+mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0;
+@!%p2 bra W;
+tcgen05.fence::after_thread_sync;
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r30, %r31}, [%r29];
tcgen05.wait::ld.sync.aligned;
st.global.b32 [%rd7], %r30;
""",
    ),
    Shape(
        "tcgen05-st-no-wait", "sm_100a", "async-unwaited", "error",
        """
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r29], {%r30, %r31};
+tcgen05.wait::st.sync.aligned;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r29], %rd10, %rd11, %r28, %p3;
""",
    ),
    Shape(
        "cluster-no-barrier-pull", "sm_90a", "cluster-barrier", "warning",
        """
mov.u32 %r2, tile;
st.shared.b32 [tile], 1;
-bar.sync 0;
+barrier.cluster.arrive.release;
+barrier.cluster.wait.acquire;
mapa.shared::cluster.u32 %r4, %r2, 1;
ld.shared::cluster.b32 %r3, [%r4];
st.global.b32 [%rd7], %r3;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
""",
    ),
    Shape(
        "cluster-cpasync-trampoline", "sm_100a", "proxy-fence", "warning",
        """
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
cp.async.cg.shared.global [tile], [%rd6], 16;
cp.async.commit_group;
cp.async.wait_group 0;
+fence.proxy.async.shared::cta;
mov.u32 %r5, full;
mapa.shared::cluster.u32 %r6, %r5, 0;
-mbarrier.arrive.shared::cluster.b64 _, [%r6];
+mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
W:
-mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
+mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [full], 0;
@!%p2 bra W;
tcgen05.fence::after_thread_sync;
@%p1 tcgen05.mma.cta_group::2.kind::f16 [%r29], %rd10, %rd11, %r28, %p3;
""",
    ),
    Shape(
        "surplus-bar", "sm_90a", "surplus-barrier", "note",
        """
st.shared.b32 [tile], 1;
bar.sync 0;
-bar.sync 0;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "surplus-bar-nothing-before", "sm_90a", "surplus-barrier", "note",
        """
-bar.sync 0;
st.shared.b32 [tile], 1;
bar.sync 0;
ld.shared.b32 %r3, [tile];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "surplus-proxy-fence", "sm_90a", "surplus-proxy-fence", "note",
        """
mov.u32 %r3, 5;
-fence.proxy.async.shared::cta;
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "surplus-fence-on-release", "sm_90a", "surplus-release", "note",
        """
st.global.b32 [%rd6], %r1;
-fence.acq_rel.gpu;
atom.acq_rel.gpu.global.add.u32 %r3, [%rd2], 1;
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "nc-own-data", "sm_90a", "read-only", "error",
        """
st.global.b32 [%rd6], %r1;
-ld.global.nc.b32 %r3, [%rd6];
+ld.global.b32 %r3, [%rd6];
st.global.b32 [%rd7], %r3;
""",
    ),
    Shape(
        "global-reread-layout", "sm_90a", "missing-barrier", "error",
        """
st.global.b32 [%rd6], %r1;
+bar.sync 0;
xor.b32 %r5, %r1, 32; mul.wide.u32 %rd8, %r5, 4; add.s64 %rd9, %rd1, %rd8;
ld.global.b32 %r3, [%rd9];
st.global.b32 [%rd7], %r3;
""",
    ),
)  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_a_shape(shape: Shape) -> None:
    shape.check(said)


QUIET = {
    "a slot of its own": """
shl.b32 %r6, %r1, 2; mov.u32 %r5, tile; add.u32 %r7, %r5, %r6;
st.shared.b32 [%r7], %r20; ld.shared.b32 %r8, [%r7]; st.global.b32 [%rd7], %r8;
""",
    "an array of its own": """
shl.b32 %r6, %r1, 4; mov.u32 %r5, tile; add.u32 %r7, %r5, %r6;
st.shared.b32 [%r7], %r20; ld.shared.b32 %r8, [%r7+12]; st.global.b32 [%rd7], %r8;
""",
    "the thread that wrote reads": """
@!%p1 bra E; st.shared.b32 [slot], %r20; ld.shared.b32 %r8, [slot]; st.global.b32 [%rd7], %r8; E:
""",
    "all threads write one place": """
st.shared.b32 [slot], %r20; bar.sync 0; ld.shared.b32 %r8, [slot]; st.global.b32 [%rd7], %r8;
""",
    "a value and its flag in one word": """
L: ld.relaxed.gpu.global.b64 %rd8, [%rd2]; setp.eq.b64 %p2, %rd8, 0; @%p2 bra L;
ld.global.b32 %r8, [%rd6]; cvt.u32.u64 %r9, %rd8; add.u32 %r8, %r8, %r9; st.global.b32 [%rd7], %r8;
""",
    "a loop over data": """
mov.u32 %r8, 0;
L: ld.global.b32 %r9, [%rd6]; add.s64 %rd6, %rd6, 4; setp.ne.u32 %p2, %r9, 0; @%p2 bra L;
ld.global.b32 %r10, [%rd2]; st.global.b32 [%rd7], %r10;
""",
    "a place in a list": """
atom.global.add.u32 %r8, [%rd2], 1; setp.ge.u32 %p2, %r8, %r20; @%p2 bra E;
mul.wide.u32 %rd8, %r8, 4; add.s64 %rd9, %rd3, %rd8; st.global.b32 [%rd9], %r1; E:
""",
    "a lock that is taken again": """
mov.u32 %r8, 0;
L: atom.relaxed.gpu.global.cas.b32 %r2, [%rd2], 0, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra L;
fence.acq_rel.gpu; ld.global.b32 %r3, [%rd1]; st.global.b32 [%rd1], %r3; st.release.gpu.global.b32 [%rd2], 0;
add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, %r20; @%p3 bra L;
""",
    "two parities in turn": """
mov.u32 %r8, 0;
L: mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
A: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 0; @!%p2 bra A;
mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
B: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [full], 1; @!%p2 bra B;
add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, %r20; @%p3 bra L;
""",
    "a store only where there is one to wait for": """
setp.gt.s32 %p2, %r20, 0; setp.lt.s32 %p3, %r20, 1;
and.pred %p4, %p1, %p2;
@%p4 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [full];
@%p3 bra E;
W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p5, [full], 0; @!%p5 bra W;
E: ld.shared.b32 %r8, [tile]; st.global.b32 [%rd7], %r8;
""",
    "products of a pipeline": """
mov.u32 %r8, 0; wgmma.fence.sync.aligned;
L: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;
mbarrier.arrive.release.cta.shared::cta.b64 _, [empty];
add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, %r20; @%p3 bra L;
wgmma.wait_group.sync.aligned 0; st.global.f32 [%rd7], %f0;
""",
}
"""What only looks wrong."""


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_what_only_looks_wrong(body: str) -> None:
    assert loud(body) == []


def test_a_barrier_that_orders_something_stays() -> None:
    """Of three in a row the one in the middle will do; what is apart needs none."""
    between = (
        "st.shared.b32 [tile], 1;\n{}\nld.shared.b32 %r8, [tile+128]; st.global.b32 [%rd7], %r8;"
    )
    barrier = ("surplus-barrier", "note")
    assert said(between.format("bar.sync 0;")).count(barrier) == 1
    same = between.replace("+128", "")
    assert said(same.format("bar.sync 0;")).count(barrier) == 0
    assert said(same.format("bar.sync 0;\n" * 3)).count(barrier) == 2
    assert said(same.format("bar.sync 0;\nfence.acq_rel.gpu;\nbar.sync 0;")).count(barrier) == 0


def test_a_proxy_fence_of_all_memory_where_less_will_do() -> None:
    copy = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 1024;\n"
    end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    found = ("surplus-proxy-fence", "note")
    store = "st.shared.b32 [tile], 1;\n"
    wide, narrow = "fence.proxy.async;\n", "fence.proxy.async.shared::cta;\n"
    all_of_it = store + "{}bar.sync 0;\n" + copy + end
    assert said(all_of_it.format(wide)).count(found) == 1
    assert found not in said(all_of_it.format(narrow))
    start = "@%p1 mbarrier.init.shared::cta.b64 [full], 1;\nbar.sync 0;\n@%p1 st.global.b32 [%rd1], 1;\n"
    load = "@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [other], [%rd1], 128, [full];\n"
    both = start + all_of_it + load
    assert found not in said(both.format(wide))
    assert ("proxy-fence", "error") in said(both.format(narrow))


def test_a_wait_that_leaves_what_there_is() -> None:
    copy = "cp.async.cg.shared.global [tile], [%rd6], 16; cp.async.commit_group;\n"
    end = "cp.async.wait_group 0; bar.sync 0; ld.shared.b32 %r8, [tile]; st.global.b32 [%rd7], %r8;"
    found = ("surplus-wait", "note")
    assert found not in said(copy + end)
    assert found in said(copy + "cp.async.wait_group 1;\n" + end)
    assert found not in said(copy * 2 + "cp.async.wait_group 1;\n" + end)
    skipped = f"@%p1 bra E;\n{copy}E: {end}"
    assert found not in said(skipped)
