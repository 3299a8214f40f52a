"""Optional libraries of the ``render`` extra, imported when first needed."""

from importlib import import_module
from types import ModuleType


def optional(name: str) -> ModuleType:
    """The module ``name``.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to get it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        message = f"rendering needs {package}, which is not installed: pip install soromox-envs[render]"
        raise ModuleNotFoundError(message, name=error.name) from error
