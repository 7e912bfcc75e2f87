"""The work that long functions of PTX cost: once for what unrolled code has many times."""

from collections.abc import Callable
from typing import Any

import pytest

from fencewright.checker.verdicts import arithmetic
from fencewright.checker.verdicts.judge import (
    _Judge,  # pyright: ignore[reportPrivateUsage]  # its work is counted
    judge,
)
from fencewright.checker.verdicts.model import VerdictKind
from fencewright.checker.verdicts.ptx.calls import with_calls
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.register_values import RegisterValues
from fencewright.lowering.ptx.code.text import PtxFile, read_ptx

_MANY = 24
_PROLOGUE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .pred %p<4>;
    .reg .b32 %r<99>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
"""


def kernel(body: str) -> PtxFile:
    """A kernel whose pointer is in %rd2, and the thread's index in %r1."""
    return read_ptx(f"{_PROLOGUE}{body}    ret;\n}}\n")


def counted(patch: pytest.MonkeyPatch, owner: Any, name: str) -> list[str]:
    """The calls of a function, as they come."""
    calls: list[str] = []
    own: Callable[..., Any] = getattr(owner, name)

    def count(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        return own(*arguments, **options)

    patch.setattr(owner, name, count)
    return calls


def test_places_as_far_apart_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = "".join(f"    st.global.u32 [%rd4+{4 * n}], %r1;\n" for n in range(_MANY))
    module = kernel(
        f"    mul.wide.u32 %rd3, %r1, {4 * _MANY};\n    add.s64 %rd4, %rd2, %rd3;\n{stores}"
    )
    calls = counted(monkeypatch, arithmetic, "_differ")
    judge(kernel_of(module, module.functions["k"]))
    assert 0 < len(calls) <= 4 * _MANY  # There are as many pairs as the square.


def test_pairs_of_the_same_places_are_settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = "    st.global.u32 [%rd4], %r1;\n" * _MANY
    index = "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mad.lo.s32 %r4, %r2, %r3, %r1;\n"
    module = kernel(
        f"{index}    mul.wide.s32 %rd3, %r4, 4;\n    add.s64 %rd4, %rd2, %rd3;\n{stores}"
    )
    calls = counted(monkeypatch, _Judge, "_is_settled")
    assert judge(kernel_of(module, module.functions["k"])).kind is VerdictKind.RACE_FREE
    assert 0 < len(calls) <= _MANY


def test_registers_of_a_loop_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = "".join(f"    mov.u32 %r{n + 9}, {n};\n" for n in range(_MANY))
    doubled = "".join(f"    mul.lo.u32 %r{n + 9}, %r{n + 9}, %r{n + 9};\n" for n in range(_MANY))
    end = "    setp.lt.u32 %p1, %r9, 77;\n    @%p1 bra L;\n"
    module = kernel(f"{begin}L:\n{doubled}{end}")
    calls = counted(monkeypatch, RegisterValues, "_start_and_next")
    kernel_of(module, module.functions["k"])
    assert 0 < len(calls) <= 4 * _MANY


def test_a_call_that_stays_leaves_the_instructions_as_they_are() -> None:
    module = kernel("    call vprintf, ();\n    add.u32 %r2, %r1, 1;\n")
    function = module.functions["k"]
    whole, problem = with_calls(module, function)
    assert not problem
    assert all(a is b for a, b in zip(whole.instructions, function.instructions, strict=True))
