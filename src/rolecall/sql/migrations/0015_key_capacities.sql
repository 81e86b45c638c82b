-- breaking: no
-- How many tasks of a key may run at once: of one key, or of all that begin alike; as an app declares it, or as somebody has set it
-- since. A key of which nothing is said has neither.

-- What takes or returns something else than before; all functions are applied anew after this.
drop function if exists rolecall.win_keys(text[], int[], timestamptz);
drop function if exists rolecall.settle_keys(bigint[], text[], int[], int, timestamptz);
drop function if exists rolecall.walk_line(int, int[], rolecall.floor, int, bigint[], timestamptz);
drop function if exists rolecall.claim_from_line(int, int[], int, bigint[], timestamptz);
drop function if exists rolecall.pick_from_level(int[], int[], int, bigint[], timestamptz);
drop function if exists rolecall.pick_tasks(text[], text[], int, timestamptz);
drop function if exists rolecall.park_losers(text[], bigint[]);
drop function if exists rolecall.free_keys(text[]);
drop function if exists rolecall.sum_up_children(bigint, int, jsonb);

create type rolecall.key_room as (
    key text,
    capacity int,
    free smallint[]
);

alter table rolecall.keys
    alter column capacity drop default,
    alter column capacity drop not null,
    drop constraint capacity_is_positive,
    add column declared smallint,
    add constraint capacities_are_positive check (least(declared, capacity) > 0);
update rolecall.keys set capacity = null where capacity = 1;
create index keys_with_a_capacity on rolecall.keys (key) where declared is not null or capacity is not null;

create table rolecall.key_patterns (
    prefix text collate "C" primary key,
    declared smallint,
    capacity smallint,
    constraint capacities_are_positive check (least(declared, capacity) > 0),
    constraint somebody_says_a_capacity check (num_nonnulls(declared, capacity) > 0)
);
