-- name: paths_without_image
-- returns: the paths that no image's row names
select path
from unnest(%(paths)s::text[]) as path
where not exists (select from storecrawl.images where images.path = path.path)


-- name: note_images
-- Record the new image addresses in the products of a payload.
-- returns: whether any image of the store is due
with noted as (
    insert into storecrawl.images (url, store_id, product_id, due_at)
    select distinct on (product.image_url) product.image_url, product.store_id, product.id, clock_timestamp()
    from storecrawl.products as product
    where product.store_id = %(store_id)s
        and product.image_url ~ '^https?://'
        and octet_length(product.image_url) <= 2000
        and not exists (select from storecrawl.images where url = product.image_url)
    order by product.image_url, product.id
    on conflict (url) do nothing
    returning id
)
select exists (select from noted)
    or exists (select from storecrawl.images where store_id = %(store_id)s and due_at <= clock_timestamp())


-- name: due_images
-- returns: due images of a store
select
    image.id, image.url, image.tries,
    store.state, store.id as store_id, store.name as store_name,
    product.brand, product.id as product_id, product.name as product_name
from storecrawl.images as image
join storecrawl.stores as store on store.id = image.store_id
join storecrawl.products as product on product.id = image.product_id
where image.store_id = %(store_id)s
    and image.due_at <= clock_timestamp()
order by image.due_at, image.id
limit %(limit)s


-- name: store_image
-- Record the copy of a fetched image, which is not fetched again.
-- returns: nothing
update storecrawl.images
set due_at = null,
    tries = 0,
    problem = null,
    path = %(path)s,
    sha256 = %(sha256)s,
    size = %(size)s,
    fetched_at = clock_timestamp()
where id = %(id)s


-- name: postpone_image
-- Record why an image was not fetched, and when to try again, if ever.
-- returns: nothing
update storecrawl.images
set due_at = clock_timestamp() + %(again)s::interval,
    tries = %(tries)s,
    problem = %(problem)s
where id = %(id)s
