"""Lie groups of rigid motions: SE(2) and SE(3) behind one interface, SO(3), and their series."""

from soromox.lie import se2 as se2
from soromox.lie import se3 as se3
from soromox.lie import so3 as so3
from soromox.lie.group import Group as Group
from soromox.lie.series import stumpff as stumpff
