-- name: webhooks
-- returns: all webhooks or one, in the order of their ids
select id, url, secret, kinds::text[], store_ids, brands, at_once, created_at
from storecrawl.webhooks
where %(webhook_id)s::bigint is null or id = %(webhook_id)s
order by id


-- name: add_webhook
-- Add a webhook, unless there is one with this URL. Brands are stored as slugs.
-- returns: its id
insert into storecrawl.webhooks (url, secret, kinds, store_ids, brands, at_once)
values (
    %(url)s, %(secret)s, %(kinds)s::text[]::storecrawl.change_kind[], %(store_ids)s::bigint[],
    (select array_agg(storecrawl.brand_slug(brand)) from unnest(%(brands)s::text[]) as brand), %(at_once)s
)
on conflict (url) do nothing
returning id


-- name: remove_webhook
-- Delete a webhook.
delete from storecrawl.webhooks
where id = %(webhook_id)s


-- name: changes_to_send
-- returns: for each webhook with matching changes after one position up to another: the most changes of a
--          request, and the positions
select webhook.id as webhook_id, webhook.at_once, array_agg(change.position order by change.position) as positions
from storecrawl.catalog_changes as change
left join storecrawl.products as product on product.id = change.product_id
left join storecrawl.brands as brand on brand.id = product.brand_id
join storecrawl.webhooks as webhook
    on (webhook.kinds is null or change.kind = any(webhook.kinds))
    and (webhook.store_ids is null or change.store_id = any(webhook.store_ids))
    and (webhook.brands is null or brand.slug = any(webhook.brands))
where change.position > %(after)s
    and change.position <= %(last)s
group by webhook.id
order by webhook.id
