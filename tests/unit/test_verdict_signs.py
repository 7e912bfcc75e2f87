"""Indices of shared memory that a parameter leads back from, beside their truth by trial.

An ``int`` may be negative: the same kernels in PTX and AMD assembly, whose addresses have 32 bits.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
from campaigns import Share, draws

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.verdicts.amd.kernel import kernel_of as amd_kernel_of
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Kernel
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.ptx.code.text import read_ptx

THREADS, WAVE, WORDS = 128, 64, 600
"""Of a block, of a wave, of which each store has its own, and of the array."""
NUMBERS = range(-90, 91)
COMPARISONS = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Store:
    """A store of threads t from ``least`` to before ``most`` to word a*t + b*n + c, if n compares so."""

    a: int
    b: int
    c: int
    least: int
    most: int
    comparison: str = "ge"
    limit: int = NUMBERS[0]

    def words(self, n: int) -> Iterator[tuple[int, int]]:
        """The threads that execute it and the words that they write."""
        if COMPARISONS[self.comparison](n, self.limit):
            for t in range(self.least, self.most):
                yield t, self.a * t + self.b * n + self.c

    def ptx(self, number: int, begin: str) -> str:
        """Its instructions in PTX; ``begin`` puts the array's address in %r5."""
        return f"""
    sub.u32 %r3, %r2, {self.least}; setp.ge.u32 %p1, %r3, {self.most - self.least};
    @%p1 bra S{number};
    setp.{self.comparison}.s32 %p2, %r1, {self.limit};
    @!%p2 bra S{number};
    mul.lo.s32 %r4, %r2, {self.a}; mul.lo.s32 %r5, %r1, {self.b}; add.s32 %r4, %r4, %r5;
    shl.b32 %r4, %r4, 2; {begin} add.s32 %r4, %r5, %r4;
    st.shared.u32 [%r4+{4 * self.c}], %r2;
S{number}:"""

    def amd(self, number: int) -> str:
        """Its instructions on gfx942."""
        return f"""
	v_subrev_u32_e32 v1, {self.least}, v0
	v_cmp_gt_u32_e32 vcc, {self.most - self.least}, v1
	s_and_saveexec_b64 s[8:9], vcc
	s_cbranch_execz .LS{number}
	s_cmp_{self.comparison}_i32 s3, {self.limit}
	s_cbranch_scc0 .LS{number}
	s_mul_i32 s4, s3, {self.b}
	v_mul_lo_u32 v2, v0, {self.a}
	v_add_u32_e32 v2, s4, v2
	v_lshlrev_b32_e32 v2, 2, v2
	ds_write_b32 v2, v0 offset:{4 * self.c}
.LS{number}:
	s_or_b64 exec, exec, s[8:9]"""


Case = tuple[Store, Store]


BEGIN = "mov.u32 %r5, s;"


def ptx_kernel(case: Case, begin: str = BEGIN) -> Kernel:
    """Both stores in PTX."""
    stores = "".join(each.ptx(number, begin) for number, each in enumerate(case))
    file = read_ptx(
        f"""\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n)
{{
    .reg .pred %p<3>; .reg .b32 %r<6>;
    .shared .align 4 .b8 s[{4 * WORDS + 1024}];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;{stores}
    ret;
}}
""",
        "k.ptx",
    )
    return kernel_of(file, file.functions["k"])


def amd_kernel(case: Case) -> Kernel:
    """Both stores in AMD assembly."""
    stores = "".join(each.amd(number) for number, each in enumerate(case))
    assembly = read_assembly(
        f"""\
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	k
	.type	k,@function
k:
	s_load_dword s3, s[0:1], 0x0
	s_waitcnt lgkmcnt(0){stores}
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size {4 * WORDS}
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	k, .Lfunc_end0-k
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: n
        .offset: 0
        .size: 4
        .value_kind: by_value
    .group_segment_fixed_size: {4 * WORDS}
    .kernarg_segment_align: 4
    .kernarg_segment_size: 4
    .max_flat_workgroup_size: 1024
    .name: k
    .private_segment_fixed_size: 0
    .sgpr_count: 16
    .symbol: k.kd
    .vgpr_count: 4
    .wavefront_size: 64
amdhsa.version: [1, 2]
...
	.end_amdgpu_metadata
""",
        "k.s",
    )
    return amd_kernel_of(check(assembly, assembly.functions["k"]).lifted)


def races(case: Case) -> bool:
    """True where two threads write one word, for a number with which all words are in the array."""
    for n in NUMBERS:
        written = [each for store in case for each in store.words(n)]
        if all(0 <= word < WORDS for _, word in written):
            threads: dict[int, int] = {}
            if any(threads.setdefault(word, t) != t for t, word in written):
                return True
    return False


def verdicts(case: Case) -> Iterator[VerdictKind]:
    """The verdict of each vendor's kernel in blocks of these threads."""
    for made in (ptx_kernel(case), amd_kernel(case)):
        yield judge(made, Launch((THREADS, 1, 1))).kind


def drawn_case(seed: int) -> Case:
    """A store of few threads, which depends on the number, and one of many, which rarely does."""
    chosen = Random(f"signs {seed}")
    least, most = chosen.randrange(WAVE, THREADS), chosen.randrange(40, WAVE)
    few = Store(
        chosen.choice((1, 1, 2)), chosen.choice((-2, -1, 1, 1, 2, 5)), chosen.randrange(30),
        least, min(least + chosen.randrange(1, 8), THREADS),
        chosen.choice([*COMPARISONS]), chosen.choice(NUMBERS),
    )  # fmt: skip
    many = Store(
        chosen.choice((1, 1, 2)), chosen.choice((0, 0, 0, 1)), chosen.randrange(40), 0, most
    )
    return few, many


FIXED = (
    # One thread stores far above the others, but for negative numbers.
    (Store(1, 1, 0, 80, 81), Store(1, 0, 0, 0, 60)),
    (Store(1, 1, 0, 80, 81, "le", 10), Store(1, 0, 0, 0, 60)),
    (Store(1, 10, 30, 70, 74, "lt", 3), Store(1, 0, 0, 10, 60)),
    (Store(2, 1, 100, 80, 90, "eq", -50), Store(1, 0, 0, 0, 60)),
)


@pytest.mark.parametrize("case", FIXED[:3])
def test_a_negative_number_leads_back(case: Case) -> None:
    assert races(case)
    assert VerdictKind.RACE_FREE not in verdicts(case)


@pytest.mark.parametrize("case", FIXED[:3])
def test_a_negative_number_leads_back_in_an_array_that_is_aligned(case: Case) -> None:
    made = ptx_kernel(case, f"{BEGIN} add.u32 %r5, %r5, 1023; and.b32 %r5, %r5, -1024;")
    assert judge(made, Launch((THREADS, 1, 1))).kind is not VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    "case",
    [
        FIXED[3],
        (Store(1, 1, 0, 80, 81, "ge", 0), Store(1, 0, 0, 0, 60)),
        (Store(1, -1, 0, 80, 81, "le", 5), Store(1, 0, 0, 0, 60)),
        (Store(1, 0, 0, 80, 81, "le", 10), Store(1, 0, 0, 0, 60)),
    ],
)
def test_numbers_that_lead_elsewhere_are_proved(case: Case) -> None:
    assert not races(case)
    assert [*verdicts(case)] == [VerdictKind.RACE_FREE] * 2


@pytest.mark.parametrize("share", draws(8))
def test_no_verdict_contradicts_the_words_that_are_written(share: Share) -> None:
    for seed in share.of(range(320)):
        case = drawn_case(seed)
        if races(case):
            assert VerdictKind.RACE_FREE not in verdicts(case), (seed, case)


def test_random_cases_are_proved_and_race() -> None:
    cases = [drawn_case(seed) for seed in range(40)]
    wrong = sum(map(races, cases))
    assert 8 < wrong < 20
    proved = sum(kind is VerdictKind.RACE_FREE for each in cases for kind in verdicts(each))
    assert proved > 40
