"""The contract on the functional face, beyond what `soromox_envs.check` tries (tests/test_suite.py, over every id).

The default suite runs over one id, the slow one over one id a task, each with another robot.
"""

import copy
import pickle
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import soromox_envs
from soromox_envs import registry
from soromox_envs.env import DIVERGENCE_PENALTY, SoftRobotEnv

DEFAULT = ("PlanarHSA-Reach-v0",)
IDS = (
    *DEFAULT,
    "PCS-GoalReach-v0",
    "UMArm-ReachPose-v0",
    "GVS-Track-v0",
    "PlanarPCS-Regulate-v0",
    "SoftChain-ObstacleReach-v0",
    "PCS2-Disturbance-v0",
    "ISupport-PayloadReach-v0",
    "Pendulum-Stabilize-v0",
    "Pendulum-SwingUp-v0",
    "Swimmer-Swim-v0",
    "PCS-HemisphereTrack-v0",
)


def over(ids):
    """Parameters of a test over ids, in groups that one worker compiles; those not in the default suite are slow."""
    group, slow = pytest.mark.xdist_group, pytest.mark.slow
    return [pytest.param(id, marks=[group(id)] if id in DEFAULT else [group(id), slow]) for id in ids]


every_id = pytest.mark.parametrize("env_id", over(IDS))


@partial(jax.jit, static_argnums=0)
def step_lanes(env, params, keys, state, action):
    return jax.vmap(env.step, (0, 0, 0, None))(keys, state, action, params)


@partial(jax.jit, static_argnums=0)
def reset_lanes(env, params, keys):
    return jax.vmap(env.reset, (0, None))(keys, params)


def whole(obs) -> jax.Array:
    """The vector of an observation, goals or not."""
    return obs["observation"] if isinstance(obs, dict) else obs


@pytest.fixture(scope="module", params=over(IDS))
def made(request):
    return soromox_envs.make(request.param)


@pytest.fixture(scope="module", params=over([f"{robot}-Reach-v0" for robot in registry.REACHERS]))
def reach(request):
    """The ids whose targets are the tips of the robot's table."""
    return soromox_envs.make(request.param)


def test_the_compiled_step_calls_nobody_on_the_host(made):
    env, params = made
    keys = jax.random.split(jax.random.key(0), 4)
    obs, state = reset_lanes(env, params, keys)
    program = step_lanes.lower(env, params, keys, state, jnp.zeros((4, env.num_actions), jnp.float32)).as_text()
    assert "callback" not in program and "lapack" not in program


def test_a_diverged_lane_ends_and_harms_nobody(made):
    env, params = made
    keys = jax.random.split(jax.random.key(0), 4)
    _, state = reset_lanes(env, params, keys)
    action = 0.3 * jnp.ones((4, env.num_actions), jnp.float32)
    healthy = step_lanes(env, params, keys, state, action)
    y = state.system.y.at[1].set(jnp.nan)
    sick_state = eqx.tree_at(lambda s: s.system.y, state, y)
    for sick in (
        step_lanes(env, params, keys, sick_state, action),
        step_lanes(env, params, keys, state, action.at[1, 0].set(jnp.nan)),
    ):
        obs, after, reward, terminated, truncated, info = sick
        assert terminated.tolist() == [False, True, False, False] and not bool(truncated.any())
        assert bool(info["diverged"][1]) and float(reward[1]) == DIVERGENCE_PENALTY
        assert not bool(info["is_success"][1])
        assert all(
            bool(jnp.isfinite(x).all()) for x in jax.tree.leaves((obs, after, info["final_observation"], reward))
        )
        for a, b in zip(jax.tree.leaves(sick), jax.tree.leaves(healthy), strict=True):
            others = np.array([0, 2, 3])
            np.testing.assert_array_equal(np.asarray(a)[others], np.asarray(b)[others])
        following = step_lanes(env, params, keys, after, action)
        assert not bool(following[3].any()) and int(following[1].time[1]) == 1


def test_the_time_limit_truncates_and_starts_a_new_episode(made):
    env, params = made
    params = params.replace(max_steps_in_episode=jnp.asarray(3, jnp.int32))
    keys = jax.random.split(jax.random.key(0), 4)
    obs, state = reset_lanes(env, params, keys)
    first = whole(obs)
    action = 0.1 * jnp.ones((4, env.num_actions), jnp.float32)
    for time in (1, 2, 3):
        before = state
        obs, state, _, terminated, truncated, info = step_lanes(env, params, keys, state, action)
        assert truncated.tolist() == [time == 3] * 4 and not bool(terminated.any())
    unlimited = params.replace(max_steps_in_episode=jnp.asarray(100, jnp.int32))
    going_on = step_lanes(env, unlimited, keys, before, action)[0]
    np.testing.assert_array_equal(whole(info["final_observation"]), whole(going_on))
    assert state.time.tolist() == [0] * 4
    assert not np.allclose(whole(obs), first)  # another episode
    assert not np.allclose(whole(obs), whole(info["final_observation"]))
    observed = jax.jit(jax.vmap(env.observe, (0, 0, None, None)))(keys, state, None, params)
    np.testing.assert_allclose(whole(obs), whole(observed), atol=1e-6)


def test_targets_are_where_the_real_rollout_settles(reach):
    """Drive the true dynamics to stored actuations and measure the tip; what rings is damped more, to settle."""
    env, params = reach
    robot = env.model.scaled(params.robot, 1.0, 10.0) if env.model.key == "PlanarHSA" else params.robot
    table = {name: values[::16] for name, values in params.table.items()}
    lanes = table["u"].shape[0]
    params = params.replace(robot=robot, max_steps_in_episode=jnp.asarray(300, jnp.int32))
    _, state = reset_lanes(env, params, jax.random.split(jax.random.key(0), lanes))

    @jax.jit
    def settle(state):
        def step(state, _):
            reach = params.rate_limit * env.control_dt
            action = jnp.clip((table["u"] - state.command) / reach[None], -1, 1)
            return jax.vmap(env.step_env, (None, 0, 0, None))(jax.random.key(0), state, action, params)[1], None

        state, _ = jax.lax.scan(step, state, None, length=200)
        q = jax.vmap(robot.split_state)(state.system.y)[0]
        return jax.vmap(lambda q: env.model.tip_position(robot, q))(q)

    miss = np.linalg.norm(np.asarray(settle(state) - table["tip"]), axis=1)
    radius = env.task.radius * float(env.model.length(robot))
    assert np.mean(miss < radius) >= 0.99 and np.median(miss) < 0.05 * radius


def test_the_reward_never_falls_on_the_way_to_the_goal(reach):
    env, params = reach
    length, space = env.model.length(params.robot), params.robot.group.space
    task, start = env.task.reset(jax.random.key(0), params.table, env.model, params.robot)
    direction = jnp.array([0.6, 0.8, 0.0])[:space]
    way = jnp.linspace(1, 0, 400)[:, None] * direction[None] * length
    _, state = env.reset(jax.random.key(0), params)
    sight = env.sight(state, params)

    def score(offset):
        pose = sight.robot.group.translation(task.target + offset)
        return env.task.reward(env.task.evaluate(task, eqx.tree_at(lambda s: s.pose, sight, pose))[1])

    rewards = jax.vmap(score)(way)
    assert bool(jnp.all(jnp.diff(rewards) >= 0)) and float(rewards[0]) < 0.05 and float(rewards[-1]) == pytest.approx(1)
    slopes = jax.vmap(jax.grad(score))(way)
    assert bool(jnp.isfinite(slopes).all())


def test_physics_differs_by_lane_when_params_are_batched(made):
    env, params = made
    scales = jnp.array([0.8, 1.0, 1.25, 1.5], params.lower.dtype)
    batched = jax.vmap(lambda scale: params.replace(robot=env.model.scaled(params.robot, scale, 1.0)))(scales)
    keys = jax.random.split(jax.random.key(0), 4)
    state = jax.tree.map(lambda x: x[:1].repeat(4, 0), reset_lanes(env, params, keys)[1])
    action = jnp.ones((4, env.num_actions)).at[:, 0].set(-1.0)
    y = jax.jit(jax.vmap(env.step_env, (0, 0, 0, 0)))(keys, state, action, batched)[1].system.y
    alone = step_lanes(env, params, keys, state, action)[1].system.y
    np.testing.assert_allclose(y[1], alone[1], rtol=1e-4, atol=1e-5)
    assert float(jnp.abs(y[0] - y[1]).max()) > 1e-4 and float(jnp.abs(y[2] - y[1]).max()) > 1e-4


@every_id
def test_gradients_of_a_return_equal_central_differences(env_id, x64):
    """d(return over 20 steps) with respect to actions, stiffness and damping, through the rollout, under jit."""
    env, params = soromox_envs.make(env_id)
    env = env.with_transition_gradients()
    key = jax.random.key(2)
    # amplitudes that keep the limits out of play: a saturated limiter proves nothing
    actions = 0.3 * jnp.sin(jnp.arange(20.0)[:, None] * 0.7 + jnp.arange(env.num_actions)[None])
    middle = int(jnp.argmin(jnp.abs(params.table["u"] - 0.5 * (params.lower + params.upper)[None]).sum(1)))
    start = {name: params.table[name][middle] for name in ("q", "u")}
    half = 0.5 * (params.upper - params.lower)
    start["u"] = jnp.clip(start["u"], params.lower + 0.2 * half, params.upper - 0.2 * half)

    @jax.jit
    def total(actions, scales):
        robot = env.model.scaled(params.robot, scales["stiffness"], scales["damping"])
        scaled = params.replace(robot=robot)
        _, state = env.reset_env(key, scaled)
        y = robot.pack_state(start["q"], jnp.zeros(robot.num_velocities))
        state = eqx.tree_at(
            lambda s: (s.system.y, s.system.control_state, s.command), state, (y, start["u"], start["u"])
        )

        def step(state, action):
            _, state, reward, *_ = env.step_env(key, state, action, scaled)
            return state, reward

        return jax.lax.scan(step, state, actions)[1].sum()

    scales = {"stiffness": jnp.ones(()), "damping": jnp.ones(())}
    by_action, by_scale = jax.jit(jax.grad(total, argnums=(0, 1)))(actions, scales)
    h = 1e-5
    size = float(jnp.abs(by_action).max())
    for index in list(np.ndindex(actions.shape))[:: max(1, actions.size // 40)]:
        e = jnp.zeros_like(actions).at[index].set(h)
        slope = (total(actions + e, scales) - total(actions - e, scales)) / (2 * h)
        assert float(by_action[index]) == pytest.approx(float(slope), rel=1e-4, abs=1e-6 * size)
    assert float(jnp.mean(by_action != 0)) >= 0.9
    for name in scales:
        up, down = ({**scales, name: 1 + sign * h * jnp.ones(())} for sign in (1, -1))
        slope = (total(actions, up) - total(actions, down)) / (2 * h)
        assert float(by_scale[name]) == pytest.approx(float(slope), rel=1e-4, abs=1e-6 * size)
        assert float(by_scale[name]) != 0


@pytest.mark.slow
def test_without_transition_gradients_state_and_observation_are_detached(made):
    env, params = made
    key = jax.random.key(0)
    _, state = env.reset(key, params)

    def outcome(action):
        obs, after, reward, *_ = env.step_env(key, state, action, params)
        return obs, after.system.y, reward

    by_obs, by_state, by_reward = jax.jit(jax.jacrev(outcome))(0.1 * jnp.ones(env.num_actions))
    assert (
        not any(bool(jnp.any(x)) for x in jax.tree.leaves(by_obs))
        and not bool(jnp.any(by_state))
        and bool(jnp.any(by_reward))
    )


@every_id
def test_double_precision_keeps_the_observation_single(env_id, x64):
    env, params = soromox_envs.make(env_id)
    obs, state = env.reset(jax.random.key(0), params)
    obs, state, reward, *_ = jax.jit(env.step)(jax.random.key(1), state, jnp.zeros(env.num_actions), params)
    assert all(x.dtype == jnp.float32 for x in jax.tree.leaves(obs))
    assert state.system.y.dtype == jnp.float64
    assert reward.dtype == (jnp.float32 if env.task.goal_conditioned else jnp.float64)


@every_id
def test_envs_are_equal_by_value_and_states_survive_pickling(env_id):
    env, params = soromox_envs.make(env_id)
    again, _ = soromox_envs.make(env_id)
    assert env == again and hash(env) == hash(again)
    assert env != soromox_envs.make(env_id, action_mode="absolute")[0]
    copied = pickle.loads(pickle.dumps(env))
    assert copied == env
    keys = jax.random.split(jax.random.key(0), 4)
    obs, state = reset_lanes(env, params, keys)
    action = jnp.full((4, env.num_actions), 0.2)
    expected = step_lanes(env, params, keys, state, action)
    for same_state, same_params in (pickle.loads(pickle.dumps((state, params))), copy.deepcopy((state, params))):
        again = step_lanes(copied, same_params, keys, same_state, action)
        for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)


@every_id
def test_names_units_and_limits_are_those_of_the_actuators(env_id):
    env, params = soromox_envs.make(env_id)
    assert len(env.observation_names) == len(set(env.observation_names))
    assert len(env.action_names) == len(env.action_units) == env.num_actions
    np.testing.assert_allclose(env.action_limits[1], params.upper)
    physical, _ = soromox_envs.make(env_id, action_units="physical")
    np.testing.assert_allclose(physical.action_space(params).high, params.upper, rtol=1e-6)
    key = jax.random.key(0)
    _, state = env.reset(key, params)
    wanted = 0.5 * (params.lower + params.upper)
    assert np.allclose(jax.jit(physical.step_env)(key, state, wanted, params)[1].command, wanted)


@every_id
def test_actuators_obey_their_rate_limit(env_id):
    env, params = soromox_envs.make(env_id, action_mode="absolute")
    if env.model.instantaneous:
        pytest.skip("this robot follows its command at once, as published")
    key = jax.random.key(0)
    _, state = env.reset(key, params)
    step = jax.jit(env.step_env)
    for action in (1.0, -1.0, 1.0):
        before = state.system.control_state
        _, state, *_ = step(key, state, jnp.full(env.num_actions, action), params)
        change = jnp.abs(state.system.control_state - before)
        assert bool(jnp.all(change <= params.rate_limit * env.control_dt * (1 + 1e-5)))


def test_a_wrong_option_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="action_mode must be one of delta, absolute, got 'jump'"):
        soromox_envs.make("PlanarHSA-Reach-v0", action_mode="jump")
    with pytest.raises(ValueError, match="action_units must be one of normalized, physical, got 'rad'"):
        soromox_envs.make("PlanarHSA-Reach-v0", action_units="rad")


def test_hysteresis_is_an_option_of_the_robot():
    env, params = soromox_envs.make("PlanarHSA-Reach-v0", hysteresis=True)
    assert isinstance(env, SoftRobotEnv) and params.robot.num_auxiliary_states == 1
    key = jax.random.key(0)
    _, state = env.reset(key, params)
    out = jax.jit(env.step)(key, state, jnp.ones(env.num_actions), params)
    assert (
        out[1].system.y.shape == (7,) and bool(jnp.isfinite(out[1].system.y).all()) and float(out[1].system.y[-1]) != 0
    )
