"""Run the local upstream as a separate process: `python -m storecrawl.demo.upstream --port 8091`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys

from storecrawl.demo.upstream.faults import FaultDial
from storecrawl.demo.upstream.local import LocalUpstream
from storecrawl.demo.upstream.options import UpstreamOptions

PARENT_POLL_SECONDS = 0.5


def main() -> None:
    """Serve until SIGTERM or SIGINT; print the URL first, once requests are answered."""
    arguments = _parser().parse_args()
    try:
        options = _options(arguments)
    except ValueError as error:
        _parser().error(str(error))
    asyncio.run(_serve(options, arguments.parent))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m storecrawl.demo.upstream", description=__doc__)
    defaults = UpstreamOptions()
    parser.add_argument("--port", type=int, default=defaults.port, help="0 takes a free one")
    parser.add_argument("--stores", type=int, default=defaults.stores)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--failure-rate", type=float, default=0.0, help="share of failing requests, 0 to 1")
    parser.add_argument("--slow-seconds", type=float, default=FaultDial().slow_seconds)
    parser.add_argument(
        "--step-seconds", type=float, default=defaults.step_seconds, help="real seconds of a step; 0 means never"
    )
    parser.add_argument("--epoch", type=float, default=None, help="unix time of the start of step 0")
    parser.add_argument("--menu-median", type=int, default=defaults.menu_median, help="products of a typical menu")
    parser.add_argument("--menu-smallest", type=int, default=defaults.menu_smallest)
    parser.add_argument("--menu-largest", type=int, default=defaults.menu_largest)
    parser.add_argument(
        "--changing-share",
        type=float,
        default=defaults.changing_share,
        help="share of a menu that changes in a step, 0 to 1",
    )
    parser.add_argument("--parent", type=int, default=None, help="stop when this parent process has ended")
    return parser


def _options(arguments: argparse.Namespace) -> UpstreamOptions:
    return UpstreamOptions(
        port=arguments.port,
        stores=arguments.stores,
        seed=arguments.seed,
        step_seconds=arguments.step_seconds,
        epoch=arguments.epoch,
        menu_median=arguments.menu_median,
        menu_smallest=arguments.menu_smallest,
        menu_largest=arguments.menu_largest,
        changing_share=arguments.changing_share,
        failures=FaultDial(failure_rate=arguments.failure_rate, slow_seconds=arguments.slow_seconds),
    )


async def _serve(options: UpstreamOptions, parent: int | None) -> None:
    stop_event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    async with LocalUpstream(options) as upstream:
        sys.stdout.write(f"{upstream.url}\n")
        sys.stdout.flush()
        while not stop_event.is_set() and parent in {None, os.getppid()}:
            await _wait(stop_event, None if parent is None else PARENT_POLL_SECONDS)


async def _wait(stop_event: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop_event.wait()
    except TimeoutError:
        pass


if __name__ == "__main__":
    main()
