"""Egress: the routes and profiles of requests, their rate, and the consequences of responses.

    Visit ──► Sessions ──► RoutePool      the next route; its HTTP client, cookies and profile
      │  ──► Breakers                     pause hosts that keep failing
      │  ──► rate limiters ──► Recorder   limit the requests per second to a host and about a store
      └──► Counters ──► Recorder          outcomes of requests, stored every second

A visit serves one purpose: a store's menu, or one lookup. It keeps its session until a response rejects
that, and then continues over another route with another profile. A route is blamed for 403 responses
only if several stores are forbidden on it and on no other route; then it is paused and probed.
Otherwise the store itself is forbidden. Only the recorder uses the database. Without one, requests
leave directly and nothing is stored. A request that cannot be sent now raises HeldBack with the seconds
to wait.
"""

from __future__ import annotations

from storecrawl.egress.bodies import BodyTooLarge, BodyUnreadable, read_body
from storecrawl.egress.egress import Egress, Visit
from storecrawl.egress.errors import (
    CircuitOpen,
    HeldBack,
    NoActiveRoute,
    NoUsableRoute,
    RouteBlamed,
    RouteError,
    TurnTooFar,
)
from storecrawl.egress.failures import Blame, SendFailure, failure_of
from storecrawl.egress.options import EgressOptions, Rates
from storecrawl.egress.profiles import Profile, load_profiles
from storecrawl.egress.recorder import Recorder
from storecrawl.egress.routes import DIRECT, Route, RouteProtocol
from storecrawl.egress.sessions import Session

__all__ = [
    "DIRECT",
    "Blame",
    "BodyTooLarge",
    "BodyUnreadable",
    "CircuitOpen",
    "Egress",
    "EgressOptions",
    "HeldBack",
    "NoActiveRoute",
    "NoUsableRoute",
    "Profile",
    "Rates",
    "Recorder",
    "Route",
    "RouteBlamed",
    "RouteError",
    "RouteProtocol",
    "SendFailure",
    "Session",
    "TurnTooFar",
    "Visit",
    "failure_of",
    "load_profiles",
    "read_body",
]
