-- breaking: no
-- The keys that a handler declares for its tasks: templates over the fields of their payloads.
alter table rolecall.handlers add column key text;
alter table rolecall.handlers add column dedupe_key text;
create index handlers_with_keys on rolecall.handlers (name) where key is not null or dedupe_key is not null;
-- Its parameters became more: beside the new one, a call without names would be ambiguous.
drop function if exists rolecall.declare_procedure(
    text, text, text, text, text, text, int, jsonb, interval, interval
);
