-- The turns of a host lie one gap apart; who takes some has those that nobody took before.
insert into storecrawl.host_turns as known (host, free_at)
values (%(host)s, clock_timestamp() + make_interval(secs => %(seconds)s))
on conflict (host) do update
set free_at = greatest(known.free_at, clock_timestamp()) + make_interval(secs => %(seconds)s)
returning extract(epoch from free_at - clock_timestamp())::double precision - %(seconds)s
