-- Completion tokens, each of which can finish its task from outside. Only their digests are stored.
create table rolecall.task_tokens (
    digest bytea primary key,
    task_id bigint not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index task_tokens_by_task on rolecall.task_tokens (task_id);
