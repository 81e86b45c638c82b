-- breaking: no
-- Tasks that may be claimed into a free slot only, and tasks that do not fit every worker's signature, stand in lines of their own.

create type rolecall.claimant as (
    worker_id bigint,
    roles text[],
    handlers text[],
    ahead boolean
);

alter table rolecall.lines
    add column never_ahead boolean not null default false,
    add column misfit_for text[] not null default '{}';
