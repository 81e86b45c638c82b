-- Statistics of finished tasks, in bins: bins of 10 s are made from finished tasks, and wider bins are
-- merged from narrower ones once they are over. A role has a row for each handler; role '' with handler ''
-- is the sum of all roles. Durations are histograms: the number in each bucket of history_bounds().
-- `samples` is how often open tasks were counted; `ready` and `running` are the sums of these counts.
create table rolecall.history (
    role text collate "C" not null,
    handler text collate "C" not null,
    width int not null,
    at timestamptz not null,
    completed int not null default 0,
    failed int not null default 0,
    cancelled int not null default 0,
    retried int not null default 0,
    samples int not null default 0,
    ready bigint not null default 0,
    running bigint not null default 0,
    longest_wait float8,
    longest_run float8,
    wait_buckets smallint[] not null default '{}',
    wait_counts int[] not null default '{}',
    run_buckets smallint[] not null default '{}',
    run_counts int[] not null default '{}',
    primary key (role, width, at, handler)
);
-- For finding what fails now. Bins without failures cost nothing here.
create index history_with_failures on rolecall.history (at) where width = 10 and failed > 0;
-- The start of the history, and the time up to which it is complete: it contains all tasks that finished
-- before that time, and none that finished later.
create table rolecall.history_until (
    only_row boolean primary key default true,
    began timestamptz not null,
    moment timestamptz not null,
    constraint has_only_one_row check (only_row)
);
insert into rolecall.history_until (began, moment) values ('-infinity', '-infinity');
