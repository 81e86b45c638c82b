-- returns: what is on a store's menu, by category, the largest first
select
    nullif(category, '') as category, brands, products, in_stock, variants, on_special,
    lowest_cents, average_cents, highest_cents, price_changes, price_changed_at
from storecrawl.store_category_statistics
where store_id = %(store_id)s
order by products desc, category
