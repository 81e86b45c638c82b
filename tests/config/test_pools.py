"""The list of pools of one server."""

from __future__ import annotations

import pytest

from rolecall.config import read_settings
from rolecall.config.pools import LONGEST_NAME, MOST_POOLS
from rolecall.model.errors import ConfigError

SECRET = "s3cret"
URL = f"postgresql://ada:{SECRET}@db/work"
BAD_LISTS = [
    (URL, "pool 1 .* NAME=URL"),
    ("mail=", "pool 1 .* NAME=URL"),
    (f"Mail={URL}", "pool 1 needs a name"),
    (f"a--b={URL}", "pool 1 needs a name"),
    (f"north/west={URL}", "pool 1 needs a name"),
    (f"{'x' * (LONGEST_NAME + 1)}={URL}", "pool 1 needs a name"),
    (f"mail={URL} mail={URL}", "pool 2 has the name of an earlier pool"),
    (f"mail=mysql://ada:{SECRET}@db/work", "pool 1 has an address that starts with mysql"),
    (f"mail=postgresql://ada:{SECRET} {SECRET}@db/work", "pool [12] "),
    (" ".join(f"pool-{number}={URL}" for number in range(MOST_POOLS + 1)), "more than 50 pools"),
]


def test_pools_are_read_in_order_with_their_addresses() -> None:
    text = "mail=postgresql://db-1/mail\n billing-2=postgresql+asyncpg://db-2/billing"

    pools = read_settings({"ROLECALL_POOLS": text}).database.pools

    assert list(pools.items()) == [("mail", "postgresql://db-1/mail"), ("billing-2", "postgresql://db-2/billing")]


@pytest.mark.parametrize(("text", "problem"), BAD_LISTS)
def test_bad_list_is_rejected_without_showing_a_password(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as raised:
        read_settings({"ROLECALL_POOLS": text})

    assert SECRET not in f"{raised.value} {raised.value.value}"
