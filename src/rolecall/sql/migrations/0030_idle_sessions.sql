-- breaking: no
-- Sessions end when they are idle.
alter table rolecall.sessions add column last_used_at timestamptz;
