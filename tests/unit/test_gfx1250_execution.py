"""What is printed for gfx1250 computes what the program means, as ``test_cdna_execution`` has it of gfx9.

Loads, stores, LDS and scalar loads count apart here, and a loaded value comes in no order with others: a
register that is written again before its load has been waited for is an error. A flat access has
to be waited for in both of its counters.
"""

import re
from collections.abc import Callable, Mapping

import pytest
from campaigns import Share, draws
from hypothesis import HealthCheck, given, seed, settings
from test_cdna_execution import (
    ARGUMENT_VALUES,
    BUFFER,
    HEAD,
    PRIVATE,
    SIMPLE,
    VALUE,
    WANTED,
    Lane,
    Memory,
    Reference,
    TooEarly,
    buffer_of,
    bytes_of,
    combine,
    lower,
    parse,
    programs,
    signed,
)
from xdsl.dialects import func

CHIP = "gfx1250"

OWN_ALU: Mapping[str, Callable[[int, int], int]] = {
    "v_add_nc_u32_e32": lambda a, b: a + b,
    "v_sub_nc_u32_e32": lambda a, b: a - b,
    "v_sub_nc_u64_e32": lambda a, b: a - b,
    "v_mul_u64_e32": lambda a, b: a * b,
    "v_lshlrev_b64_e64": lambda a, b: b << (a & 63),
    "v_lshrrev_b64_e64": lambda a, b: b >> (a & 63),
    "v_ashrrev_i64_e64": lambda a, b: signed(b, 64) >> (a & 63),
    "s_and_b32": lambda a, b: a & b,
    "s_or_b32": lambda a, b: a | b,
    "s_xor_b32": lambda a, b: a ^ b,
    "s_xnor_b32": lambda a, b: ~(a ^ b),
    "s_and_not1_b32": lambda a, b: a & ~b,
}
"""What gfx9 calls otherwise, or has for masks of two registers alone."""

OF_64_LANES = frozenset({"s_and_b64", "s_or_b64", "s_xor_b64", "s_xnor_b64", "s_andn2_b64"})

WAITS = {
    "s_wait_loadcnt": ("loadcnt",),
    "s_wait_storecnt": ("storecnt",),
    "s_wait_dscnt": ("dscnt",),
    "s_wait_kmcnt": ("kmcnt",),
    "s_wait_loadcnt_dscnt": ("loadcnt", "dscnt"),
    "s_wait_storecnt_dscnt": ("storecnt", "dscnt"),
}
"""The counters of each wait; of two, the first is in the higher byte of the operand."""

KINDS = {"swap": "xchg", "storexchg": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}


class SplitLane(Lane):
    """A lane of gfx1250. What is outstanding names its counters: ``loadcnt+dscnt``."""

    def read(self, token: str) -> int:
        if token in ("vcc_lo", "exec_lo"):
            token = token.removesuffix("_lo")
        return super().read(token)

    def write(self, token: str, value: int) -> None:
        super().write("vcc" if token == "vcc_lo" else token, value)

    def _step(self, mnemonic: str, operands: list[str]) -> None:
        if mnemonic in OWN_ALU:
            self.write(operands[0], OWN_ALU[mnemonic](*map(self.read, operands[1:])))
        elif mnemonic in WAITS:
            self._wait_split(WAITS[mnemonic], int(operands[0], 0))
        elif mnemonic not in ("s_setreg_imm32_b32", "s_wait_xcnt"):
            assert mnemonic not in OF_64_LANES
            super()._step(mnemonic, operands)

    def _wait_split(self, counters: tuple[str, ...], operand: int) -> None:
        counts = (operand,) if len(counters) == 1 else (operand >> 8, operand & 0xFF)
        for counter, count in zip(counters, counts, strict=True):
            mine = [each for each in self.pending if counter in each[0].split("+")]
            for each in mine[: max(len(mine) - count, 0)]:
                if count and (counter == "kmcnt" or "+" in each[0]):
                    continue  # These come out of order.
                left = "+".join(name for name in each[0].split("+") if name != counter)
                at = self.pending.index(each)
                if left:
                    self.pending[at] = (left, *each[1:])
                else:
                    self.pending.pop(at)
                    each[2]()

    def _access(self, mnemonic: str, operands: list[str]) -> None:
        offset = sum(int(each) for each in re.findall(r"offset:(\d+)", operands[-1]))
        operands = [each.partition(" ")[0] for each in operands]
        memory = {"ds": self.lds, "scratch": self.scratch}.get(
            mnemonic.partition("_")[0], self.memory
        )
        if mnemonic.startswith("s_load"):
            address = self.read(operands[1]) + int(operands[2], 0)
            self._deliver("kmcnt", operands[0], memory.read(address, bytes_of(mnemonic)))
            return
        if "_load_" in mnemonic:
            address = self.read(operands[1]) + offset
            self._deliver(
                _counters(mnemonic, True), operands[0], memory.read(address, bytes_of(mnemonic))
            )
        elif "_store_" in mnemonic:
            memory.write(
                self.read(operands[0]) + offset, self.read(operands[1]), bytes_of(mnemonic)
            )
            self.pending.append((_counters(mnemonic, False), (), lambda: None))
        else:
            self._split_atomic(memory, mnemonic, operands, offset)

    def _deliver(self, unit: str, token: str, value: int) -> None:
        self._check_arrived(self._names(token))
        super()._deliver(unit, token, value)

    def _split_atomic(
        self, memory: Memory, mnemonic: str, operands: list[str], offset: int
    ) -> None:
        operands = [each for each in operands if each != "off"]
        in_lds, exchanges = mnemonic.startswith("ds_"), "cmps" in mnemonic
        wanted = 3 if in_lds and exchanges else 2
        result = operands.pop(0) if len(operands) > wanted else None
        size = bytes_of(mnemonic)
        address, data = self.read(operands[0]) + offset, self.read(operands[1])
        old = memory.read(address, size)
        if exchanges:
            compare = self.read(operands[2]) if in_lds else data >> 8 * size
            new = data & ((1 << 8 * size) - 1) if old == compare else old
        else:
            new = combine(_kind(mnemonic), old, data, 8 * size)
        memory.write(address, new, size)
        if result is None:
            self.pending.append((_counters(mnemonic, False), (), lambda: None))
        else:
            self._deliver(_counters(mnemonic, True), result, old)


def _counters(mnemonic: str, returns: bool) -> str:
    """The counters of a vector-memory or LDS access."""
    if mnemonic.startswith("ds_"):
        return "dscnt"
    counter = "loadcnt" if returns else "storecnt"
    return f"{counter}+dscnt" if mnemonic.startswith("flat_") else counter


def _kind(mnemonic: str) -> str:
    """LLVM's name of a read-modify-write."""
    name, *_, type = [p for p in mnemonic.split("_")[1:] if p not in ("atomic", "rtn")]
    if name in ("max", "min") and type[0] == "u":
        return f"u{name}"
    return KINDS.get(name, name)


def run(assembly: str, arguments: list[int]) -> Memory:
    """What the kernel leaves in memory."""
    sizes = (8, 4, 2, 1, 1)
    values = zip(arguments, sizes, strict=True)
    kernarg = b"".join(value.to_bytes(size, "little") for value, size in values)
    pointer = BUFFER.to_bytes(8, "little")
    return SplitLane(assembly, CHIP, pointer + kernarg + pointer, uses_scratch=True).run()


def lowered(text: str) -> str:
    return lower(text, CHIP)[0]


@pytest.mark.parametrize("share", draws(9))
def test_random_programs_compute_what_they_mean(share: Share) -> None:
    @seed(share.number)
    @settings(
        max_examples=5,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(programs(), ARGUMENT_VALUES)
    def check(text: str, arguments: list[int]) -> None:
        reference = Reference({"pad": 0, "lds": 16})
        function = next(op for op in parse(text).ops if isinstance(op, func.FuncOp))
        expected = reference.run(function, [BUFFER, *arguments, BUFFER])
        assert buffer_of(run(lowered(text), arguments)) == buffer_of(expected)

    check()


def test_a_value_in_private_memory_is_whole() -> None:
    found = run(lowered(PRIVATE), [VALUE, 2, 3, 4, 0])
    assert buffer_of(found) == buffer_of(WANTED)


def test_a_missing_wait_is_caught() -> None:
    lines = lowered(SIMPLE).splitlines()
    waits = [n for n, line in enumerate(lines) if "s_wait_" in line]
    assert waits
    for n in waits:
        with pytest.raises(TooEarly):
            run("\n".join(lines[:n] + lines[n + 1 :]), [1, 2, 3, 4, 0])


FLAT = (
    HEAD
    + """%0 = scoped.load weak %generic : !llvm.ptr -> i32
scoped.store weak %0, %global : i32, !llvm.ptr<1>
func.return
}
"""
)


def test_a_flat_load_is_waited_for_in_both_its_counters() -> None:
    assembly = lowered(FLAT)
    assert "s_wait_loadcnt_dscnt 0x0" in assembly
    run(assembly, [1, 2, 3, 4, 0])
    for half in ("s_wait_loadcnt 0x0", "s_wait_dscnt 0x0"):
        with pytest.raises(TooEarly):
            run(assembly.replace("s_wait_loadcnt_dscnt 0x0", half), [1, 2, 3, 4, 0])


TWICE = """
	.type	k,@function
k:
	s_load_b64 s[2:3], s[0:1], 0x0
	v_mov_b32_e32 v0, 0
	s_wait_kmcnt 0x0
	v_mov_b32_e32 v2, s2
	v_mov_b32_e32 v3, s3
	global_load_b32 v4, v[2:3], off
{wait}	global_load_b32 v4, v[2:3], off offset:4
	s_wait_loadcnt 0x0
	global_store_b32 v[2:3], v4, off
	s_endpgm
.Lk_end:
"""


def test_a_register_is_not_loaded_again_before_the_first_load_has_been_waited_for() -> None:
    """Loads count down in order, and write their registers in any."""
    run(TWICE.format(wait="\ts_wait_loadcnt 0x0\n"), [1, 2, 3, 4, 0])
    with pytest.raises(TooEarly):
        run(TWICE.format(wait=""), [1, 2, 3, 4, 0])


def test_a_wrong_instruction_is_caught() -> None:
    assembly = lowered(SIMPLE)
    wrong = assembly.replace("v_add_nc_u32_e32", "v_sub_nc_u32_e32")
    found = [buffer_of(run(each, [1, 2, 3, 4, 0])) for each in (assembly, wrong)]
    assert found[0] == {BUFFER: 2}
    assert found[1] != found[0]
