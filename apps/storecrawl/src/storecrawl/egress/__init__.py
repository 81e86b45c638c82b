"""Egress: how requests leave. Who asks (a route and a profile), how often, and what is learned from the answers.

    Visit ──► Sessions ──► RoutePool      which route is next; its HTTP client, cookies and profile
      │  ──► Breakers                     a host that only fails is left alone for a while
      │  ──► rate limiters ──► Recorder   so many requests a second, of one store and of one host
      └──► Counters ──► Recorder          what became of each request, written down every second

A visit is one errand: a store's menu, one lookup. It keeps who asks until an answer says that this one is not
wanted; then it goes on over another route with another profile. What is forbidden (403) is held against a route only
where several stores are forbidden on it and on no other: then it is paused, and tried again; else it is the store's
own. The recorder is the only part that knows the database: without one, everything goes out directly and nothing is
remembered. What cannot be sent now raises HeldBack, with the seconds to wait.
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
from storecrawl.egress.options import EgressOptions
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
