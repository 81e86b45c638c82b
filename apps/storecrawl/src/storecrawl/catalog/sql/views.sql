-- returns: the materialized views of the schema and whether each is populated, by name
select matviewname, ispopulated
from pg_catalog.pg_matviews
where schemaname = 'storecrawl'
order by matviewname
