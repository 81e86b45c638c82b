-- Lists where the buckets of durations begin, in seconds: ten a decade from a millisecond on, to a month; below the first is bucket 0.
-- returns: the bounds
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.history_bounds()
returns float8[]
language sql
immutable
set search_path = ''
as $$
    select array_agg(0.001 * power(10::float8, number / 10.0::float8) order by number) from generate_series(0, 94) as number
$$;
