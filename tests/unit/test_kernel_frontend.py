"""Which functions are kernels for the paths that take MLIR."""

import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, gpu
from xdsl.parser import Parser

from fencewright.passes.kernels.accept import is_marked_kernel

GENERIC = """
"gpu.module"() ({{
  "gpu.func"() <{{function_type = () -> (){property}}}> ({{
    "gpu.return"() : () -> ()
  }}) {{sym_name = "k"{attribute}}} : () -> ()
}}) {{sym_name = "m"}} : () -> ()
"""


@pytest.mark.parametrize(
    ("property", "attribute", "kernel"),
    [
        ("", "", False),
        (", kernel", "", True),
        ("", ", gpu.kernel", True),
        (", kernel", ", gpu.kernel", True),
    ],
)
def test_a_gpu_function_is_marked_by_its_property_or_its_attribute(
    property: str, attribute: str, kernel: bool
) -> None:
    context = Context()
    for dialect in (builtin.Builtin, gpu.GPU):
        context.load_dialect(dialect)
    text = GENERIC.format(property=property, attribute=attribute)
    module = Parser(context, text).parse_module()
    (function,) = (op for op in module.walk() if isinstance(op, gpu.FuncOp))
    assert is_marked_kernel(function) is kernel
