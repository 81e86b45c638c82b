-- breaking: no
-- For how long after they are due the tasks of a handler may begin, where they do not say so themselves.
alter table rolecall.handlers
    add column expires interval,
    add constraint expires_is_positive check (expires > '0 s');
