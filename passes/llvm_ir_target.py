"""What a function in LLVM IR has been lowered for, which the passes on its ``cdna`` operations ask."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from fencewright.mlir_dialects.llvm_ir import LOWERED_FOR, FuncOp

_FEATURES = "features"


def set_lowered_for(function: FuncOp, options: Mapping[str, Any]) -> None:
    """Note the ``options`` of ``lowering.lower.lower``, but those of the operation."""
    words: dict[str, Attribute] = {
        name: StringAttr(value) for name, value in options.items() if isinstance(value, str)
    }
    features = ArrayAttr([StringAttr(each) for each in options[_FEATURES]])
    function.attributes[LOWERED_FOR] = DictionaryAttr({**words, _FEATURES: features})


def lowered_functions(module: ModuleOp) -> Iterator[tuple[FuncOp, dict[str, Any]]]:
    """The functions that have been lowered for CDNA, each with the options that were noted."""
    for function in module.ops:
        noted = function.attributes.get(LOWERED_FOR)
        if isinstance(function, FuncOp) and isinstance(noted, DictionaryAttr):
            yield function, {name: _read(each) for name, each in noted.data.items()}


def _read(option: Attribute) -> str | tuple[str, ...]:
    if isinstance(option, StringAttr):
        return option.data
    return tuple(each.data for each in cast(ArrayAttr[StringAttr], option))
