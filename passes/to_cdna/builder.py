"""Building ``cdna`` operations: register types of values, and one helper for each small step."""

from collections.abc import Iterable, Sequence
from functools import cache

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, SSAValue

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.instructions import instruction, spelled
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import cdna
from fencewright.mlir_dialects.attributes import count_attr, opcode_attr
from fencewright.mlir_dialects.leaf_operation import append
from fencewright.mlir_dialects.scoped import address_space_of
from fencewright.passes.kernels import accept as kernel_frontend

_NARROW_POINTERS = frozenset({AddressSpace.LOCAL, AddressSpace.PRIVATE})


def pointer_width(pointer: LLVMPointerType) -> int:
    """The bits of an address in the pointer's space. Source: AMDGPUUsage, Address Spaces."""
    return 32 if address_space_of(pointer) in _NARROW_POINTERS else 64


@cache
def bits_of(type: Attribute) -> int | None:
    """The width in bits of a value; None for a type that registers do not hold.

    Pointers to memory that the chips do not have (tensor memory, 6) are of that kind.
    """
    try:
        return kernel_frontend.bits_of(type, pointer_width)
    except ValueError:
        return None


@cache
def mask_type(chip: str) -> cdna.SGPRType:
    """The scalar registers that have a bit for each lane of a wave."""
    return cdna.SGPRType.of(CHIPS[chip].wave_size // 32)


@cache
def register_type(chip: str, type: Attribute) -> cdna.RegisterType | None:
    """The registers that hold a value: a lane mask for i1, else as many VGPRs as it needs."""
    bits = bits_of(type)
    if bits is None:
        return None
    if bits == 1:
        return mask_type(chip)
    size = -(-bits // 32)
    return cdna.VGPRType.of(size) if size in (1, 2, 3, 4) else None


class CdnaBuilder:
    """Appends operations to ``block``, for one chip; every method returns the new value."""

    __slots__ = ("block", "chip", "mask")

    def __init__(self, chip: str, block: Block):
        self.chip = chip
        self.block = block
        self.mask = mask_type(chip)

    def choose(self, mnemonics: Iterable[str]) -> str:
        """The first of the instructions that the chip has."""
        for mnemonic in mnemonics:
            row = instruction(spelled(self.chip, mnemonic))
            if row is not None and self.chip in row.chips:
                return mnemonic
        raise AssertionError(f"{self.chip} has none of {mnemonics}")

    def alu(
        self,
        mnemonic: str,
        *operands: SSAValue,
        type: cdna.RegisterType = cdna.VGPR,
        immediates: Sequence[int] = (),
    ) -> SSAValue:
        """An arithmetic instruction, by its name on gfx9."""
        opcode = opcode_attr(spelled(self.chip, mnemonic))
        properties: dict[str, Attribute] = {"opcode": opcode}
        if immediates:
            properties["immediates"] = ArrayAttr([count_attr(each) for each in immediates])
        op = cdna.AluOp.create(operands=operands, result_types=(type,), properties=properties)
        append(self.block, op)
        return op.results[0]

    def const(self, value: int, type: cdna.RegisterType = cdna.VGPR) -> SSAValue:
        """A constant; a lane mask is all ones or all zeros."""
        op = cdna.ConstOp.create(result_types=(type,), properties={"value": count_attr(value)})
        append(self.block, op)
        return op.results[0]

    def move(self, value: SSAValue) -> SSAValue:
        """The value of scalar registers in every lane."""
        type = cdna.VGPRType.of(cdna.register_of(value).size.data)
        op = cdna.MovOp.create(operands=(value,), result_types=(type,))
        append(self.block, op)
        return op.results[0]

    def pack(self, *parts: SSAValue) -> SSAValue:
        """The parts in consecutive registers, the first one lowest."""
        size = sum(cdna.register_of(part).size.data for part in parts)
        op = cdna.PackOp.create(operands=parts, result_types=(cdna.VGPRType.of(size),))
        append(self.block, op)
        return op.results[0]

    def low(self, value: SSAValue) -> SSAValue:
        """The low register of a tuple; a single register as it is."""
        if cdna.register_of(value).size.data == 1:
            return value
        op = cdna.ExtractOp.create(
            operands=(value,), result_types=(cdna.VGPR,), properties={"offset": count_attr(0)}
        )
        append(self.block, op)
        return op.results[0]

    # Integers of any width up to 64; one of less than 32 bits has undefined bits above.

    def zero_extend(self, value: SSAValue, bits: int, to: int) -> SSAValue:
        """An unsigned integer of ``bits`` in ``to`` (32 or 64) bits."""
        return self._extend(value, bits, to, "v_zext_mask_b32", "v_bfe_u32", "v_zext_b32_b64")

    def sign_extend(self, value: SSAValue, bits: int, to: int) -> SSAValue:
        """A signed integer of ``bits`` in ``to`` (32 or 64) bits."""
        return self._extend(value, bits, to, "v_sext_mask_b32", "v_bfe_i32", "v_sext_b32_b64")

    def _extend(
        self, value: SSAValue, bits: int, to: int, mask: str, field: str, double: str
    ) -> SSAValue:
        if bits == 1:
            value = self.alu(mask, value)
        elif bits < 32:
            value = self.alu(field, value, immediates=(0, bits))
        if to <= 32 or bits == 64:
            return value
        return self.alu(double, value, type=cdna.VGPR_PAIR)

    def truncate(self, value: SSAValue, to: int) -> SSAValue:
        """The low ``to`` bits."""
        if to > 32:
            return value
        low = self.low(value)
        if to > 1:
            return low
        bit = self.alu("v_and_b32_e32", low, self.const(1))
        return self.compare("ne", "u", 32, bit, self.const(0))

    def compare(
        self, predicate: str, signedness: str, width: int, a: SSAValue, b: SSAValue
    ) -> SSAValue:
        """The lanes in which ``a`` and ``b`` of 32 or 64 bits compare so, as a mask."""
        return self.alu(f"v_cmp_{predicate}_{signedness}{width}_e64", a, b, type=self.mask)

    def select(self, mask: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """``a`` in the lanes of ``mask``, ``b`` in the others; both of one register type."""
        type = cdna.register_of(a)
        if isinstance(type, cdna.SGPRType):
            chosen = self.alu("s_and_b64", a, mask, type=self.mask)
            others = self.alu("s_andn2_b64", b, mask, type=self.mask)
            return self.alu("s_or_b64", chosen, others, type=self.mask)
        mnemonic = "v_cndmask_b32_e64" if type == cdna.VGPR else "v_cndmask_b64"
        return self.alu(mnemonic, mask, a, b, type=type)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum of two integers of 32 or 64 bits."""
        if cdna.register_of(a) == cdna.VGPR:
            return self.alu("v_add_u32_e32", a, b)
        return self.alu(self.choose(ADD_64), a, b, type=cdna.VGPR_PAIR)


ADD_64 = ("v_lshl_add_u64", "v_add_u64")
"""The 64-bit addition, best first."""
