"""Strain bases: how the strain of a rod varies along it, as functions of ``X`` in [0, 1]."""

from collections.abc import Callable
from math import log, pi, sqrt

import equinox as eqx
import jax.numpy as jnp
import numpy as np


def _namespace(X):
    """NumPy for NumPy arrays: bases at fixed positions are constants, which no program needs to compute."""
    return np if isinstance(X, np.ndarray) else jnp


def _monomial(X, order: int) -> list:
    return [X**n for n in range(order + 1)]


def _recurrence(X, order: int, step: Callable[[int], tuple[float, float]]) -> list:
    """Polynomials on [-1, 1] with ``P_{n+1} = a x P_n - b P_{n-1}``, ``(a, b) = step(n)``."""
    x = 2 * X - 1
    terms = [1 + 0 * x, x]
    for n in range(1, order):
        a, b = step(n)
        terms.append(a * x * terms[n] - b * terms[n - 1])
    return terms[: order + 1]


def _legendre(X, order: int) -> list:
    return _recurrence(X, order, lambda n: ((2 * n + 1) / (n + 1), n / (n + 1)))


def _chebyshev(X, order: int) -> list:
    return _recurrence(X, order, lambda n: (2.0, 1.0))


def _fourier(X, order: int) -> list:
    xp = _namespace(X)
    return [1 + 0 * X, *(wave(2 * pi * n * X) for n in range(1, order + 1) for wave in (xp.cos, xp.sin))]


def _bumps(X, order: int, shape: Callable, steepness: float) -> list:
    """Bumps around ``j / order``; a single one is constant."""
    if order == 0:
        return [1 + 0 * X]
    return [shape((steepness * order * (X - j / order)) ** 2) for j in range(order + 1)]


def _gaussian(X, order: int) -> list:
    return _bumps(X, order, lambda r2: _namespace(X).exp(-r2), 2 * sqrt(log(2)))


def _inverse_multiquadric(X, order: int) -> list:
    return _bumps(X, order, lambda r2: (1 + r2) ** -0.5, 2 * sqrt(3))


FUNCTIONS: dict[str, Callable[..., list]] = {
    "monomial": _monomial,
    "legendre": _legendre,
    "chebyshev": _chebyshev,
    "fourier": _fourier,
    "gaussian": _gaussian,
    "imq": _inverse_multiquadric,
}


def _integers(order) -> int | tuple[int, ...]:
    return int(order) if np.ndim(order) == 0 else tuple(int(n) for n in order)


class StrainBasis(eqx.Module):
    """Functions of one family for every active strain, packed strain by strain, the constant (or first) one first.

    Attributes:
        kind: "monomial", "legendre", "chebyshev", "fourier", "gaussian" or "imq" (inverse multiquadric).
        selector: (d,) which strains are active; d = 3 in the plane, 6 in space.
        order: (d,), or one number for all. A strain has ``order + 1`` functions, ``2 order + 1`` of "fourier".

    Raises:
        ValueError: an unknown kind, or a selector and an order that do not fit each other.
    """

    kind: str = eqx.field(static=True)
    selector: tuple[bool, ...] = eqx.field(static=True, converter=lambda flags: tuple(bool(flag) for flag in flags))
    order: int | tuple[int, ...] = eqx.field(static=True, default=0, converter=_integers)

    def __check_init__(self):
        if self.kind not in FUNCTIONS:
            raise ValueError(f"basis kind must be one of {', '.join(FUNCTIONS)}, got {self.kind!r}")
        d = len(self.selector)
        if d not in (3, 6) or len(self.orders) != d:
            raise ValueError(
                f"basis selector must have 3 or 6 flags and order as many numbers, got {d} and {len(self.orders)}"
            )
        if min(self.orders) < 0:
            raise ValueError(f"basis order must be non-negative, got {self.order}")

    @property
    def orders(self) -> tuple[int, ...]:
        """Order of every strain (d,)."""
        return (self.order,) * len(self.selector) if isinstance(self.order, int) else self.order

    @property
    def num_columns(self) -> int:
        """Number of functions of all active strains, k."""
        return len(self._rows())

    def _rows(self) -> list[int]:
        """Strain (k,) that each function belongs to."""
        each = [2 * n + 1 if self.kind == "fourier" else n + 1 for n in self.orders]
        return [i for i, active in enumerate(self.selector) if active for _ in range(each[i])]

    def __call__(self, X):
        """Basis (..., d, k) at the positions ``X`` (...), a NumPy array for a NumPy array."""
        rows, d, xp = self._rows(), len(self.selector), _namespace(X)
        if not rows:
            return xp.zeros((*X.shape, d, 0), X.dtype)
        of_strain = FUNCTIONS[self.kind]
        values = [f for i, active in enumerate(self.selector) if active for f in of_strain(X, self.orders[i])]
        place = np.eye(d)[:, rows].reshape((1,) * X.ndim + (d, len(rows))).astype(X.dtype)
        return xp.stack(values, axis=-1)[..., None, :] * place
