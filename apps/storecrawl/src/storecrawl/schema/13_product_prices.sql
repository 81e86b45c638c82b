-- The prices of products as customers see them.

create view storecrawl.product_prices with (security_invoker = true) as
select
    product_id,
    min(cents) as lowest_cents,
    max(cents) as highest_cents,
    bool_or(is_on_special) as on_special
from storecrawl.variants
cross join lateral (
    select coalesce(least(price_rec_cents, special_rec_cents), least(price_med_cents, special_med_cents)) as cents
) as price
where listed
group by product_id;

comment on view storecrawl.product_prices is
    'The lowest and highest price that a customer pays for an option of each product, including specials. '
    'Recreational prices count first. A product without options has no row.';
comment on column storecrawl.product_prices.product_id is 'The product.';
comment on column storecrawl.product_prices.lowest_cents is 'The lowest price in cents. Null if none is known.';
comment on column storecrawl.product_prices.highest_cents is 'The highest price in cents. Null if none is known.';
comment on column storecrawl.product_prices.on_special is 'Whether an option has a special price.';
