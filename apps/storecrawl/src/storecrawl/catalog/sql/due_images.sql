-- returns: images of a store that are due, with whose they are
select
    image.id, image.url, image.tries, image.path, image.sha256, image.etag,
    store.state, store.id as store_id, store.name as store_name,
    product.brand, product.id as product_id, product.name as product_name
from storecrawl.images as image
join storecrawl.stores as store on store.id = image.store_id
join storecrawl.products as product on product.id = image.product_id
where image.store_id = %(store_id)s
    and image.due_at <= clock_timestamp()
order by image.due_at, image.id
limit %(limit)s
