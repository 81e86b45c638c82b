-- breaking: no
-- The moment from which on no attempt of a task begins; null for one that may begin at any time.
alter table rolecall.tasks add column expires_at timestamptz;
-- They answer with it now; no release has had them.
drop function if exists rolecall.drafts_of(jsonb, timestamptz);
drop function if exists rolecall.give_tasks(bigint, bigint[], smallint[], int[], int, timestamptz);
drop function if exists rolecall.claim_in_order(bigint, text[], text[], int, int, int);
drop function if exists rolecall.claim_these(bigint, bigint[], int);
