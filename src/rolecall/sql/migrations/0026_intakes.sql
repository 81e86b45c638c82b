-- breaking: no
-- What payloads each worker takes: what has not fitted one is not offered to others of the same.
alter table rolecall.workers add column intakes text[] not null default '{}';
