"""What auto-reset adds to the batched step: ``env.step`` against ``env.step_env``, 256 lanes, float32, one core.

``python -m benchmarks.resets --ids PlanarHSA-Reach-v0 PCS-ObstacleReach-v0``. Lanes are in all phases of an episode, so
that some end in every step; the two programs take turns, and the share is that of their fastest turns.
"""

import jax
import jax.numpy as jnp

import soromox_envs
from benchmarks.report import parser, report, table
from benchmarks.timing import confine, seconds

LANES, STEPS, TURNS = 256, 20, 4
IDS = ("PlanarHSA-Reach-v0", "PlanarHSA-ObstacleReach-v0", "Pendulum-SwingUp-v0")


def measure(env_id: str) -> dict:
    """CPU time of a step of a lane with and without auto-reset."""
    env, params = soromox_envs.make(env_id)
    keys = jax.random.split(jax.random.key(0), LANES)
    _, state = jax.jit(jax.vmap(env.reset, (0, None)))(keys, params)
    state = state.replace(time=jax.random.randint(jax.random.key(1), (LANES,), 0, env.task.max_steps, jnp.int32))
    actions = jax.random.uniform(jax.random.key(2), (STEPS, LANES, env.num_actions), minval=-1, maxval=1)

    def program(step):
        def rollout(state, params):
            def one(state, action):
                out = jax.vmap(step, (0, 0, 0, None))(keys, state, action, params)
                return out[1], out[2].mean()

            return jax.lax.scan(one, state, actions)

        return jax.jit(rollout).lower(state, params).compile()

    with_reset, without = program(env.step), program(env.step_env)
    best = [float("inf"), float("inf")]
    for _ in range(TURNS):
        for i, compiled in enumerate((with_reset, without)):
            best[i] = min(best[i], seconds(compiled, state, params, repeats=2)[0])
    step, bare = (1e6 * x / (STEPS * LANES) for x in best)
    return {"id": env_id, "step_us": step, "bare_us": bare, "added": step / bare - 1}


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--ids", nargs="+", default=IDS)
    arguments = options.parse_args()
    confine()
    rows = [measure(env_id) for env_id in arguments.ids]
    columns = {
        "id": "{id}",
        "with auto-reset (us)": "{step_us:.2f}",
        "without (us)": "{bare_us:.2f}",
        "added": "{added:+.1%}",
    }
    report(arguments, table("A step of a lane, CPU time", rows, columns), rows=rows)


if __name__ == "__main__":
    main()
