"""Calls of AMD assembly: which functions they reach, and what becomes of the others."""

import numpy as np
import pytest
from test_amd_kernels import STORE, TAIL

from fencewright.lowering.cdna.code.text import Function, read_assembly
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, LaunchError, allocate
from fencewright.simulator.kernels.amd.kernel import program_of, with_calls

GET = """	s_getpc_b64 s[{low}:{high}]
	s_add_u32 s{low}, s{low}, {name}@rel32@lo+4
	s_addc_u32 s{high}, s{high}, {name}@rel32@hi+12
"""
CALL = GET + "\ts_swappc_b64 s[30:31], s[{low}:{high}]\n"
RETURN = "\ts_setpc_b64 s[30:31]\n"
ADD = "\tv_add_u32_e32 v2, {number}, v2\n"
ID = "\tv_and_b32_e32 v2, 0x3ff, v0\n"


def call(name: str, low: int = 6) -> str:
    return CALL.format(name=name, low=low, high=low + 1)


def functions_of(kernel: str, **functions: str) -> dict[str, Function]:
    text = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.text\n'
    for n, (name, body) in enumerate([*functions.items(), ("kernel", kernel)]):
        text += f"\t.globl {name}\n\t.type {name},@function\n{name}:\n{body}.Lfunc_end{n}:\n"
    return dict(read_assembly(text + TAIL.format(more=""), "k.s").functions)


def values(kernel: str, **functions: str) -> list[int]:
    """What v2 is in each lane at the end of the kernel."""
    found = functions_of(ID + kernel + STORE, **functions)
    program = program_of(with_calls(found["kernel"], found))
    launch = Launch((1, 1, 1), (64, 1, 1), (np.zeros(64, np.uint32), 7))
    memory = execute(program, launch, allocate(program, launch), lambda _: None)
    return memory.contents("out", np.uint32).tolist()


def test_each_call_goes_on_where_it_was() -> None:
    body = call("f") + ADD.format(number=1) + call("g") + ADD.format(number=2) + call("f")
    f = ADD.format(number=10) + RETURN
    assert values(body, f=f, g=call("f", 8) + RETURN) == [n + 33 for n in range(64)]


def test_a_branch_of_a_called_function_is_its_own() -> None:
    f = (
        "\ts_cmp_eq_u32 s12, 0\n\ts_cbranch_scc1 .Ldone\n" + ADD.format(number=5)
        + ".Ldone:\n" + ADD.format(number=1) + RETURN
    )  # fmt: skip
    body = "\ts_mov_b32 s12, 0\n" + call("f") + "\ts_mov_b32 s12, 1\n" + call("f")
    assert values(body, f=f) == [n + 7 for n in range(64)]


def test_a_call_in_the_place_of_a_return() -> None:
    tail = GET.format(name="g", low=8, high=9) + "\ts_setpc_b64 s[8:9]\n"
    g = ADD.format(number=3) + RETURN
    assert values(call("f") + ADD.format(number=1), f=tail, g=g) == [n + 4 for n in range(64)]


def test_an_address_may_be_copied_and_used_again() -> None:
    body = GET.format(name="f", low=6, high=7) + "\ts_mov_b64 s[34:35], s[6:7]\n"
    again = "\ts_swappc_b64 s[30:31], s[34:35]\n"
    f = "\ts_mov_b32 s6, 0\n" + ADD.format(number=2) + RETURN
    assert values(body + again + again, f=f) == [n + 4 for n in range(64)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (call("f"), "f, which it calls, calls itself"),
        (GET.format(name="g", low=6, high=7) + "\ts_mov_b32 s7, 0\n\ts_swappc_b64 s[30:31], s[6:7]\n",
         r"what it does \(call\) is not known here"),
        (call("elsewhere"), r"what it does \(call\) is not known here"),
        ("\ts_cbranch_scc1 .Lother\n" + GET.format(name="g", low=6, high=7) + ".Lother:\n"
         "\ts_swappc_b64 s[30:31], s[6:7]\n", r"what it does \(call\) is not known here"),
        (GET.format(name="g", low=6, high=7) + 2 * "\ts_swappc_b64 s[30:31], s[6:7]\n",
         r"what it does \(call\) is not known here"),
    ],
    ids=["recursion", "upper half changed", "no such function", "one path", "changed by a call"],
)  # fmt: skip
def test_what_is_not_known_is_refused(body: str, reason: str) -> None:
    g = "\ts_mov_b32 s6, 0\n" + RETURN
    with pytest.raises(LaunchError, match=rf"k\.s:\d+:.*s_swappc_b64.*: {reason}"):
        values(body, f=call("h") + RETURN, h=call("f") + RETURN, g=g)


def test_code_may_end_in_a_call_that_does_not_come_back() -> None:
    """As compilers leave it after a trap; only a wave that comes there ends the launch."""
    body = "\ts_cmp_eq_u32 s12, 0\n\ts_cbranch_scc0 .Lcalls\n" + STORE + ".Lcalls:\n" + call("f")
    for number, is_there in ((0, False), (1, True)):
        found = functions_of(f"{ID}\ts_mov_b32 s12, {number}\n{body}", f="\ts_trap 2\n")
        program = program_of(with_calls(found["kernel"], found))
        launch = Launch((1, 1, 1), (64, 1, 1), (np.zeros(64, np.uint32), 7))
        memory = allocate(program, launch)
        if is_there:
            with pytest.raises(LaunchError, match=r"k\.s:\d+: 's_trap 2' is not executed"):
                execute(program, launch, memory, lambda _: None)
            continue
        memory = execute(program, launch, memory, lambda _: None)
        assert memory.contents("out", np.uint32).tolist() == list(range(64))
