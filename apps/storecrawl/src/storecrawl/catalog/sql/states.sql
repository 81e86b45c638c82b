-- returns: the states that have stores, in order
select distinct state
from storecrawl.stores
where state is not null
order by state
