-- returns: a kept image
select id, path, sha256, content_type, size, width, height
from storecrawl.images
where id = %(image_id)s
    and path is not null
