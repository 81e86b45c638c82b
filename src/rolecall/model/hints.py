"""Hints for unknown names: the equivalent of a word of another library, or the nearest valid name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

# Options of Celery, Dramatiq, Procrastinate, RQ and arq, with the option of Rolecall.
OPTIONS: Mapping[str, str] = {
    "autoretry_for": "every error is retried, up to max_attempts=",
    "bind": "declare the first parameter as ctx: Context",
    "countdown": "use after=",
    "delay": "use after=",
    "depends_on": "use needs=",
    "eta": "use scheduled_for=",
    "job_id": "the database assigns ids; use dedupe_key= to enqueue once",
    "job_timeout": "use timeout=",
    "lock": "use key=",
    "max_retries": "use max_attempts=, which includes the first attempt",
    "max_tries": "use max_attempts=",
    "pass_context": "declare the first parameter as ctx: Context",
    "queue": "use role=",
    "queue_name": "use role=",
    "queueing_lock": "use dedupe_key=",
    "rate_limit": "use key= with app.keys(capacity=...) to limit concurrency",
    "retries": "use max_attempts=, which includes the first attempt",
    "retry_backoff": "use retry=exponential(...)",
    "run_at": "use scheduled_for=",
    "schedule_at": "use scheduled_for=",
    "schedule_in": "use after=",
    "task_id": "the database assigns ids; use dedupe_key= to enqueue once",
    "time_limit": "use timeout=",
    "ttl": "use expires=",
}
# Methods of their task objects, with the method of a handler.
METHODS: Mapping[str, str] = {
    "apply": "call the handler as a function, or use rolecall.testing.inline in a test",
    "apply_async": "use using(after=60, role=...).enqueue(...)",
    "batch_defer": "use client.enqueue_many([handler.task(...), ...])",
    "configure": "use using(...)",
    "defer": "use enqueue(...)",
    "defer_async": "use aenqueue(...)",
    "delay": "use enqueue(...)",
    "kiq": "use aenqueue(...)",
    "message": "use task(...)",
    "s": "use task(...)",
    "send": "use enqueue(...)",
    "send_with_options": "use using(after=60, role=...).enqueue(...)",
    "signature": "use task(...)",
    "si": "use task(...)",
}


def close_to(word: str, known: Collection[str]) -> str:
    """Return `; did you mean 'priority'?`, or an empty text if no known name is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it

    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def option_hint(word: str, known: Collection[str]) -> str:
    """Return the end of the error for an unknown option, beginning with `; `, or an empty text."""
    return f"; {OPTIONS[word]}" if word in OPTIONS else close_to(word, known)


def method_hint(word: str, known: Collection[str]) -> str:
    """Return the end of the error for an unknown method of a handler, beginning with `; `, or an empty text."""
    return f"; {METHODS[word]}" if word in METHODS else close_to(word, known)


def require_options(
    options: Collection[str], known: Collection[str], what: str, otherwise: Callable[[str], str] | None = None
) -> None:
    """Raise TypeError, with a hint, for an option that is not known. `what` is for example `a handler`.

    `otherwise` returns the hint for a word that has no equivalent and is not similar to an option. The default is the
    list of all options.
    """
    for word in options:
        if word not in known:
            hint = option_hint(word, known)
            if not hint:
                hint = f"; the options are {', '.join(sorted(known))}" if otherwise is None else otherwise(word)
            raise TypeError(f"{word}= is not an option of {what}{hint}")
