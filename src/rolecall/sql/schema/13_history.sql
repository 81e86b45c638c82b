-- What ended and how it went, bin by bin: bins of 10 s are made of what finished, wider ones of narrower ones
-- once they are over. Role '' is the sum of all. Durations stand as histograms: how many fell into which
-- bucket of history_bounds(); `samples` says how often the open tasks were counted, `ready` and `running` are
-- the sums of what was found.
create table rolecall.history (
    role text collate "C" not null,
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
    primary key (role, width, at)
);
-- From when on the history is told, and up to when it is made: all that finished before is in it, and nothing
-- that did later.
create table rolecall.history_until (
    only_row boolean primary key default true,
    began timestamptz not null,
    moment timestamptz not null,
    constraint there_is_only_one_row check (only_row)
);
insert into rolecall.history_until (began, moment) values ('-infinity', '-infinity');
