-- returns: the options of a product, those it has before those it had
select
    option, weight_value, weight_unit, price_rec_cents, price_med_cents, special_rec_cents, special_med_cents,
    quantity, quantity_capped, in_stock, listed, sku
from storecrawl.variants
where product_id = %(product_id)s
order by listed desc, position, option
