-- breaking: no
-- What ended lately, for who watches: rows lie in the order in which they ended, so that an index of summaries costs a finish nothing.
create index finished_tasks_by_time on rolecall.finished_tasks using brin (finished_at) with (pages_per_range = 64, autosummarize = on);
create index task_events_by_time on rolecall.task_events using brin (at) with (pages_per_range = 64, autosummarize = on);
