"""Piecewise-constant-strain robots for the zoo."""

import jax.numpy as jnp
import numpy as np

from soromox.actuation import PassiveElement, ThreadlikeTransmission, tendons
from soromox.systems import PCS, PCSParams, PCSStructure, PlanarPCS, PlanarPCSParams


def pcs(planar: bool, n: int, *, selector=None, scaled: bool = False, tendon: bool = False, floating: bool = False):
    """A PCS robot of n soft rods; ``tendon`` adds routed tendons and a passive thread; a slight reference curvature."""
    d = 3 if planar else 6
    reference = np.zeros((n, d))
    reference[:, d // 2] = 1.0
    reference[:, d // 2 - 1] = 0.4
    fields = dict(
        length=np.resize([0.12, 0.10, 0.08], n),
        radius=np.resize([0.018, 0.015, 0.012], n),
        density=np.resize([1070.0, 1040.0, 1000.0], n),
        young_modulus=np.resize([2e5, 2.2e5, 2.4e5], n),
        shear_modulus=np.resize([7e4, 7.5e4, 8e4], n),
        material_damping_coefficient=np.resize([200.0, 240.0, 280.0], n),
        reference_strain=reference,
    )
    robot, params = (PlanarPCS, PlanarPCSParams) if planar else (PCS, PCSParams)
    active = None if selector is None else tuple(bool(int(c)) for c in selector)
    structure = PCSStructure(strain_selector=active, scale_rotational_basis_by_length=scaled)
    actuators, passive = None, ()
    if tendon:
        k = 1 if planar else 2
        last = n - 1
        actuators = tendons(
            np.array([[0.012, 0.004], [-0.012, 0.006], [0.002, -0.014]])[:, :k],
            slope=np.array([[-0.02, 0.01], [0.02, 0.0], [0.0, 0.03]])[:, :k],
            num_segments=n,
            start=[0, 0, last],
            end=[0, last, last],
        )
        line = ThreadlikeTransmission(
            jnp.array([[0.009, -0.008]])[:, :k], jnp.zeros((1, k)), jnp.ones(1), (0,), (last,)
        )
        passive = PassiveElement(line, jnp.array([30.0]), jnp.array([0.2]), jnp.array([0.19]))
    return robot(
        params.hanging(**fields), structure, actuators=actuators, passive_elements=passive, floating_base=floating
    )


ROBOTS = {
    "planar_pcs_1": lambda: pcs(True, 1),
    "planar_pcs_3_selector": lambda: pcs(True, 3, selector="110101010"),
    "planar_pcs_2_scaled_tendons": lambda: pcs(True, 2, scaled=True, tendon=True),
    "planar_pcs_2_floating": lambda: pcs(True, 2, floating=True),
    "planar_pcs_8_floating": lambda: pcs(True, 8, floating=True),
    "pcs_1": lambda: pcs(False, 1),
    "pcs_2_scaled_selector": lambda: pcs(False, 2, selector="011100111011", scaled=True),
    "pcs_2_tendons": lambda: pcs(False, 2, tendon=True),
    "pcs_2_floating": lambda: pcs(False, 2, floating=True, tendon=True),
    "pcs_8": lambda: pcs(False, 8),
}
DEFAULT = ("planar_pcs_2_scaled_tendons", "pcs_2_scaled_selector", "pcs_2_floating")
