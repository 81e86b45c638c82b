-- Who shows a token may end its task from outside; only the token's digest is stored.
create table rolecall.task_tokens (
    digest bytea primary key,
    task_id bigint not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index task_tokens_by_task on rolecall.task_tokens (task_id);
