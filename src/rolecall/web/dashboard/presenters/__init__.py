"""What the services answer, made ready to be shown: sentences, stories, orders and groups. No request comes here."""

from __future__ import annotations
