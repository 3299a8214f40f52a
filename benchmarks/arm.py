"""The published soft-arm task under cheaper integration: tip error and work against Tsit5 at 0.1 ms.

One spatial segment, 0.25 m long and 25 mm thick in radius, four tendons at 20 mm, no gravity, 15 Hz, 105 steps,
tensions that move by +-0.5 N a step and stay positive. The field integrates it with Tsit5 at 0.1 ms, 667 steps or 4,002
evaluations a control interval. ``python -m benchmarks.arm``, float64, one core.
"""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import parser, report, table
from benchmarks.timing import confine, seconds
from soromox.actuation import tendons
from soromox.simulation import RK4, LinearlyImplicitMidpoint, RosenbrockW2
from soromox.systems import PCS, PCSParams, SystemState

INTERVAL, STEPS, LANES = 1 / 15, 105, 16
NAIVE = ("Tsit5", 667)
CANDIDATES = (
    ("RK4", 8),
    ("RK4", 10),
    ("RK4", 14),
    ("LinearlyImplicitMidpoint", 20),
    ("LinearlyImplicitMidpoint", 39),
    ("RosenbrockW2", 20),
    ("Tsit5", 6),
)
EVALUATIONS = {"RK4": 4, "LinearlyImplicitMidpoint": 1, "RosenbrockW2": 2, "Tsit5": 6}


def build() -> PCS:
    """The arm of the published task; its damping is ours, 318 Pa s."""
    azimuth = 0.5 * np.pi * np.arange(4)
    params = PCSParams(
        length=[0.25],
        radius=[0.025],
        density=[1070.0],
        young_modulus=[2.5e5],
        shear_modulus=[2.5e5 / 3],
        material_damping_coefficient=[318.0],
        gravity=[0.0, 0.0, 0.0],
    )
    offsets = 0.02 * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    return PCS(params, actuators=tendons(offsets, num_segments=1))


def tensions(steps: int, lanes: int) -> jax.Array:
    """Tensions (steps, lanes, 4), N."""
    rng = np.random.default_rng(0)
    u, path = np.zeros((lanes, 4)), []
    for _ in range(steps):
        u = np.maximum(u + rng.choice([-0.5, 0.5], u.shape), 0)
        path.append(u)
    return jnp.asarray(np.stack(path))


def tips(arm: PCS, solver, substeps: int):
    """A function of tensions (steps, 4) to the tip after every interval."""

    def run(u):
        def interval(y, u):
            path = arm.rollout_discrete_closed_loop_to(
                SystemState(jnp.zeros(()), y),
                lambda state: (u, None),
                duration=INTERVAL,
                control_dt=INTERVAL,
                save_dt=INTERVAL,
                solver_dt=INTERVAL / substeps,
                solver=solver,
            )
            return path.y[-1], arm.forward_kinematics(path.y[-1, :6], 0.25)[:3, 3]

        return jax.lax.scan(interval, jnp.zeros(12, u.dtype), u)[1]

    return jax.jit(jax.vmap(run, in_axes=1, out_axes=1))


def measure() -> list[dict]:
    """One row a candidate."""
    arm = build()
    solvers = {
        "RK4": RK4(),
        "Tsit5": diffrax.Tsit5(),
        "LinearlyImplicitMidpoint": LinearlyImplicitMidpoint(arm),
        "RosenbrockW2": RosenbrockW2(arm),
    }
    u = tensions(STEPS, LANES)
    exact = np.asarray(tips(arm, RK4(), 200)(u))
    few = u[:1]
    naive, _ = seconds(tips(arm, solvers["Tsit5"], NAIVE[1]), few, repeats=1)
    naive_evaluations = NAIVE[1] * EVALUATIONS["Tsit5"]
    rows = []
    for name, substeps in CANDIDATES:
        run = tips(arm, solvers[name], substeps)
        evaluations = substeps * EVALUATIONS[name] + (name == "LinearlyImplicitMidpoint")
        rows.append(
            {
                "solver": name,
                "substeps": substeps,
                "evaluations": evaluations,
                "evaluations_saved": naive_evaluations / evaluations,
                "cpu_saved": naive / seconds(run, few)[0],
                "largest_error": float(np.linalg.norm(np.asarray(run(u)) - exact, axis=-1).max() / 0.25),
            }
        )
    return rows


def markdown(rows: list[dict]) -> str:
    """The rows as a table."""
    columns = {
        "solver": "{solver}",
        "steps": "{substeps}",
        "evaluations": "{evaluations}",
        "fewer than Tsit5 at 0.1 ms": "{evaluations_saved:.0f} x",
        "CPU time less": "{cpu_saved:.0f} x",
        "largest tip error (of L)": "{largest_error:.4%}",
    }
    title = f"The published arm at 15 Hz, {LANES} episodes of {STEPS} random increments; evaluations an interval"
    return table(title, rows, columns)


def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__).parse_args()
    confine()
    with jax.enable_x64(True):
        rows = measure()
    report(arguments, markdown(rows), rows=rows)


if __name__ == "__main__":
    main()
