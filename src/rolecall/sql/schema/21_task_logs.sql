-- The log lines of attempts, in parts: one row per write of a worker. A line is a JSON array: its number in
-- its attempt, its time in seconds since 1970, its level, its logger and its message. A gap in the numbers
-- stands for lines that were not stored. `at` is the time of the last write. Part 0 is no log line: it is the
-- latest request for the stack of the handler, and its answer.
create table rolecall.task_logs (
    task_id bigint not null,
    fence int not null,
    part int not null,
    attempt int not null,
    at timestamptz not null,
    lines jsonb not null,
    primary key (task_id, fence, part)
);
create index task_logs_by_time on rolecall.task_logs (at);
