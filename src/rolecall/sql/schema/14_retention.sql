-- What is forgotten when its time is up, one row a kind. Who forgets some of it holds the row until the
-- commit, so that one process at a time does. `keep` says after what time, where that is neither each role's
-- to say nor fixed; `next_at` when to look again, `place` up to where the pass that is under way has come;
-- `in_use_since` since when something would go, but is in use.
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
    ('workers', null),
    ('idle_marks', null),
    ('schedule_runs', null),
    ('history', null),
    ('audit_log', '400 days'),
    ('api_keys', null),
    ('sessions', null),
    ('login_attempts', null),
    ('known_browsers', null);
