-- breaking: no
-- phase: contract
-- Claims call another function of this name.
drop function if exists rolecall.settle_keys(bigint[], text[], rolecall.claimant, int, timestamptz);
