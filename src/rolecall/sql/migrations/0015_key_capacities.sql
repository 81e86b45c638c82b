-- breaking: no
-- How many tasks of a key may run at once: of one key, or of all that begin alike; as an app declares it, or as somebody has set it
-- since. A key of which nothing is said has neither.
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
