"""Redacted types: in schemas, in errors, and in fields that would reveal them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from traceback import format_exception
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Secret, SecretBytes, SecretStr, field_validator

from rolecall import App, InvalidDeclaration, InvalidPayload, Redacted, register_codec
from rolecall.app.schemas import schema_of
from rolecall.model.errors import ContractBroken
from rolecall.model.operator.misfits import find_mismatch
from rolecall.model.redaction import Redaction
from rolecall.sql.encoding import encode
from tests.secrets import CANARY, SHOWN, SIGN, Login, payload, program


class Word:
    """A type with a codec whose error includes its input."""

    @classmethod
    def parse(cls, text: str) -> Word:
        raise ValueError(f"{text!r} is no word")


register_codec(Word, encode=str, decode=Word.parse, schema={"type": "string"})


class Colour(Enum):
    RED = "red"


class Keys(BaseModel):
    """All of pydantic's secret types."""

    text: SecretStr
    raw: SecretBytes | None = None
    day: Secret[date] | None = None
    by_number: dict[int, SecretStr] = {}
    many: list[SecretStr] = []


class Picky(BaseModel):
    name: str
    pin: Annotated[str, Redacted]

    @field_validator("name", "pin")
    @classmethod
    def refuse(cls, value: str) -> str:
        raise ValueError(f"not {value}")


@dataclass
class Box:
    pin: Annotated[Literal["a", "b"], Redacted]
    word: Word | None = None


@pytest.fixture
def app() -> App:
    return App("test")


def problem(handler: Any, **given: Any) -> str:
    with pytest.raises(InvalidPayload) as refused:
        handler.task(**given)
    assert CANARY not in "".join(format_exception(refused.value))
    return str(refused.value)


def test_fields_of_all_kinds_are_redacted_by_the_schema() -> None:
    sync = program().handlers["sync"]

    assert Redaction(sync.signature.schema).redact(payload()) == SHOWN


def test_field_is_redacted_under_each_of_its_names() -> None:
    sync = program().handlers["sync"]
    by_alias = payload(login={"name": "ada", "passphrase": CANARY, "notes": []})

    assert CANARY not in str(Redaction(sync.signature.schema).redact(by_alias))


def test_pydantic_secret_reaches_the_handler(app: App) -> None:
    """In JSON pydantic writes stars, which would be all that a handler gets."""

    @app.task
    def unlock(keys: Keys, token: SecretStr) -> None: ...

    keys = Keys(text=SecretStr("t"), raw=SecretBytes(b"r"), day=Secret(date(2026, 1, 2)), by_number={1: SecretStr("n")})
    task = unlock.task(keys=keys, token=SecretStr("s"))

    assert task.payload == {
        "keys": {"text": "t", "raw": "r", "day": "2026-01-02", "by_number": {"1": "n"}, "many": []},
        "token": "s",
    }
    shown = Redaction(unlock.signature.schema).redact(task.payload)
    assert shown == {"keys": dict.fromkeys(("text", "raw", "day", "by_number", "many"), SIGN), "token": SIGN}
    arguments = unlock.decode(b'{"keys": {"text": "t"}, "token": "s"}')
    assert (arguments["keys"].text.get_secret_value(), arguments["token"].get_secret_value()) == ("t", "s")


def test_secret_outside_a_redacted_field_is_written_as_stars() -> None:
    """A result or info field can lack the declaration that hides it."""
    assert encode({"keys": Keys(text=SecretStr(CANARY)), "token": SecretStr(CANARY)}).count('"**********"') == 2


def test_defaults_of_redacted_fields_are_not_shown(app: App) -> None:
    @app.task
    def unlock(
        pin: Annotated[str, Redacted] = CANARY, box: Annotated[dict[str, str] | None, Redacted] = None
    ) -> None: ...

    sync = program().handlers["sync"]

    assert CANARY not in str(unlock.signature.schema)
    assert "0000" not in str(sync.signature.schema)


def test_result_is_redacted_by_the_return_annotation() -> None:
    output = program().handlers["sync"].to_json()

    assert Redaction(output["result_schema"]).redact({"number": 1, "pin": "x"}) == {"number": 1, "pin": SIGN}  # type: ignore[arg-type]  # a schema


def test_handler_without_a_return_annotation_has_no_result_schema(app: App) -> None:
    @app.task
    def anything() -> object: ...

    assert "result_schema" not in anything.to_json()


@pytest.mark.parametrize("words", [{"key": "pin:{pin}"}, {"dedupe_key": "{keys}"}])
def test_key_cannot_contain_a_redacted_field(app: App, words: dict[str, str]) -> None:
    with pytest.raises(InvalidDeclaration, match="which is redacted, but keys are visible to all readers"):

        @app.task(**words)  # type: ignore[call-overload,untyped-decorator]  # one of two words
        def unlock(pin: Annotated[str, Redacted], keys: Keys) -> None: ...


def test_errors_show_the_location_of_a_redacted_value_but_not_the_value(app: App) -> None:
    @app.task
    def unlock(pin: Annotated[Literal["a"], Redacted], colour: Annotated[Colour, Redacted] = Colour.RED) -> None: ...

    assert "the value does not fit; details are omitted because it is hidden - at `$.pin`" in problem(
        unlock, pin=CANARY
    )
    assert CANARY not in problem(unlock, pin="a", colour=CANARY)


def test_codec_error_of_a_visible_field_is_shown(app: App) -> None:
    @app.task
    def say(word: Word, pin: Annotated[Word | None, Redacted] = None, box: Box | None = None) -> None: ...

    with pytest.raises(InvalidPayload, match="'hello' is no word"):
        say.task(word="hello")  # type: ignore[arg-type]  # text in its place


def test_codec_error_of_a_redacted_field_is_hidden(app: App) -> None:
    @app.task
    def say(pin: Annotated[Word, Redacted]) -> None: ...

    assert CANARY not in problem(say, pin=CANARY)


def test_model_error_hides_only_redacted_fields(app: App) -> None:
    @app.task
    def unlock(picky: Picky) -> None: ...

    result = problem(unlock, picky={"name": "ada", "pin": CANARY})

    assert "name: Value error, not ada; pin: does not fit" in result
    assert CANARY not in result


def test_error_of_a_stored_payload_hides_redacted_values_too() -> None:
    sync = program().handlers["sync"]

    with pytest.raises(InvalidPayload) as refused:
        sync.decode(f'{{"shop": 1, "token": ["{CANARY}"], "accounts": [], "login": {{}}}}')

    assert CANARY not in str(refused.value)


def test_stored_schema_check_reveals_no_value(app: App) -> None:
    @app.task
    def unlock(box: Box) -> None: ...

    result = find_mismatch({"box": {"pin": CANARY}}, unlock.signature.schema)

    assert result is not None
    assert "$.box.pin" in result
    assert CANARY not in result


def test_broken_contract_error_reveals_no_value(app: App) -> None:
    @app.task
    def unlock() -> Box:
        return Box(pin="a")

    assert unlock.returns is not None
    with pytest.raises(ContractBroken) as broken:
        unlock.returns.write({"pin": CANARY})

    assert CANARY not in str(broken.value)


def test_model_without_redacted_fields_has_its_pydantic_schema(app: App) -> None:
    class Plain(BaseModel):
        a: int = 1

    assert schema_of(Plain) == Plain.model_json_schema()
    assert "patternProperties" in str(schema_of(Login))
