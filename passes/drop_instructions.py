"""The pass ``drop-instructions``: a lowering damaged on purpose, to see that the damage shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.sequence import UnsupportedError


@dataclass(frozen=True)
class DropInstructionsPass(ModulePass):
    """Remove every synchronising instruction called ``mnemonic``, or narrow it.

    ``mnemonic``: as ``buffer_inv``, ``s_waitcnt``, ``fence.acq_rel.gpu`` (or its first words:
    ``fence``). Instructions that carry a phase are meant, in CDNA and PTX; waits for data and
    accesses are never removed. ``modifiers``: instead of removing, take these cache policy bits
    away, of accesses too; ``replace``: instead, put this in place of ``mnemonic`` in the name.
    Raises ``UnsupportedError`` if nothing is called so: nothing would have been damaged.
    """

    name = "drop-instructions"

    mnemonic: str
    modifiers: tuple[str, ...] = ()
    replace: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in op.walk() if self._is_meant(each)]
        if not found:
            names = sorted({name_of(each) for each in op.walk() if "phase" in each.properties})
            raise UnsupportedError(
                f"dropping {self.mnemonic}", "no synchronising instruction is called so",
                tuple(filter(None, names)),
            )  # fmt: skip
        for each in found:
            self._damage(each)

    def _is_meant(self, op: Operation) -> bool:
        if "phase" not in op.properties or not _begins(name_of(op), self.mnemonic):
            return False
        if self.modifiers:
            return bool(set(self.modifiers) & set(_modifiers(op)))
        return self.replace is not None or not op.operands

    def _damage(self, op: Operation) -> None:
        if self.modifiers:
            kept = [each for each in _modifiers(op) if each not in self.modifiers]
            op.properties["modifiers"] = ArrayAttr([StringAttr(each) for each in kept])
        elif self.replace is not None:
            name = self.replace + name_of(op)[len(self.mnemonic) :]
            op.properties["opcode"] = StringAttr(name)
        else:
            op.detach()
            op.erase()


def name_of(op: Operation) -> str:
    """The mnemonic of a machine instruction."""
    opcode = op.properties.get("opcode")
    return opcode.data if isinstance(opcode, StringAttr) else op.name.partition(".")[2]


def _begins(name: str, words: str) -> bool:
    return name == words or name.startswith(f"{words}.")


def _modifiers(op: Operation) -> Iterator[str]:
    modifiers = op.properties.get("modifiers")
    if isinstance(modifiers, ArrayAttr):
        words = cast(ArrayAttr[StringAttr], modifiers)
        yield from (each.data for each in words)
