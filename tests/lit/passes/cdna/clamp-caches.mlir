// RUN: fence-opt %s -p "convert-scoped-to-cdna,clamp-caches" --mcpu gfx942 --assume uncached-memory | filecheck %s
// RUN: fence-opt %s -p "convert-scoped-to-cdna,clamp-caches" --mcpu gfx90a --assume uncached-memory | filecheck %s --check-prefix=GFX90A
// RUN: fence-opt %s -p "convert-scoped-to-cdna,clamp-caches" --mcpu gfx942 | filecheck %s --check-prefix=CACHED

// What no L2 keeps is never dirty there nor stale; the L1 may still hold it, and stores are waited for.

// CHECK-LABEL: cdna.kernel @between_agents
// CHECK-NOT: buffer_wbl2
// CHECK: s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase release>
// CHECK: cdna.cache buffer_inv {modifiers = ["sc1"]
// CHECK: cdna.cache buffer_inv {modifiers = ["sc1"]
// GFX90A-LABEL: cdna.kernel @between_agents
// GFX90A-NOT: buffer_wbl2
// GFX90A-NOT: buffer_invl2
// GFX90A: buffer_wbinvl1_vol
// CACHED-LABEL: cdna.kernel @between_agents
// CACHED: cdna.cache buffer_inv {modifiers = ["sc0", "sc1"]
// CACHED: cdna.cache buffer_wbl2 {modifiers = ["sc0", "sc1"]
// CACHED: cdna.cache buffer_wbl2 {modifiers = ["sc1"]
// CACHED: cdna.cache buffer_inv {modifiers = ["sc1"]
func.func @between_agents() {
  scoped.fence acq_rel system
  scoped.fence acq_rel agent
  func.return
}
