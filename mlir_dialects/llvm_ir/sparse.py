"""Instructions of LLVM IR that no pass looks at, and that are therefore carried as text.

Of a kernel most is arithmetic. What synchronisation depends on is little: accesses, calls that may
do anything, branches; and of the arithmetic what makes something of a flag's value, of a thread's
id or of a generic pointer. To carry too little costs time; what is carried nobody finds anything
out about, which no pass may need to be right.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from fencewright.lowering.code.graph import postorder
from fencewright.mlir_dialects.llvm_ir.dialect import PURE_OPCODES
from fencewright.mlir_dialects.llvm_ir.text import NAME

_INSTRUCTION = re.compile(rf"(?:%({NAME}) = )?(?:(?:tail|musttail|notail) )?([a-z_]+)")
_CALLEE = re.compile(rf'[^@%"]*@({NAME})\(')
_LOCAL = re.compile(rf"%({NAME})")
_FLAG = re.compile(r"atomicrmw|cmpxchg|load (?:atomic|volatile)")
_CARRIED = PURE_OPCODES | {"freeze"}
_ID = "llvm.amdgcn.workitem.id."

_LEADS_ON = re.compile(
    r"(?:extractvalue|icmp|zext|sext|trunc|lshr) |(?:and|xor|select) i1 "
    r"|(?:tail )?call [^@]*@llvm\.amdgcn\.readfirstlane"
)
"""Instructions through which the outcome of a compare-exchange or a thread's number is followed.

Source: passes/analysis/exchanges.py and election.py.
"""

_OF_POINTERS = frozenset(
    {"getelementptr", "addrspacecast", "select", "inttoptr", "bitcast", "freeze"}
)
_GENERIC = re.compile(r"\bptr(?! addrspace)\b")
"""A generic pointer, whose address space is looked for: passes/scoped/infer_address_spaces.py."""


def carried_lines(
    blocks: Sequence[Sequence[str]], without_access: Container[str]
) -> list[list[bool]]:
    """For each instruction of each block, as LLVM prints it, whether it is carried as text.

    ``without_access``: the functions that touch no memory.
    """
    carried: list[list[bool]] = []
    flags: set[str] = set()
    followed: set[str] = set()
    for lines in blocks:
        found = [False] * len(lines)
        made_of_flags: dict[str, tuple[int, list[str]]] = {}
        own_flags: set[str] = set()
        for number, line in enumerate(lines):
            if line[0] == "#":
                found[number] = flags.isdisjoint(_LOCAL.findall(line))
                continue
            instruction = _INSTRUCTION.match(line)
            if instruction is None:
                continue
            token, opcode = instruction[1], instruction[2]
            if opcode == "call":
                callee = _CALLEE.match(line, instruction.end())
                if callee is None or callee[1] not in without_access:
                    continue
                if callee[1].startswith(_ID):
                    if token is not None:
                        followed.add(token)
                    continue
            elif opcode not in _CARRIED:
                if token is not None and _FLAG.match(line, instruction.start(2)):
                    flags.add(token)
                    own_flags.add(token)
                continue
            elif opcode in _OF_POINTERS and _GENERIC.search(line):
                continue
            if not flags and not followed:
                found[number] = True
                continue
            used = _LOCAL.findall(line)
            if token is not None and not (
                own_flags.isdisjoint(used) and made_of_flags.keys().isdisjoint(used)
            ):
                made_of_flags[token] = number, used
            of_flag = not flags.isdisjoint(used)
            if of_flag or not followed.isdisjoint(used):
                if token is not None and _LEADS_ON.match(line, len(token) + 4):
                    followed.add(token)
                    continue
                if of_flag:
                    continue
            found[number] = True
        for number in _behind(lines[-1], made_of_flags):
            found[number] = False
        carried.append(found)
    return carried


def _behind(branch: str, made: Mapping[str, tuple[int, list[str]]]) -> Iterator[int]:
    """The instructions among ``made`` that ``branch`` depends on."""
    tokens: list[str] = _LOCAL.findall(branch)
    reached = postorder(tokens, lambda token: made[token][1] if token in made else ())
    return (made[token][0] for token in reached if token in made)


# Functions

_CALL = re.compile(r"\bcall ([^\n]*)")
_NAMED = re.compile(rf'[^@"]*@({NAME})\(')
_WORDS = ("fence", "cmpxchg", "atomic", "invoke", "callbr")
"""A function that synchronises, or calls otherwise than by ``call``, contains one of them."""


def functions_to_read(
    functions: Mapping[str, str], without_access: Container[str], *, reads_assembly: bool
) -> set[str]:
    """The functions that synchronise, or may by their calls; of the others nothing changes.

    ``functions``: text by symbol. ``reads_assembly``: whether inline assembly, and intrinsics that
    touch memory, are read as operations.
    """
    callers: dict[str, list[str]] = {name: [] for name in functions}
    found: set[str] = set()
    for name, text in functions.items():
        if any(word in text for word in _WORDS):
            found.add(name)
            continue
        for call in _CALL.findall(text) if "call " in text else ():
            callee = _NAMED.match(call)
            if callee is None:
                harmless = " asm " in f" {call}" and not reads_assembly
            elif callee[1] in callers:
                callers[callee[1]].append(name)
                continue
            else:
                intrinsic = callee[1].startswith("llvm.")
                harmless = intrinsic and (not reads_assembly or callee[1] in without_access)
            if not harmless:
                found.add(name)
                break
    return {*postorder(found, callers.__getitem__)}
