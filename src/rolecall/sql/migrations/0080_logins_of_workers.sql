-- breaking: no
-- Records which login registers a worker, so that no other one can report for it. A worker that is on the roll
-- already has null, which every login may act for, until it leaves.
alter table rolecall.workers add column login text;
alter table rolecall.workers alter column login set default session_user;
