-- breaking: no
-- phase: contract
-- Other functions took their place.
drop function if exists rolecall.settle_keys(bigint[], text[], rolecall.claimant, int, timestamptz);
drop function if exists rolecall.old_partitions(regclass, date);
drop function if exists rolecall.drop_day(regclass, text, date, bigint[], timestamptz);
drop function if exists rolecall.prune_day(text, interval, bigint[], timestamptz, int);
drop function if exists rolecall.wanted_of_partition(text, bigint[], timestamptz, int);
drop function if exists rolecall.forget_needs_of_partition(text, bigint[]);
drop function if exists rolecall.drop_partition(text, bigint[]);
