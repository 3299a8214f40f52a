"""The whole registry: every id keeps the contract under hard physics, and rewards what it should.

The default suite tries three ids; `make contract` all of them.
"""

import jax
import pytest

import soromox_envs
from agents.controllers import make_model_based_policy
from soromox_envs.check import check
from soromox_envs.docs import read_scores
from soromox_envs.registry import entry_of
from soromox_envs.tasks import task_of

IDS = [id for id in soromox_envs.registered() if not id.startswith("Double")]
DEFAULT = ("Pendulum-SwingUp-v0", "PlanarHSA-ObstacleReach-v0")
HARD_LANES = 40  # times five kinds of actions: 200 episodes


def over(default):
    """Parameters over all ids; one worker compiles what belongs to an id, and those not in ``default`` are slow."""
    group, slow = pytest.mark.xdist_group, pytest.mark.slow
    marks = {id: [group(id)] if id in default else [group(id), slow] for id in IDS}
    return pytest.mark.parametrize("env_id", [pytest.param(id, marks=marks[id]) for id in IDS])


@over(DEFAULT)
def test_every_id_keeps_the_contract_over_200_episodes_of_hard_physics(env_id):
    assert len(list(check(env_id, randomization="hard", lanes=HARD_LANES))) == 10


@over(("PlanarHSA-Reach-v0",))
def test_running_away_scores_below_doing_nothing_below_the_model_based_policy(env_id):
    env, params = soromox_envs.make(env_id)
    policy = make_model_based_policy(env, params)
    keys = jax.random.split(jax.random.key(3), 32)

    @jax.jit
    def returns(sign, keys):
        """Mean return when following the policy (1), staying (0) or fleeing (-1)."""
        obs, state = jax.vmap(env.reset_env, (0, None))(keys, params)
        memory = jax.vmap(lambda _: policy.init())(keys)

        def step(carry, _):
            obs, state, memory = carry
            action, memory = jax.vmap(policy)(obs, memory, keys)
            out = jax.vmap(env.step_env, (0, 0, 0, None))(keys, state, sign * action, params)
            return (out[0], out[1], memory), out[2]

        return jax.lax.scan(step, (obs, state, memory), None, length=env.task.max_steps)[1].sum(0).mean()

    away, nothing, towards = (float(returns(sign, keys)) for sign in (-1.0, 0.0, 1.0))
    assert nothing < towards
    # an opposite torque still swings a pendulum; tendons that are slack at first cannot be let go of
    if env.model.key not in ("Pendulum", "Swimmer", "HemisphereArm"):
        assert away < nothing


def test_every_id_has_the_horizon_of_its_task_and_named_reward_terms():
    for env_id in IDS:
        task, entry = task_of(env_id.split("-")[1]), entry_of(env_id)
        assert task.max_steps == entry.max_episode_steps and task.reward_names
        assert 0 < entry.reward_threshold <= task.max_steps


def test_what_counts_as_solved_is_within_reach_of_the_model_based_policy():
    scores = read_scores()
    assert set(scores) == set(IDS)
    for env_id, score in scores.items():
        assert score["zero"] < entry_of(env_id).reward_threshold <= score["model_based"], env_id
