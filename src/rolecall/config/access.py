"""Settings of the API: its address, authentication and rate limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rolecall.config.database import DatabaseSettings
from rolecall.config.parsing import InvalidText, address, addresses, decimal, integer, one_of, origins, path
from rolecall.config.setting import Setting, Source

LOOPBACK = "127.0.0.1"
USUAL_STATE = Path("~/.local/state")
TOKEN_NAME = "local-token"  # noqa: S105 - a name, not a secret
DAY_S = 86_400
MOST_REQUESTS = 1_000_000
MOST_SESSION_MINUTES = 43_200


class AuthMode(StrEnum):
    """The users of the API: API keys and logins; also this machine's token; or all users of this machine."""

    keys = "keys"
    token = "token"  # noqa: S105 - a word, not a secret
    off = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The API's address. Without a port, the default one is used, or any free one if that is taken."""

    enabled: bool = True
    host: str = LOOPBACK
    port: int | None = None

    @property
    def asked_for(self) -> bool:
        """True if the address was configured."""
        return self.port is not None


def _http(text: str) -> HttpSettings:
    if text.lower() == "off":
        return HttpSettings(enabled=False)
    try:
        host, port = address(text)
    except InvalidText:
        raise InvalidText("is neither off nor an address such as 127.0.0.1:8321") from None
    return HttpSettings(host=host, port=port)


HTTP = Setting(
    name="ROLECALL_HTTP",
    flag="--http",
    form="HOST:PORT|off",
    parse=_http,
    meaning="The address of the API, or off; by default 127.0.0.1:8321, or any free port.",
)
AUTH = Setting(
    name="ROLECALL_AUTH",
    flag="--auth",
    form="keys|token|off",
    parse=one_of(AuthMode),
    meaning="Authentication over HTTP: by default token on this machine, and keys elsewhere. token and off work only "
    "on this machine.",
)
TRUSTED_ORIGINS = Setting(
    name="ROLECALL_TRUSTED_ORIGINS",
    flag="--trusted-origins",
    form="A,B",
    parse=origins,
    meaning="Additional origins whose pages may make changes, such as https://work.example.",
)
TOKEN_FILE = Setting(
    name="ROLECALL_TOKEN_FILE",
    form="FILE",
    parse=Path,
    meaning="The file of the local token; by default in the data folder, or with a DATABASE_URL in "
    "~/.local/state/rolecall.",
)
REQUESTS_PER_MINUTE = Setting(
    name="ROLECALL_REQUESTS_PER_MINUTE",
    form="N",
    default="1200",
    parse=integer(1, MOST_REQUESTS),
    meaning="The most requests of one caller per minute.",
)
REQUESTS_PER_HOUR = Setting(
    name="ROLECALL_REQUESTS_PER_HOUR",
    aliases=("USER_RATE_LIMIT_PER_HOUR", "RATE_LIMIT_PER_HOUR"),
    form="N",
    parse=integer(1, MOST_REQUESTS),
    meaning="The most requests of one caller per hour; by default unlimited.",
)
LOGINS_PER_MINUTE = Setting(
    name="ROLECALL_LOGINS_PER_MINUTE",
    form="N",
    default="20",
    parse=integer(1, MOST_REQUESTS),
    meaning="The most login attempts from one address per minute.",
)
FAILED_LOGINS = Setting(
    name="ROLECALL_FAILED_LOGINS",
    aliases=("MAX_FAILED_ATTEMPTS",),
    form="N",
    default="10",
    parse=integer(1, 1_000),
    meaning="Failed logins in a row after which a person is locked out.",
)
LOCKOUT = Setting(
    name="ROLECALL_LOCKOUT",
    aliases=("LOCKOUT_DURATION_SECONDS",),
    form="SECONDS",
    default="900",
    parse=decimal(1, DAY_S),
    meaning="How long a person is locked out.",
)
SESSION_MINUTES = Setting(
    name="ROLECALL_SESSION_MINUTES",
    aliases=("ACCESS_TOKEN_EXPIRE_MINUTES",),
    form="MINUTES",
    default="720",
    parse=integer(1, MOST_SESSION_MINUTES),
    meaning="How long a session lasts, in minutes.",
)
SESSION_IDLE_MINUTES = Setting(
    name="ROLECALL_SESSION_IDLE_MINUTES",
    form="MINUTES",
    default="120",
    parse=integer(1, MOST_SESSION_MINUTES),
    meaning="How long a session lasts without a request, in minutes.",
)
FORWARDED_BY = Setting(
    name="ROLECALL_FORWARDED_BY",
    form="A,B",
    parse=addresses,
    meaning="The trusted proxies, as addresses or networks. Their headers determine a request's origin.",
)
ROOT_PATH = Setting(
    name="ROLECALL_ROOT_PATH",
    form="PATH",
    parse=path,
    meaning="The path prefix that a proxy removes, such as /queue.",
)
STATE_HOME = Setting(
    name="XDG_STATE_HOME",
    foreign=True,
    form="DIR",
    default=str(USUAL_STATE),
    parse=Path,
    meaning="The folder of programs' private state, such as the local token.",
)
# Settings for signing tokens in other systems. Rolecall's sessions are rows.
SIGNING = tuple(
    Setting(name=name, foreign=True, form="TEXT", parse=bool, meaning="Ignored with a warning: no tokens are signed.")
    for name in ("SECRET_KEY", "ALGORITHM")
)
# The settings that also have flags.
ACCESS = (AUTH, TRUSTED_ORIGINS)
SETTINGS = (
    HTTP,
    *ACCESS,
    TOKEN_FILE,
    REQUESTS_PER_MINUTE,
    REQUESTS_PER_HOUR,
    LOGINS_PER_MINUTE,
    FAILED_LOGINS,
    LOCKOUT,
    SESSION_MINUTES,
    SESSION_IDLE_MINUTES,
    FORWARDED_BY,
    ROOT_PATH,
    STATE_HOME,
    *SIGNING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Authentication and rate limits of the API.

    Without `auth`, the token is required if only this machine can reach the server, and API keys or logins elsewhere.
    Requests are limited per caller, logins per address. `forwarded_by` lists the trusted proxies; `root_path` is the
    path prefix that they remove. `token_file` is the file of the local token and `token` its content, once it is read.
    After `failed_logins` failures in a row, logins are blocked for `lockout` seconds. `ignored` lists variables that
    are set but have no effect.
    """

    auth: AuthMode | None = None
    token_file: Path | None = None
    token: str | None = field(default=None, repr=False)
    trusted_origins: frozenset[str] = frozenset()
    requests_per_minute: int = 1_200
    requests_per_hour: int | None = None
    logins_per_minute: int = 20
    failed_logins: int = 10
    lockout: float = 900.0
    session_minutes: int = 720
    session_idle_minutes: int = 120
    forwarded_by: str = ""
    root_path: str = ""
    ignored: tuple[str, ...] = ()


def read_http_settings(source: Source) -> HttpSettings:
    """Read the address of the API. Raises ConfigError."""
    return source.read(HTTP, HttpSettings())


def read_access_settings(source: Source, database: DatabaseSettings) -> AccessSettings:
    """Read the settings of authentication. Raises ConfigError."""
    standard = AccessSettings()
    return AccessSettings(
        auth=source.read(AUTH, standard.auth),
        token_file=source.read(TOKEN_FILE, _usual_token_file(source, database)),
        trusted_origins=source.read(TRUSTED_ORIGINS, standard.trusted_origins),
        requests_per_minute=source.read(REQUESTS_PER_MINUTE, standard.requests_per_minute),
        requests_per_hour=source.read(REQUESTS_PER_HOUR, standard.requests_per_hour),
        logins_per_minute=source.read(LOGINS_PER_MINUTE, standard.logins_per_minute),
        failed_logins=source.read(FAILED_LOGINS, standard.failed_logins),
        lockout=source.read(LOCKOUT, standard.lockout),
        session_minutes=source.read(SESSION_MINUTES, standard.session_minutes),
        session_idle_minutes=source.read(SESSION_IDLE_MINUTES, standard.session_idle_minutes),
        forwarded_by=source.read(FORWARDED_BY, standard.forwarded_by),
        root_path=source.read(ROOT_PATH, standard.root_path),
        ignored=tuple(setting.name for setting in SIGNING if source.read(setting, default=False)),
    )


def _usual_token_file(source: Source, database: DatabaseSettings) -> Path:
    state = source.read(STATE_HOME, USUAL_STATE) / "rolecall"
    return (database.data_dir if database.embedded and not database.pools else state) / TOKEN_NAME
