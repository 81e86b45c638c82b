"""Settings of alerts."""

from __future__ import annotations

import base64

import pytest

from rolecall.config import read_alerting
from rolecall.config.alerting import MailServer
from rolecall.model.errors import ConfigError

SECRET = f"whsec_{base64.b64encode(bytes(24)).decode()}"
HOOK = "https://example.org/hook?token=abc"


def test_receivers_are_read() -> None:
    settings = read_alerting(
        {
            "ROLECALL_ALERT_WEBHOOKS": f"{HOOK} http://127.0.0.1:8080",
            "ROLECALL_ALERT_WEBHOOK_SECRET": SECRET,
            "ROLECALL_ALERT_MAIL_TO": "ada@example.org, bob@example.org",
            "ROLECALL_ALERT_MAIL_SERVER": "smtp://ada:p%40ss@mail.example.org",
        }
    )

    assert settings.webhooks == (HOOK, "http://127.0.0.1:8080")
    assert settings.mail_to == ("ada@example.org", "bob@example.org")
    server = MailServer(host="mail.example.org", port=587, is_implicit_tls=False, username="ada", password="p@ss")
    assert settings.mail_server == server
    assert "token" not in repr(settings)
    assert "p@ss" not in repr(settings)


def test_smtps_server_uses_its_own_port() -> None:
    settings = read_alerting({"ROLECALL_ALERT_MAIL_SERVER": "smtps://mail.example.org"})

    assert settings.mail_server == MailServer(host="mail.example.org", port=465, is_implicit_tls=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ROLECALL_ALERT_WEBHOOKS", "example.org/hook"),
        ("ROLECALL_ALERT_WEBHOOKS", "ftp://example.org"),
        ("ROLECALL_ALERT_WEBHOOK_SECRET", "short"),
        ("ROLECALL_ALERT_WEBHOOK_SECRET", "whsec_YWJj"),
        ("ROLECALL_ALERT_MAIL_TO", "ada"),
        ("ROLECALL_ALERT_MAIL_FROM", "ada @example.org"),
        ("ROLECALL_ALERT_MAIL_SERVER", "mail.example.org:25"),
        ("ROLECALL_ALERT_MAIL_SERVER", "smtp://host:port"),
        ("ROLECALL_ALERT_AFTER", "soon"),
    ],
)
def test_invalid_text_is_rejected_with_the_name_of_its_variable(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        read_alerting({name: text})


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"ROLECALL_ALERT_WEBHOOKS": HOOK}, "ROLECALL_ALERT_WEBHOOK_SECRET"),
        ({"ROLECALL_ALERT_MAIL_TO": "ada@example.org"}, "ROLECALL_ALERT_MAIL_SERVER"),
    ],
)
def test_receiver_without_the_setting_that_it_needs_is_rejected(given: dict[str, str], missing: str) -> None:
    with pytest.raises(ConfigError, match=f"{missing}: must be set"):
        read_alerting(given)
