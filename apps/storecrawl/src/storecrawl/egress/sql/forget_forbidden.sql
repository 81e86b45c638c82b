-- A good answer came by these routes: what was forbidden on them before is no evidence any more.
delete from storecrawl.forbidden_visits
where route_id = any(%(recovered)s)
