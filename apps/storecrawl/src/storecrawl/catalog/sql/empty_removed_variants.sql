-- Nothing of a removed product is in stock.
update storecrawl.variants
set in_stock = false,
    changed_at = %(fetched_at)s
where product_id = any(%(product_ids)s)
    and in_stock
