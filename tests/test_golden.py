"""A golden trajectory a robot: whoever changes physics, reward or observation on purpose raises the ids' version.

``python tests/test_golden.py`` writes ``tests/data/golden.json`` anew.
"""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import soromox_envs

FILE = Path(__file__).parent / "data" / "golden.json"
IDS = (
    "PlanarHSA-Reach-v0",
    "PlanarPCS-Reach-v0",
    "PCS-ReachPose-v0",
    "PCS2-Regulate-v0",
    "GVS-Track-v0",
    "ISupport-Reach-v0",
    "UMArm-Reach-v0",
    "SoftChain-ObstacleReach-v0",
    "Pendulum-SwingUp-v0",
    "Swimmer-Swim-v0",
    "PCS-HemisphereTrack-v0",
)
STEPS = 20


def play(env_id: str) -> dict[str, list[float]]:
    """Rewards (STEPS,) and the last observation (n,) of an episode under a fixed wave of actions, float32."""
    env, params = soromox_envs.make(env_id)
    actions = 0.8 * jnp.sin(0.4 * jnp.arange(STEPS)[:, None] + jnp.arange(env.num_actions)[None])

    @jax.jit
    def run(params):
        observation, state = env.reset_env(jax.random.key(0), params)

        def step(carry, action):
            observation, state, reward, *_ = env.step_env(jax.random.key(0), carry[1], action, params)
            return (observation, state), reward

        (observation, _), rewards = jax.lax.scan(step, (observation, state), actions)
        return rewards, observation

    return {name: np.asarray(x, float).tolist() for name, x in zip(("reward", "observation"), run(params), strict=True)}


@pytest.mark.parametrize("env_id", IDS)
def test_the_trajectory_is_the_stored_one(env_id):
    golden, played = json.loads(FILE.read_text())[env_id], play(env_id)
    for name, values in golden.items():
        np.testing.assert_allclose(played[name], values, rtol=0, atol=2e-4, err_msg=name)


if __name__ == "__main__":
    stored = {env_id: play(env_id) for env_id in IDS}
    rounded = {i: {n: [float(f"{x:.6g}") for x in xs] for n, xs in played.items()} for i, played in stored.items()}
    FILE.write_text(json.dumps(rounded) + "\n")
