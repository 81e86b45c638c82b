-- breaking: no
-- Rows to be locked in place of advisory locks, which every login of the database could take.
create table rolecall.latches (
    kind text collate "C" not null,
    number int not null,
    primary key (kind, number)
);
insert into rolecall.latches (kind, number)
select kind, number from unnest('{keys,dedupe}'::text[]) as kind, generate_series(0, 1023) as number
union all
select 'needs', 0;
