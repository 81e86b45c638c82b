"""Settings from the environment and from flags, and errors for invalid values."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.config import HttpSettings, LogFormat, LogLevel, LogSettings, read_settings
from rolecall.model.errors import ConfigError

BAD_TEXTS = [
    ("ROLECALL_SLOTS", "many"),
    ("ROLECALL_SLOTS", "0"),
    ("ROLECALL_SLOTS", "-1"),
    ("ROLECALL_SLOTS", "1.5"),
    ("ROLECALL_SLOTS", "99999999999999999999"),
    ("ROLECALL_PREFETCH", "-1"),
    ("ROLECALL_PREFETCH", "10001"),
    ("ROLECALL_POLL_INTERVAL_MS", "5s"),
    ("ROLECALL_POLL_INTERVAL_MS", "0"),
    ("ROLECALL_HEARTBEAT_INTERVAL_MS", "inf"),
    ("ROLECALL_GRACE", "nan"),
    ("ROLECALL_GRACE", "-1"),
    ("ROLECALL_MEMORY_BACKOFF_THRESHOLD", "85"),
    ("ROLECALL_CPU_BACKOFF_THRESHOLD", "0"),
    ("ROLECALL_BACKOFF_DURATION_MS", "0"),
    ("MAX_CONCURRENT_TASKS", "0"),
    ("ROLECALL_ROLES", "fetch,,parse"),
    ("ROLECALL_ROLES", "no spaces"),
    ("ROLECALL_ROLES", "1st"),
    ("ROLECALL_WORKER_ID", "x" * 101),
    ("ROLECALL_WORKER_ID", "a\nb"),
    ("ROLECALL_HTTP", "8321"),
    ("ROLECALL_HTTP", "localhost"),
    ("ROLECALL_HTTP", "localhost:65536"),
    ("ROLECALL_HTTP", "::1:80"),
    ("ROLECALL_LOG", "xml"),
    ("USER_RATE_LIMIT_PER_HOUR", "0"),
    ("MAX_FAILED_ATTEMPTS", "-1"),
    ("LOCKOUT_DURATION_SECONDS", "soon"),
    ("ACCESS_TOKEN_EXPIRE_MINUTES", "1.5"),
    ("HEARTBEAT_INTERVAL_SECONDS", "0"),
    ("ROLECALL_LOG_LEVEL", "loud"),
    ("ROLECALL_LOG_TRACEBACKS", "maybe"),
    ("ROLECALL_DATA_DIR", __file__),
    ("ROLECALL_POOLED", "perhaps"),
    ("ROLECALL_NOTIFICATIONS", "kafka://broker:9092"),
    ("ROLECALL_NOTIFICATIONS", "redis://:6379"),
    ("ROLECALL_NOTIFICATIONS", "redis://host:port"),
    ("ROLECALL_NOTIFICATIONS", "redis://host?prefix=two words"),
]


def test_empty_environment_gives_the_documented_defaults() -> None:
    settings = read_settings({})

    assert settings.database.url is None
    assert settings.database.data_dir == Path("rolecall-data")
    assert (settings.database.pooled, settings.database.listen_url) == (None, None)
    assert settings.worker.poll_interval == 5.0
    assert settings.worker.heartbeat_interval == 30.0
    assert settings.worker.slots == 1
    assert (settings.worker.memory_backoff, settings.worker.cpu_backoff) == (None, None)
    assert settings.worker.backoff_duration == 10.0
    assert settings.worker.roles == ()
    assert settings.notifications == "postgres"
    assert settings.log == LogSettings(format=LogFormat.text, level=LogLevel.info, tracebacks=False)


def test_every_variable_is_read() -> None:
    settings = read_settings(
        {
            "DATABASE_URL": "postgresql://someone@db/work",
            "ROLECALL_DATA_DIR": "elsewhere",
            "ROLECALL_POOLED": "NO",
            "ROLECALL_LISTEN_URL": "postgresql://someone@direct/work",
            "ROLECALL_STANDBY_URL": "postgresql://someone@copy/work",
            "ROLECALL_LOG": "JSON",
            "ROLECALL_LOG_LEVEL": "debug",
            "ROLECALL_LOG_TRACEBACKS": "Yes",
            "ROLECALL_ROLES": "fetch, parse,fetch",
            "ROLECALL_WORKER_ID": "worker-7",
            "ROLECALL_SLOTS": "8",
            "ROLECALL_PREFETCH": "0",
            "ROLECALL_GRACE": "2.5",
            "ROLECALL_STOP_WHEN_CUT_OFF": "yes",
            "ROLECALL_POLL_INTERVAL_MS": "250",
            "ROLECALL_HEARTBEAT_INTERVAL_MS": "1000",
            "ROLECALL_MEMORY_BACKOFF_THRESHOLD": "0.85",
            "ROLECALL_CPU_BACKOFF_THRESHOLD": "0.90",
            "ROLECALL_BACKOFF_DURATION_MS": "20000",
            "ROLECALL_POD_NAME": "pod-7",
            "ROLECALL_NODE_NAME": "node-1",
            "ROLECALL_NOTIFICATIONS": "nats://one:4222,nats://two:4222",
        }
    )

    assert settings.database.url == "postgresql://someone@db/work"
    assert not settings.database.embedded
    assert settings.database.data_dir == Path("elsewhere")
    assert settings.database.pooled is False
    assert settings.database.listen_url == "postgresql://someone@direct/work"
    assert settings.database.standby_url == "postgresql://someone@copy/work"
    assert settings.log == LogSettings(format=LogFormat.json, level=LogLevel.debug, tracebacks=True)
    assert settings.worker.roles == ("fetch", "parse")
    assert settings.worker.name == "worker-7"
    assert (settings.worker.slots, settings.worker.prefetch, settings.worker.grace) == (8, 0, 2.5)
    assert settings.worker.stop_when_cut_off
    assert (settings.worker.poll_interval, settings.worker.heartbeat_interval) == (0.25, 1.0)
    assert (settings.worker.memory_backoff, settings.worker.cpu_backoff) == (0.85, 0.9)
    assert settings.worker.backoff_duration == 20.0
    assert (settings.worker.pod, settings.worker.node) == ("pod-7", "node-1")
    assert settings.notifications == "nats://one:4222,nats://two:4222"


def test_variable_names_of_another_system_are_read_as_a_fallback() -> None:
    theirs = {
        "ACCESS_TOKEN_EXPIRE_MINUTES": "60",
        "RATE_LIMIT_PER_HOUR": "1000",
        "MAX_FAILED_ATTEMPTS": "5",
        "LOCKOUT_DURATION_SECONDS": "600",
        "HEARTBEAT_INTERVAL_SECONDS": "15",
        "SECRET_KEY": "who knows",
    }
    ours = {
        "ROLECALL_SESSION_MINUTES": "30",
        "ROLECALL_REQUESTS_PER_HOUR": "500",
        "ROLECALL_FAILED_LOGINS": "3",
        "ROLECALL_HEARTBEAT_INTERVAL_MS": "1000",
    }

    read, both = read_settings(theirs), read_settings(theirs | ours)

    assert (read.access.session_minutes, read.access.requests_per_hour) == (60, 1000)
    assert (read.access.failed_logins, read.access.lockout, read.worker.heartbeat_interval) == (5, 600, 15)
    assert read.access.ignored == ("SECRET_KEY",)
    assert (both.access.session_minutes, both.access.requests_per_hour) == (30, 500)
    assert (both.access.failed_logins, both.worker.heartbeat_interval) == (3, 1)


@pytest.mark.parametrize(
    ("text", "http"),
    [
        ("", HttpSettings(enabled=True, host="127.0.0.1", port=None)),
        ("Off", HttpSettings(enabled=False)),
        ("0.0.0.0:80", HttpSettings(host="0.0.0.0", port=80)),  # noqa: S104 - it is only read
        ("[::1]:0", HttpSettings(host="::1", port=0)),
        ("db-3.example:8000", HttpSettings(host="db-3.example", port=8000)),
    ],
)
def test_address_is_read_with_its_port_or_off(text: str, http: HttpSettings) -> None:
    assert read_settings({"ROLECALL_HTTP": text}).http == http


@pytest.mark.parametrize(("variable", "text"), BAD_TEXTS)
def test_invalid_value_is_reported_with_its_variable(variable: str, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings({variable: text})

    assert raised.value.variable == variable
    assert raised.value.value == text
    assert variable in str(raised.value)


SEVERAL_NAMES = [
    ({"ROLECALL_SLOTS": "1", "ROLECALL_WORKER_SLOTS": "2", "WORKER_SLOTS": "3", "MAX_CONCURRENT_TASKS": "4"}, 1),
    ({"ROLECALL_WORKER_SLOTS": "2", "WORKER_SLOTS": "3", "MAX_CONCURRENT_TASKS": "4"}, 2),
    ({"WORKER_SLOTS": "3", "MAX_CONCURRENT_TASKS": "4"}, 3),
    ({"MAX_CONCURRENT_TASKS": "4"}, 4),
]


@pytest.mark.parametrize(("environ", "slots"), SEVERAL_NAMES)
def test_own_name_has_precedence_followed_by_specific_alternate_names(environ: dict[str, str], slots: int) -> None:
    assert read_settings(environ).worker.slots == slots


def test_names_of_earlier_releases_are_read() -> None:
    worker = read_settings(
        {"WORKER_ROLE": "mail", "WORKER_ID": "w", "WORKER_GRACE_S": "7", "POLL_INTERVAL_MS": "20"}
    ).worker

    assert (worker.roles, worker.name, worker.grace, worker.poll_interval) == (("mail",), "w", 7, 0.02)


def test_own_database_url_variable_has_precedence() -> None:
    environ = {"DATABASE_URL": "postgresql://theirs/x", "ROLECALL_DATABASE_URL": "postgresql://ours/x"}

    assert read_settings(environ).database.url == "postgresql://ours/x"


def test_invalid_value_is_reported_under_the_name_that_was_set() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({"ROLECALL_WORKER_SLOTS": "many", "WORKER_SLOTS": "8"})

    assert caught.value.variable == "ROLECALL_WORKER_SLOTS"


def test_shared_platform_variable_has_no_prefixed_name() -> None:
    assert read_settings({"ROLECALL_KUBERNETES_SERVICE_HOST": "10.0.0.1"}).scaling.in_cluster is False


@pytest.mark.parametrize(("environ", "pod"), [({}, None), ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "pod-7")])
def test_host_in_a_cluster_is_the_pod(environ: dict[str, str], pod: str | None) -> None:
    assert read_settings({"HOSTNAME": "pod-7"} | environ).worker.pod == pod


def test_empty_variable_counts_as_unset() -> None:
    assert read_settings({"ROLECALL_SLOTS": " ", "DATABASE_URL": "", "ROLECALL_ROLES": ""}) == read_settings({})


def test_flag_overrides_its_variable() -> None:
    assert read_settings({"ROLECALL_SLOTS": "2"}, {"ROLECALL_SLOTS": "3"}).worker.slots == 3


def test_omitted_flag_preserves_the_variable() -> None:
    assert read_settings({"ROLECALL_SLOTS": "2"}, {"ROLECALL_SLOTS": None}).worker.slots == 2


def test_invalid_flag_is_reported_as_a_flag() -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings({}, {"ROLECALL_POLL_INTERVAL_MS": "soon"})

    assert raised.value.variable == "--poll-interval-ms"


def test_invalid_database_url_is_rejected_without_showing_its_password() -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings({"DATABASE_URL": "postgres//someone:hunter2@db/work"})

    assert raised.value.variable == "DATABASE_URL"
    assert "hunter2" not in str(raised.value) + repr(raised.value)


@pytest.mark.parametrize("text", ["/queue", "/queue/", "/ops/queue-2"])
def test_root_path_of_a_proxy_is_read(text: str) -> None:
    assert read_settings({"ROLECALL_ROOT_PATH": text}).access.root_path == text.rstrip("/")


@pytest.mark.parametrize("text", ["queue", "//elsewhere.example", "/a b", "https://x", "/../x"])
def test_invalid_root_path_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a path such as /queue"):
        read_settings({"ROLECALL_ROOT_PATH": text})
