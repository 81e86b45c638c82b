-- breaking: no
-- transaction: no
-- Those that follow others in a place of their key say so with its number negative. What the functions of the
-- release before write, this holds to the same rule as the index that it replaces.
create unique index concurrently places_of_keys
on rolecall.tasks (key, key_slot, (case when key_slot < 0 then id end)) nulls not distinct
where key_slot is not null;
