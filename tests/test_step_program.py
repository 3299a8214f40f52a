"""Contract of the compiled step of every robot with environments: nothing in it leaves the device."""

import re

import jax
import jax.numpy as jnp
import pytest

from soromox_envs.factory import make_env

ROBOTS = ["PlanarHSA", pytest.param("PCS", marks=pytest.mark.slow), pytest.param("PCS2", marks=pytest.mark.slow)]
LANES = 8


@pytest.fixture(scope="module", params=ROBOTS)
def batch(request):
    """A batched step, its compiled form, and arguments on the device."""
    env, params = make_env(request.param, "Reach")
    keys = jax.random.split(jax.random.key(0), LANES)
    _, state = jax.jit(jax.vmap(env.reset, (0, None)))(keys, params)
    arguments = keys, state, jnp.zeros((LANES, env.num_actions)), params
    step = jax.jit(jax.vmap(env.step, (0, 0, 0, None)))
    return step.lower(*arguments).compile(), arguments


def test_no_callback_and_no_library_call(batch):
    """A host callback or a LAPACK call for every lane would show up as a custom call."""
    text = batch[0].as_text()
    assert re.findall(r'custom_call_target="([^"]*)"', text) == []
    assert "infeed" not in text and "outfeed" not in text


def test_no_transfer_inside_a_rollout(batch):
    step, (keys, state, action, params) = batch
    with jax.transfer_guard("disallow"):
        for _ in range(3):
            _, state, *_ = step(keys, state, action, params)
        jax.block_until_ready(state)
