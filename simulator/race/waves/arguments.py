"""Arguments of a launch line as those of whole waves."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.launch import (
    ArgumentValue,
    SameBuffer,
    StructArgument,
    TensorArgument,
)
from fencewright.simulator.threads.launch import (
    Argument,
    Array,
    File,
    LaunchError,
    Same,
    Struct,
    Tensor,
    array_bytes,
    struct_layout,
    tensor_map,
)


def value_of(argument: Argument) -> ArgumentValue:
    """An argument of a launch line. Raises ``LaunchError``."""
    match argument:
        case Array() | Same():
            return _buffer(argument)
        case File(path):
            return _loaded(path)
        case Struct():
            content, arrays = struct_layout(argument)
            return StructArgument(content, tuple((at, _buffer(each)) for at, each in arrays))
        case Tensor():
            return TensorArgument(tensor_map(argument, 0), _buffer(argument.array))
        case int() | float():
            return argument


def _buffer(given: Array | Same) -> SameBuffer | NDArray[Any]:
    if isinstance(given, Same):
        return SameBuffer(given.argument)
    return np.frombuffer(array_bytes(given), dtype=np.uint8)


def _loaded(path: str) -> NDArray[Any]:
    try:
        found = np.load(Path(path), allow_pickle=False)
    except OSError as problem:
        raise LaunchError(f"{path}: {problem.strerror}") from problem
    except (ValueError, EOFError) as problem:
        raise LaunchError(f"{path} is no .npy file of numbers") from problem
    # The GPUs have the least significant byte first, as the machines that this runs on.
    return found.astype(found.dtype.newbyteorder("<"))
