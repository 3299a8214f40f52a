"""Identify Young's modulus and damping of a rod from a noisy trajectory of its tip.

``python -m docs.examples.identify_rod`` lets a clamped silicone rod fall from the horizontal, adds noise to the motion
of its tip, and finds both material parameters again by Levenberg-Marquardt through the simulation: every physical
parameter of a robot is a differentiable leaf. It writes ``identify_rod.png``.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jax import Array

from soromox.simulation import LinearlyImplicitMidpoint
from soromox.systems import IsotropicMaterialParams, LinkSpec, PlanarPCS, SystemState

TRUTH = np.array([3e5, 1500.0])  # Young's modulus, Pa, and damping, Pa s
GUESS = np.array([4.5e5, 500.0])
NOISE = 5e-4  # m
DURATION = 0.8  # s
SAMPLING = 0.01  # s


def rod(material: Array) -> PlanarPCS:
    """A clamped rod made of ``[Young's modulus, damping]``."""
    young, damping = material
    silicone = IsotropicMaterialParams(young, poisson_ratio=0.5, material_damping_coefficient=damping)
    link = LinkSpec(length=0.2, density=1070.0, radius=0.01, material=silicone)
    return PlanarPCS.from_links([link], base_pose=jnp.zeros(3))


def tip_motion(material: Array) -> tuple[Array, Array]:
    """Times (T,), s, and tip positions (T, 2), m, of the rod let go when straight."""
    robot = rod(material)
    start = SystemState(0.0, jnp.zeros(robot.state_size))
    solver = LinearlyImplicitMidpoint(robot)
    motion = robot.rollout_to(start, t1=DURATION, solver=solver, solver_dt=2e-3, save_dt=SAMPLING)
    q = jax.vmap(robot.split_state)(motion.y)[0]
    return motion.t, jax.vmap(lambda q: robot.forward_kinematics(q, robot.length)[1:])(q)


def measure(key: Array) -> tuple[Array, Array]:
    """``tip_motion`` of the true rod, with noise."""
    ts, tips = tip_motion(jnp.asarray(TRUTH))
    return ts, tips + NOISE * jax.random.normal(key, tips.shape, tips.dtype)


def identify(tips: Array, guess: Array) -> Array:
    """The material whose tip motion is closest to ``tips`` (T, 2) in the least-squares sense.

    The unknowns are logarithms, which keeps the material positive and both parameters of one size.
    """

    def misfit(logarithms, tips):
        return (tip_motion(jnp.exp(logarithms))[1] - tips).reshape(-1) / NOISE

    solver = optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6)
    return jnp.exp(optx.least_squares(misfit, solver, jnp.log(guess), args=tips).value)


def plot(path: Path, ts: Array, tips: Array, material: Array) -> None:
    """Measured tip, and that of the guess and of the identified rod."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(ts, 1e3 * tips[:, 1], ".", color="0.4", label="measured")
    for label, values in (("first guess", jnp.asarray(GUESS)), ("identified", material)):
        axes.plot(ts, 1e3 * tip_motion(values)[1][:, 1], label=f"{label}: {values[0]:.3g} Pa, {values[1]:.3g} Pa s")
    axes.set(xlabel="time (s)", ylabel="tip height (mm)")
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    """Measure, identify, plot."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("identify_rod.png"))
    arguments = parser.parse_args()
    with jax.enable_x64(True):
        ts, tips = measure(jax.random.key(0))
        material = identify(tips, jnp.asarray(GUESS))
        for name, value, true in zip(("Young's modulus (Pa)", "damping (Pa s)"), material, TRUTH, strict=True):
            print(f"{name}: {value:.5g}, true {true:g}, off by {100 * abs(value / true - 1):.2g} %")
        plot(arguments.out, ts, tips, material)


if __name__ == "__main__":
    main()
