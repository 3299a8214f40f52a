"""Renderers: scenes follow the kinematics, frames show them, videos hold them."""

import subprocess
import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from soromox.actuation.threadlike import tendons
from soromox.rendering import (
    BaseSoftRobotRenderer,
    Disc,
    MatplotlibRenderer,
    OpenCVPlanarRenderer,
    Polygon,
    RendererColorConfig,
    View,
    write_video,
)
from soromox.rendering.geometry import fetch, hsa_body
from soromox.rendering.robot_scene import robot_scene
from soromox.systems import PCS, PCSParams, PlanarHSA, PlanarPCS, PlanarPCSParams
from soromox_envs.rendering import REACHED_COLOR, TARGET_COLOR, render_task, stage_of
from soromox_envs.robots.planar_hsa import fpu_params
from soromox_envs.tasks.base import Picture

cv2 = pytest.importorskip("cv2")
pytest.importorskip("imageio_ffmpeg")
pytest.importorskip("matplotlib")

BENT = np.array([9.0, 0.1, 0.15])
RADIUS = 0.0022
STAGE = stage_of("PlanarHSA", (0.0, 0.0))


@pytest.fixture(scope="module")
def hsa():
    return PlanarHSA(fpu_params())


def links(n):
    return dict(
        length=jnp.full(n, 0.15),
        radius=jnp.linspace(0.02, 0.015, n),
        density=jnp.full(n, 1070.0),
        young_modulus=jnp.full(n, 5e5),
        shear_modulus=jnp.full(n, 2e5),
    )


@pytest.fixture(scope="module")
def planar_pcs():
    routes = tendons([[0.013], [-0.013], [0.01]], num_segments=2, slope=[[0.0], [0.01], [0.0]], end=[1, 1, 0])
    return PlanarPCS(PlanarPCSParams.hanging(**links(2)), actuators=routes)


@pytest.fixture(scope="module")
def pcs():
    routes = tendons([[0, 0.014, 0], [0, 0, -0.014]], num_segments=2, start=[0, 1])
    return PCS(PCSParams.upright(**links(2)), actuators=routes)


@eqx.filter_jit
def _tip(robot, q):
    return robot.forward_kinematics_end_effector(q)[1:]


def tip_of(robot, q):
    return np.asarray(_tip(robot, jnp.asarray(q, float)))


def reach(robot, q, target=(0.03, -0.13), time=1.0, **options):
    picture = Picture(target, RADIUS)
    return render_task(robot, q, tip=tip_of(robot, q), picture=picture, time=time, stage=STAGE, **options)


def near(image, color, tolerance=12):
    """Where an image has a colour."""
    return np.abs(image.astype(int) - np.rint(255 * np.array(color[:3])).astype(int)).max(-1) <= tolerance


def test_hsa_scene_follows_the_kinematics(hsa):
    body = fetch(hsa_body, hsa, BENT, 7)
    q = jnp.asarray(BENT, float)
    rod_pose = eqx.filter_jit(lambda rod: hsa.forward_kinematics_rod(q, hsa.length, rod))
    for rod in (0, 1):
        pose = np.asarray(rod_pose(jnp.asarray(rod)))
        angle, offset = body.flexible[0, -1, 0], body.rod_offset[0, rod]
        end = body.flexible[0, -1, 1:] + offset * np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose(end, pose[1:], atol=1e-6)
    scene = robot_scene(hsa, BENT, color=(0.2, 0.4, 0.6), num_points=11)
    outlines = [part.points for part in scene if isinstance(part, Polygon)]
    platform = np.asarray(eqx.filter_jit(hsa.forward_kinematics_platform)(q, jnp.asarray(0)))[1:]
    assert min(np.linalg.norm(outline.mean(0) - platform) for outline in outlines) < 1e-4
    tip = tip_of(hsa, q)
    assert any(isinstance(part, Disc) and np.allclose(part.center, tip, atol=1e-6) for part in scene)


def test_one_program_serves_all_parameters_of_a_structure(hsa):
    traces = []

    def counted(robot, q, num_points):
        traces.append(1)
        return hsa_body(robot, q, num_points)

    softer = hsa.update_params(proximal_cap_length=jnp.array([0.03]))
    bodies = [fetch(counted, robot, q, 5) for robot in (hsa, softer) for q in (BENT, -BENT)]
    assert len(traces) == 1
    np.testing.assert_allclose(bodies[2].proximal_cap, 0.03, rtol=1e-6)


def test_backbone_curve_is_the_forward_kinematics(planar_pcs, pcs):
    for robot, dim in ((planar_pcs, 2), (pcs, 3)):
        renderer = MatplotlibRenderer(robot, num_points=9)
        q = np.linspace(-0.4, 0.5, robot.num_coordinates)
        curves = renderer.compute_backbone_curve(np.stack([q, -q]))
        assert curves.shape == (2, 9, dim) and renderer.is_planar == (dim == 2)
        s = jnp.linspace(0, float(robot.length), 9)
        poses = eqx.filter_jit(robot.forward_kinematics_abscissa_batched)(jnp.asarray(q, float), s)
        expected = poses[:, 1:] if dim == 2 else poses[:, :3, 3]
        np.testing.assert_allclose(curves[0], expected, atol=1e-6)


def test_tendons_are_as_long_as_their_coordinates_say(planar_pcs, pcs):
    for robot in (planar_pcs, pcs):
        q = (
            4
            * np.sin(np.arange(robot.num_coordinates))
            * np.tile([1, 0.02, 0.02] if robot.is_planar else [1, 1, 1, 0.02, 0.02, 0.02], 2)
        )
        (layer,) = MatplotlibRenderer(robot, num_points=401).compute_actuator_visual_layers(
            q, jnp.ones(robot.num_actuators)
        )
        lengths = np.linalg.norm(np.diff(np.asarray(layer.points), axis=1), axis=-1).sum(1)
        assert layer.kind == "tendon" and layer.inputs.shape == (robot.num_actuators,)
        np.testing.assert_allclose(
            lengths, -eqx.filter_jit(robot.actuator_coordinates)(jnp.asarray(q, float)), rtol=2e-3
        )


def test_view_has_square_pixels_and_holds_its_box():
    view = View.fit((-0.1, 0.1, -0.3, 0.0), 300, 200)
    xmin, xmax, ymin, ymax = view.box
    assert ymin == pytest.approx(-0.3) and ymax == pytest.approx(0) and xmin < -0.1 < 0.1 < xmax
    point = np.array([0.02, -0.11])
    np.testing.assert_allclose(view.at_pixels(*view.to_pixels(point)), point, atol=1e-12)
    with pytest.raises(ValueError, match="limits must be"):
        View.fit((0, 0, 0, 1), 10, 10)


@pytest.mark.parametrize("size", [(480, 480), (161, 97)])
def test_reach_frame(hsa, size):
    width, height = size
    frame = reach(hsa, BENT, width=width, height=height)
    assert frame.shape == (height, width, 3) and frame.dtype == np.uint8
    np.testing.assert_array_equal(frame, reach(hsa, BENT, width=width, height=height))
    moved = reach(hsa, -BENT, width=width, height=height)
    assert (frame != moved).any(-1).mean() > 0.03
    top = height // 12  # background and mount: the camera stands still
    np.testing.assert_array_equal(frame[:top], moved[:top])


def test_target_is_drawn_where_it_is_and_the_tip_turns_green(hsa):
    target = np.array([0.07, -0.05])
    frame = reach(hsa, BENT, target=target)
    rows, columns = np.nonzero(near(frame, TARGET_COLOR))
    at = View.fit(STAGE.box, 480, 480).to_pixels(target)
    np.testing.assert_allclose([columns.mean() + 0.5, rows.mean() + 0.5], at, atol=1.5)
    assert not near(frame, REACHED_COLOR).any()
    reached = reach(hsa, BENT, target=tip_of(hsa, BENT) + 0.4 * RADIUS)
    assert near(reached, REACHED_COLOR).sum() > 20 and not near(reached, TARGET_COLOR).any()


def test_status_line_and_broken_states(hsa):
    frame, later = reach(hsa, BENT, time=1.0), reach(hsa, BENT, time=2.35)
    changed = np.nonzero((frame != later).any(-1))
    assert changed[0].min() > 440 and changed[1].max() < 240
    nowhere = np.full(3, np.nan)
    broken = render_task(hsa, nowhere, tip=nowhere[:2], picture=Picture((0.0, -0.1), RADIUS), time=0.0, stage=STAGE)
    assert broken.shape == (480, 480, 3)


def test_renderers_draw_one_and_several_robots(hsa, planar_pcs, pcs):
    for renderer in (OpenCVPlanarRenderer, MatplotlibRenderer):
        for robot in (hsa, planar_pcs):
            q = 0.1 * np.ones(robot.num_coordinates)
            draw = renderer(robot, 160, 120, 12)
            one, two = draw.render_frame(q), draw.render_frame(np.stack([q, -40 * q]))
            assert one.shape == two.shape == (120, 160, 3) and one.dtype == np.uint8
            assert (one != two).any(-1).mean() > 0.005
    spatial = MatplotlibRenderer(pcs, 160, 120, 12)
    straight, bent = (spatial.render_frame(q) for q in (np.zeros(12), np.linspace(-3, 3, 12)))
    assert straight.shape == (120, 160, 3) and (straight != bent).any()
    with pytest.raises(ValueError, match="planar robots"):
        OpenCVPlanarRenderer(pcs)
    with pytest.raises(ValueError, match=r"q must have"):
        spatial.render_frame(np.zeros(5))


def test_the_two_renderers_agree(hsa):
    frames = [
        draw(hsa, 320, 320).render_frame(BENT).astype(float) for draw in (OpenCVPlanarRenderer, MatplotlibRenderer)
    ]
    apart = np.abs(cv2.blur(frames[0], (5, 5)) - cv2.blur(frames[1], (5, 5))).max(-1)
    assert np.mean(apart) < 4 and np.mean(apart > 60) < 0.01


def test_figure_can_be_saved_as_vectors(hsa, tmp_path):
    MatplotlibRenderer(hsa, 200, 200).save(tmp_path / "robot.pdf", BENT)
    assert (tmp_path / "robot.pdf").read_bytes().startswith(b"%PDF")


def test_colors_resolve_from_the_most_specific(hsa):
    renderer = OpenCVPlanarRenderer(hsa, color_config=RendererColorConfig(backbone_color="#102030"))
    np.testing.assert_allclose(renderer.resolve_backbone_colors(2) * 255, [[16, 32, 48]] * 2)
    many = RendererColorConfig(backbone_color="#102030", backbone_colors=("#ff0000", (0, 1, 0)))
    np.testing.assert_allclose(renderer.resolve_backbone_colors(3, many), [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match="#rrggbb"):
        RendererColorConfig(tip_color="red")


class Plain(BaseSoftRobotRenderer):
    """A renderer of a user, as the guide has it."""

    def __init__(self, robot, width=64, height=48, num_points=8, color_config=None, my_param=1.0):
        super().__init__(robot=robot, width=width, height=height, num_points=num_points, color_config=color_config)
        self.my_param = my_param

    def render_frame(self, q, color_config=None, **kwargs):
        level = np.uint8(255 * np.clip(10 * abs(self.compute_backbone_curve(q)[-1, 0]), 0, 1))
        return np.full((self.height, self.width, 3), level, np.uint8)


def read(path):
    video = cv2.VideoCapture(str(path))
    frames = []
    while True:
        more, frame = video.read()
        if not more:
            video.release()
            return frames
        frames.append(frame[:, :, ::-1])


def test_sequence_is_recorded_in_real_time(planar_pcs, tmp_path):
    ts = np.linspace(0, 0.5, 251)
    q_ts = np.linspace(0, 0.5, 251)[:, None] * np.ones(6)
    path = tmp_path / "motion.mp4"
    Plain(planar_pcs, 63, 47).render_sequence(ts, q_ts, record_path=path, fps=20.0)
    frames = read(path)
    assert len(frames) == 11 and frames[0].shape == (48, 64, 3)
    batched = list(Plain(planar_pcs).frames(ts, q_ts, fps=10.0))
    assert len(batched) == 6 and (batched[0] != batched[-1]).any()
    with pytest.raises(ValueError, match="ts"):
        Plain(planar_pcs).render_sequence(ts[:-1], q_ts, record_path=path)


def test_video_keeps_what_was_drawn(hsa, tmp_path):
    frames = [reach(hsa, scale * BENT, time=0.05 * i) for i, scale in enumerate((-1, 0, 1))]
    write_video(tmp_path / "reach.mp4", iter(frames), fps=20)
    shown = read(tmp_path / "reach.mp4")
    assert len(shown) == 3
    for frame, seen in zip(frames, shown, strict=True):
        assert np.abs(frame.astype(int) - seen).mean() < 3


def test_video_errors_are_plain(tmp_path):
    path, frame = tmp_path / "x.mp4", np.zeros((8, 8, 3), np.uint8)
    for frames, sentence in (
        ([], "at least one frame"),
        ([frame.astype(float)], "uint8"),
        ([frame, frame[:4]], "size of the first"),
    ):
        with pytest.raises(ValueError, match=sentence):
            write_video(path, frames)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_video(tmp_path / "no" / "x.mp4", [frame])
    with pytest.raises(OSError, match="ffmpeg could not write"):
        write_video(tmp_path, [frame])


def test_nothing_heavy_is_imported_before_it_draws():
    names = ("matplotlib", "cv2", "imageio_ffmpeg")
    code = "import soromox, soromox.rendering, soromox_envs.rendering, sys;"
    code += f"print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_extra_is_named(hsa, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    for call in (lambda: reach(hsa, BENT), lambda: write_video(tmp_path / "x.mp4", [])):
        with pytest.raises(ModuleNotFoundError, match=r"pip install soromox-envs\[render\]"):
            call()
