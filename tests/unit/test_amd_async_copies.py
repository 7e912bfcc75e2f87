"""Asynchronous copies of gfx1250 in kernels: values, early and late, and who has to wait for them."""

import numpy as np
import pytest
from test_race_amd_kernels import kernel_text

from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.execution.executor import LateCopies, execute
from fencewright.simulator.execution.launch import Launch, LaunchError, allocate
from fencewright.simulator.kernels.amd.kernel import program_of
from fencewright.simulator.race.amd.kernels import KernelObserver, sites_of
from fencewright.simulator.race.amd.verdict import judge_kernel
from fencewright.simulator.threads.launch import parse_launch

BEGIN = """s_load_b128 s[8:11], s[0:1], 0x0
s_load_b64 s[12:13], s[0:1], 0x10
v_and_b32_e32 v0, 0x3ff, v0
v_lshlrev_b32_e32 v1, 2, v0
v_mov_b32_e32 v2, 1
v_xor_b32_e32 v7, 0x80, v1
s_wait_kmcnt 0x0
"""
COPY = "global_load_async_to_lds_b32 v1, v1, s[8:9]\n"
WAIT = "s_wait_asynccnt 0x0\n"
MEET = "s_barrier_signal -1\ns_barrier_wait -1\n"
READ = "ds_load_b32 v3, {}\ns_wait_dscnt 0x0\n"
END = "global_store_b32 v1, v3, s[12:13]\ns_endpgm"


def assembly(body: str) -> Assembly:
    return read_assembly(kernel_text(BEGIN + body, "gfx1250"), "k.s")


def results(code: Assembly, copies: LateCopies | None) -> list[int]:
    """The stores of the lanes of two waves, with copies done at once or late."""
    function, configuration = code.functions["k"], CdnaConfiguration("gfx1250")
    program = program_of(function)
    words = np.arange(1, 65, dtype=np.uint32)
    launch = Launch((1, 1, 1), (64, 1, 1), (words, words, words))
    memory = allocate(program, launch)
    sites = sites_of(function, program, configuration, {})
    observer = KernelObserver(sites, program, launch, memory, configuration, copies)
    after = execute(program, launch, memory, observer, with_parts=True, copies=copies)
    return after.contents("out", np.uint32).tolist()


@pytest.mark.parametrize("waits", [True, False])
def test_a_copy_is_there_when_it_was_waited_for(waits: bool) -> None:
    code = assembly(COPY + WAIT * waits + MEET + READ.format("v7") + END)
    there = [1 + (n ^ 32) for n in range(64)]
    assert results(code, None) == there
    assert results(code, LateCopies()) == (there if waits else [0] * 64)


@pytest.mark.parametrize(("width", "mnemonic"), [(1, "b8"), (4, "b32"), (8, "b64"), (16, "b128")])
def test_copies_of_each_width(width: int, mnemonic: str) -> None:
    place = f"v_mul_u32_u24_e32 v4, {width}, v0\n"
    copy = f"global_load_async_to_lds_{mnemonic} v4, v4, s[8:9]\n"
    lanes = f"v_cmp_gt_u32_e32 vcc_lo, {min(256 // width, 64)}, v0\ns_and_b32 exec_lo, exec_lo, vcc_lo\n"
    code = assembly(
        f"{place}{lanes}{copy}{WAIT}s_mov_b32 exec_lo, -1\n{MEET}{READ.format('v1')}{END}"
    )
    copied = min(64 * width, 256) // 4
    expected = [n + 1 if n < copied else 0 for n in range(64)]
    assert results(code, LateCopies()) == expected


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (COPY + WAIT + MEET + READ.format("v7"), ""),
        (COPY + MEET + READ.format("v7"), "put s_wait_asynccnt 0x0"),
        # No other counter sees it, nor does the wave's own order.
        (
            COPY + "s_wait_loadcnt 0x0\ns_wait_dscnt 0x0\n" + READ.format("v1"),
            "put s_wait_asynccnt",
        ),
        (COPY + WAIT + READ.format("v7"), "put __syncthreads() between them"),
        (COPY + COPY + WAIT + READ.format("v1"), "put s_wait_asynccnt"),
        (COPY + WAIT + COPY + WAIT + READ.format("v1"), ""),
        ("global_store_b32 v1, v2, s[8:9]\n" + COPY + WAIT, "put s_wait_storecnt 0x0"),
        ("global_store_b32 v1, v2, s[8:9]\ns_wait_storecnt 0x0\n" + COPY + WAIT, ""),
        (COPY + "global_store_b32 v1, v2, s[8:9]\n" + WAIT, "the read may still be outstanding"),
        (COPY + WAIT + "global_store_b32 v1, v2, s[8:9]\n", ""),
    ],
)
def test_what_orders_a_copy(body: str, said: str) -> None:
    code = assembly(f"v_mov_b32_e32 v3, 0\n{body}{END}")
    found = judge_kernel(code, parse_launch("k<<<1, 64>>>(i32[64]=iota, i32[64], i32[64])"))
    assert not found.problem
    assert bool(found.errors) is bool(said), found.findings
    assert all(said in each.text for each in found.errors)


def test_an_offset_of_unknown_meaning_is_refused() -> None:
    code = assembly(COPY.replace("\n", " offset:16\n") + END)
    with pytest.raises(
        LaunchError, match="the address that its offset is added to is not documented"
    ):
        results(code, None)


IN_LDS = "ds_store_b32 v1, v0\n"
STORED = "s_wait_dscnt 0x0\n"
STORE = "global_store_async_from_lds_b32 v1, v7, s[12:13]\n"


@pytest.mark.parametrize("copies", [None, LateCopies()])
def test_a_store_from_lds_is_executed(copies: LateCopies | None) -> None:
    code = assembly(IN_LDS + STORED + MEET + STORE + WAIT + "s_endpgm")
    assert results(code, copies) == [n ^ 32 for n in range(64)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (IN_LDS + STORED + MEET + STORE + WAIT, ""),
        (IN_LDS + MEET + STORE + WAIT, "put s_wait_dscnt 0x0"),
        (IN_LDS + STORED + STORE + WAIT, "put __syncthreads() between them"),
        # LDS is read, and memory written, until the counter says so.
        (IN_LDS + STORED + MEET + STORE + MEET + IN_LDS, "the read may still be outstanding"),
        (IN_LDS + STORED + MEET + STORE + WAIT + MEET + IN_LDS, ""),
        (IN_LDS + STORED + MEET + STORE + "global_load_b32 v3, v1, s[12:13]\n", "s_wait_asynccnt"),
        (IN_LDS + STORED + MEET + STORE + WAIT + "global_load_b32 v3, v1, s[12:13]\n", ""),
    ],
)
def test_what_orders_a_store_from_lds(body: str, said: str) -> None:
    found = judge_kernel(
        assembly(body + "s_endpgm"),
        parse_launch("k<<<1, 64>>>(i32[64]=iota, i32[64], i32[64])"),
    )
    assert not found.problem
    assert bool(found.errors) is bool(said), found.findings
    assert all(said in each.text for each in found.errors)


BACK = "global_store_async_from_lds_b32 v1, v8, s[10:11]\n"
OTHERS = "v_xor_b32_e32 v8, 0x100, v1\nv_xor_b32_e32 v9, 0x200, v1\n"
NEXT = "global_load_async_to_lds_b32 v9, v1, s[8:9]\n"
ONE_LEFT = "s_wait_asynccnt 0x1\n"


@pytest.mark.parametrize(
    ("copies", "is_there"),
    [
        (COPY + NEXT, True),
        # A store from LDS may be done before the load that was issued before it, or after the next.
        (COPY + BACK, False),
        (BACK + COPY, False),
        (COPY + BACK + NEXT, True),
        (BACK + COPY + NEXT, True),
    ],
)
def test_copies_of_both_directions_are_not_in_order(copies: str, is_there: bool) -> None:
    kernel = f"{OTHERS}ds_store_b32 v8, v0\n{STORED}{copies}{ONE_LEFT}{READ.format('v1')}{END}"
    code = assembly(kernel)
    found = judge_kernel(code, parse_launch("k<<<1, 32>>>(i32[64]=iota, i32[64], i32[64])"))
    assert not found.problem
    assert bool(found.errors) is not is_there, found.findings
    assert all("put s_wait_asynccnt 0x0" in each.text for each in found.errors)
    late = [n + 1 if is_there else 0 for n in range(64)]
    assert results(code, LateCopies()) == late
