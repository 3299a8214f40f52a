"""What varies from episode to episode: ranges, draws, and that each draw does to the dynamics what it says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import soromox_envs
from soromox_envs.physics import PRESETS, PULSE_DURATION, PULSE_PERIOD, Physics, Randomization, TipPush

ID = "PlanarHSA-Reach-v0"


@pytest.fixture(scope="module")
def nominal():
    return soromox_envs.make(ID)


@pytest.fixture(scope="module")
def hard():
    return soromox_envs.make(ID, randomization="hard")


def test_draws_stay_in_their_ranges_and_fill_them(nominal):
    env, _ = nominal
    ranges = Randomization.of(**PRESETS["hard"], pulses=(0.5, 1.0))
    draws = jax.jit(jax.vmap(lambda k: ranges.draw(k, env.model, 2, 2, 10.0)))(
        jax.random.split(jax.random.key(0), 2000)
    )
    span = {"payload": env.model.max_payload, "latency": env.control_dt}
    for name in ("stiffness", "damping", "payload", "gain", "bias", "latency", "noise"):
        low, high = (span.get(name, 1.0) * x for x in PRESETS["hard"][name])
        values, room = np.asarray(getattr(draws, name)), 0.02 * (high - low)
        assert values.min() >= low - 1e-7 and values.max() <= high + 1e-7, name
        assert values.min() < low + room and values.max() > high - room, name
    # factors are symmetric about 1 in their logarithm
    assert abs(np.log(np.asarray(draws.damping)).mean()) < 0.05
    assert draws.pulses.shape == (2000, 5, 2)
    force = np.linalg.norm(draws.pulses, axis=-1) / env.model.max_tip_force
    assert force.min() >= 0.5 - 1e-6 and force.max() <= 1 + 1e-6
    begin = np.asarray(draws.pulse_times) - PULSE_PERIOD * np.arange(5)
    assert begin.min() >= 0 and begin.max() + PULSE_DURATION < PULSE_PERIOD


def test_nothing_varies_by_default_and_every_episode_draws_anew_otherwise(nominal, hard):
    env, params = nominal
    assert not params.randomization.varies
    assert jax.eval_shape(env.reset, jax.random.key(0), params)[1].physics is None
    env, params = hard
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    _, state = reset(jax.random.key(0), params)
    short = params.replace(max_steps_in_episode=jnp.asarray(1, jnp.int32))
    _, after, *_ = step(jax.random.key(1), state, jnp.zeros(2), short)
    assert all(
        bool(jnp.all(a != b)) for a, b in zip(*map(jax.tree.leaves, (state.physics, after.physics)), strict=True)
    )


def test_stiffness_damping_payload_and_tilt_change_the_robot(hard):
    env, params = hard
    q = params.table["q"][5]
    draw = Physics(
        stiffness=jnp.asarray(1.2), damping=jnp.asarray(0.5), payload=jnp.asarray(0.03), tilt=jnp.array([0.3])
    )

    def look(robot):
        return robot.elastic_force(q), robot.damping_matrix(q), robot.inertia_matrix(q), robot.params.gravity

    both = jax.jit(lambda physics: (look(params.robot), look(physics.robot(params.robot, env.model))))
    before, after = both(draw)
    np.testing.assert_allclose(after[0], 1.2 * before[0], rtol=1e-4)
    np.testing.assert_allclose(after[1], 0.5 * before[1], rtol=1e-4)
    J = jax.jacfwd(lambda q: env.model.tip_position(params.robot, q))(q)
    np.testing.assert_allclose(after[2] - before[2], 0.03 * J.T @ J, rtol=1e-3, atol=1e-8)
    cos = before[3] @ after[3] / (before[3] @ before[3])
    assert float(jnp.linalg.norm(after[3])) == pytest.approx(9.81, rel=1e-6)
    assert float(cos) == pytest.approx(np.cos(0.3), rel=1e-5)


def test_gravity_in_space_tilts_by_the_drawn_angle():
    from soromox_envs.physics import _tilted

    gravity, tilt = jnp.array([0.0, 0.0, -9.81]), 0.2 * jnp.array([0.6, 0.8])
    turned = _tilted(gravity, tilt)
    assert float(turned @ gravity) == pytest.approx(9.81**2 * np.cos(0.2), rel=1e-5)
    assert float(jnp.linalg.norm(turned)) == pytest.approx(9.81, rel=1e-5)
    np.testing.assert_allclose(_tilted(gravity, jnp.zeros(2)), gravity, atol=1e-6)


def test_gain_bias_and_failure_act_between_the_actuators_and_the_body():
    lower, upper = jnp.zeros(3), jnp.array([2.0, 4.0, 4.0])
    half, u = 0.5 * (upper - lower), jnp.array([1.0, 1.0, 3.9])
    physics = Physics(gain=jnp.array([1.1, 0.0, 1.2]), bias=jnp.array([0.1, 0.0, 0.0]))
    np.testing.assert_allclose(physics.acting(u, half, lower, upper), [1.2, 0.0, 4.0], rtol=1e-6)
    assert Physics().acting(u, half, lower, upper) is u
    ranges = Randomization.of(failure=(1.0, 1.0))
    env, _ = soromox_envs.make(ID)
    gains = jax.vmap(lambda k: ranges.draw(k, env.model, 2, 3, 5.0).gain)(jax.random.split(jax.random.key(0), 50))
    assert np.asarray((gains == 0).sum(1)).tolist() == [1] * 50 and bool((gains == 0).any(0).all())


def test_a_late_command_acts_one_interval_later(nominal):
    env, params = nominal
    params = params.replace(randomization=Randomization.of(latency=(1.0, 1.0)))
    key = jax.random.key(3)
    _, state = jax.jit(env.reset)(key, params)
    step = jax.jit(env.step_env)
    still, pushed = jnp.zeros(2), jnp.array([1.0, -1.0])
    first = [step(key, state, action, params)[1] for action in (still, pushed)]
    np.testing.assert_array_equal(first[0].system.y, first[1].system.y)
    second = [step(key, s, still, params)[1] for s in first]
    assert float(jnp.abs(second[0].system.y - second[1].system.y).max()) > 1e-3


def test_a_push_is_the_force_at_the_tip(nominal, x64):
    env, _ = nominal
    robot = env.model.build()
    q = jnp.array([3.0, 0.02, 0.05])
    physics = Physics(pulses=jnp.array([[0.3, -0.2], [1.0, 1.0]]), pulse_times=jnp.array([0.5, 2.5]))
    push = TipPush(robot, physics, env.model)
    y = robot.pack_state(q, jnp.zeros(3))
    state = jax.eval_shape(env.reset, jax.random.key(0), env.default_params)[1].system
    state = state.replace(y=y, t=jnp.asarray(0.6))
    J = robot.jacobian_end_effector(q)[:2]  # rows x, y, theta
    np.testing.assert_allclose(push(state)[0], J.T @ physics.pulses[0], rtol=1e-10)
    np.testing.assert_array_equal(push(state.replace(t=jnp.asarray(0.75)))[0], 0)


def test_the_observation_is_noisy_and_the_state_is_not(nominal):
    env, params = nominal
    noisy = params.replace(randomization=Randomization.of(noise=(0.01, 0.01)))
    reset, observe = jax.jit(env.reset), jax.jit(env.observe)
    _, state = reset(jax.random.key(0), noisy)
    clean = observe(jax.random.key(0), state.replace(physics=None), None, params)
    views = jax.vmap(lambda k: observe(k, state, None, noisy))(jax.random.split(jax.random.key(1), 500))
    assert float((views - clean[None]).std()) == pytest.approx(0.01, rel=0.05)
    assert float(jnp.abs((views - clean[None]).mean(0)).max()) < 0.003


def test_a_set_of_robots_to_train_on(hard):
    env, params = hard
    keys = jax.random.split(jax.random.key(0), 3)
    batched, axes = env.randomize(keys, params)
    assert jax.tree.leaves(batched.robot.params.gravity)[0].shape == (3, 2)
    quiet = batched.replace(randomization=Randomization())
    axes = eqx.tree_at(lambda p: p.randomization, axes, Randomization())
    _, state = jax.jit(jax.vmap(env.reset, (0, axes)))(keys, quiet)
    step = jax.jit(jax.vmap(env.step_env, (0, 0, 0, axes)))
    y = step(keys, state, jnp.ones((3, 2)), quiet)[1].system.y
    assert bool(jnp.isfinite(y).all()) and len(np.unique(np.asarray(y[:, 0]))) == 3


def test_bad_ranges_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="randomization must be one of none, mild, hard.*got 'wild'"):
        soromox_envs.make(ID, randomization="wild")
    with pytest.raises(ValueError, match="stiffness must be a range"):
        Randomization.of(stiffness=(2.0, 1.0))
