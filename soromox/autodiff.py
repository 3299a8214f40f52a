"""The switch between analytic derivatives of the public robot methods and plain automatic differentiation."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_enabled: ContextVar[bool] = ContextVar("soromox_custom_jvp", default=True)


def custom_jvp_enabled() -> bool:
    """Whether methods traced now carry their analytic derivative rules."""
    return _enabled.get()


@contextmanager
def custom_jvp_mode(enabled: bool) -> Iterator[None]:
    """Switch the analytic derivative rules on or off for whatever is traced inside the ``with`` block.

    A function that is already compiled keeps the rules it was traced with.
    """
    token = _enabled.set(enabled)
    try:
        yield
    finally:
        _enabled.reset(token)
