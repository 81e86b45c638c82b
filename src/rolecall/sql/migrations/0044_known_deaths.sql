-- breaking: no
-- What proves that a worker is dead: which process it is, and by which name its sessions are known.
alter table rolecall.workers
    add column pid_space text,
    add column pid_started bigint,
    add column sessions text,
    add column unseen_since timestamptz;
