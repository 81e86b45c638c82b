"""Where jobs are enqueued."""

from datetime import datetime, timedelta

from rq import Queue, Repeat, Retry
from rq.cron import CronScheduler
from rq.job import Job

from mailer import jobs
from mailer.jobs import clean, connection, count_words, digest, send

queue = Queue("mail", connection=connection, default_timeout=60)
urgent = Queue("urgent", connection=connection)
cron = CronScheduler(connection=connection)

cron.register(digest, queue_name="mail", cron="0 6 * * *", args=("today",))
cron.register(jobs.clean, queue_name="low", interval=3600, kwargs={"folder": "/srv/mail"})


def signed_up(address):
    first = queue.enqueue(send, address, subject="Welcome", retry=Retry(max=3, interval=10), job_timeout="2m")
    queue.enqueue("mailer.jobs.count_words", "http://example.org", ttl=60, depends_on=first)
    queue.enqueue_in(timedelta(minutes=10), send, address, subject="Still there?")
    queue.enqueue_at(datetime(2030, 1, 1, 12), count_words, url="http://example.org")
    urgent.enqueue(send, args=(address,), kwargs={"urgent": True}, on_success=print, job_id="mail-7")
    queue.enqueue(send, address, retry=Retry(max=2, interval=[10, 60]), repeat=Repeat(times=3, interval=30))
    queue.enqueue(print, "nobody knows it")
    clean.delay("/var/tmp")
    return Job.fetch(first.id, connection=connection)
