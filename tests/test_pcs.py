"""Piecewise-constant-strain robots: the page of the planar class, and its spatial counterpart."""

import pytest

import zoo
from pages import PCS_PAGE, check_page


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("planar_pcs_3_selector", dict(num_segments=3, num_dofs=5, num_strains=9, num_actuators=5)),
        pytest.param(
            "pcs_2_tendons",
            dict(num_segments=2, num_dofs=12, num_strains=12, num_actuators=3),
            marks=pytest.mark.slow,
        ),
        pytest.param("isupport_2_3_pieces", dict(num_segments=8, num_dofs=30, num_actuators=6), marks=pytest.mark.slow),
    ],
)
def test_every_name_of_the_page_exists_and_answers_in_its_shape(name, numbers, x64):
    robot = zoo.build(name)
    check_page(robot, PCS_PAGE + "actuation_force(q u qd): d")
    numbers |= dict(num_base_coordinates=0, num_base_velocities=0, num_auxiliary_states=0)
    numbers |= dict(num_coordinates=robot.num_dofs, num_velocities=robot.num_dofs, state_size=2 * robot.num_dofs)
    assert {key: getattr(robot, key) for key in numbers} == numbers
    assert sum(len(group.names) for group in robot.actuator_input_metadata) == robot.num_actuators
    assert not robot.supports_articulated_tendon_routing and robot.is_planar == name.startswith("planar")
