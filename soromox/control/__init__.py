"""Model-based controllers for the closed-loop rollouts."""

from soromox.control.base import BaseController as BaseController
from soromox.control.base import ClosedFormModelBasedController as ClosedFormModelBasedController
from soromox.control.pid import TaskController as TaskController
from soromox.control.reference import ReferenceTrajectory as ReferenceTrajectory
from soromox.control.spaces import ActuationSpace as ActuationSpace
from soromox.control.spaces import ConfigurationSpace as ConfigurationSpace
