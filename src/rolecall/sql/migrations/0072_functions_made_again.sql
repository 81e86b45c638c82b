-- breaking: no
-- phase: functions
-- Their results or parameters have changed; with two declare_procedure, a call would be ambiguous.
drop function if exists rolecall.drafts_of(jsonb, timestamptz);
drop function if exists rolecall.give_tasks(bigint, bigint[], smallint[], int[], int, timestamptz);
drop function if exists rolecall.claim_in_order(bigint, text[], text[], int, int, int);
drop function if exists rolecall.days_to_prune(text, timestamptz);
drop function if exists rolecall.claim_these(bigint, bigint[], int);
drop function if exists rolecall.declare_procedure(
    text, text, text, text, text, text, int, jsonb, interval, interval
);
drop function if exists rolecall.declare_procedure(
    text, text, text, text, text, text, int, jsonb, interval, interval, text, text
);
