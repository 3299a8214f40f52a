"""The example of system identification recovers both material parameters."""

import jax
import jax.numpy as jnp
import numpy as np

from docs.examples import identify_rod as example


def test_modulus_and_damping_are_identified_to_a_percent(x64):
    _, tips = example.measure(jax.random.key(1))
    material = example.identify(tips, jnp.asarray(example.GUESS))
    assert np.all(np.abs(example.GUESS / example.TRUTH - 1) > 0.4)
    np.testing.assert_allclose(material, example.TRUTH, rtol=0.01)
