"""The demo's state in its folder: the world of its upstream, and the simulated time there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from rolecall import ConfigError
from storecrawl.demo.machine import free_port
from storecrawl.demo.options import DemoOptions

FILE = "demo.json"
STORES = 300
SEED = 1
KEEP_SECONDS = 5.0
# The local upstream's longest step, with which time does not advance within one run.
STANDSTILL_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderState:
    """The world of a folder: it was at `step` at the unix time `since`, and advances by one each `step_seconds`.

    Time does not advance with 0 seconds per step, or while no demo is running. `port` is the
    upstream's.
    """

    port: int
    stores: int
    seed: int
    step: float
    since: float
    step_seconds: float

    def at(self, now: float) -> FolderState:
        elapsed_steps = (now - self.since) / self.step_seconds if self.step_seconds else 0.0
        return replace(self, step=self.step + max(0.0, elapsed_steps), since=now)

    @property
    def pace(self) -> float:
        """The seconds of the upstream's steps."""
        return self.step_seconds or STANDSTILL_SECONDS

    @property
    def start_of_step_0(self) -> float:
        """The unix time of the start of the upstream's step 0."""
        step = self.step if self.step_seconds else int(self.step)
        return self.since - step * self.pace

    def flags(self) -> dict[str, object]:
        return {
            "--port": self.port,
            "--stores": self.stores,
            "--seed": self.seed,
            "--step-seconds": self.pace,
            "--epoch": self.start_of_step_0,
        }


def load_state(folder: Path, options: DemoOptions, now: float) -> FolderState:
    """Return the folder's world with the given options, and store it.

    Raises ConfigError for another seed or fewer stores than the folder has, since its contents would not match.
    """
    known = _read(folder / FILE)
    if known is not None:
        _require_same_world(known, options, folder)
    state = FolderState(
        port=free_port(known.port if known else None),
        stores=options.stores or (known.stores if known else STORES),
        seed=_seed(options, known),
        step=_last_step(known) if known else 0.0,
        since=now,
        step_seconds=0.0 if options.once else options.step_seconds,
    )
    save_state(folder, state)
    return state


def save_state(folder: Path, state: FolderState) -> None:
    """Write the state atomically: a demo killed meanwhile leaves the old or the new one."""
    draft = folder / f"{FILE}.draft"
    draft.write_bytes(msgspec.json.encode(state))
    draft.replace(folder / FILE)


def _read(file: Path) -> FolderState | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=FolderState)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        raise ConfigError(
            f"{file} is damaged; remove it, or choose another folder", variable="--data-dir", value=file.parent
        ) from None


def _require_same_world(known: FolderState, options: DemoOptions, folder: Path) -> None:
    if _seed(options, known) != known.seed:
        raise ConfigError(
            f"{folder} has the world of seed {known.seed}; use another --data-dir for another seed",
            variable="--seed",
            value=options.seed,
        )
    if options.stores is not None and options.stores < known.stores:
        raise ConfigError(
            f"{folder} has a world of {known.stores} stores; use another --data-dir for a smaller one",
            variable="--stores",
            value=options.stores,
        )


def _seed(options: DemoOptions, known: FolderState | None) -> int:
    if options.seed is not None:
        return options.seed
    return known.seed if known else SEED


def _last_step(known: FolderState) -> float:
    """Return the last step that the world may have reached: the state of a killed demo is some seconds old."""
    return known.at(known.since + KEEP_SECONDS).step
