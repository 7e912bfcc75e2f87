"""The sum of an array by Triton: who takes the last ticket adds up what the blocks have written."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportInvalidTypeForm=false
import triton
import triton.language as tl


@triton.jit
def last_block(values, sums, ticket, total, blocks, SEM: tl.constexpr):
    block = tl.program_id(0)
    lanes = tl.arange(0, 128)
    tl.store(sums + block, tl.sum(tl.load(values + block * 128 + lanes)))
    taken = tl.atomic_add(ticket, 1, sem=SEM, scope="gpu")
    if taken == blocks - 1:
        tl.store(total, tl.sum(tl.load(sums + lanes, mask=lanes < blocks, other=0)))
