"""Progress bars, where tqdm is installed."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], what: str, unit: str = "it") -> Iterable[T]:
    """The items, with a bar on standard error that shows how many there were."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return items
    return tqdm(items, desc=what, unit=unit, leave=False)
