insert into storecrawl.forbidden_visits as known (route_id, about)
select route.id, tally.about
from jsonb_to_recordset(%(forbidden)s::jsonb) as tally (route_id bigint, about text)
join storecrawl.routes as route on route.id = tally.route_id
order by route.id, tally.about
on conflict (route_id, about) do update
set last_at = clock_timestamp()
