"""A dialect of one's own, mailboxes, and the pass that makes ``scoped`` operations of it."""

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.pattern_rewriter import op_type_rewrite_pattern as rewrites

from fencewright.mlir_dialects.scoped import LoadOp, StoreOp
from fencewright.tools.fence_opt import FenceOptMain


@irdl_op_definition
class PostOp(IRDLOperation):
    """Put a value into a mailbox, then raise its flag."""

    name = "mailbox.post"
    value = operand_def(IntegerType)
    slot = operand_def(LLVMPointerType)
    flag = operand_def(LLVMPointerType)
    assembly_format = (
        "$value `to` $slot `,` $flag attr-dict `:` type($value) `,` type($slot) `,` type($flag)"
    )


@irdl_op_definition
class PeekOp(IRDLOperation):
    """The flag of a mailbox, and what is in the mailbox: the value, if the flag is raised."""

    name = "mailbox.peek"
    slot = operand_def(LLVMPointerType)
    flag = operand_def(LLVMPointerType)
    raised = result_def(i32)
    value = result_def(IntegerType)
    assembly_format = (
        "$slot `,` $flag attr-dict `:` type($slot) `,` type($flag) `->` "
        "type($raised) `,` type($value)"
    )


class Post(RewritePattern):
    """The flag releases the value; the value is atomic, for a reader may come too early."""

    @rewrites
    def match_and_rewrite(self, op: PostOp, rewriter: PatternRewriter) -> None:
        raised = ConstantOp.from_int_and_width(1, 32)
        put = StoreOp(op.value, op.slot, "relaxed", "agent")
        rewriter.replace(op, [put, raised, StoreOp(raised.result, op.flag, "release", "agent")])


class Peek(RewritePattern):
    """The flag is acquired before the value is read."""

    @rewrites
    def match_and_rewrite(self, op: PeekOp, rewriter: PatternRewriter) -> None:
        raised = LoadOp(op.flag, op.raised.type, "acquire", "agent")
        value = LoadOp(op.slot, op.value.type, "relaxed", "agent")
        rewriter.replace(op, [raised, value], [raised.value, value.value])


class ConvertMailboxPass(ModulePass):
    """Make ``scoped`` operations of mailboxes."""

    name = "convert-mailbox"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pattern in (Post(), Peek()):
            PatternRewriteWalker(pattern).rewrite_module(op)


class MailboxOptMain(FenceOptMain):
    """fence-opt with the dialect and the pass: its other passes come after ours."""

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        self.ctx.load_dialect(Dialect("mailbox", [PostOp, PeekOp]))

    def register_all_passes(self) -> None:
        super().register_all_passes()
        self.register_pass(ConvertMailboxPass.name, lambda: ConvertMailboxPass)


if __name__ == "__main__":
    MailboxOptMain("mailbox-opt").run()
