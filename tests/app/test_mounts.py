"""An app brings routers along; a worker need not import them."""

from __future__ import annotations

import pytest

from rolecall import App, InvalidDeclaration
from rolecall.app import Mount


class Routes:
    """As good as a router where nobody looks inside."""

    routes = ()


def test_routers_stand_in_the_order_in_which_they_were_given() -> None:
    app = App("shop", routers=["shop.api:first"])
    app.mount("shop.api:second", 7)

    assert app.mounts == (Mount("shop.api:first"), Mount("shop.api:second", (7,)))


def test_a_slice_brings_its_routers_along() -> None:
    router, shop, part = Routes(), App("shop"), App("part")
    part.mount(router)

    shop.include(part)

    assert [mount.router() for mount in shop.mounts] == [router]
    with pytest.raises(InvalidDeclaration, match="has already included this one"):
        part.mount(router)


def test_a_router_by_name_is_made_of_its_arguments_when_it_is_asked_for() -> None:
    assert Mount("builtins:dict", ([("a", 1)],)).router() == {"a": 1}


@pytest.mark.parametrize("name", ["shop", "shop:", ":router"])
def test_a_name_without_its_two_parts_is_refused_at_once(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match="not of the form module:function"):
        App("shop").mount(name)


@pytest.mark.parametrize("name", ["no_such_module:router", "builtins:no_such_name", "sys:maxsize", "a b:c"])
def test_a_name_that_stands_for_no_function_is_refused_when_it_is_asked_for(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match=name):
        Mount(name).router()


def test_a_router_that_is_made_already_takes_no_arguments() -> None:
    with pytest.raises(InvalidDeclaration, match="arguments are allowed only"):
        App("shop").mount(Routes(), 1)
