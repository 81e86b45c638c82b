"""Settings of alerts: their receivers, and when a problem is reported."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from rolecall.config.parsing import InvalidText, integer
from rolecall.config.setting import Setting, Source
from rolecall.model.errors import ConfigError

WEB = ("http", "https")
SMTP_PORTS = {"smtp": 587, "smtps": 465}
SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix that Standard Webhooks defines
LEAST_SECRET_BYTES = 24
NO_SECRET = f"is not a secret of Standard Webhooks: {SECRET_PREFIX} and at least {LEAST_SECRET_BYTES} bytes in Base64"
HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """An SMTP server. Without `is_implicit_tls`, the connection uses STARTTLS if the server offers it."""

    host: str
    port: int
    is_implicit_tls: bool
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def web_addresses(text: str) -> tuple[str, ...]:
    """Split URLs at white space. Raises InvalidText."""
    urls = tuple(text.split())
    for url in urls:
        web_address(url)
    return urls


def web_address(text: str) -> str:
    """Validate an absolute HTTP URL. Raises InvalidText."""
    parts = urlsplit(text)
    if parts.scheme not in WEB or not parts.hostname:
        raise InvalidText("is not an http or https URL", shown=HIDDEN)
    return text


def signing_secret(text: str) -> str:
    """Validate a secret of Standard Webhooks. Raises InvalidText."""
    try:
        secret = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise InvalidText(NO_SECRET, shown=HIDDEN) from None
    if len(secret) < LEAST_SECRET_BYTES:
        raise InvalidText(NO_SECRET, shown=HIDDEN)
    return text


def mail_addresses(text: str) -> tuple[str, ...]:
    """Split mail addresses at commas. Raises InvalidText."""
    found = tuple(each.strip() for each in text.split(",") if each.strip())
    for each in found:
        mail_address(each)
    return found


def mail_address(text: str) -> str:
    """Validate the form of a mail address. Raises InvalidText."""
    local, at, domain = text.rpartition("@")
    if not (local and at and domain) or any(character.isspace() for character in text):
        raise InvalidText("is not a mail address")
    return text


def mail_server(text: str) -> MailServer:
    """Parse the URL of an SMTP server. Raises InvalidText."""
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        raise InvalidText("has an invalid port", shown=HIDDEN) from None
    if parts.scheme not in SMTP_PORTS or not parts.hostname:
        raise InvalidText("is not a URL of the form smtp://user:password@host:587 or smtps://host", shown=HIDDEN)
    return MailServer(
        host=parts.hostname,
        port=port or SMTP_PORTS[parts.scheme],
        is_implicit_tls=parts.scheme == "smtps",
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )


WEBHOOKS = Setting(
    name="ROLECALL_ALERT_WEBHOOKS",
    form="URLS",
    parse=web_addresses,
    meaning="The URLs to which alerts are posted, separated by spaces.",
)
WEBHOOK_SECRET = Setting(
    name="ROLECALL_ALERT_WEBHOOK_SECRET",
    form="SECRET",
    parse=signing_secret,
    meaning="The secret that signs posted alerts: whsec_ and 24 or more random bytes in Base64.",
)
MAIL_TO = Setting(
    name="ROLECALL_ALERT_MAIL_TO",
    form="ADDRESSES",
    parse=mail_addresses,
    meaning="The mail addresses to which alerts are sent, separated by commas.",
)
MAIL_FROM = Setting(
    name="ROLECALL_ALERT_MAIL_FROM",
    form="ADDRESS",
    parse=mail_address,
    meaning="The sender of the mails; by default the first receiver.",
)
MAIL_SERVER = Setting(
    name="ROLECALL_ALERT_MAIL_SERVER",
    form="URL",
    parse=mail_server,
    meaning="The server that sends the mails: smtp://user:password@host:587 or smtps://host.",
)
DASHBOARD = Setting(
    name="ROLECALL_ALERT_DASHBOARD",
    form="URL",
    parse=web_address,
    meaning="The address of the dashboard, for the links in alerts. Without it, alerts have no links.",
)
AFTER = Setting(
    name="ROLECALL_ALERT_AFTER",
    form="SECONDS",
    default="60",
    parse=integer(0, 86_400),
    meaning="How long a problem must have existed before an alert is sent.",
)
SETTINGS = (WEBHOOKS, WEBHOOK_SECRET, MAIL_TO, MAIL_FROM, MAIL_SERVER, DASHBOARD, AFTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertingSettings:
    """The receivers of alerts. `dashboard` is the start of links, and `after_seconds` how long a problem must last."""

    webhooks: tuple[str, ...] = field(default=(), repr=False)
    webhook_secret: str | None = field(default=None, repr=False)
    mail_to: tuple[str, ...] = ()
    mail_from: str | None = None
    mail_server: MailServer | None = None
    dashboard: str | None = None
    after_seconds: int = 60


def read_alerting_settings(source: Source) -> AlertingSettings:
    """Read the settings of alerts. Raises ConfigError if one that others need is missing."""
    settings = AlertingSettings(
        webhooks=source.read(WEBHOOKS, ()),
        webhook_secret=source.read(WEBHOOK_SECRET, None),
        mail_to=source.read(MAIL_TO, ()),
        mail_from=source.read(MAIL_FROM, None),
        mail_server=source.read(MAIL_SERVER, None),
        dashboard=source.read(DASHBOARD, None),
        after_seconds=source.read(AFTER, 60),
    )
    if settings.webhooks and settings.webhook_secret is None:
        raise ConfigError(f"must be set, because {WEBHOOKS.name} is", variable=WEBHOOK_SECRET.name)
    if settings.mail_to and settings.mail_server is None:
        raise ConfigError(f"must be set, because {MAIL_TO.name} is", variable=MAIL_SERVER.name)
    return settings
