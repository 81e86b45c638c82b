"""A malformed list member is skipped, and truncated is distinguished from malformed."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response
from storecrawl.platforms.dutchie import FetchedMenu
from storecrawl.platforms.errors import Malformed, Unavailable
from storecrawl.platforms.untrusted_json import NotJson, read_json, read_members

from .conftest import ClientFor, Serve

PATH = ("data", "filteredProducts", "products")
DEEP = "[" * 200_000 + "]" * 200_000
# The text instead of a member, and its key if it can be found.
UNREADABLE = {
    "1e400": ('{"_id": "bad", "Prices": [1e400]}', "bad"),
    "NaN": ('{"brand": {"_id": "no key of its"}, "_id": "bad", "Prices": [NaN]}', "bad"),
    "-Infinity": ('{"id": "bad", "x": -Infinity}', "bad"),
    "nested": (f'{{"_id": "bad", "x": {DEEP}}}', "bad"),
    "a comma too many": ('{"_id": "bad", "Name": "x",}', "bad"),
    "a text without quotes": ('{"_id": "bad", "Name": x}', "bad"),
    "no name": ('{"_id" "bad"}', None),
    "nothing": ("", None),
    "no JSON": ("undefined", None),
}
READABLE: dict[str, tuple[str, object]] = {
    "null": ("null", None),
    "a text": ('"a text, [with] {brackets} and \\" a quote"', 'a text, [with] {brackets} and " a quote'),
    "half a character": ('{"_id": "b", "d": "cut \\ud83d"}', {"_id": "b", "d": "cut \ufffd"}),
    "no UTF-8": (b'{"_id": "b", "d": "caf\xe9"}'.decode("latin-1"), {"_id": "b", "d": "caf\ufffd"}),
    "a control character": ('{"_id": "b", "d": "a\x01b"}', {"_id": "b", "d": "a\x01b"}),
    "a huge whole number": ('{"_id": "b", "n": 123456789012345678901234567890}', {"_id": "b", "n": 123456789012345678901234567890}),
}  # fmt: skip


def product(key: str) -> str:
    usual = {"Name": "x, [y]", "Options": ["1g"], "Prices": [1], "Status": "Active", "type": "Flower"}
    return json.dumps({"_id": key, **usual})


def answer(*members: str, before: str = "", info: str = '{"totalCount": 3, "totalPages": 1}') -> bytes:
    text = f'{before}{{"data": {{"filteredProducts": {{"products": [{", ".join(members)}], "queryInfo": {info}}}}}}}'
    return text.encode("latin-1") if "\xe9" in text else text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_member_is_omitted_and_reported(kind: str) -> None:
    text, key = UNREADABLE[kind]

    document, [unread] = read_members(answer(product("a"), text, product("c")), *PATH)

    assert [each["_id"] for each in document["data"]["filteredProducts"]["products"]] == ["a", "c"]
    assert (unread.index, unread.key) == (1, key)
    assert unread.reason
    assert document["data"]["filteredProducts"]["queryInfo"]["totalCount"] == 3


@pytest.mark.parametrize("kind", READABLE)
def test_member_with_damaged_text_is_read_and_others_are_unchanged(kind: str) -> None:
    """A description cut in the middle of a character must not make its product unreadable."""
    text, meant = READABLE[kind]

    document, unread = read_members(answer(product("a"), text, product("c")), *PATH)

    assert (document["data"]["filteredProducts"]["products"][1], unread) == (meant, [])
    assert msgspec.json.decode(msgspec.json.encode(document)) == document


def test_byte_order_mark_is_ignored() -> None:
    mark = b"\xef\xbb\xbf"

    document, unread = read_members(mark + answer(product("a"), "NaN"), *PATH)

    assert read_json(mark + b"[1]") == [1]
    assert len(document["data"]["filteredProducts"]["products"]) == 1
    assert [each.index for each in unread] == [1]


@pytest.mark.parametrize("members", [(), (product("a"),), (product("a"), "NaN", "[1, [2]]", "7")])
def test_empty_list_is_read_as_empty_and_other_lists_completely(members: tuple[str, ...]) -> None:
    document, unread = read_members(answer(*members), *PATH)

    assert len(document["data"]["filteredProducts"]["products"]) + len(unread) == len(members)


@pytest.mark.parametrize(
    "body",
    [b"", b" \n", b'{"a": [1, 2', b'{"a": "x', b'{"a": "x\\', b'{"a": "\\ud800", "b": ', answer(product("a"))[:-1]],
)
def test_document_that_ends_early_counts_as_cut(body: bytes) -> None:
    for read in (read_json, lambda each: read_members(each, *PATH)):
        with pytest.raises(NotJson) as raised:
            read(body)
        assert raised.value.is_cut


@pytest.mark.parametrize(
    "body",
    [b"NaN", b"{} {}", b'{"a": "\\ud800"}', b'{"data": {"filteredProducts": {"products": 7, "x": NaN}}}', b"<html>"],
)
def test_complete_document_that_is_not_json_does_not_count_as_cut(body: bytes) -> None:
    for read in (read_json, lambda each: read_members(each, *PATH)):
        with pytest.raises(NotJson) as raised:
            read(body)
        assert not raised.value.is_cut


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        )
    )
)
def test_valid_json_members_are_returned_unchanged(members: list[Any]) -> None:
    texts = [json.dumps(member, ensure_ascii=True) for member in members]

    document, unread = read_members(answer(*texts), *PATH)

    read = document["data"]["filteredProducts"]["products"]
    halves = re.compile("[\ud800-\udfff]")
    assert (json.dumps(read), unread) == (
        json.dumps(
            [
                json.loads(json.dumps(each, ensure_ascii=False).translate(dict.fromkeys(range(55296, 57344), 65533)))
                for each in members
            ]
        ),
        [],
    )
    assert not halves.search(json.dumps(read, ensure_ascii=False))


@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 400))
def test_any_response_is_either_read_or_rejected(noise: bytes, begin: int, end: int) -> None:
    body = answer(product("a"), product("b"))
    spoilt = body[: min(begin, end)] + noise + body[max(begin, end) :]

    try:
        document, _ = read_members(spoilt, *PATH)
    except NotJson:
        return
    assert msgspec.json.encode(document)


async def fetch_menu(serve: Serve, client_for: ClientFor, body: bytes) -> FetchedMenu:
    async def respond(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return await client_for(await serve(respond)).menu("a" * 24)


@pytest.mark.parametrize("kind", UNREADABLE)
async def test_invalid_product_is_dropped_without_losing_its_menu(
    serve: Serve, client_for: ClientFor, kind: str
) -> None:
    """Each of these used to make the whole store fail permanently."""
    text, key = UNREADABLE[kind]

    menu = await fetch_menu(serve, client_for, answer(product("a"), text, product("c")))

    assert [each["_id"] for each in menu.products] == ["a", "c"]
    [refused] = menu.document()["fetched"]["refused"]
    assert (refused["externalId"], refused["place"]) == (key, "page 0 of rec, shown, member 1")
    assert menu.is_complete


async def test_product_readable_on_another_page_is_not_reported_as_invalid(serve: Serve, client_for: ClientFor) -> None:
    bodies = [answer(product("a"), '{"_id": "b", "x": NaN}', info='{"totalCount": 2, "totalPages": 1}')]
    bodies += [answer(product("a"), product("b"), info='{"totalCount": 2, "totalPages": 1}')]

    async def respond(request: Request) -> Response:
        is_shown = '"bypassOnlineThresholds":false' in request.query_params.get("variables", "")
        return Response(bodies[0 if is_shown else 1], media_type="application/json")

    menu = await client_for(await serve(respond)).menu("a" * 24)

    assert ([each["_id"] for each in menu.products], menu.unread) == (["a", "b"], [])


@pytest.mark.parametrize(
    ("body", "error", "expected"),
    [
        (b"", Unavailable, r"incomplete response \(HTTP 200\): it is empty"),
        (answer(product("a"))[:-9], Unavailable, "it is cut after"),
        (answer(product("a"), info="NaN"), Malformed, "the response cannot be read: JSON is malformed"),
        (b'{"data": {"filteredProducts": NaN}}', Malformed, "the response cannot be read: JSON is malformed"),
        (DEEP.encode(), Malformed, "the response cannot be read: it is nested too deeply"),
    ],
)
async def test_error_message_distinguishes_malformed_from_cut(
    serve: Serve, client_for: ClientFor, body: bytes, error: type[Exception], expected: str
) -> None:
    with pytest.raises(error, match=expected):
        await fetch_menu(serve, client_for, body)


@pytest.mark.parametrize("body", [b"[", b"[],", b'["a",'])
def test_megabyte_of_brackets_is_rejected_in_a_fraction_of_a_second(body: bytes) -> None:
    begun = time.thread_time()
    with pytest.raises(NotJson):
        read_json(body * (1_000_000 // len(body)))

    assert time.thread_time() - begun < 0.5
