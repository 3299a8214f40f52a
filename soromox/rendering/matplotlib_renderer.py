"""Figures of planar and spatial scenes by Matplotlib, without a display."""

from os import PathLike
from typing import Any

import numpy as np

from soromox.rendering.base import BaseSoftRobotRenderer
from soromox.rendering.camera import Camera, behind
from soromox.rendering.colors import RendererColorConfig
from soromox.rendering.extras import optional
from soromox.rendering.meshes import tube_faces
from soromox.rendering.scene import Disc, Polygon, Polyline, Scene, Text, Tube, View

DPI = 100


class MatplotlibRenderer(BaseSoftRobotRenderer):
    """Renders planar and spatial robots with Matplotlib; ``figure`` gives a vector figure for print.

    Attributes:
        elevation, azimuth: direction from which a spatial robot is seen, degrees.
    """

    def __init__(
        self,
        robot,
        width=800,
        height=600,
        num_points=50,
        color_config=None,
        box=None,
        elevation: float = 18.0,
        azimuth: float = -55.0,
    ):
        super().__init__(robot, width, height, num_points, color_config, box)
        self.elevation, self.azimuth = elevation, azimuth

    def render_frame(self, q, color_config: RendererColorConfig | None = None, **kwargs) -> np.ndarray:
        figure = self.figure(q, color_config, **kwargs)
        figure.canvas.draw()
        return np.array(figure.canvas.buffer_rgba())[:, :, :3].copy()

    def figure(self, q: Any, color_config: RendererColorConfig | None = None, **kwargs: Any) -> Any:
        """A ``matplotlib.figure.Figure`` of q (nq,) or (N, nq); ``figure.savefig("robot.pdf")`` keeps it as vectors."""
        colors = self.color_config if color_config is None else color_config
        figure = optional("matplotlib.figure").Figure((self.width / DPI, self.height / DPI), dpi=DPI)
        optional("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        figure.set_facecolor(colors.background_color)
        if self.is_planar:
            view = self.view(q, **kwargs)
            axes = planar_axes(figure, view)
            draw(axes, self.background(view, colors) + self.scene(q, color_config), view)
        else:
            self._spatial(figure, q, colors, **kwargs)
        return figure

    def save(self, path: str | PathLike, q: Any, **kwargs: Any) -> None:
        """Write a picture of q to a file; its suffix chooses the format (png, pdf, svg)."""
        self.figure(q, **kwargs).savefig(path, dpi=DPI)

    def _spatial(self, figure: Any, q: Any, colors: RendererColorConfig, view_of: Any = None) -> None:
        optional("mpl_toolkits.mplot3d")
        axes = figure.add_axes((0.0, 0.03, 0.94, 0.97), projection="3d", computed_zorder=False)
        center, half = self.extent(q if view_of is None else view_of)
        half = 0.8 * half  # a box in perspective leaves room around itself
        axes.set(
            xlim=(center[0] - half, center[0] + half),
            ylim=(center[1] - half, center[1] + half),
            zlim=(center[2] - half, center[2] + half),
        )
        axes.set_box_aspect((1, 1, 1), zoom=1.0)
        axes.set_facecolor(colors.background_color)
        axes.view_init(self.elevation, self.azimuth)
        _plain_panes(axes, colors)
        draw_spatial(axes, self.scene(q, colors), floor=float(center[2] - half))


def planar_axes(figure: Any, view: View) -> Any:
    """Axes that fill the figure and show ``view``."""
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    xmin, xmax, ymin, ymax = view.box
    axes.set(xlim=(xmin, xmax), ylim=(ymin, ymax))
    axes.axis("off")
    return axes


def draw(axes: Any, scene: Scene, view: View) -> None:
    """Add a planar scene to axes; line widths and letters follow the size of the picture."""
    patches = optional("matplotlib.patches")
    unit = view.line_scale * 72 / DPI

    def style(shape):
        edge = "none" if shape.edge is None else shape.edge
        fill = "none" if shape.fill is None else shape.fill
        return {"facecolor": fill, "edgecolor": edge, "linewidth": shape.width * unit, "joinstyle": "round"}

    for order, part in enumerate(scene, start=1):
        match part:
            case Polygon():
                axes.add_patch(patches.Polygon(part.points, closed=True, zorder=order, **style(part)))
            case Disc():
                axes.add_patch(patches.Circle(tuple(part.center), part.radius, zorder=order, **style(part)))
            case Polyline():
                x, y = part.points.T
                axes.plot(x, y, color=part.color, lw=part.width * unit, zorder=order, solid_capstyle="round")
            case Text():
                at, size = part.position, part.size * unit
                axes.text(*at, part.text, color=part.color, fontsize=size, ha=part.anchor, zorder=order)
            case _:
                raise ValueError(f"a planar picture has no {type(part).__name__}")


def draw_spatial(axes: Any, scene: Scene, *, floor: float) -> None:
    """Add a spatial scene to 3-D axes, with the shadows of its bent tubes at the height ``floor``."""
    collections = optional("mpl_toolkits.mplot3d.art3d")
    tubes = [part for part in scene if isinstance(part, Tube)]
    for tube in (tube for tube in tubes if len(tube.points) > 2):
        x, y, _ = tube.points.T
        shadow = {"color": (0.35, 0.38, 0.42), "alpha": 0.13, "solid_capstyle": "round"}
        axes.plot(x, y, np.full_like(x, floor), lw=5, zorder=1, **shadow)
    if tubes:
        parts = [tube_faces(tube.points, tube.radii, tube.color) for tube in tubes]
        faces, paints = (np.concatenate(x) for x in zip(*parts, strict=True))
        body = collections.Poly3DCollection(faces, facecolors=paints, edgecolors=paints, linewidths=0.4, zorder=2)
        axes.add_collection3d(body)
    toward = Camera(elevation=axes.elev, azimuth=axes.azim).axes[2]
    for line in (part for part in scene if isinstance(part, Polyline)):
        hidden_parts = behind(line.points, tubes, toward)
        for hidden, opacity in ((True, 0.22), (False, 1.0)):
            part = np.where((hidden_parts == hidden)[:, None], line.points, np.nan)
            axes.plot(*part.T, color=line.color, alpha=opacity, lw=line.width, zorder=3)


def _plain_panes(axes: Any, colors: RendererColorConfig) -> None:
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((*colors.background_color[:3], 1.0))
        axis.pane.set_edgecolor(colors.grid_color)
        axis._axinfo["grid"].update(color=colors.grid_color, linewidth=0.8)
        axis.line.set_color(colors.grid_color)
        axis.set_major_locator(optional("matplotlib.ticker").MaxNLocator(4))
    axes.tick_params(labelsize=7, labelcolor=colors.text_color, color=colors.grid_color)
    for label, setter in zip("xyz", (axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), strict=True):
        setter(f"{label} (m)", fontsize=8, color=colors.text_color)
