"""How a batch of robots is laid out in memory."""

from soromox.batching.lanes import lanes_last as lanes_last
from soromox.batching.lanes import settle as settle
