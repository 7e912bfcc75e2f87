"""Has ``fork_server`` run a Python module in this process's place, and ends as that does.

Started as ``python -I -S fork_client.py ADDRESS MODULE ARGUMENTS``, so it imports next to nothing.
"""

import marshal
import os
import sys

# Importing socket itself takes as long as all the rest.
from _socket import AF_UNIX, SCM_RIGHTS, SHUT_WR, SOCK_STREAM, SOL_SOCKET, socket


def main() -> int:
    """Returns the exit status of the module; dies of the signal that its process died of."""
    _, address, module, *argv = sys.argv
    request = marshal.dumps((os.getcwd(), dict(os.environ), module, argv))
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
    server = socket(AF_UNIX, SOCK_STREAM)
    server.connect(address)
    sent = server.sendmsg([request], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    server.sendall(request[sent:])
    server.shutdown(SHUT_WR)
    status = marshal.loads(server.recv(64))
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
