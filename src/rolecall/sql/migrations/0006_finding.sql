-- breaking: no
-- Which tasks are looked for; null does not filter.
create type rolecall.task_filter as (
    ids bigint[],
    state text,
    role text,
    handler text,
    key text,
    worker_id bigint,
    chain_id bigint,
    parent_id bigint,
    roots boolean,
    text text,
    created_from timestamptz,
    created_to timestamptz,
    finished_from timestamptz,
    finished_to timestamptz
);

-- What waits for others, in a list; what never does costs nothing here.
create index tasks_held_up on rolecall.tasks (id) where state in ('blocked', 'waiting');
create index finished_tasks_by_key on rolecall.finished_tasks (key, id) where key is not null;
-- What failed or was cancelled is looked for most, and is a small part: what completes, the common case, costs nothing here.
create index finished_tasks_not_completed on rolecall.finished_tasks (state, id) where state <> 'completed';

-- How many finished tasks there are of each line, state and day, of those that finished before `counted_until`: the sum of its rows.
-- What leaves the finished tasks adds a negative one, so that nobody waits for another; the next roll-up adds them up.
create table rolecall.finished_counts (
    day date not null,
    line_id int not null,
    state rolecall.task_state not null,
    number bigint not null
);
create index finished_counts_by_day on rolecall.finished_counts (day);
-- Up to when finished tasks are in finished_counts: all that finished before, and none that did later. Who takes some out of
-- them shares its lock until the commit; who moves it on has it alone.
create table rolecall.counted_until (
    only_row boolean primary key default true,
    moment timestamptz not null,
    constraint there_is_only_one_row check (only_row)
);
insert into rolecall.counted_until (moment) values ('-infinity');
