"""Tasks for lending books."""

from datetime import datetime, timezone

from procrastinate import JobContext, RetryStrategy

from library.app import app, rebuild_catalogue, remind


@app.task(pass_context=True, retry=RetryStrategy(max_attempts=2, wait=30, retry_exceptions={ConnectionError}))
def lend(context: JobContext, book: int, reader: int):
    remind.configure(schedule_in={"weeks": 3}, queueing_lock=f"remind:{book}").defer(reader=reader, book=str(book))
    return context.job.id


@app.periodic(cron="0 7 * * mon-fri", periodic_id="weekdays")
@app.task(queue="reports", queueing_lock="report")
def daily_report(timestamp: int):
    return timestamp


@app.periodic(cron="*/10 * * * * *")
@app.task
def tick(timestamp: int): ...


@app.task
def sweep(): ...


async def at_the_desk(book: int, reader: int):
    await lend.configure(lock=f"book:{book}").defer_async(book=book, reader=reader)
    await rebuild_catalogue.defer_async()
    await app.configure_task("returns:remind", schedule_at=datetime(2030, 1, 1, tzinfo=timezone.utc)).defer_async(reader=reader)
    remind.batch_defer({"reader": 1}, {"reader": 2})
    return await app.job_manager.get_job_status_async(job_id=1)
