"""Simulation: integrators in Diffrax's form and the fixed-step path."""

from soromox.simulation.integrators import RK4 as RK4
from soromox.simulation.integrators import SemiImplicitEuler as SemiImplicitEuler
