"""The egress of one worker: its routes, their state, and visits through them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Collection
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Self

from rolecall import DatabaseUnavailable, RolecallError
from storecrawl.egress.breakers import Breakers
from storecrawl.egress.counters import Counters
from storecrawl.egress.errors import NoActiveRoute, NoUsableRoute, RouteBlamed, RouteError, TurnTooFar
from storecrawl.egress.failures import Blame, SendFailure
from storecrawl.egress.options import EgressOptions, Rates
from storecrawl.egress.pool import RoutePool
from storecrawl.egress.profiles import load_profiles
from storecrawl.egress.rate_limits import HostRateLimiter, StoreRateLimiter
from storecrawl.egress.recorder import Recorder, Verdict
from storecrawl.egress.routes import DIRECT, Route
from storecrawl.egress.sessions import Session, Sessions, trusted_certificates

OPENING_SECONDS = 30.0
PAUSE_SECONDS = 0.5
log = logging.getLogger("storecrawl.egress")


class Egress:
    """The outgoing requests of one worker.

        async with Egress(recorder=Recorder(dsn)) as egress:
            async with egress.visit("upstream.example", store="4711") as visit: ...

    Entering loads the routes and raises NoActiveRoute, ConfigError or DatabaseUnavailable. Without a
    recorder there is only the direct route. Leaving stores the last counts.
    """

    def __init__(
        self, options: EgressOptions | None = None, *, recorder: Recorder | None = None, random: Random | None = None
    ) -> None:
        self.options = options or EgressOptions()
        self._recorder = recorder
        self.routes = RoutePool()
        self.counters = Counters()
        self.sessions = Sessions(
            load_profiles(), trust=trusted_certificates(), most=self.options.clients, random=random or Random()
        )
        self.breakers = Breakers(failures=self.options.breaker_failures, seconds=self.options.breaker_seconds)
        self.host_rate_limiter = HostRateLimiter(recorder, patience=self.options.patience)
        self.store_rate_limiter = StoreRateLimiter()
        self._urgent = asyncio.Event()
        self._report_lock = asyncio.Lock()
        self._report_task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._logged_errors: set[type[Exception]] = set()
        if recorder is None:
            self.routes.replace([DIRECT])

    async def __aenter__(self) -> Self:
        if self._recorder is not None:
            try:
                await self._load_initially(self._recorder)
                if not self.routes:
                    raise NoActiveRoute
            except BaseException:
                await self._recorder.close()
                raise
            self._report_task = asyncio.create_task(self._report_regularly(self._recorder), name="storecrawl-egress")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._report_task is not None:
            # A running report is awaited: if it were cancelled after its commit, its counts would be stored twice.
            self._is_closing = True
            self._urgent.set()
            await self._report_task
        if self._recorder is not None:
            await self._recorder.close()
        await self.sessions.close()

    @asynccontextmanager
    async def visit(
        self, host: str, *, store: str | None = None, about: str | None = None, rates: Rates | None = None
    ) -> AsyncIterator[Visit]:
        """Visit a host for one purpose, optionally about a store. The session is kept while requests succeed.

        `about` is any other subject. A visit without a subject is no evidence for or against a route. `rates` replace
        those of the egress.
        """
        visit = Visit(self, host, store, about or store, rates or self.options.rates)
        try:
            yield visit
        finally:
            await visit.leave()

    def record_forbidden(self, session: Session, about: str, error: str) -> None:
        """Record a 403, and report it at once, since it may be the one that pauses the route."""
        self.routes.forbid(session.route.id, session.profile.name)
        self.counters.count_forbidden(session.route.id, session.profile.name, about, error)
        self._urgent.set()

    def record_success(self, session: Session, *, is_evidence: bool) -> None:
        """Record a good response; `is_evidence` if it shows that the host accepts the route."""
        self.counters.count_success(session.route.id, recovered=is_evidence)
        if is_evidence and self.routes.note_success(session.route.id):
            self._urgent.set()

    async def blame(self, route_ids: Collection[int]) -> None:
        """Judge these routes by all evidence. Raises RouteBlamed if all of them are paused."""
        if self._recorder is not None:
            # Shielded from cancellation: after a commit, the counts would be stored twice.
            await asyncio.shield(asyncio.ensure_future(self._attempt(self._report(self._recorder))))
        if route_ids and all(map(self.routes.is_paused, route_ids)):
            soonest = self.routes.soonest() or 0.0
            raise RouteBlamed(0.0 if self.routes.has_another(()) else soonest)

    async def session(self, avoid: Collection[int]) -> Session:
        """Choose a session, and wait until its route may be used. Raises NoUsableRoute, TurnTooFar."""
        while route := self.routes.next(avoid):
            rest = self.routes.rest(route.id)
            if rest > self.options.patience:
                raise TurnTooFar(f"the route {route.label}", rest)
            await asyncio.sleep(rest)
            if self.routes.is_paused(route.id) and not await self._may_probe(route):
                continue
            try:
                return await self.sessions.of(route, self.routes.forbidden_profiles(route.id))
            except RouteError as error:
                self.counters.count_failure(route.id, str(error))
                self.routes.drop(route.id)
        soonest = self.routes.soonest()
        raise NoUsableRoute(self.options.reload_every if soonest is None else soonest, paused=soonest is not None)

    async def _may_probe(self, route: Route) -> bool:
        """Return whether this caller, of those of all workers, may probe a route whose pause is over."""
        if self._recorder is None:
            return True
        try:
            probe = await self._recorder.probe(route.id, self.options.pause)
        except DatabaseUnavailable:
            self.routes.pause(route.id, self.options.report_every)
            return False
        if probe is None:
            self.routes.drop(route.id)
            return False
        self.routes.pause(route.id, self.options.pause if probe.granted else probe.paused_for)
        return probe.granted or probe.paused_for is None

    async def _report_regularly(self, recorder: Recorder) -> None:
        loaded_at, is_last = time.monotonic(), False
        while not is_last:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.options.report_every):
                    await self._urgent.wait()
            self._urgent.clear()
            is_last = self._is_closing
            await self._attempt(self._report(recorder))
            if time.monotonic() - loaded_at >= self.options.reload_every and not is_last:
                loaded_at = time.monotonic()
                await self._attempt(self._reload(recorder))

    async def _attempt(self, duty: Awaitable[None]) -> None:
        try:
            await duty
        except Exception as error:  # noqa: BLE001 - counts must not be lost, whatever the error is
            self._log_once(error)

    async def _report(self, recorder: Recorder) -> None:
        # A judgment must wait for counts that another report has taken and whose verdicts are pending.
        async with self._report_lock:
            await self._report_taken(recorder)

    async def _report_taken(self, recorder: Recorder) -> None:
        counters = self.counters.take()
        if not counters:
            return
        try:
            verdicts = await recorder.report(counters, self.options)
        except BaseException:
            self.counters.put_back(counters)
            raise
        self._logged_errors.clear()
        for counter in counters:
            await self._follow(counter.route_id, verdicts.get(counter.route_id))

    async def _follow(self, route_id: int, verdict: Verdict | None) -> None:
        if verdict is None or not verdict.active:
            log.warning("Route %d is disabled or deleted; it is not used any more", route_id)
            self.routes.drop(route_id)
            await self.sessions.forget(route_id)
            return
        self.routes.pause(route_id, verdict.paused_for)
        if verdict.is_blamed:
            log.warning("Route %d is paused: several stores were forbidden on it and on no other route", route_id)
            await self.sessions.forget(route_id)

    async def _reload(self, recorder: Recorder) -> None:
        self.routes.replace(await recorder.routes())

    async def _load_initially(self, recorder: Recorder) -> None:
        """Load the routes, waiting for a starting database. Raises DatabaseUnavailable, ConfigError."""
        until = time.monotonic() + OPENING_SECONDS
        while True:
            try:
                return await self._reload(recorder)
            except DatabaseUnavailable as error:
                if time.monotonic() > until:
                    raise
                self._log_once(error)
            await asyncio.sleep(PAUSE_SECONDS)

    def _log_once(self, error: Exception) -> None:
        """Log each kind of error once until a report succeeds; unexpected ones with a traceback."""
        level = logging.DEBUG if type(error) in self._logged_errors else logging.WARNING
        self._logged_errors.add(type(error))
        unforeseen = None if isinstance(error, RolecallError) else error
        log.log(level, "The egress cannot update its routes: %s", error, exc_info=unforeseen)


class Visit:
    """Requests for one purpose to one host. Call `ready` before each, and report its outcome afterwards."""

    def __init__(self, egress: Egress, host: str, store: str | None, about: str | None, rates: Rates) -> None:
        self._egress = egress
        self._host = host
        self._store = store
        self._about = about
        self._rates = rates
        self._forbidden_on: set[int] = set()
        self._session: Session | None = None
        self._tried_routes: set[int] = set()
        self._is_let_in = False

    @property
    def can_switch_route(self) -> bool:
        """Whether the next attempt could use a route that this visit has not tried, without waiting."""
        return self._session is None and self._egress.routes.has_another(self._tried_routes)

    async def ready(self) -> Session:
        """Wait for a turn and return the session to use. Raises HeldBack."""
        if not self._is_let_in:
            self._egress.breakers.admit(self._host)
            # An attempt may take several requests; all of them belong to the test of a host.
            self._is_let_in = True
        if self._session is None:
            self._session = await self._egress.session(self._tried_routes)
        if self._store is not None:
            await self._egress.store_rate_limiter.wait(self._store, self._rates.store)
        await self._egress.host_rate_limiter.wait(self._host, self._rates.host)
        return self._session

    def record_success(self) -> None:
        self._record_response()
        if self._session is not None:
            self._tried_routes.clear()
            self._forbidden_on.clear()
            self._egress.record_success(self._session, is_evidence=self._about is not None)

    async def record_forbidden(self, error: str) -> None:
        """Report a 403; the next attempt uses another session."""
        # Neither a success nor a failure of the host, so its circuit stays as it is.
        self._is_let_in = False
        if self._session is None:
            return
        if self._about is None:
            await self._fail(error)
        else:
            self._forbidden_on.add(self._session.route.id)
            self._egress.record_forbidden(self._session, self._about, error)
        await self._change()

    async def give_up(self) -> None:
        """Report that the visit has failed. Raises RouteBlamed if the routes are to blame for the 403 responses."""
        if self._forbidden_on:
            # If the host rejects all visits, whatever their subject, its circuit opens.
            self._egress.breakers.record_failure(self._host)
            await self._egress.blame(self._forbidden_on)

    async def record_rejection(self, error: str) -> None:
        """Report another kind of rejection; the next attempt uses another session, and the profile stays usable."""
        self._record_response()
        await self._fail(error)
        await self._change()

    async def record_rate_limit(self, error: str, seconds: float | None) -> None:
        """Report that the host requests a lower rate on this route, with the requested wait in seconds, if any."""
        self._record_response()
        await self._fail(error)
        if self._session is not None and seconds:
            self._egress.routes.let_rest(self._session.route.id, seconds)
            await self.leave()

    async def record_no_response(self, error: str, seconds: float | None = None) -> None:
        """Report that the host did not respond, or with an error of its own."""
        self._is_let_in = False
        self._egress.breakers.record_failure(self._host)
        await self._fail(error)
        if self._session is not None and seconds:
            self._egress.routes.let_rest(self._session.route.id, seconds)
            await self.leave()

    async def record_not_sent(self, error: str) -> None:
        """Report that the route itself failed; the next attempt uses another one."""
        self._is_let_in = False
        if self._session is not None:
            self._egress.routes.note_failure(self._session.route.id)
        await self._fail(error)
        await self._change()

    async def record_send_failure(self, failure: SendFailure) -> None:
        """Report that there was no response, according to its cause."""
        match failure.blame:
            case Blame.ROUTE:
                await self.record_not_sent(failure.text)
            case Blame.WALL:
                await self.record_forbidden(f"blocked by {failure.text}")
            case Blame.CERTIFICATE:
                await self.record_rejection(failure.text)
            case Blame.HOST:
                await self.record_no_response(failure.text)

    async def leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.end()

    def _record_response(self) -> None:
        self._is_let_in = False
        self._egress.breakers.record_response(self._host)

    async def _fail(self, error: str) -> None:
        if self._session is not None:
            self._egress.counters.count_failure(self._session.route.id, error)

    async def _change(self) -> None:
        if self._session is not None:
            self._tried_routes.add(self._session.route.id)
            await self._egress.sessions.forget(self._session.route.id, self._session)
            await self.leave()
