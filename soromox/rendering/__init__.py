"""Pictures and videos of soft robots: a renderer-neutral scene, drawn by Matplotlib or OpenCV.

Importing this package imports neither; a renderer asks for its library when it draws.
"""

from soromox.actuation import ActuatorVisualLayer
from soromox.rendering.base import BaseSoftRobotRenderer
from soromox.rendering.colors import RendererColorConfig
from soromox.rendering.matplotlib_renderer import MatplotlibRenderer
from soromox.rendering.opencv_renderer import OpenCVPlanarRenderer
from soromox.rendering.scene import Disc, Polygon, Polyline, Scene, Text, Tube, View
from soromox.rendering.video import write_video

__all__ = [
    "ActuatorVisualLayer",
    "BaseSoftRobotRenderer",
    "Disc",
    "MatplotlibRenderer",
    "OpenCVPlanarRenderer",
    "Polygon",
    "Polyline",
    "RendererColorConfig",
    "Scene",
    "Text",
    "Tube",
    "View",
    "write_video",
]
