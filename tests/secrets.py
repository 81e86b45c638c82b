"""An app whose payloads and results have what nobody is to read, said in each of the ways in which it can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rolecall import App, Redacted

SIGN = "[redacted]"
CANARY = "CANARY-93b1c0de"


class Login(BaseModel):
    """As pydantic says it, under a name of its own and another."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    password: SecretStr = Field(alias="passphrase")
    notes: list[Annotated[str, Redacted]] = []


@dataclass
class Account:
    number: int
    pin: Annotated[str, Redacted] = "0000"


def program() -> App:
    """An app of a handler whose fields are hidden, and of one that hides nothing."""
    app = App("vault")

    @app.task(role="vault")
    async def sync(shop: str, token: Annotated[str, Redacted], accounts: list[Account], login: Login) -> Account:
        return Account(number=len(accounts), pin=token)

    @app.task(role="vault", name="open")
    async def open_(shop: str, token: str = "") -> str:
        return shop + token

    return app


def payload(**changes: Any) -> dict[str, Any]:
    """A payload of `sync` with a canary in each place that is hidden."""
    return {
        "shop": "berlin",
        "token": f"{CANARY}-token",
        "accounts": [{"number": 7, "pin": f"{CANARY}-pin"}],
        "login": {"name": "ada", "password": f"{CANARY}-password", "notes": [f"{CANARY}-note"]},
    } | changes


SHOWN = {
    "shop": "berlin",
    "token": SIGN,
    "accounts": [{"number": 7, "pin": SIGN}],
    "login": {"name": "ada", "password": SIGN, "notes": SIGN},
}
