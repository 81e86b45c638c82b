-- breaking: no
-- A worker may take several tasks of a key, to run them one after another: how somebody claims says how many.
create type rolecall.claim_terms as (
    worker_id bigint,
    roles text[],
    handlers text[],
    ahead boolean,
    run int
);
