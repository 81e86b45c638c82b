-- The upstream refuses a store's menu: leave the store alone, the longer the more often in a row.
-- returns: for how many seconds
insert into storecrawl.blocked_stores as known (store_id, blocked_until, because)
values (%(store_id)s, clock_timestamp() + make_interval(secs => %(first)s), %(because)s)
on conflict (store_id) do update
set
    times = known.times + 1,
    blocked_until = clock_timestamp()
        + make_interval(secs => least(%(first)s * 2.0 ^ least(known.times, 30), %(longest)s)),
    because = excluded.because
returning extract(epoch from blocked_until - clock_timestamp())::double precision
