-- breaking: no
-- For how long after they are due the tasks of a handler may begin, where they do not say so themselves.
alter table rolecall.handlers
    add column expires interval,
    add constraint expires_is_positive check (expires > '0 s');
-- Its parameters became more: beside the new one, a call without names would be ambiguous.
drop function if exists rolecall.declare_procedure(
    text, text, text, text, text, text, int, jsonb, interval, interval, text, text
);
