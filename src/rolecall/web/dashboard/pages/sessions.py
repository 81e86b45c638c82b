"""The page of open sessions: all of them for an admin, and their own for others."""

from __future__ import annotations

from fastapi import Response

from rolecall.web.access.sessions import SessionId, end_session_of, sessions_of
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading

router = Pages()


@router.get("/sessions")
async def list_sessions(view: Reading) -> Response:
    """Show the open sessions, newest first."""
    return view.page("sessions.html", **await view.read(sessions=sessions_of(view.request, view.services, view.caller)))


@router.post("/sessions/{session_id}/end")
async def end_session(session_id: SessionId, view: Reading) -> Response:
    """End a session after a confirmation."""
    await view.confirm("End this session?", "End", "The browser or program that uses it must log in again.")
    await end_session_of(view.services, view.caller, session_id)
    return view.done("The session has ended.", to="/sessions")
