"""An app mounts routers, which a worker does not import."""

from __future__ import annotations

import sys

import pytest

from rolecall import App, InvalidDeclaration
from rolecall.app import Mount


class Routes:
    """A stand-in for a router, whose contents are not used."""

    routes = ()


def test_routers_keep_their_declaration_order() -> None:
    app = App("shop", routers=["shop.api:first"])
    app.mount("shop.api:second", 7)

    assert app.mounts == (Mount("shop.api:first"), Mount("shop.api:second", (7,)))


def test_slice_contributes_its_routers() -> None:
    router, shop, part = Routes(), App("shop"), App("part")
    part.mount(router)

    shop.include(part)

    assert [mount.router() for mount in shop.mounts] == [router]
    with pytest.raises(InvalidDeclaration, match="has already included this one"):
        part.mount(router)


def test_named_router_is_imported_on_demand() -> None:
    assert Mount("sys:maxsize").router() == sys.maxsize


@pytest.mark.parametrize("name", ["shop", "shop:", ":router"])
def test_router_name_without_a_colon_is_rejected_immediately(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match="not of the form module:variable"):
        App("shop").mount(name)


@pytest.mark.parametrize("name", ["no_such_module:router", "builtins:no_such_name", "a b:c"])
def test_unknown_router_name_is_rejected_when_it_is_resolved(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match=name):
        Mount(name).router()
