-- breaking: no
-- A parent may go on more often than a smallint counts. Widening `step` would write the whole table anew while nobody can use it, so
-- the number moves into a column of its own; `step` says no more than that there is one, and goes with a later release.
alter table rolecall.tasks add column step_number int;
