-- Enter the addresses of images that the products of a payload name and nobody knows yet.
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
