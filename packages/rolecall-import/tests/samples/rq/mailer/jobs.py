"""The jobs of the mailer."""

from datetime import date

from redis import Redis
from rq import get_current_job
from rq.decorators import job

connection = Redis()


def send(to: str, subject: str = "Hello", *, urgent: bool = False) -> str:
    return f"{to}: {subject}"


def count_words(url, page=1):
    return get_current_job().id


def digest(day: date):
    return day.isoformat()


@job("low", connection=connection, timeout=600, retry=3)
def clean(folder):
    return folder
