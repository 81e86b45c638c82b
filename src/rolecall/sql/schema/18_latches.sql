-- Rows that functions lock to exclude each other when there is no other row to lock. Unlike advisory locks,
-- logins cannot lock these themselves. Nothing updates them. `keys` and `dedupe` have a row for each
-- remainder of a key's hash, `needs` has one row.
create table rolecall.latches (
    kind text collate "C" not null,
    number int not null,
    primary key (kind, number)
);
insert into rolecall.latches (kind, number)
select kind, number from unnest('{keys,dedupe}'::text[]) as kind, generate_series(0, 1023) as number
union all
select 'needs', 0;
