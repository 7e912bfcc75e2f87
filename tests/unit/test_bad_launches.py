"""Bad input has the same words in every executor and for every vendor: threads and waves, of PTX
and of AMD assembly."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from test_launch_faults import of_amd, of_ptx

import fencewright
from fencewright.launches import ExecutionError
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.execution import launch as execution
from fencewright.simulator.execution.executor import execute as run_waves
from fencewright.simulator.kernels.ptx.kernel import program_of
from fencewright.simulator.semantics.arguments import argument_of
from fencewright.simulator.threads import launch as threads

ARRAYS = "i32[256]"
ACCESSES = {
    "beyond a buffer": (
        "ld.global.u32 %r1, [%rd4+1020];", "global_load_dword v2, v1, s[4:5] offset:1020",
        "out of bounds: 4 bytes at byte 1024 of NAME, which has 1024 bytes; give it 1028 or more",
        "thread 1 of block 0",
    ),
    "nowhere": (
        "mov.u64 %rd4, 0; ld.global.u8 %r1, [%rd4];",
        "v_mov_b32_e32 v4, 0\nv_mov_b32_e32 v5, 0\nglobal_load_ubyte v2, v[4:5], off",
        "out of bounds: 1 byte at 0x0, where there is nothing",
        "thread 0 of block 0",
    ),
    "beyond shared memory": (
        "st.shared.u32 [%r3+992], %r1;", "ds_write_b32 v1, v2 offset:992",
        "out of bounds: 4 bytes at byte 1024 of shared memory, which has 1024 bytes; a launch may "
        "give it more",
        "thread 8 of block 0",
    ),
    "not aligned": (
        "atom.global.add.u32 %r1, [%rd4+2], 1;",
        "global_atomic_add v1, v2, s[4:5] offset:2",
        "unaligned: 4 bytes at byte 2 of NAME, which is no multiple of 4",
        "thread 0 of block 0",
    ),
}  # fmt: skip


def of_threads(text: str, block: int, shared: int, args: str) -> str:
    module = threads.Module(read_ptx(text, "kernel.ptx"))
    try:
        launch = threads.parse_launch(f"k<<<1, {block}, {shared}>>>({args})")
        return threads.execute(module, launch, limit=1000).problem
    except threads.LaunchError as problem:
        return str(problem)


VALUES: Mapping[str, Any] = {
    "i32[256]": np.zeros(256, np.uint32), "{i64(1), i64(2)}": argument_of("{i64(1), i64(2)}", 0)
}  # fmt: skip


def of_waves(text: str, block: int, shared: int, args: str) -> str:
    file = read_ptx(text, "kernel.ptx")
    values = [_value(each) for each in threads.split(args)]
    launch = execution.Launch((1, 1, 1), (block, 1, 1), tuple(values), shared=shared)
    try:
        program = program_of(file, file.functions["k"])
        run_waves(program, launch, execution.allocate(program, launch), lambda _: None, limit=1000)
    except execution.LaunchError as problem:
        return str(problem)
    return ""


def _value(text: str) -> Any:
    if text in VALUES:
        return VALUES[text]
    return float(text) if "." in text or "e" in text else int(text)


def of_amd_waves(text: str, block: int, shared: int, args: str) -> str:
    # The kernel has three parameters, of which one is read.
    values = [_value(each) for each in threads.split(args)]
    rest = [np.zeros(256, np.uint32) for _ in range(2)]
    try:
        fencewright.execute(text, grid=1, block=block, args=[*values, *rest], shared=shared)
    except (ExecutionError, threads.LaunchError) as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("case", ACCESSES)
def test_a_bad_access_is_one_line_of_every_executor(case: str) -> None:
    ptx, amd, fault, thread = ACCESSES[case]
    text = of_ptx(ptx).replace("[a]", "[k_param_0]").replace("u64 a)", "u64 k_param_0)")
    lines = [each(text, 64, 0, ARRAYS) for each in (of_threads, of_waves)]
    assert lines[0] == lines[1]
    lines[1] = of_amd_waves(of_amd(amd), 64, 0, ARRAYS)
    for line, name in zip(lines, ("argument 0", "data"), strict=True):
        words = (
            rf"{re.escape(fault.replace('NAME', name))}, at kernel\.(ptx|s):\d+ \(.+\), {thread}"
        )
        assert re.fullmatch(words, line), line


LAUNCHES = {
    "a block of 2048 threads: 1024 are the most": (2048, 0, ARRAYS),
    "SHARED bytes of shared memory: MOST are the most": (64, 300_000, ARRAYS),
}


@pytest.mark.parametrize("said", LAUNCHES)
def test_a_bad_launch_is_one_line_of_every_executor(said: str) -> None:
    text = of_ptx("").replace("[a]", "[k_param_0]").replace("u64 a)", "u64 k_param_0)")
    block, shared, args = LAUNCHES[said]
    found = [each(text, block, shared, args) for each in (of_threads, of_waves)]
    found.append(of_amd_waves(of_amd(""), block, shared, args))
    own = [("argument 0", "301024", "232448")] * 2 + [("data", "301024", "65536")]
    for line, (name, needed, most) in zip(found, own, strict=True):
        expected = said.replace("NAME", name).replace("SHARED", needed).replace("MOST", most)
        assert line == expected


@pytest.mark.parametrize(
    ("parameter", "args", "said"),
    [
        (".u32 k_param_0", ARRAYS, "argument 0 is a number of 32 bits, not a buffer: give a number"),
        (".u32 k_param_0", "1.5", "argument 0 is an integer: 1.5 is none"),
        (".u64 k_param_0", "18446744073709551616",
         "argument 0 has 64 bits: 18446744073709551616 does not fit; give a number from "
         "-9223372036854775808 to 18446744073709551615"),
        (".f32 k_param_0", "1e99", "argument 0 has 32 bits: 1e+99 does not fit"),
        (".b8 k_param_0[12]", "7", "argument 0 has 12 bytes, not a number: give b8[12]"),
        (".b8 k_param_0[8]", "{i64(1), i64(2)}",
         "argument 0 has 8 bytes: a struct of 16 does not fit"),
        (".u64 k_param_0, .param .u32 n", "7",
         "k takes 2 arguments (argument 0 of 64 bits, NAME of 32 bits), not 1: give a value for "
         "each"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_line_of_both_executors(parameter: str, args: str, said: str) -> None:
    text = of_ptx("").replace("ld.param.u64 %rd1, [a];", "").replace(".u64 a", parameter)
    lines = [each(text, 64, 0, args) for each in (of_threads, of_waves)]
    assert lines == [said.replace("NAME", name) for name in ("n", "argument 1")]


def test_a_limit_of_steps_has_the_same_words() -> None:
    loop = "L: add.u32 %r1, %r1, 2; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;"
    lines = [each(of_ptx(loop), 64, 0, ARRAYS) for each in (of_threads, of_waves)]
    for line, unit in zip(lines, ("turns of its threads", "instructions of a wave"), strict=True):
        assert line.startswith(f"1000 {unit} are not enough: a loop does not end, or the launch")
        assert re.search(r", at kernel\.ptx:\d+.*, thread \d+ of block 0$", line)
