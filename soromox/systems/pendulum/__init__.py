"""The planar pendulum."""

from soromox.systems.pendulum.pendulum import Pendulum as Pendulum
from soromox.systems.pendulum.pendulum import PendulumParams as PendulumParams
