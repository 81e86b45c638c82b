-- returns: those of some paths that no image's row names
select path
from unnest(%(paths)s::text[]) as path
where not exists (select from storecrawl.images where images.path = path.path)
