-- breaking: no
-- The keys that a handler declares for its tasks: templates over the fields of their payloads.
alter table rolecall.handlers add column key text;
alter table rolecall.handlers add column dedupe_key text;
create index handlers_with_keys on rolecall.handlers (name) where key is not null or dedupe_key is not null;
