-- breaking: no
-- A transaction of its own: it reads all tasks, and nobody waits for it.
alter table rolecall.tasks validate constraint is_sound;
