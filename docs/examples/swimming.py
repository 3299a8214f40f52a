"""A floating rod that swims by undulation.

``python -m docs.examples.swimming`` bends a planar rod in a wave that travels from head to tail. A viscous fluid
resists its sideways motion twice as much as its lengthwise motion, so the body is driven forwards, head first. Writes a
video, or a picture of the path when ``--out`` ends in ``.png``.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.rendering import OpenCVPlanarRenderer
from soromox.simulation import RK4
from soromox.simulation.environments import ViscousDrag
from soromox.systems import PlanarPCS, PlanarPCSParams, PlanarPCSStructure, SystemState

SEGMENTS = 4
PERIOD = 1.0  # s
BENDING = 9.0  # rad/m
NORMAL, TANGENTIAL = 2.0, 1.0  # N s/m^2


def swimmer() -> PlanarPCS:
    """A neutrally buoyant rod that only bends, with a torque on every piece."""
    fields = dict(length=0.1, radius=0.01, density=1000.0, young_modulus=1e5, shear_modulus=4e4)
    params = PlanarPCSParams.horizontal(
        gravity=jnp.zeros(2),
        material_damping_coefficient=np.full(SEGMENTS, 300.0),
        **{name: np.full(SEGMENTS, value) for name, value in fields.items()},
    )
    structure = PlanarPCSStructure(strain_selector=(True, False, False) * SEGMENTS)
    return PlanarPCS(params, structure, floating_base=True)


def wave(robot: PlanarPCS):
    """Controller whose torques would bend a resting body in a wave that travels from the tip, the head, to the base."""
    stiffness = robot.stiffness_matrix()[robot.num_base_velocities :, robot.num_base_velocities :]
    phase = 2 * jnp.pi * jnp.arange(SEGMENTS) / SEGMENTS

    def controller(state: SystemState) -> tuple[Array, None]:
        curvature = BENDING * jnp.sin(2 * jnp.pi * state.t / PERIOD + phase)
        return stiffness @ curvature, None

    return controller


def swim(duration: float, normal: float = NORMAL, tangential: float = TANGENTIAL) -> tuple[PlanarPCS, Array, Array]:
    """The robot, times (T,), and its configurations (T, nq) from rest."""
    robot = swimmer()
    q = robot.pack_configuration(jnp.zeros(SEGMENTS), base_pose=jnp.zeros(3))
    motion = robot.rollout_closed_loop_to(
        SystemState(0.0, robot.pack_state(q, jnp.zeros(robot.num_velocities))),
        wave(robot),
        environment_model=ViscousDrag(robot, normal, tangential),
        t1=duration,
        solver=RK4(),
        solver_dt=2e-3,
        save_dt=0.05,
    )
    return robot, motion.t, jax.vmap(robot.split_state)(motion.y)[0]


def main() -> None:
    """Swim and draw."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--duration", type=float, default=10.0, help="s")
    parser.add_argument("--out", type=Path, default=Path("swimming.mp4"))
    arguments = parser.parse_args()
    robot, ts, qs = swim(arguments.duration)
    middles = jax.vmap(lambda q: robot.forward_kinematics(q, 0.5 * robot.length)[1:])(qs)
    print(f"swam {100 * float(jnp.linalg.norm(middles[-1] - middles[0])):.0f} cm in {arguments.duration:g} s")
    renderer = OpenCVPlanarRenderer(robot)
    if arguments.out.suffix == ".png":
        import matplotlib.pyplot as plt

        shown = np.asarray(qs)[:: max(1, len(qs) // 6)]
        plt.imsave(arguments.out, renderer.render_frame(shown, view_of=np.asarray(qs)))
    else:
        renderer.render_sequence(ts, qs, record_path=arguments.out)


if __name__ == "__main__":
    main()
