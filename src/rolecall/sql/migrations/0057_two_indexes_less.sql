-- breaking: no
-- A claim parks what it has met, which it need not look for; and places_of_keys stands for the other one.
drop index rolecall.tasks_to_park;
drop index rolecall.one_active_task_per_key_slot;
