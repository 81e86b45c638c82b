-- returns: the kept raw menus of a store of which no payload was made, but for the newest ones
select id, storage_path
from storecrawl.raw_menus
where store_id = %(store_id)s
    and payload_id is null
    and expired_at is null
order by fetched_at desc, id desc
offset %(newest)s
