"""The settings of the local upstream."""

from __future__ import annotations

from dataclasses import dataclass, field

from storecrawl.demo.upstream.faults import DAY_SECONDS, FaultDial


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamOptions:
    """What the local upstream serves and how it behaves.

    `step_seconds` is the wall time of one simulated step (four simulated hours); 0 leaves time to the control
    endpoint. `epoch` (unix seconds) is when step 0 began: give the same epoch to a restarted server and its
    simulated time goes on instead of starting over. Stores open until there are twice as many as at first.
    `port` 0 takes a free one. `changing_share` is the share of a menu's places at which anything happens in a step: of
    the others stock, price and product stay as they are until their turn comes.
    """

    stores: int = 300
    seed: int = 1
    port: int = 0
    step_seconds: float = 0.0
    epoch: float | None = None
    new_stores_per_step: float = 1.0
    menu_median: int = 380
    menu_smallest: int = 20
    menu_largest: int = 1_200
    cached_menus: int = 48
    changing_share: float = 1.0
    failures: FaultDial = field(default_factory=FaultDial)

    def __post_init__(self) -> None:
        """Refuse settings that cannot be served."""
        if self.stores < 1:
            raise ValueError(f"stores must be at least 1, not {self.stores}")
        if not 0 <= self.step_seconds <= DAY_SECONDS:
            raise ValueError(f"step_seconds must be between 0 and {DAY_SECONDS}, not {self.step_seconds}")
        if not 1 <= self.menu_smallest <= self.menu_median <= self.menu_largest:
            raise ValueError("menu sizes must satisfy 1 <= smallest <= median <= largest")
        if self.cached_menus < 1:
            raise ValueError(f"cached_menus must be at least 1, not {self.cached_menus}")
        if not 0 <= self.changing_share <= 1:
            raise ValueError(f"changing_share must be between 0 and 1, not {self.changing_share}")
        if not 0 <= self.new_stores_per_step <= self.stores:
            raise ValueError(f"new_stores_per_step must be between 0 and stores, not {self.new_stores_per_step}")
