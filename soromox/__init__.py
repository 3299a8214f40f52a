"""Soft robot kinematics and dynamics in JAX: differentiable, jittable, vmappable."""

from soromox.autodiff import custom_jvp_enabled as custom_jvp_enabled
from soromox.autodiff import custom_jvp_mode as custom_jvp_mode
