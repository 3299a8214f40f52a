"""What the adapter tests share: the ids they run over, and rolling an environment out."""

import adapter_double
import gymnasium
import jax
import numpy as np
import pytest

import soromox_envs

DOUBLE = adapter_double.register_double()
REACH, GOAL = "PlanarHSA-Reach-v0", "PlanarHSA-GoalReach-v0"


def _over(default: tuple[str, ...]) -> pytest.MarkDecorator:
    """Runs a test over all ids, as its argument ``env_id``; those that are not in ``default`` are slow."""
    group = pytest.mark.xdist_group  # one worker an id, which then compiles once
    others = [env_id for env_id in soromox_envs.registered() if env_id not in default]
    params = [pytest.param(env_id, marks=group(env_id)) for env_id in default]
    params += [pytest.param(env_id, marks=[group(env_id), pytest.mark.slow]) for env_id in others]
    return pytest.mark.parametrize("env_id", params)


every_id = _over((DOUBLE, REACH))
with_goals = _over((DOUBLE, REACH, GOAL))
three_ids = pytest.mark.parametrize("env_id", [DOUBLE, REACH, pytest.param(GOAL, marks=pytest.mark.slow)])
"""For what concerns a face and no id: any, and a dictionary of observations."""
LIMIT = 4  # steps of the shortened episodes
LANES = 3
SEED = 7


def vector_env(env_id: str, num_envs: int = LANES, **options):
    return gymnasium.make_vec(env_id, num_envs=num_envs, max_episode_steps=LIMIT, **options)


def actions_for(env, steps: int, seed: int = 0) -> np.ndarray:
    space = env.action_space  # ClipAction's is unbounded
    low, high = np.clip(space.low, -2, 2), np.clip(space.high, -2, 2)
    return np.random.default_rng(seed).uniform(low, high, (steps, *space.shape)).astype(np.float32)


def vector_of(observation) -> np.ndarray:
    """The observation proper, where there are goals as well."""
    return observation["observation"] if isinstance(observation, dict) else observation


def lane_of(tree, lane: int):
    return jax.tree.map(lambda x: x[lane], tree)


def roll(env, steps: int, **reset) -> list[tuple]:
    """Everything that a seeded reset and `steps` random steps return."""
    out = [env.reset(**reset)]
    return out + [env.step(action) for action in actions_for(env, steps)]


def assert_close(a, b, tolerance: float = 1e-6) -> None:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def assert_equal(a, b) -> None:
    assert_close(a, b, 0.0)
