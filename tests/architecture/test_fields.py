"""Lists of fields agree with each other."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from rolecall.app.handlers import HandlerOptions, HandlerSettings
from rolecall.model.retry import RetryKind, exponential
from rolecall.web.dashboard.presenters.settings import retry_in_words


def test_app_task_parameters_match_the_handler_settings() -> None:
    words_of_their_own = {"batch", "gather"}  # they decide which overload of the decorator it is
    settings = get_type_hints(HandlerSettings)

    assert get_type_hints(HandlerOptions) == {
        word: hint for word, hint in settings.items() if word not in words_of_their_own
    }
    assert words_of_their_own < settings.keys()


@pytest.mark.parametrize("kind", [kind for kind in RetryKind if kind is not RetryKind.EXPONENTIAL])
def test_each_retry_kind_has_its_own_description(kind: RetryKind) -> None:
    policy = exponential().to_json()

    words = retry_in_words({**policy, "kind": kind.value})

    assert words not in {kind.value, retry_in_words(policy)}


def test_unknown_retry_kind_is_never_described_as_another() -> None:
    assert retry_in_words({**exponential().to_json(), "kind": "unheard-of"}) == "unheard-of"
