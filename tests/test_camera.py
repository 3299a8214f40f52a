"""The camera: a parallel projection, and what it makes of tubes and lines."""

import numpy as np
import pytest

from soromox.rendering.camera import Camera
from soromox.rendering.colors import RendererColorConfig
from soromox.rendering.scene import Disc, Polygon, Polyline, Tube

BLUE = (0.2, 0.4, 0.8)
RNG = np.random.default_rng(0)


@pytest.fixture(params=[(0.0, 0.0), (18.0, -55.0), (-40.0, 130.0)])
def camera(request) -> Camera:
    elevation, azimuth = request.param
    return Camera((0.1, -0.2, 0.3), elevation, azimuth)


def test_axes_are_orthonormal_and_up_is_up(camera):
    right, up, toward = camera.axes
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.cross(right, up), toward, atol=1e-14)
    assert right[2] == 0 and up[2] > 0


def test_projection_ignores_depth_and_keeps_lengths_across_it(camera):
    points = RNG.normal(size=(5, 3))
    right, up, toward = camera.axes
    np.testing.assert_allclose(camera.project(points + 0.7 * toward), camera.project(points), atol=1e-14)
    np.testing.assert_allclose(camera.depth(points + 0.7 * toward), camera.depth(points) + 0.7, atol=1e-14)
    moved = camera.project(points + 0.3 * right - 0.4 * up) - camera.project(points)
    np.testing.assert_allclose(moved, np.broadcast_to([0.3, -0.4], (5, 2)), atol=1e-14)
    np.testing.assert_allclose(camera.project(np.array(camera.target)), [0, 0], atol=1e-14)


def test_a_tube_is_as_wide_as_it_is_thick_and_ends_in_ellipses(camera):
    right, up, toward = camera.axes
    axis = (0.6 * up + 0.8 * toward)[None]  # leans towards the camera: seen from its end
    tube = Tube(np.linspace(0, 1, 9)[:, None] * axis, np.full(9, 0.05), BLUE)
    shapes = camera.flatten((tube,))
    corners = np.concatenate([shape.points for shape in shapes if isinstance(shape, Polygon)])
    across = (corners - camera.project(np.zeros(3))) @ np.array([1.0, 0.0])
    np.testing.assert_allclose([across.min(), across.max()], [-0.05, 0.05], atol=1e-12)
    rim = shapes[-1].points - camera.project(axis[0])
    # a circle whose normal leans by 0.8 towards the camera: half axes r and 0.8 r
    np.testing.assert_allclose((rim[:, 0] / 0.05) ** 2 + (rim[:, 1] / 0.04) ** 2, 1, atol=1e-12)


def test_near_tubes_cover_far_ones_and_hidden_lines_are_faint(camera):
    toward, right = camera.axes[2], camera.axes[0]
    line = np.linspace(-0.5, 0.5, 5)[:, None] * right[None]
    far, near = (Tube(line + z * toward[None], np.full(5, 0.1), (z, z, z)) for z in (0.02, 0.98))
    fills = [s.fill for s in camera.flatten((near, far)) if isinstance(s, Polygon) and s.fill is not None]
    brightness = [sum(fill[:3]) for fill in fills]
    half = len(brightness) // 2
    assert max(brightness[:half]) < min(brightness[half:])
    for side, opaque in ((1, True), (-1, False)):
        shown = camera.flatten((far, Polyline(line + (0.02 + 0.05 * side) * toward[None], BLUE)))[-1]
        assert (len(shown.color) == 3) == opaque


def test_discs_move_with_the_picture_and_planar_shapes_are_refused(camera):
    point = np.array([0.3, 0.1, -0.2])
    (disc,) = camera.flatten((Disc(point, 0.1, BLUE),))
    np.testing.assert_allclose(disc.center, camera.project(point))
    with pytest.raises(ValueError, match="a spatial scene has no Polygon"):
        camera.flatten((Polygon(np.zeros((3, 2)), BLUE),))


def test_the_floor_lies_under_the_scene():
    camera = Camera((0.0, 0.0, 0.5), 30.0, 10.0)
    tube = Tube(np.array([[0, 0, 0.2], [0, 0.1, 0.3], [0, 0.2, 0.3]]), np.full(3, 0.02), BLUE)
    lines = camera.floor((tube,), 0.0, 0.4, RendererColorConfig())
    shadow = lines[-1].points
    expected = camera.project(np.array([[0, 0, 0.0], [0, 0.1, 0.0], [0, 0.2, 0.0]]))
    np.testing.assert_allclose(shadow, expected, atol=1e-14)
    assert len(lines) == 2 * 9 + 1
