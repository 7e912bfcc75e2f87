"""What ``--version`` prints. It is told without importing a program, or xDSL."""


class _Version(str):
    """Looks the versions up when it is formatted, which few runs ask for."""

    def format(self, *_: object, **__: object) -> str:
        from importlib.metadata import version

        return super().format(fencewright=version("fencewright"), xdsl=version("xdsl"))


VERSION = _Version("Fencewright {fencewright}, built on xDSL {xdsl}")
"""What ``--version`` prints, once formatted."""
