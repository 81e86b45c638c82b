"""Reports, which go to a queue of their own."""

from __future__ import annotations

from datetime import date

from celery import shared_task


@shared_task
def nightly(shops):
    return f"report of {shops}"


@shared_task
def of_day(day: date):
    return f"report of {day:%d %B}"
