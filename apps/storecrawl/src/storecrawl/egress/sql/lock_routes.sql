-- Several workers report on the same routes: each takes them in the order of their ids, so that none waits in a circle.
select id
from storecrawl.routes
where id = any(%(ids)s)
order by id
for update
