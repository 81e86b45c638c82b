-- returns: those of some paths that no row names
select path
from unnest(%(paths)s::text[]) as path
where not exists (select from storecrawl.payloads where storage_path = path)
    and not exists (select from storecrawl.raw_menus where storage_path = path)
    and not exists (select from storecrawl.discovery_payloads where storage_path = path)
