"""Stands for ``python -m MODULE`` without Python's start-up: every request runs in a fork.

The examples of the pages start the project's tools a thousand times, and most of that time
is imports. ``fork_client`` sends a request here: its arguments, environment, working directory
and standard streams. A fork becomes that process, with the modules imported already.
"""

import gc
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from fencewright.tools.embedded.in_process import TOOLS, call

PRELOADED = (
    "fencewright.lowering",
    "fencewright.mlir_dialects",
    "fencewright.passes",
    "fencewright.simulator",
    "fencewright.checker",
    "fencewright.tools",
)
"""The packages whose modules a fork has from the start, but for those beside this one."""

KERNEL = "func.func @k() {\n  scoped.fence acq_rel agent\n  func.return\n}\n"
"""The kernel that is lowered before the first fork."""

CLIENT = Path(__file__).with_name("fork_client.py")


@contextmanager
def fork_server() -> Generator[str]:
    """Run a server for a while; gives the address of its socket."""
    with tempfile.TemporaryDirectory(prefix="fencewright-") as folder:
        address = os.path.join(folder, "s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen(64)
            command = [sys.executable, "-m", __name__, str(listener.fileno())]
            descriptors = (listener.fileno(),)
            # It ends when its stdin does, so also when this process is killed.
            server = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=descriptors)
        with server:
            yield address
    if server.returncode:
        raise RuntimeError(f"the fork server ended with status {server.returncode}")


def replacement(address: str) -> tuple[str, ...]:
    """The words to write on a command line for ``python -m`` with a server at ``address``."""
    return sys.executable, "-I", "-S", str(CLIENT), address


def serve(listener: socket.socket) -> None:
    """Fork for each request, until stdin ends."""
    handlers = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGCHLD)
    }
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)
            _answer(connection)
        connection.close()


def _answer(connection: socket.socket) -> NoReturn:
    """Carry out a request in a process of its own, and send its end."""
    process = os.fork()
    if process == 0:
        _become(connection)
    _, status = os.waitpid(process, 0)
    connection.sendall(marshal.dumps(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _become(connection: socket.socket) -> NoReturn:
    """Run the module that is asked for, and end as it does."""
    message, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while piece := connection.recv(1 << 16):
        message += piece
    folder, environment, module, argv = marshal.loads(message)

    def run() -> int:
        sys.argv = [module, *argv]
        sys.modules.pop(module, None)
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return 0

    os._exit(with_streams(streams, folder, environment, run))


def with_streams(
    streams: Sequence[int], folder: str, environment: Mapping[str, str], run: Callable[[], int]
) -> int:
    """Run a function as a process with these descriptors would; returns the exit status of that."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        os.dup2(streams[number], number)
        stream = open(number, mode, buffering=1 if name == "stderr" else -1, closefd=False)  # noqa: SIM115  (open as long as the process)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    try:
        status = run()
    except SystemExit as request:
        status = request.code if isinstance(request.code, int) else int(request.code is not None)
        if isinstance(request.code, str):
            print(request.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    return status & 0xFF


def preload() -> None:
    """Import all, and lower for each architecture: forks have its plug-ins, tables and types."""
    from fencewright.lowering.targets import backend_of, known_targets

    for name in PRELOADED:
        package = import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.startswith(f"{__package__}."):
                import_module(module.name)
    chips = {backend_of(name).architecture: name for name in known_targets()}
    for chip in chips.values():
        done = call(TOOLS["fence-opt"], ("--mcpu", chip, "-t", "asm"), KERNEL)
        if done.status:
            raise RuntimeError(done.stderr)
    gc.freeze()


def main() -> None:
    """Serve the listening socket whose descriptor is the argument."""
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        preload()
        serve(listener)


if __name__ == "__main__":
    main()
