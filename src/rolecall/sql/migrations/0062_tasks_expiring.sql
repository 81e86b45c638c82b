-- breaking: no
-- transaction: no
-- Where who ends tasks that have expired looks for them; tasks that never do cost nothing here.
create index concurrently tasks_expiring on rolecall.tasks (expires_at)
    where expires_at is not null and state in ('blocked', 'pending');
-- What tells, among thousands of handlers, that none has defaults for its tasks.
create index concurrently handlers_with_defaults on rolecall.handlers (name)
    where key is not null or dedupe_key is not null or expires is not null;
