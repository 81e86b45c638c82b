-- breaking: no
-- Earlier schemas of a handler whose hidden values its declared schemas would show.
alter table rolecall.handlers add column hiding jsonb not null default '[]';
