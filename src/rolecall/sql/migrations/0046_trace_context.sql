-- breaking: no
-- Where a task's trace began, as W3C writes it; null unless somebody traces.
alter table rolecall.tasks add column trace_context text;
