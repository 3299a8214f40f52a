"""The equation of motion in other coordinates: operational space and actuation space."""

from soromox.coordinate_transformations.actuation_space import (
    ActuationCoordinates as ActuationCoordinates,
)
from soromox.coordinate_transformations.actuation_space import (
    actuation_space_dynamics as actuation_space_dynamics,
)
from soromox.coordinate_transformations.operational_space import (
    TransformedDynamics as TransformedDynamics,
)
from soromox.coordinate_transformations.operational_space import (
    operational_space_dynamics as operational_space_dynamics,
)
from soromox.coordinate_transformations.tasks import MapTask as MapTask
from soromox.coordinate_transformations.tasks import PoseTask as PoseTask
from soromox.coordinate_transformations.tasks import Task as Task
from soromox.coordinate_transformations.tasks import TaskKinematics as TaskKinematics
