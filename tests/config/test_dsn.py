"""Connection strings as other programs and secret stores write them."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from rolecall.config.dsn import read_dsn
from rolecall.config.parsing import InvalidText

URL = "postgresql://ada:secret@db.example:5432/shop"


PLAIN = "host=db.example port=5432 user=ada password=secret dbname=shop"
ODD_PASSWORD = "p@ss:w/o?r#d%25 é"


@pytest.mark.parametrize(
    "text",
    [
        URL,
        f"{URL}\n",
        f"{URL}\r\n",
        f"\ufeff{URL}",
        f"  {URL} ",
        f"\t{URL}\t",
        f'"{URL}"',
        f"'{URL}'\n",
        f' "{URL}\n" ',
        f"{URL}?",
        URL.replace("postgresql", "postgres"),
        URL.replace("postgresql", "postgresql+asyncpg"),
        URL.replace("postgresql", "postgresql+psycopg"),
        URL.replace("postgresql", "postgresql+psycopg2"),
        URL.replace("postgresql", "postgresql+psycopg_async"),
        URL.replace("postgresql", "postgresql+pg8000"),
        URL.replace("postgresql", "postgres+psycopg2"),
        "postgresql://ada@db.example:5432/shop?password=secret",
        "postgresql://db.example:5432/shop?user=ada&password=secret",
        "postgresql:///shop?host=db.example&port=5432&user=ada&password=secret",
        "postgresql://ada:%73ecret@db.example:5432/shop",
        "postgresql://ada:secret@db.example:5432/?dbname=shop",
        PLAIN,
        f"{PLAIN}\n",
        PLAIN.replace(" ", "\n"),
        PLAIN.replace("=", " = "),
        PLAIN.replace("secret", "'secret'"),
    ],
)
def test_common_form_of_a_connection_string_is_read(text: str) -> None:
    assert conninfo_to_dict(read_dsn(text)) == conninfo_to_dict(URL)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("", {}),
        ("postgresql://", {}),
        ("postgresql:///shop", {"dbname": "shop"}),
        ("postgresql://ada:a#1@b/c", {"user": "ada", "password": "a#1", "host": "b", "dbname": "c"}),
        ("dbname=shop", {"dbname": "shop"}),
        ("service=shop", {"service": "shop"}),
        ("passfile=/run/pass dbname=shop", {"passfile": "/run/pass", "dbname": "shop"}),
        ("postgresql://[::1]:5433/shop", {"host": "::1", "port": "5433", "dbname": "shop"}),
        ("postgresql://%2Fvar%2Frun/shop", {"host": "/var/run", "dbname": "shop"}),
        ("host=@socket dbname=shop", {"host": "@socket", "dbname": "shop"}),
        ("postgresql:///shop?host=/var/run", {"host": "/var/run", "dbname": "shop"}),
        ("postgresql://a:1,b:2/shop", {"host": "a,b", "port": "1,2", "dbname": "shop"}),
        (
            "postgresql://a,b/shop?target_session_attrs=read-write",
            {"host": "a,b", "dbname": "shop", "port": ",", "target_session_attrs": "read-write"},
        ),
        ("postgresql://münchen.example/shop", {"host": "münchen.example", "dbname": "shop"}),
        ("postgresql://a/shop?sslmode=require", {"host": "a", "dbname": "shop", "sslmode": "require"}),
        ("postgresql+asyncpg://a/shop?ssl=require", {"host": "a", "dbname": "shop", "sslmode": "require"}),
        (
            "postgresql://a/shop?options=-c%20work_mem%3D1MB",
            {"host": "a", "dbname": "shop", "options": "-c work_mem=1MB"},
        ),
        (
            f"postgresql://a:{quote(ODD_PASSWORD, safe='')}@b/c",
            {"user": "a", "password": ODD_PASSWORD, "host": "b", "dbname": "c"},
        ),
        (f"user=a password='{ODD_PASSWORD}'", {"user": "a", "password": ODD_PASSWORD}),
    ],
)
def test_parameters_of_a_connection_string_are_kept(text: str, parameters: dict[str, str]) -> None:
    assert conninfo_to_dict(read_dsn(text)) == parameters


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{URL}?schema=public", "parameter schema="),
        ("mysql://ada:secret@db.example/shop", "mysql://, which is not Postgres"),
        ("jdbc:postgresql://db.example/shop", "jdbc:postgresql://, which is not Postgres"),
        ("postgresql://ada:secret%zz@db.example/shop", "two hexadecimal digits"),
        ("postgresql://ada:secret/word@db.example/shop", "port that is not a number"),
        ("postgresql://./shop", "not a host name"),
        (f"postgresql://{'a' * 64}.example/shop", "not a host name"),
        ("db.example:5432/shop", "not a Postgres URL"),
        (f"{URL}?pgbouncer=true", "parameter pgbouncer="),
        (f"{URL}?connection_limit=5&schema=a", "parameter connection_limit="),
        ("mysql+pymysql://ada:secret@db.example/shop", "mysql.pymysql://, which is not Postgres"),
        ("sqlite:///secret.db", "sqlite://, which is not Postgres"),
        ("redis://:secret@cache/0", "redis://, which is not Postgres"),
        ("http://ada:secret@db.example/shop", "http://, which is not Postgres"),
        ("postgresql://ada:secret@db.example:abc/shop", "port that is not a number"),
        ("host=db.example port=abc password=secret", "port that is not a number"),
        ("host=db.example sekret=1 password=secret", "not a Postgres URL"),
        ("DATABASE_URL=postgresql://ada:secret@db.example/shop", "not a Postgres URL"),
        ("postgresql://ada:secret@[::1/shop", "not a Postgres URL"),
        ("shop", "not a Postgres URL"),
    ],
)
def test_wrong_part_of_a_connection_string_is_named_without_secrets(text: str, problem: str) -> None:
    with pytest.raises(InvalidText, match=problem) as caught:
        read_dsn(text)

    assert "secret" not in caught.value.problem
    assert caught.value.shown == "(hidden)"
