-- The roles, handlers and workers with a problem, for those who are notified of it. `announced_at` is null
-- until the problem has lasted for a while.
create table rolecall.announced_problems (
    kind text not null,
    subject text collate "C" not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    announced_at timestamptz,
    primary key (kind, subject)
);
