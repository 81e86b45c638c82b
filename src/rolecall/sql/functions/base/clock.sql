-- The only clock: the database's, or the moment that a test has set in rolecall.fake_now.
-- returns: the time now, moving within a transaction
create or replace function rolecall.clock()
returns timestamptz
language sql
volatile
set search_path = ''
as $$
    select coalesce(nullif(current_setting('rolecall.fake_now', true), '')::timestamptz, clock_timestamp())
$$;
