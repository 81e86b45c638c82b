-- Note that a round begins. The next one begins a pause later, and not before twice the time that the last one took.
update storecrawl.derivation
set began_at = clock_timestamp(),
    ended_at = null,
    stores = %(stores)s,
    views_out_of_date = views_out_of_date or %(logged)s,
    next_round_at = rolecall.clock() + greatest(%(pause)s::interval, 2 * coalesce(ended_at - began_at, interval '0'))
