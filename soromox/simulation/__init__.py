"""Simulation: integrators in Diffrax's form and the fixed-step path."""

from soromox.simulation.implicit import Implicit as Implicit
from soromox.simulation.integrators import RK4 as RK4
from soromox.simulation.integrators import LinearlyImplicitMidpoint as LinearlyImplicitMidpoint
from soromox.simulation.integrators import RosenbrockW2 as RosenbrockW2
from soromox.simulation.integrators import SemiImplicitEuler as SemiImplicitEuler
