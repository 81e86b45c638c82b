-- breaking: no
-- transaction: no
-- What somebody who serves a few handlers of all roles looks for.
create index concurrently lines_by_handler on rolecall.lines (handler);
