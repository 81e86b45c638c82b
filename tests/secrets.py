"""An app whose payloads and results contain redacted values, declared in every possible way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rolecall import App, Redacted

SIGN = "[redacted]"
CANARY = "CANARY-93b1c0de"


class Login(BaseModel):
    """Redacted fields declared in pydantic's way, one of them with an alias."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    password: SecretStr = Field(alias="passphrase")
    notes: list[Annotated[str, Redacted]] = []


@dataclass
class Account:
    number: int
    pin: Annotated[str, Redacted] = "0000"


def program() -> App:
    """Return an app with a handler whose fields are redacted, and one without redaction."""
    app = App("vault")

    @app.task(role="vault")
    async def sync(shop: str, token: Annotated[str, Redacted], accounts: list[Account], login: Login) -> Account:
        return Account(number=len(accounts), pin=token)

    @app.task(role="vault", name="open")
    async def open_(shop: str, token: str = "") -> str:
        return shop + token

    return app


def payload(**changes: Any) -> dict[str, Any]:
    """Return a payload of `sync` with a canary in each redacted place."""
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
