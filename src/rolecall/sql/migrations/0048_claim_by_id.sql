-- breaking: no
-- A key's place can be kept for tasks that were named; all functions are applied anew after this.
drop function if exists rolecall.settle_keys(bigint[], text[], rolecall.claimant, int, timestamptz);
