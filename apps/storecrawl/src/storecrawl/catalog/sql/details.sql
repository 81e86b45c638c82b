-- name: details_of_product
-- returns: a product's details; no row if none are stored
select effects, cannabinoids, terpenes, specials, tags, net_weight, volume
from storecrawl.product_details
where product_id = %(product_id)s


-- name: upsert_details
-- Write the details of new and changed products.
insert into storecrawl.product_details as known (
    product_id, effects, cannabinoids, terpenes, specials, tags, net_weight, volume
)
select product_id, effects, cannabinoids, terpenes, specials, tags, net_weight, volume
from jsonb_to_recordset(%(details)s::jsonb) as told (
    product_id bigint, effects jsonb, cannabinoids jsonb, terpenes jsonb, specials jsonb, tags text[],
    net_weight jsonb, volume jsonb
)
order by product_id
on conflict (product_id) do update
set effects = excluded.effects,
    cannabinoids = excluded.cannabinoids,
    terpenes = excluded.terpenes,
    specials = excluded.specials,
    tags = excluded.tags,
    net_weight = excluded.net_weight,
    volume = excluded.volume
where (
    known.effects, known.cannabinoids, known.terpenes, known.specials, known.tags, known.net_weight, known.volume
) is distinct from (
    excluded.effects, excluded.cannabinoids, excluded.terpenes, excluded.specials, excluded.tags,
    excluded.net_weight, excluded.volume
)
