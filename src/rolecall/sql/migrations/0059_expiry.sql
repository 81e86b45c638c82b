-- breaking: no
-- The moment from which on no attempt of a task begins; null for one that may begin at any time.
alter table rolecall.tasks add column expires_at timestamptz;
