-- The state of pruning: one row per kind. The session that prunes a kind holds its row until the commit, so
-- that only one does. `keep` is the retention, if it is neither fixed nor set per role; `next_at` is when
-- to look again, `place` how far the current pass has come, and `in_use_since` since when something that is
-- due could not be pruned because it is in use.
create table rolecall.retention (
    kind text collate "C" primary key,
    keep interval,
    next_at timestamptz not null default '-infinity',
    place text collate "C",
    in_use_since timestamptz,
    constraint keep_is_at_least_a_day check (keep >= '1 day')
);
insert into rolecall.retention (kind, keep) values
    ('finished_tasks', null),
    ('task_partitions', null),
    ('event_partitions', null),
    ('task_events', null),
    ('keys', null),
    ('task_tokens', null),
    ('task_owners', null),
    ('requests', null),
    ('error_groups', null),
    ('error_hours', null),
    ('workers', null),
    ('idle_marks', null),
    ('schedule_runs', null),
    ('history', null),
    ('audit_log', '400 days'),
    ('task_logs', '7 days'),
    ('api_keys', null),
    ('sessions', null),
    ('login_attempts', null),
    ('known_browsers', null);
