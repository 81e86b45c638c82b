"""The test that the guide `testing` shows passes, and leaves nothing behind."""

from __future__ import annotations

from tests.guides.reading import module_of
from tests.sql.engine import Connection


def test_the_orders_test_passes_in_a_transaction_that_leaves_nothing(connection: Connection) -> None:
    module_of("testing").test_an_order_is_billed_and_sent(connection)

    assert connection.execute("select count(*) from rolecall.all_tasks").fetchone() == (0,)
