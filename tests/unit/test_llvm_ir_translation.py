"""LLVM IR to operations and back: equivalent modules, exact words, errors at their place."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unnamed import unnamed
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, ModuleOp, StringAttr
from xdsl.dialects.llvm import LLVM
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from fencewright.lowering.skeleton import ILLEGAL
from fencewright.lowering.vocabulary import Operation as AccessOperation
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects.llvm_ir.dialect import (
    LLVMIR,
    UNORDERED,
    FuncOp,
    InstOp,
    LabelOp,
    TerminatorOp,
    escape,
    parse_template,
)
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.text import TranslationError, quote_name, unquote_name
from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir
from fencewright.mlir_dialects.scoped import (
    AtomicRmwOp,
    CmpxchgOp,
    FenceOp,
    LoadOp,
    Scoped,
    ScopedOperation,
    StoreOp,
)
from fencewright.tools import fence_translate

DATA = Path(__file__).parent.parent / "data"
MODULES = sorted([*(DATA / "llvm-ir").glob("*.ll"), *(DATA / "triton").glob("*.ll")])
TRIPLE = 'target triple = "amdgcn-amd-amdhsa"\n'


def anonymous(text: str) -> str:
    """What LLVM prints for ``text`` when no argument, block or instruction has a name."""
    printed = unnamed(text)
    return re.sub(r"^source_filename = \"<string>\"\n", "", printed, flags=re.MULTILINE)


def parse_mlir(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, LLVM, Scoped, LLVMIR):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def body(function: str, parameters: str = "ptr addrspace(1) %p, i32 %v") -> str:
    return f"{TRIPLE}define void @f({parameters}) {{\n{function}\n  ret void\n}}\n"


def scoped_ops(module: ModuleOp) -> list[ScopedOperation]:
    return [op for op in module.walk() if isinstance(op, ScopedOperation)]


def only_scoped(text: str) -> ScopedOperation:
    module = import_llvm_ir(text)
    module.verify()
    (op,) = scoped_ops(module)
    return op


# Whole modules


def test_there_are_modules():
    assert {path.stem for path in MODULES} >= {"kernels", "opaque", "debug-info", "sum_last_block"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_round_trip_is_equivalent(path: Path):
    text = path.read_text()
    module = import_llvm_ir(text, path.name)
    module.verify()
    assert anonymous(export_llvm_ir(module)) == anonymous(text)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_mlir_text_round_trips(path: Path):
    printed = str(import_llvm_ir(path.read_text(), path.name))
    parsed = parse_mlir(printed)
    parsed.verify()
    assert str(parsed) == printed
    assert anonymous(export_llvm_ir(parsed)) == anonymous(path.read_text())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_import_of_export_is_the_same(path: Path):
    once = import_llvm_ir(path.read_text(), path.name)
    again = import_llvm_ir(export_llvm_ir(once), path.name)
    assert [type(op) for op in again.walk()] == [type(op) for op in once.walk()]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_lost_instruction_is_noticed(path: Path):
    """The comparison itself: without one instruction the modules are no longer equivalent."""
    module = import_llvm_ir(path.read_text(), path.name)
    victim = next(
        op
        for op in module.walk()
        if isinstance(op, InstOp | StoreOp) and not any(result.uses for result in op.results)
    )
    block = victim.parent
    assert block is not None
    block.erase_op(victim)
    assert anonymous(export_llvm_ir(module)) != anonymous(path.read_text())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_operands_are_those_of_llvm(path: Path):
    """The operands that were read out of the text are the ones that LLVM counts."""
    module = import_llvm_ir(path.read_text(), path.name)
    with llvm_module(export_llvm_ir(module), "compared") as reference:
        expected = [
            sum(is_local(operand) for operand in instruction.operands)
            for function in reference.functions
            for block in function.blocks
            for instruction in block.instructions
        ]
    carried = [
        op for op in module.walk() if isinstance(op, InstOp | TerminatorOp | ScopedOperation)
    ]
    found = [count_local_operands(op) for op in carried if not is_record(op)]
    assert found == expected


def is_local(operand: Any) -> bool:
    """Whether one of LLVM's operands is an argument or an instruction (typeshed lacks the kind)."""
    return operand.value_kind.name in ("argument", "instruction")


def is_record(op: Operation) -> bool:
    return isinstance(op, InstOp) and op.opcode.startswith("#")


def count_local_operands(op: Operation) -> int:
    return sum(getattr(value.owner, "name", "") != "llvm_ir.constant" for value in op.operands)


def test_operands_can_be_replaced():
    module = import_llvm_ir(body("  %a = add i32 %v, 1\n  %b = mul i32 %a, %a"))
    add, mul = (op for op in module.walk() if isinstance(op, InstOp))
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    mul.operands[1] = function.body.blocks[0].args[1]
    assert "mul i32 %a, %v" in export_llvm_ir(module)
    assert add.opcode == "add"


def test_forward_references():
    text = body(
        "  br label %b\na:\n  %y = add i32 %x, 1\n  br label %c\nb:\n  %x = add i32 %v, 1\n  br label %a\nc:"
    )
    module = import_llvm_ir(text)
    module.verify()
    assert anonymous(export_llvm_ir(parse_mlir(str(module)))) == anonymous(text)


# Accesses

OPERATIONS = {
    AccessOperation.LOAD: (
        LoadOp,
        "%r = load atomic i32, ptr addrspace(1) %p {sync}{ordering}, align 4",
    ),
    AccessOperation.STORE: (
        StoreOp,
        "store atomic i32 %v, ptr addrspace(1) %p {sync}{ordering}, align 4",
    ),
    AccessOperation.ATOMIC_RMW: (
        AtomicRmwOp,
        "%r = atomicrmw umax ptr addrspace(1) %p, i32 %v {sync}{ordering}, align 4",
    ),
    AccessOperation.FENCE: (FenceOp, "fence {sync}{ordering}"),
}
LLVM_ORDERING = {Ordering.RELAXED: "monotonic"}
SYNCSCOPES = [(scope, one_as) for scope in Scope for one_as in (False, True)]


def syncscope(scope: Scope, one_as: bool) -> str:
    words = [] if scope is Scope.SYSTEM else [scope.value]
    name = "-".join([*words, *(["one-as"] if one_as else [])])
    return f'syncscope("{name}") ' if name else ""


@pytest.mark.parametrize(("scope", "one_as"), SYNCSCOPES)
@pytest.mark.parametrize(
    ("operation", "ordering"),
    [
        (operation, ordering)
        for operation, ordering in product(OPERATIONS, Ordering)
        if ordering is not Ordering.WEAK and (operation, ordering) not in ILLEGAL
    ],
)
def test_every_ordering_and_scope(
    operation: AccessOperation, ordering: Ordering, scope: Scope, one_as: bool
):
    op_type, template = OPERATIONS[operation]
    text = body(
        "  "
        + template.format(
            sync=syncscope(scope, one_as), ordering=LLVM_ORDERING.get(ordering, ordering)
        )
    )
    op = only_scoped(text)
    assert type(op) is op_type
    assert op.ordering.data is ordering
    assert op.scope is not None
    assert op.scope.data is scope
    assert (op.one_as is not None) is one_as
    assert anonymous(export_llvm_ir(import_llvm_ir(text))) == anonymous(text)


@pytest.mark.parametrize("failure", [Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST])
@pytest.mark.parametrize("success", [o for o in Ordering if o is not Ordering.WEAK])
def test_cmpxchg(success: Ordering, failure: Ordering):
    words = " ".join(LLVM_ORDERING.get(word, word) for word in (success, failure))
    text = body(
        f'  %r = cmpxchg weak volatile ptr addrspace(1) %p, i32 %v, i32 7 syncscope("agent") {words}, align 4'
        "\n  %both = insertvalue { i32, i1 } %r, i32 0, 0"
        "\n  %ok = extractvalue { i32, i1 } %r, 1"
    )
    op = only_scoped(text)
    assert isinstance(op, CmpxchgOp)
    assert (op.ordering.data, op.failure_ordering.data) == (success, failure)
    assert op.weak is not None
    assert op.volatile is not None
    assert anonymous(export_llvm_ir(import_llvm_ir(text))) == anonymous(text)


def test_results_of_cmpxchg_can_be_used_alone():
    exported = export_llvm_ir(
        parse_mlir(
            """
            llvm_ir.func "define i1 @{@}(ptr {0}, i32 {1})" @f {
            ^entry(%p : !llvm.ptr, %v : i32):
              %o, %ok = scoped.cmpxchg acq_rel relaxed agent %p, %v, %v : !llvm.ptr, i32
              %unused = llvm_ir.inst "add i32 {0}, 1"(%o) : (i32) -> i32
              llvm_ir.terminator "ret i1 {0}"(%ok) : (i1) -> ()
            }
            """
        )
    )
    assert (
        '%pair = cmpxchg ptr %p, i32 %v, i32 %v syncscope("agent") acq_rel monotonic, align 4'
        in exported
    )
    assert "%o = extractvalue { i32, i1 } %pair, 0" in exported
    assert "%ok = extractvalue { i32, i1 } %pair, 1" in exported


def test_weak_access_keeps_everything():
    text = (
        body(
            "  %r = load volatile i32, ptr addrspace(1) %p, align 2, !nontemporal !0, !range !1"
            "\n  store volatile i32 %r, ptr addrspace(1) %p, align 1, !tbaa !2"
        )
        + '!0 = !{i32 1}\n!1 = !{i32 0, i32 9}\n!2 = !{!3, !3, i64 0}\n!3 = !{!"int", !4}\n!4 = !{!"root"}\n'
    )
    load, store = scoped_ops(import_llvm_ir(text))
    assert isinstance(load, LoadOp)
    assert load.nontemporal is not None
    assert load.scope is None
    assert isinstance(store, StoreOp)
    assert store.alignment is not None
    assert store.alignment.value.data == 1
    assert anonymous(export_llvm_ir(import_llvm_ir(text))) == anonymous(text)


def test_unordered_is_weak_and_stays_what_it_was():
    """With its syncscope and metadata; what is between it and weak is a note on the operation."""
    text = body(
        "  %r = load atomic volatile i32, ptr addrspace(1) %p unordered, align 4"
        '\n  store atomic i32 %r, ptr addrspace(1) %p syncscope("agent") unordered, align 4, !tbaa !0'
    )
    text += '!0 = !{!1, !1, i64 0}\n!1 = !{!"int", !2}\n!2 = !{!"root"}\n'
    module = import_llvm_ir(text)
    accesses = scoped_ops(module)
    assert [each.scope for each in accesses] == [None, None]
    assert [each.attributes[UNORDERED] for each in accesses] == [
        StringAttr(""),
        StringAttr("agent"),
    ]
    assert anonymous(export_llvm_ir(module)) == anonymous(text)


@pytest.mark.parametrize(
    ("tags", "spaces", "availability"),
    [
        ('!{!"amdgpu-synchronize-as", !"local"}', ["local"], None),
        ("!{!1, !2}", ["local", "global"], None),
        ("!{!1, !3}", ["local"], "none"),
        ('!{!"amdgcn-av", !"none"}', None, "none"),
        ("!{!1, !4}", None, None),
        ('!{!"amdgpu-synchronize-as", !"image"}', None, None),
    ],
)
def test_relaxation_annotations(tags: str, spaces: list[str] | None, availability: str | None):
    text = body('  fence syncscope("workgroup") release, !mmra !0') + (
        f"!0 = {tags}\n"
        '!1 = !{!"amdgpu-synchronize-as", !"local"}\n'
        '!2 = !{!"amdgpu-synchronize-as", !"global"}\n'
        '!3 = !{!"amdgcn-av", !"none"}\n'
        '!4 = !{!"some-vendor", !"tag"}\n'
    )
    op = only_scoped(text)
    assert (op.spaces and [s.data.value for s in op.spaces]) == spaces
    assert (op.availability and op.availability.data.value) == availability
    assert anonymous(export_llvm_ir(import_llvm_ir(text))) == anonymous(text)


@pytest.mark.parametrize(
    "instruction",
    [
        "%r = load { i32, i32 }, ptr addrspace(1) %p",
        "%r = load i24, ptr addrspace(1) %p",
        "%r = load i32, ptr addrspace(7) poison",
        "store [2 x i32] zeroinitializer, ptr addrspace(1) %p",
        "%r = atomicrmw usub_sat ptr addrspace(1) %p, i32 %v monotonic",
        '%r = load atomic i32, ptr addrspace(1) %p syncscope("vendor") monotonic, align 4',
    ],
)
def test_what_the_dialect_lacks_stays_text(instruction: str):
    text = body(f"  {instruction}")
    module = import_llvm_ir(text)
    assert not scoped_ops(module)
    assert anonymous(export_llvm_ir(module)) == anonymous(text)


def test_constant_operands():
    text = (
        TRIPLE
        + "@g = addrspace(1) global [4 x i32] zeroinitializer\ndefine void @f() {\n"
        + "  store i64 ptrtoint (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 4) to i64), "
        + "ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @g, i32 0, i32 2)\n  ret void\n}\n"
    )
    (store,) = scoped_ops(import_llvm_ir(text))
    assert isinstance(store, StoreOp)
    assert anonymous(export_llvm_ir(import_llvm_ir(text))) == anonymous(text)


def test_functions_without_a_name_get_one():
    text = """
    define void @0(i32) {
      ret void
    }
    define void @unnamed() {
      call void @0(i32 1)
      call void @1()
      ret void
    }
    declare void @1()
    """
    exported = export_llvm_ir(import_llvm_ir(text))
    first, second = re.findall(r"call void @(\S+)\(", exported)
    assert len({first, second, "unnamed"}) == 3
    assert re.search(rf"^define void @{re.escape(first)}\(i32", exported, re.MULTILINE)
    assert re.search(rf"^declare void @{re.escape(second)}\(\)", exported, re.MULTILINE)
    assert export_llvm_ir(import_llvm_ir(exported)) == exported


NO_ACCESS_CALLS = [
    ("declare void @g() memory(none)", True),
    ("declare void @g() #0\nattributes #0 = { nounwind memory(none) }", True),
    ("declare void @g()", False),
    ('declare void @g() section "memory(none)"', False),
    ('declare void @g() "why"="memory(none)"', False),
    ('declare void @g() section " #0 " \nattributes #0 = { nounwind memory(none) }\n'
     "declare void @h() #0", False),
    ('declare void @g() #0\nattributes #0 = { "why"="memory(none)" }', False),
]  # fmt: skip


@pytest.mark.parametrize(("declaration", "expected"), NO_ACCESS_CALLS)
def test_only_an_attribute_says_that_a_function_touches_no_memory(declaration: str, expected: bool):
    module = import_llvm_ir(f"define void @f() {{\n  call void @g()\n  ret void\n}}\n{declaration}")
    (call,) = (op for op in module.walk() if isinstance(op, InstOp))
    assert call.may_access_memory is not expected


# Errors


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("define void @f() {\n  bogus\n}\n", 2, 3, "expected instruction opcode"),
        ("define void @f() {\n  ret i32 %x\n}\n", 2, 7, "value doesn't match"),
        (
            body('  %r = load atomic i32, ptr addrspace(1) %p syncscope("vendor") acquire, align 4'),
            3,
            3,
            'unknown syncscope "vendor"; known: "one-as"',
        ),
        (
            body("  %r = atomicrmw usub_sat ptr addrspace(1) %p, i32 %v acq_rel"),
            3,
            3,
            "unknown atomicrmw 'usub_sat'; known: xchg, add",
        ),
        (
            body("  store atomic i32 0, ptr addrspace(1) %p monotonic, align 4\n ; fence\n"
                 "  store atomic i32 0, ptr addrspace(7) poison release, align 4"),
            5,
            3,
            "address space 7 is not supported; known are 0, 1, 3, 4, 5",
        ),
        (
            body("  %r = load i32, ptr addrspace(1) %p %s = load atomic i32, ptr addrspace(6) poison acquire, align 4"),
            2,
            1,
            "in function @f: cannot carry 'load atomic i32, ptr addrspace(6) poison acquire",
        ),
        ("\0", 1, 1, "null character"),
    ],
)  # fmt: skip
def test_import_errors(text: str, line: int, column: int, message: str):
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        import_llvm_ir(text, "kernel.ll")
    place = caught.value.span.get_location()
    assert (caught.value.span.input.name, place.line, place.col) == ("kernel.ll", line, column)


def test_module_that_does_not_verify():
    text = body("  br label %b\na:\n  %x = add i32 1, 2\n  br label %b\nb:\n  %y = add i32 %x, 1")
    with pytest.raises(TranslationError, match="does not dominate all uses"):
        import_llvm_ir(text)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("scoped.barrier workgroup", "LLVM IR has no barrier"),
        ("%v = scoped.load acquire agent %p spaces [local] : !llvm.ptr -> i32", "only on a fence"),
        ("scoped.fence acquire agent spaces [private]", "restrict a fence to private"),
        ("%v = scoped.load acquire agent %p : !llvm.ptr -> !llvm.ptr", "alignment = 8"),
        (
            '%v = llvm_ir.inst "bogus {0}"(%p) : (!llvm.ptr) -> i32',
            "LLVM rejects the exported module: expected instruction opcode, in .%v = bogus",
        ),
        (
            "%v = builtin.unrealized_conversion_cast %p : !llvm.ptr to i32",
            "only a value and the PTX register of it",
        ),
        (
            "%v = llvm.mlir.constant(1 : i32) : i32",
            "only scoped, llvm_ir, ptx's and cdna's synchronisation",
        ),
    ],
)
def test_export_errors(operation: str, message: str):
    module = parse_mlir(
        f"""
        llvm_ir.func "define void @{{@}}(ptr {{0}})" @f {{
        ^entry(%p : !llvm.ptr):
          {operation}
          llvm_ir.terminator "ret void"() : () -> ()
        }}
        """
    )
    with pytest.raises(TranslationError, match=message):
        export_llvm_ir(module)


def test_accesses_have_their_place():
    module = import_llvm_ir(body("\n  %r = load i32, ptr addrspace(1) %p"), "kernel.ll")
    (load,) = scoped_ops(module)
    assert isinstance(load.location, FileLineColLoc)
    assert (load.location.filename.data, load.location.line.data) == ("kernel.ll", 4)


def test_template_is_verified():
    module = import_llvm_ir(body("  %a = add i32 %v, %v"))
    add = next(op for op in module.walk() if isinstance(op, InstOp))
    add.operands = add.operands[:1]
    with pytest.raises(VerifyException, match="places for 2 operands, but 1 are given"):
        add.verify()


def test_label_is_first():
    block = next(op for op in import_llvm_ir(body("")).walk() if isinstance(op, LabelOp)).parent
    assert block is not None
    assert block.last_op is not None
    block.insert_op_before(second := LabelOp("again"), block.last_op)
    with pytest.raises(VerifyException, match="first operation"):
        second.verify()


# The command


def test_command_translates_both_ways(tmp_path: Path):
    source, mlir, back = (tmp_path / name for name in ("a.ll", "a.mlir", "b.ll"))
    source.write_text((DATA / "llvm-ir" / "kernels.ll").read_text())
    assert fence_translate.main(["--import-llvm", str(source), "-o", str(mlir)]) == 0
    assert fence_translate.main(["--export-llvm", str(mlir), "-o", str(back)]) == 0
    assert anonymous(back.read_text()) == anonymous(source.read_text())


@pytest.mark.parametrize(
    ("flag", "text", "message"),
    [
        ("--import-llvm", "define void @f( {}", "in:1:19: error: expected"),
        ("--import-llvm", "", "in: error: the input is empty"),
        ("--import-llvm", TRIPLE + "define void @f() { %x = add i32 %x, 1\n ret void }", "in: error: LLVM rejects"),
        ("--export-llvm", "\nscoped.fence agent\n", "in:2:14: error: unknown ordering 'agent'"),
        ("--export-llvm", "\n  scoped.fence acquire agent", "in:2:3: error: scoped.fence cannot be written"),
        ("--export-llvm", "func.func @f() { func.return }", "in:1:1: error: func.func cannot be written"),
        ("--export-llvm", 'llvm_ir.top_level "nonsense"', "in: error: LLVM rejects the exported module"),
    ],
)  # fmt: skip
def test_command_errors(
    flag: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):  # fmt: skip
    """One line, status 1, and what was there before is still there."""
    monkeypatch.chdir(tmp_path)
    Path("in").write_text(text)
    Path("out").write_text("before")
    assert fence_translate.main([flag, "in", "-o", "out"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(message)
    assert errors.count("\n") == 1
    assert Path("out").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


# Text


@given(st.text(alphabet="{}0123^@%v x", max_size=12))
def test_escaped_text_has_no_places(text: str):
    assert parse_template(escape(text)).fill() == text


@given(st.lists(st.text(alphabet="{}0^@ ", max_size=5), min_size=3, max_size=3))
def test_template_with_places(literals: list[str]):
    first, second, third = (f"{escape(text)} " for text in literals)
    template = parse_template(f"{first}{{0}}{second}{{^0}}{third}{{@}}")
    a, b, c = literals
    assert template.fill(["%x"], ["%b"], "f") == f"{a} %x{b} %b{c} f"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_names(name: str):
    assert unquote_name(quote_name(name)) == name
    assert '"' not in quote_name(name)[1:-1]
