"""Random small AMD kernels: accesses of waves and work-groups with waits, barriers and a flag.

Two work-groups of two waves. Either both do the same, with barriers; or the first publishes and the
second polls a flag. Each piece that orders is there or not, so that right and wrong kernels come
about alike.
"""

from random import Random

_PLACES = ("v1", "v3", "v5", "v6")
"""Places: each thread's own, those of the other end, a neighbour's of the wave, one of all."""
_BEGIN = """v_xor_b32_e32 v3, 0x1fc, v1
v_xor_b32_e32 v5, 4, v1
v_mov_b32_e32 v7, v0
v_lshrrev_b32_e32 v2, 6, v0
v_readfirstlane_b32 s15, v2
s_lshl_b32 s15, s15, 8
s_mov_b32 m0, s15"""


class Maker:
    """Makes one kernel of a seed."""

    def __init__(self, seed: int, chip: str, *, split: bool = False):
        """``split``: waves of a work-group may be on different CUs, which have no LDS then."""
        self.random = Random(seed)
        self.chip = chip
        self.split = split
        self.labels = 0
        self.lines: list[str] = [*_BEGIN.split("\n")]

    def body(self) -> str:
        """The kernel's code."""
        if self.random.random() < 0.45:
            self._alike()
        else:
            self._message()
        self.lines.append("s_endpgm")
        return "\n".join(self.lines)

    def _say(self, *lines: str) -> None:
        self.lines += lines

    def _maybe(self, chance: float, *lines: str) -> None:
        if self.random.random() < chance:
            self._say(*lines)

    def _label(self) -> str:
        self.labels += 1
        return f".L{self.labels}"

    # Both work-groups alike

    def _alike(self) -> None:
        in_lds = self.random.random() < 0.7 and not self.split
        loops = self.random.random() < 0.4
        label = self._label()
        if loops:
            self._say("s_mov_b32 s16, 3", f"{label}:")
        for _ in range(self.random.randint(2, 4)):
            self._access(in_lds)
            self._maybe(0.75, self._wait(in_lds))
            self._maybe(0.6, "s_barrier")
            if self.split:
                self._maybe(
                    0.6, "buffer_wbinvl1_vol" if self.chip == "gfx90a" else "buffer_inv sc0"
                )
        if loops:
            self._say("s_sub_u32 s16, s16, 1", "s_cmp_lg_u32 s16, 0", f"s_cbranch_scc1 {label}")

    def _access(self, in_lds: bool, base: str = "s[8:9]") -> None:
        place = self.random.choice(_PLACES)
        load = self.random.random() < 0.5
        guard = self.random.random()
        end = self._label() if guard < 0.35 else ""
        if end:
            limit = self.random.choice(("64", "1", "32"))
            self._say(f"v_cmp_gt_u32_e32 vcc, {limit}, v0", "s_and_saveexec_b64 s[4:5], vcc")
            self._maybe(0.5, f"s_cbranch_execz {end}")
        if in_lds and self.chip == "gfx950" and self.random.random() < 0.3:
            self._say(f"global_load_lds_dword v1, {base}")
            self._maybe(0.6, f"s_waitcnt vmcnt({self.random.choice((0, 0, 1))})")
        elif in_lds:
            self._say(f"ds_read_b32 v4, {place}" if load else f"ds_write_b32 {place}, v7")
        else:
            # Work-groups have halves of their own.
            name = "load_dword v4, v2" if load else "store_dword v2, v7"
            self._say("s_lshl_b32 s3, s2, 9", f"v_add_u32_e32 v2, s3, {place}")
            self._say(f"global_{name}, {base}")
        if end:
            self._say(f"{end}:", "s_or_b64 exec, exec, s[4:5]")

    def _wait(self, in_lds: bool) -> str:
        counter = "lgkmcnt" if in_lds else "vmcnt"
        return f"s_waitcnt {counter}({self.random.choice((0, 0, 0, 1))})"

    # A message

    def _message(self) -> None:
        old = self.chip == "gfx90a"
        chance = self.random.random
        poll_bits = ("" if chance() < 0.1 else " glc") if old else self.random.choice(
            (" sc1", " sc1", " sc1", " sc0 sc1", " sc0", "")
        )  # fmt: skip
        store_bits = "" if old else self.random.choice((" sc1", " sc1", " sc1", " sc0 sc1", ""))
        store, load = self.random.choice((("v1", "v1"), ("v1", "v3"), ("v3", "v1"), ("v6", "v6")))
        payload = "" if old else self.random.choice(("", "", "", " sc1", " sc0 sc1"))
        read = "" if old else self.random.choice(("", "", "", " sc1", " sc0 sc1"))
        met, seen_by_one = chance() < 0.6, chance() < 0.5
        poll, meet, leave = self._label(), self._label(), self._label()
        self._say("s_cmp_eq_u32 s2, 0", f"s_cbranch_scc0 {poll}")
        self._say(f"global_store_dword {store}, v7, s[8:9]{payload}")
        self._maybe(0.5, "s_waitcnt vmcnt(0)")
        if met:
            self._maybe(0.85, "s_barrier")
        signal = self.random.choice(("wave", "thread", "all")) if met else "own"
        if signal == "wave":
            self._say("s_cmp_eq_u32 s14, 0", f"s_cbranch_scc0 {leave}")
        elif signal == "thread":
            self._say("v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_saveexec_b64 s[4:5], vcc")
            self._maybe(0.7, f"s_cbranch_execz {leave}")
        if not old:
            self._maybe(0.8, self.random.choice(("buffer_wbl2 sc1", "buffer_wbl2 sc0 sc1")))
        self._maybe(0.8, "s_waitcnt vmcnt(0)")
        place = "v1" if signal == "own" else "v6"
        self._say("v_mov_b32_e32 v2, 1", f"global_store_dword {place}, v2, s[10:11]{store_bits}")
        self._say(f"{leave}:", "s_endpgm", f"{poll}:")
        if seen_by_one and signal != "own":
            self._say("s_cmp_eq_u32 s14, 0", f"s_cbranch_scc0 {meet}")
        again = self._label()
        self._say(f"{again}:", f"global_load_dword v4, {place}, s[10:11]{poll_bits}")
        self._say("s_waitcnt vmcnt(0)")
        invalidate = "buffer_wbinvl1_vol" if old else self.random.choice(
            ("buffer_inv sc1", "buffer_inv sc0 sc1")
        )  # fmt: skip
        where = self.random.choice(("inside", "after", "after", "nowhere"))
        if where == "inside":
            self._say(invalidate)
        self._say("v_cmp_eq_u32_e32 vcc, 0, v4", f"s_cbranch_vccnz {again}")
        if where == "after":
            self._say(invalidate)
        self._say(f"{meet}:")
        if seen_by_one:
            self._maybe(0.85, "s_barrier")
        if self.random.random() < 0.8:
            self._say(f"global_load_dword v4, {load}, s[8:9]{read}")
        else:
            self._say(f"global_store_dword {load}, v0, s[8:9]{read}")
        self._say("s_waitcnt vmcnt(0)")
