"""Random functions in LLVM IR whose results every target has to agree on: no undefined value, no NaN's bits.

A body takes its thread's inputs and numbers that all threads have, and stores what it has computed.
It is a kernel of AMD GPUs or of NVIDIA's, or a function of the machine that runs the tests.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

THREADS = 96
"""A whole wave and a half."""
WORDS = 16
"""64-bit inputs and outputs of a thread."""
SLOTS = 16
"""Words of private memory and LDS of a thread."""

INTEGERS = ("i16", "i32", "i64")
FLOATS = ("half", "float", "double")
BITS = {"i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}
SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
VECTORS = (("i16", 2), ("i8", 4), ("half", 2), ("float", 2), ("i32", 4))

Pools = dict[str, list[str]]


class Body:
    """The text of one body, as it is drawn."""

    def __init__(self, chance: random.Random, calls: set[str]) -> None:
        self.chance, self.calls = chance, calls
        self.lines: list[str] = []
        self.count = 0
        self.label = "entry"

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def put(self, text: str) -> str:
        """A new value."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def call(self, result: str, name: str, arguments: Sequence[str]) -> str:
        types = ", ".join(each.split()[0] for each in arguments)
        self.calls.add(f"declare {result} @llvm.{name}({types})")
        return self.put(f"call {result} @llvm.{name}({', '.join(arguments)})")

    def pick(self, pools: Pools, type: str) -> str:
        if self.chance.random() < 0.15:
            return self.constant(type)
        return self.chance.choice(pools[type])

    def constant(self, type: str) -> str:
        if type in FLOATS:
            values = ("1.0", "-2.0", "0.5", "3.0", "-0.0", "1024.0", "-0.125")
            return self.chance.choice(values)
        bits = BITS[type]
        edge = (0, 1, 2, 7, 64, 255, 65535, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1)
        value = self.chance.choice((*edge, self.chance.getrandbits(bits))) % (1 << bits)
        return str(value - (1 << bits) if value >> bits - 1 else value)

    # Statements

    def statement(self, pools: Pools) -> None:
        """One more value, or a place in memory that is written and read."""
        kind = self.chance.choice(
            (self.integer, self.integer, self.integer, self.floating, self.floating, self.convert,
             self.choose, self.bits, self.wide, self.vector, self.in_memory)
        )  # fmt: skip
        kind(pools)

    def integer(self, pools: Pools) -> None:
        type = self.chance.choice(INTEGERS)
        a, b = self.pick(pools, type), self.pick(pools, type)
        bits = BITS[type]
        kind = self.chance.randrange(10)
        if kind < 4:
            name = self.chance.choice(("add", "sub", "mul", "and", "or", "xor"))
            value = self.put(f"{name} {type} {a}, {b}")
        elif kind < 6:
            amount = self.put(f"and {type} {b}, {bits - 1}")
            value = self.put(f"{self.chance.choice(('shl', 'lshr', 'ashr'))} {type} {a}, {amount}")
        elif kind < 7:
            divisor = self.put(f"and {type} {b}, {self.chance.choice((127, (1 << bits - 1) - 1))}")
            divisor = self.put(f"or {type} {divisor}, 1")
            name = self.chance.choice(("udiv", "sdiv", "urem", "srem"))
            value = self.put(f"{name} {type} {a}, {divisor}")
        elif kind < 9:
            name = self.chance.choice(
                ("umin", "umax", "smin", "smax", "uadd.sat", "sadd.sat", "usub.sat", "ssub.sat")
            )
            value = self.call(type, f"{name}.{type}", (f"{type} {a}", f"{type} {b}"))
        else:
            c = self.pick(pools, type)
            name = self.chance.choice(("fshl", "fshr"))
            value = self.call(type, f"{name}.{type}", [f"{type} {each}" for each in (a, b, c)])
        pools[type].append(value)

    def bits(self, pools: Pools) -> None:
        type = self.chance.choice(INTEGERS)
        a = self.pick(pools, type)
        name = self.chance.choice(("ctpop", "bitreverse", "bswap", "ctlz", "cttz", "abs"))
        more = ["i1 false"] if name in ("ctlz", "cttz", "abs") else []
        pools[type].append(self.call(type, f"{name}.{type}", [f"{type} {a}", *more]))

    def wide(self, pools: Pools) -> None:
        """Products and sums that are wider than their operands, with their carries."""
        a, b = self.pick(pools, "i32"), self.pick(pools, "i32")
        if self.chance.random() < 0.5:
            extend = self.chance.choice(("zext", "sext"))
            x, y = (self.put(f"{extend} i32 {each} to i64") for each in (a, b))
            product = self.put(f"mul i64 {x}, {y}")
            c = self.pick(pools, "i64")
            pools["i64"].append(self.put(f"add i64 {product}, {c}"))
            return
        name = self.chance.choice(("uadd", "usub", "sadd", "ssub", "umul", "smul"))
        pair = self.call("{ i32, i1 }", f"{name}.with.overflow.i32", (f"i32 {a}", f"i32 {b}"))
        pools["i32"].append(self.put(f"extractvalue {{ i32, i1 }} {pair}, 0"))
        flag = self.put(f"extractvalue {{ i32, i1 }} {pair}, 1")
        pools["i64"].append(self.put(f"zext i1 {flag} to i64"))

    def floating(self, pools: Pools) -> None:
        type = self.chance.choice(FLOATS)
        a, b = self.pick(pools, type), self.pick(pools, type)
        kind = self.chance.randrange(8)
        if kind < 4:
            names = ("fadd", "fsub", "fmul") if type == "half" else ("fadd", "fsub", "fmul", "fdiv")
            value = self.put(f"{self.chance.choice(names)} {type} {a}, {b}")
        elif kind < 6:
            names = ("floor", "ceil", "trunc", "rint", "fabs")
            name = self.chance.choice(names if type == "half" else (*names, "sqrt"))
            value = self.call(type, f"{name}.{SUFFIX[type]}", (f"{type} {a}",))
        elif kind < 7 and type != "half":
            c = self.pick(pools, type)
            arguments = [f"{type} {each}" for each in (a, b, c)]
            value = self.call(type, f"fma.{SUFFIX[type]}", arguments)
        else:
            # The sign of a NaN is not defined.
            sign = self.number(type, b)
            value = self.call(type, f"copysign.{SUFFIX[type]}", (f"{type} {a}", f"{type} {sign}"))
        pools[type].append(value)

    def number(self, type: str, value: str) -> str:
        """A floating-point value, 0 in place of a NaN."""
        is_nan = self.put(f"fcmp uno {type} {value}, 0.0")
        return self.put(f"select i1 {is_nan}, {type} 0.0, {type} {value}")

    def convert(self, pools: Pools) -> None:
        kind = self.chance.randrange(5)
        if kind == 0:
            a, b = self.chance.sample(INTEGERS, 2)
            name = "trunc" if BITS[a] > BITS[b] else self.chance.choice(("zext", "sext"))
            pools[b].append(self.put(f"{name} {a} {self.pick(pools, a)} to {b}"))
        elif kind == 1:
            a, b = self.chance.choice(INTEGERS), self.chance.choice(("float", "double"))
            name = self.chance.choice(("uitofp", "sitofp"))
            pools[b].append(self.put(f"{name} {a} {self.pick(pools, a)} to {b}"))
        elif kind == 2:
            a, b = self.chance.choice(FLOATS), self.chance.choice(("i32", "i64"))
            value = self.number(a, self.pick(pools, a))
            for name, limit in (("olt", "20000.0"), ("ogt", "-20000.0")):
                if a == "half":
                    limit = limit.replace("20000", "2000")
                inside = self.put(f"fcmp {name} {a} {value}, {limit}")
                value = self.put(f"select i1 {inside}, {a} {value}, {a} {limit}")
            pools[b].append(self.put(f"fptosi {a} {value} to {b}"))
        elif kind == 3:
            a, b = self.chance.choice(
                (("float", "double"), ("half", "float"), ("double", "float"), ("float", "half"))
            )
            name = "fptrunc" if BITS[a] > BITS[b] else "fpext"
            pools[b].append(self.put(f"{name} {a} {self.pick(pools, a)} to {b}"))
        else:
            a, b = self.chance.choice((("half", "i16"), ("float", "i32"), ("double", "i64")))
            value = self.number(a, self.pick(pools, a))
            pools[b].append(self.put(f"bitcast {a} {value} to {b}"))

    def condition(self, pools: Pools) -> str:
        if self.chance.random() < 0.6:
            type = self.chance.choice(INTEGERS)
            name = self.chance.choice(("eq", "ne", "ult", "ugt", "sle", "sge", "slt", "uge"))
            return self.put(
                f"icmp {name} {type} {self.pick(pools, type)}, {self.pick(pools, type)}"
            )
        type = self.chance.choice(FLOATS)
        if self.chance.random() < 0.3:
            mask = self.chance.choice((3, 516, 264, 96, 144, 1023 - 3))
            arguments = (f"{type} {self.pick(pools, type)}", f"i32 {mask}")
            types = f"{type}, i32 immarg"
            self.calls.add(f"declare i1 @llvm.is.fpclass.{SUFFIX[type]}({types})")
            return self.put(f"call i1 @llvm.is.fpclass.{SUFFIX[type]}({', '.join(arguments)})")
        name = self.chance.choice(
            ("oeq", "une", "olt", "ult", "ogt", "uge", "ord", "uno", "one", "ueq")
        )
        return self.put(f"fcmp {name} {type} {self.pick(pools, type)}, {self.pick(pools, type)}")

    def choose(self, pools: Pools) -> None:
        type = self.chance.choice((*INTEGERS, *FLOATS))
        condition = self.condition(pools)
        a, b = self.pick(pools, type), self.pick(pools, type)
        pools[type].append(self.put(f"select i1 {condition}, {type} {a}, {type} {b}"))

    def vector(self, pools: Pools) -> None:
        """Two vectors, an operation on them, and one of the numbers of the result."""
        element, count = self.chance.choice(VECTORS)
        type, source = f"<{count} x {element}>", element if element in BITS else "i16"
        both: list[str] = []
        for _ in range(2):
            value = "zeroinitializer"
            for n in range(count):
                each = self.pick(pools, source)
                if element == "i8":
                    each = self.put(f"trunc i16 {each} to i8")
                value = self.put(f"insertelement {type} {value}, {element} {each}, i32 {n}")
            both.append(value)
        names = (
            ("fadd", "fmul", "fsub") if element in FLOATS else ("add", "sub", "mul", "xor", "and")
        )
        name = self.chance.choice(names)
        if element in FLOATS or self.chance.random() < 0.7:
            value = self.put(f"{name} {type} {both[0]}, {both[1]}")
        else:
            name = self.chance.choice(("umin", "smax", "uadd.sat", "ssub.sat"))
            value = self.call_of_vectors(type, f"{name}.v{count}{element}", both)
        place = self.chance.randrange(count)
        found = self.put(f"extractelement {type} {value}, i32 {place}")
        if element == "i8":
            found = self.put(f"{self.chance.choice(('zext', 'sext'))} i8 {found} to i16")
        pools[source].append(found)

    def call_of_vectors(self, type: str, name: str, operands: Sequence[str]) -> str:
        self.calls.add(f"declare {type} @llvm.{name}({type}, {type})")
        arguments = ", ".join(f"{type} {each}" for each in operands)
        return self.put(f"call {type} @llvm.{name}({arguments})")

    def in_memory(self, pools: Pools) -> None:
        """A word of private memory or LDS is written, and another read, at places that are computed."""
        type = self.chance.choice(("i32", "i64", "float", "i16"))
        where, space = self.chance.choice((("%private", "{private}"), ("%lds", "{lds}")))
        width = BITS[type] // 8
        places = [
            self.put(f"and i32 {self.pick(pools, 'i32')}, {SLOTS * 4 // width - 1}")
            for _ in range(2)
        ]
        first, second = (
            self.put(f"getelementptr {type}, ptr{space} {where}, i32 {each}") for each in places
        )
        value = self.pick(pools, type)
        if type == "float":  # A load of integers may see its bits.
            value = self.number(type, value)
        self.lines.append(f"  store {type} {value}, ptr{space} {first}, align {width}")
        loaded = self.put(f"load {type}, ptr{space} {second}, align {width}")
        if type == "float":
            loaded = self.number(type, loaded)
        pools[type].append(loaded)

    # Control flow

    def block(self, pools: Pools, depth: int, length: int) -> None:
        """Statements, and branches, loops and switches among them."""
        for _ in range(length):
            draw = self.chance.random()
            if depth and draw < 0.10:
                self.diamond(pools, depth)
            elif depth and draw < 0.15:
                self.loop(pools, depth)
            elif depth and draw < 0.19:
                self.switch(pools, depth)
            else:
                self.statement(pools)

    def _arm(self, pools: Pools, depth: int, length: int) -> Pools:
        inner = {type: list(values) for type, values in pools.items()}
        self.block(inner, depth - 1, length)
        return inner

    def _joined(self, pools: Pools, arms: Sequence[tuple[Pools, str]]) -> None:
        for type in self.chance.sample((*INTEGERS, *FLOATS), 3):
            sources = ", ".join(f"[ {arm[type][-1]}, %{label} ]" for arm, label in arms)
            pools[type].append(self.put(f"phi {type} {sources}"))

    def diamond(self, pools: Pools, depth: int) -> None:
        condition, n = self.condition(pools), self.count
        self.lines.append(f"  br i1 {condition}, label %then{n}, label %else{n}")
        arms: list[tuple[Pools, str]] = []
        for label in (f"then{n}", f"else{n}"):
            self.begin(label)
            arm = self._arm(pools, depth, self.chance.randrange(1, 5))
            self.lines.append(f"  br label %join{n}")
            arms.append((arm, self.label))
        self.begin(f"join{n}")
        self._joined(pools, arms)

    def switch(self, pools: Pools, depth: int) -> None:
        value = self.put(f"and i32 {self.pick(pools, 'i32')}, 7")
        n, cases = self.count, self.chance.sample(range(8), self.chance.randrange(2, 6))
        targets = " ".join(f"i32 {case}, label %case{n}.{case}" for case in cases)
        self.lines.append(f"  switch i32 {value}, label %default{n} [ {targets} ]")
        arms: list[tuple[Pools, str]] = []
        for label in (f"default{n}", *(f"case{n}.{case}" for case in cases)):
            self.begin(label)
            arm = self._arm(pools, depth, self.chance.randrange(1, 3))
            self.lines.append(f"  br label %join{n}")
            arms.append((arm, self.label))
        self.begin(f"join{n}")
        self._joined(pools, arms)

    def loop(self, pools: Pools, depth: int) -> None:
        trips = self.put(f"and i32 {self.pick(pools, 'i32')}, {self.chance.choice((3, 7))}")
        n, before = self.count, self.label
        type = self.chance.choice((*INTEGERS, *FLOATS))
        start = self.pick(pools, type)
        self.lines.append(f"  br label %head{n}")
        self.begin(f"head{n}")
        at = len(self.lines)
        inner = {each: list(values) for each, values in pools.items()}
        inner["i32"].append(f"%i{n}")
        inner[type].append(f"%c{n}")
        self.block(inner, depth - 1, self.chance.randrange(1, 6))
        carried = inner[type][-1]
        self.lines.append(f"  %n{n} = add i32 %i{n}, 1")
        self.lines.append(f"  %more{n} = icmp ult i32 %i{n}, {trips}")
        self.lines.append(f"  br i1 %more{n}, label %head{n}, label %after{n}")
        self.lines[at:at] = [
            f"  %i{n} = phi i32 [ 0, %{before} ], [ %n{n}, %{self.label} ]",
            f"  %c{n} = phi {type} [ {start}, %{before} ], [ {carried}, %{self.label} ]",
        ]
        self.begin(f"after{n}")
        pools[type].append(carried)

    # Inputs and outputs

    def inputs(self) -> Pools:
        """Values of the thread, and of all threads together."""
        pools: Pools = {type: [] for type in (*INTEGERS, *FLOATS)}
        for n, type in enumerate((*INTEGERS, *FLOATS, *INTEGERS, *FLOATS)):
            place = self.put(f"getelementptr i64, ptr{{outside}} %in, i32 {n}")
            value = self.put(f"load {type}, ptr{{outside}} {place}, align 8")
            pools[type].append(self.number(type, value) if type in FLOATS else value)
        pools["i32"] += ["%thread", "%a"]
        pools["i64"].append("%b")
        pools["float"].append("%c")
        return pools

    def outputs(self, pools: Pools) -> None:
        for n in range(WORDS):
            type = (*INTEGERS, *FLOATS)[n % 6]
            value = self.chance.choice(pools[type][-4:])
            if type in FLOATS:
                value = self.number(type, value)
            place = self.put(f"getelementptr i64, ptr{{outside}} %out, i32 {n}")
            self.lines.append(f"  store {type} {value}, ptr{{outside}} {place}, align 8")


@dataclass(frozen=True)
class Modules:
    """The same functions ``f0``, ``f1`` ... three times: kernels of each vendor, and functions of the host."""

    amd: str
    nvidia: str
    host: str


def modules_of(seed: str, count: int) -> Modules:
    """``count`` functions, drawn with a seed."""
    chance, calls = random.Random(seed), set[str]()
    bodies: list[str] = []
    for n in range(count):
        body = Body(chance, calls)
        pools = body.inputs()
        body.block(pools, 2, chance.randrange(10, 40))
        body.outputs(pools)
        text = "\n".join(body.lines)
        bodies.append(
            f"define internal void @body{n}(ptr{{outside}} %in, ptr{{outside}} %out, "
            f"ptr{{private}} %private, ptr{{lds}} %lds, i32 %thread, i32 %a, i64 %b, float %c) "
            f"alwaysinline {{\nentry:\n{text}\n  ret void\n}}\n"
        )
    declarations = "\n".join(sorted(calls))
    return Modules(
        _module(bodies, declarations, _AMD, "addrspace(1)", "addrspace(5)", "addrspace(3)"),
        _module(bodies, declarations, _NVIDIA, "addrspace(1)", "", "addrspace(3)"),
        _module(bodies, declarations, _HOST, "", "", ""),
    )


def _module(bodies: Sequence[str], declarations: str, caller: tuple[str, str], *spaces: str) -> str:
    text = "\n".join(bodies)
    for place, space in zip(("{outside}", "{private}", "{lds}"), spaces, strict=True):
        text = text.replace(place, f" {space}" if space else "")
    function, memory = caller
    callers = [function.replace("@N", str(n)) for n in range(len(bodies))]
    return "\n".join([text, *callers, declarations, memory])


_ARRAY = f"[{THREADS} x [{SLOTS} x i32]]"


def _caller(kind: str, name: str, spaces: tuple[str, str, str], thread: str | None) -> str:
    """A function that finds its thread's memory, and gives it to a body."""
    outside, private, lds = (f" {space}" if space else "" for space in spaces)
    parameters = f"ptr{outside} %in, ptr{outside} %out"
    if thread is None:
        parameters += ", i32 %thread"
    stack = f", {spaces[1]}" if spaces[1] else ""
    private_suffix, lds_suffix = (
        f"p{space.strip('adrspce()') or 0}" for space in (spaces[1], spaces[2])
    )
    return f"""
define {kind}void @{name}({parameters}, i32 %a, i64 %b, float %c) {{
{f"  %thread = call i32 @{thread}()" if thread else ""}
  %first = mul i32 %thread, {WORDS}
  %from = getelementptr i64, ptr{outside} %in, i32 %first
  %to = getelementptr i64, ptr{outside} %out, i32 %first
  %private = alloca [{SLOTS} x i32], align 16{stack}
  %lds = getelementptr {_ARRAY}, ptr{lds} @shared, i32 0, i32 %thread
  call void @llvm.memset.{private_suffix}.i32(ptr{private} align 16 %private, i8 0, i32 {4 * SLOTS}, i1 false)
  call void @llvm.memset.{lds_suffix}.i32(ptr{lds} align 16 %lds, i8 0, i32 {4 * SLOTS}, i1 false)
  call void @body@N(ptr{outside} %from, ptr{outside} %to, ptr{private} %private, ptr{lds} %lds, i32 %thread, i32 %a, i64 %b, float %c)
  ret void
}}
"""


_AMD = (
    _caller(
        "amdgpu_kernel ", "f@N", ("addrspace(1)", "addrspace(5)", "addrspace(3)"),
        "llvm.amdgcn.workitem.id.x",
    ).replace("%c) {", '%c) "amdgpu-flat-work-group-size"="1,256" {', 1),
    f"""
@shared = internal addrspace(3) global {_ARRAY} poison, align 16
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.memset.p5.i32(ptr addrspace(5), i8, i32, i1)
declare void @llvm.memset.p3.i32(ptr addrspace(3), i8, i32, i1)
""",
)  # fmt: skip
_NVIDIA = (
    _caller(
        "ptx_kernel ", "f@N", ("addrspace(1)", "", "addrspace(3)"), "llvm.nvvm.read.ptx.sreg.tid.x"
    ),
    f"""
@shared = internal addrspace(3) global {_ARRAY} poison, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
declare void @llvm.memset.p3.i32(ptr addrspace(3), i8, i32, i1)
""",
)
_HOST = (
    _caller("", "f@N", ("", "", ""), None),
    f"""
@shared = internal global {_ARRAY} zeroinitializer, align 16
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
""",
)
