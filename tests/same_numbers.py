"""``python same_numbers.py ID``: lanes of a batch return what single environments do, through auto-resets.

A program, since the emitters that XLA compiles with are those of the process, and the suite's are not the users'.
"""

import sys

import gymnasium
import numpy as np
from adapter_checks import LIMIT, SEED, assert_close, roll, vector_env


def compare(env_id: str) -> None:
    native = vector_env(env_id)
    sync = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(env_id, max_episode_steps=LIMIT)] * 3)
    for a, b in zip(roll(native, 2 * LIMIT + 3, seed=SEED), roll(sync, 2 * LIMIT + 3, seed=SEED), strict=True):
        assert_close(a[:-1], b[:-1])
        for name in ("distance", "is_success", "diverged"):
            if len(a) == 5 and name in b[-1]:
                np.testing.assert_array_equal(a[-1]["_" + name], b[-1]["_" + name])
                np.testing.assert_allclose(a[-1][name], b[-1][name], rtol=1e-6, atol=1e-6)
    assert_close(native.reset()[0], sync.reset()[0])


if __name__ == "__main__":
    compare(sys.argv[1])
