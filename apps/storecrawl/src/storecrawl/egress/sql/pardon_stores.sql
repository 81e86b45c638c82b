-- What was forbidden on a route that is blamed is not held against stores that were never blocked before.
delete from storecrawl.blocked_stores as blocked
using storecrawl.stores as store, storecrawl.forbidden_visits as visit
where store.id = blocked.store_id
    and visit.about = store.platform_store_id
    and visit.route_id = any(%(blamed)s)
    and blocked.times = 1
