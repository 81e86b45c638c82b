"""The settings of the local upstream."""

from __future__ import annotations

from dataclasses import dataclass, field

from storecrawl.demo.upstream.faults import DAY_SECONDS, FaultDial


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamOptions:
    """The contents and the behavior of the local upstream.

    `step_seconds` is the real duration of one simulated step (four simulated hours); with 0, only the control
    endpoint advances time. `epoch` (unix seconds) is the start of step 0: with the same epoch, a restarted server
    continues its simulated time. Stores open until there are twice as many as at first. `port` 0 takes a free one.
    `changing_share` is the share of a menu's places that change in a step; the others keep stock, price and product
    until their turn.
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
