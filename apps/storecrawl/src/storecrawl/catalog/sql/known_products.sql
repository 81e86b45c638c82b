-- returns: those of some of a store's products that are known, by the platform's key
select external_id, id, brand, category
from storecrawl.products
where store_id = %(store_id)s
    and external_id = any(%(external_ids)s)
