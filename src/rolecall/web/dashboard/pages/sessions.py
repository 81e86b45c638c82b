"""The page of open sessions, all of them for an admin, and of the caller's own password."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Response

from rolecall.model.errors import ConfigError, NotAuthenticated
from rolecall.web.access.passwords import LONGEST, SHORTEST
from rolecall.web.access.sessions import SessionId, end_session_of, sessions_of
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading
from rolecall.web.http.requests import set_session_cookie
from rolecall.web.state import state_of

router = Pages()

Password = Annotated[str, Form(max_length=LONGEST)]


@router.get("/sessions")
async def list_sessions(view: Reading) -> Response:
    """Show the open sessions, newest first."""
    found = await view.read(sessions=sessions_of(view.request, view.services, view.caller))
    return view.page("sessions.html", shortest=SHORTEST, longest=LONGEST, **found)


@router.post("/sessions/{session_id}/end")
async def end_session(session_id: SessionId, view: Reading) -> Response:
    """End a session after a confirmation."""
    await view.confirm("End this session?", "End", "The browser or program that uses it must log in again.")
    await end_session_of(view.services, view.caller, session_id)
    return view.done("The session has ended.", to="/sessions")


@router.post("/password")
async def change_password(view: Reading, current: Password, new: Password, again: Password) -> Response:
    """Change the caller's own password, and end their sessions in other browsers."""
    if new != again:
        return view.done("The new passwords differ.", to="/sessions", tone="bad")
    logins = state_of(view.request).logins
    try:
        session = await logins.change_password(view.request, view.caller, current, new)
    except NotAuthenticated:
        return view.done("The current password is wrong.", to="/sessions", tone="bad")
    except ConfigError:
        return view.done(f"A password has {SHORTEST} to {LONGEST:,} characters.", to="/sessions", tone="bad")
    response = view.done("Your password has changed. All your other sessions have ended.", to="/sessions")
    set_session_cookie(view.request, response, session, logins.seconds)
    return response
