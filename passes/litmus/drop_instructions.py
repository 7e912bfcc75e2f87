"""The pass ``drop-instructions``: a lowering damaged on purpose, to see that the damage shows."""

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.counters.waits import counters_of
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import AsyncWaitOp, WaitOp
from fencewright.mlir_dialects.ptx import PHASES, LinesAttr
from fencewright.passes.analysis.caches import modifiers_of


@dataclass(frozen=True)
class DropInstructionsPass(ModulePass):
    """Remove every synchronising instruction called ``mnemonic``, or narrow it.

    ``mnemonic``: as ``buffer_inv``, ``s_waitcnt``, ``fence.acq_rel.gpu`` (or its first words:
    ``fence``; ``fence.proxy.async``, ``mbarrier.try_wait``). Instructions that carry a phase are
    meant, in CDNA and PTX; waits for data and accesses are never removed. ``modifiers``: instead of
    removing, take these cache policy bits away, of accesses too, and of weak ones: by their bits
    they may do what a write-back did. Of a chip whose counters have a wait each,
    ``s_wait_storecnt`` is that counter's part of every wait.
    ``replace``: instead, put this in place of ``mnemonic`` in the name.
    Raises ``UnsupportedError`` if nothing is called so: nothing would have been damaged.
    """

    name = "drop-instructions"

    mnemonic: str
    modifiers: tuple[str, ...] = ()
    replace: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in op.walk() if self.damages(each)]
        if not found:
            if self.modifiers:
                what, names = "instruction has these bits", {_with_bits(each) for each in op.walk()}
            else:
                phased = (each for each in op.walk() if "phase" in each.properties)
                what = "synchronising instruction is called so"
                names = {name for each in phased for name in names_of(each)}
            raise UnsupportedError(
                f"dropping {self._asked}", f"no {what}", tuple(sorted(filter(None, names)))
            )
        for each in found:
            self._damage(each)

    @property
    def _asked(self) -> str:
        return ":".join(filter(None, (self.mnemonic, ",".join(self.modifiers))))

    def damages(self, op: Operation) -> bool:
        """True if ``op`` is one of the instructions to drop."""
        if isinstance(op, WaitOp) and (counters := counters_of(self.mnemonic)):
            is_bare = not self.modifiers and self.replace is None
            return is_bare and "phase" in op.properties and counters <= op.counts.given.keys()
        if not _begins(name_of(op), self.mnemonic):
            return False
        if self.modifiers:
            return bool(set(self.modifiers) & set(modifiers_of(op)))
        if "phase" not in op.properties:
            return False
        if "lines" in op.properties:
            is_access = op.properties["phase"] == PHASES[Phase.ACCESS]
            return not (op.results or (op.operands and is_access))
        return self.replace is not None or not op.operands

    def _damage(self, op: Operation) -> None:
        counters = counters_of(self.mnemonic)
        if counters and isinstance(op, WaitOp) and op.counts.given.keys() > counters:
            for counter in counters:
                del op.properties[counter]
        elif self.modifiers:
            kept = [each for each in modifiers_of(op) if each not in self.modifiers]
            op.properties["modifiers"] = ArrayAttr([StringAttr(each) for each in kept])
        elif self.replace is not None and "lines" in op.properties:
            lines = (line.replace(self.mnemonic, self.replace) for line in _lines(op))
            op.properties["lines"] = LinesAttr.read(lines)
        elif self.replace is not None:
            name = self.replace + name_of(op)[len(self.mnemonic) :]
            op.properties["opcode"] = StringAttr(name)
        else:
            Rewriter.erase_op(op)


def name_of(op: Operation) -> str:
    """The mnemonic of a machine instruction."""
    opcode = op.properties.get("opcode")
    if "lines" in op.properties:
        return _name_in(_lines(op))
    if isinstance(op, AsyncWaitOp):
        return op.row.mnemonic
    return opcode.data if isinstance(opcode, StringAttr) else op.name.partition(".")[2]


def names_of(op: Operation) -> tuple[str, ...]:
    """The mnemonics of the instructions that a machine instruction is printed as."""
    return tuple(each.mnemonic for each in op.lines) if isinstance(op, WaitOp) else (name_of(op),)


def _lines(op: Operation) -> tuple[str, ...]:
    """The lines of PTX of a sequence."""
    lines = cast(LinesAttr, op.properties["lines"])
    return tuple(line.text for line in lines.data)


def _name_in(lines: tuple[str, ...]) -> str:
    """The mnemonic that a sequence is about: no declaration, label or branch."""
    names = (line.partition(" ")[0] for line in lines)
    return next((each for each in names if not each.startswith((".", "@", "{"))), "")


def _begins(name: str, first: str) -> bool:
    return name == first or name.startswith(f"{first}.")


def _with_bits(op: Operation) -> str:
    bits = ",".join(modifiers_of(op))
    return f"{name_of(op)}:{bits}" if bits else ""
