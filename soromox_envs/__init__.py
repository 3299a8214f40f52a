"""Reinforcement-learning environments for soft robots.

Importing this package registers every id with Gymnasium and imports neither JAX nor anything heavy:

    import gymnasium, soromox_envs
    env = gymnasium.make("PlanarHSA-Reach-v0")                      # Gymnasium Env
    envs = gymnasium.make_vec("PlanarHSA-Reach-v0", num_envs=64)    # natively batched VectorEnv
    env, params = soromox_envs.make("PlanarHSA-Reach-v0")           # functional, gymnax 1.0 protocol
"""

from typing import TYPE_CHECKING, Any

from soromox_envs.registry import make, registered

if TYPE_CHECKING:
    from soromox_envs.adapters.sb3 import SB3VecEnv

__all__ = ["make", "make_sb3_vec_env", "register_gymnax", "registered"]


def register_gymnax() -> None:
    """Make every id available through `gymnax.make(id)`; calling it again does no harm."""
    from soromox_envs.adapters.gymnax import register_gymnax as register

    register()


def make_sb3_vec_env(env_id: str, n_envs: int = 1, seed: int | None = None, **options: Any) -> "SB3VecEnv":
    """A natively batched Stable-Baselines3 `VecEnv` of an id (needs the `sb3` extra).

    Lane i starts from `seed + i`. `options` are those of `GymnasiumVectorEnv` (`render_mode`,
    `max_episode_steps`, `params`) and of the id.
    """
    from soromox_envs.adapters.sb3 import SB3VecEnv

    return SB3VecEnv(env_id, n_envs, seed=seed, **options)
