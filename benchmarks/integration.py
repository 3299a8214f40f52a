"""How large a step may be: tip error of solvers and steps against a converged integration, over whole episodes.

``python -m benchmarks.integration --robot PlanarHSA`` drives lanes with random bang-bang actions (each input
jumps between -1 and 1 with probability 1/2 a control step) and prints a Markdown table: largest tip error over the
episode and all lanes, in per cent of the robot's length, with the evaluations of the dynamics per control step. The
converged integration refines the actuators' sampling too.
"""

import time
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from benchmarks.report import parser, report, table
from soromox_envs.factory import make_env

EVALUATIONS = {
    "SemiImplicitEuler": 1,
    "LinearlyImplicitMidpoint": 1,
    "RosenbrockW2": 2,
    "Bosh3": 3,
    "RK4": 4,
    "Tsit5": 6,
}
NAIVE = ("Tsit5", 0.0001)
CANDIDATES = (
    ("SemiImplicitEuler", 0.000625, 0.0025),
    ("Bosh3", 0.0025, 0.0025),
    ("RK4", 0.01, 0.01),
    ("RK4", 0.00625, 0.00625),
    ("RK4", 0.005, 0.005),
    ("RK4", 0.0025, 0.0025),
    ("Tsit5", 0.005, 0.005),
    ("LinearlyImplicitMidpoint", 0.00125, 0.005),
    ("LinearlyImplicitMidpoint", 0.000625, 0.005),
    ("RosenbrockW2", 0.005, 0.005),
    ("RosenbrockW2", 0.0025, 0.005),
    ("RosenbrockW2", 0.00125, 0.005),
)
CONVERGED = ("RK4", 0.00025, 0.0005)
TASKS = {"Pendulum": "SwingUp", "Swimmer": "Swim"}
"""In what the robots without targets are driven."""


@partial(jax.jit, static_argnums=0)
def tips(env, params, key, lanes_actions):
    """Tip positions (steps, lanes, space) of lanes driven by actions (steps, lanes, m)."""
    lanes = lanes_actions.shape[1]
    _, state = jax.vmap(env.reset_env, (0, None))(jax.random.split(key, lanes), params)

    def step(state, action):
        _, state, *_ = jax.vmap(env.step_env, (None, 0, 0, None))(key, state, action, params)
        q = jax.vmap(params.robot.split_state)(state.system.y)[0]
        return state, jax.vmap(lambda q: env.model.tip_position(params.robot, q))(q)

    return jax.lax.scan(step, state, lanes_actions)[1]


def bang_bang(key, steps: int, lanes: int, inputs: int) -> jax.Array:
    """Actions in {-1, 1} that jump with probability 1/2."""
    flips = jax.random.bernoulli(key, 0.5, (steps, lanes, inputs))
    return 1.0 - 2.0 * (jnp.cumsum(flips, axis=0) % 2)


def fastest_rate(env, params) -> float:
    """Largest |eigenvalue| of the linearised dynamics over the table of equilibria, 1/s."""
    robot, table = params.robot, params.table

    def jacobian(q, u):
        y = robot.pack_state(q, jnp.zeros(robot.num_velocities, q.dtype))
        return jax.jacfwd(lambda y: robot.forward_dynamics(0.0, y, (u,)))(y)

    A = jax.jit(jax.vmap(jacobian))(table["q"][:64], table["u"][:64])
    return float(np.abs(np.linalg.eigvals(np.asarray(A))).max())


def evaluations(solver: str, solver_dt: float, actuator_dt: float, control_dt: float) -> int:
    """Evaluations of the dynamics in a control step; the midpoint rule takes one more at every actuator instant."""
    extra = round(control_dt / actuator_dt) if solver == "LinearlyImplicitMidpoint" else 0
    return round(control_dt / solver_dt) * EVALUATIONS[solver] + extra


def measure(robot: str, lanes: int, candidates=CANDIDATES, seed: int = 0) -> dict:
    """Rows of the table, as a JSON-able dict."""
    env, params = make_env(robot, TASKS.get(robot, "Reach"))
    key = jax.random.key(seed)
    actions = bang_bang(jax.random.fold_in(key, 1), env.task.max_steps, lanes, env.num_actions)
    length = float(env.model.length(params.robot))

    def run(solver, solver_dt, actuator_dt):
        model = replace(env.model, solver=solver, solver_dt=solver_dt, actuator_dt=actuator_dt)
        return np.asarray(tips(replace(env, model=model), params, key, actions))

    reference = run(*CONVERGED)
    naive = evaluations(*NAIVE, env.control_dt, env.control_dt)
    rows = []
    for solver, solver_dt, actuator_dt in tqdm(candidates, desc=robot):
        start = time.process_time()
        error = np.linalg.norm(run(solver, solver_dt, actuator_dt) - reference, axis=-1)
        rows.append(
            {
                "solver": solver,
                "solver_ms": 1e3 * solver_dt,
                "actuator_ms": 1e3 * actuator_dt,
                "evaluations": evaluations(solver, solver_dt, actuator_dt, env.control_dt),
                "evaluations_saved": naive / evaluations(solver, solver_dt, actuator_dt, env.control_dt),
                "largest_error": float(error.max() / length),
                "median_lane_error": float(np.median(error.max(0)) / length),
                "cpu_seconds": time.process_time() - start,
            }
        )
    return {"robot": robot, "lanes": lanes, "fastest_rate": fastest_rate(env, params), "rows": rows}


def markdown(result: dict) -> str:
    """The rows of a robot as a table."""
    columns = {
        "solver": "{solver}",
        "solver_dt (ms)": "{solver_ms:g}",
        "actuator_dt (ms)": "{actuator_ms:g}",
        "evaluations": "{evaluations}",
        "fewer than Tsit5 at 0.1 ms": "{evaluations_saved:.0f} x",
        "largest error (of L)": "{largest_error:.3%}",
        "median lane (of L)": "{median_lane_error:.3%}",
    }
    title = (
        f"{result['robot']}: largest |eigenvalue| {result['fastest_rate']:.0f} /s, {result['lanes']} episodes of "
        "random bang-bang actions"
    )
    return table(title, result["rows"], columns)


def candidate(text: str) -> tuple[str, float, float]:
    """A candidate such as ``RK4:10:10``, steps in ms."""
    solver, *steps = text.split(":")
    solver_ms, actuator_ms = map(float, steps)
    return solver, solver_ms / 1e3, actuator_ms / 1e3


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--robot", nargs="+", default=["PlanarHSA"])
    options.add_argument("--lanes", type=int, default=32)
    options.add_argument("--candidates", nargs="+", type=candidate, default=CANDIDATES, help="such as RK4:10:10, ms")
    arguments = options.parse_args()
    with jax.enable_x64(True):
        results = [measure(robot, arguments.lanes, arguments.candidates) for robot in arguments.robot]
    report(arguments, "\n\n".join(map(markdown, results)), rows=results)


if __name__ == "__main__":
    main()
