"""Says in one sentence what a command needs that is not installed: the package alone brings what kernels need."""

_OWN = ("bench_engine", "mirror", __name__.partition(".")[0])


def sentence(error: ModuleNotFoundError, command: str, extra: str) -> str:
    """What is missing, and the line that installs it. Raises the error where one of our own modules is missing."""
    module = (error.name or "").partition(".")[0]
    if not module or module in _OWN:
        raise error
    install = f"`pip install 'mirror-bench[{extra}]'`"
    return f"{command} needs the package {module}, which is not installed: {install} brings all that it needs."
