"""The Lie groups under the name that the extending guide uses: ``se2``, ``se3``, ``so3``."""

from soromox.lie import se2 as se2
from soromox.lie import se3 as se3
from soromox.lie import so3 as so3
