"""The robots of the suite, by key."""

from importlib import import_module

from soromox_envs.robots.model import RobotModel

MODULES = {
    "PlanarHSA": "planar_hsa",
    "PlanarPCS": "planar_pcs",
    "PCS": "pcs",
    "PCS2": "pcs",
    "GVS": "gvs",
    "ISupport": "isupport",
    "UMArm": "umarm",
    "SoftChain": "soft_chain",
    "Pendulum": "pendulum",
    "Swimmer": "pcs",
    "HemisphereArm": "pcs",
}


def model_of(key: str) -> RobotModel:
    """The robot of that key; its module is imported on demand."""
    if key not in MODULES:
        raise ValueError(f"unknown robot {key!r}; the suite has {', '.join(MODULES)}")
    return import_module(f"soromox_envs.robots.{MODULES[key]}").MODELS[key]
