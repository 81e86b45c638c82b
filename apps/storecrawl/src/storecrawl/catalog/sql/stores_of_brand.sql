-- returns: the stores that have the most products of a brand on their menus
select
    store.id as store_id, store.name as store_name, store.state,
    count(*) as products, count(*) filter (where product.in_stock) as in_stock
from storecrawl.products as product
join storecrawl.stores as store on store.id = product.store_id
where product.brand_id = %(brand_id)s
    and product.availability <> 'removed_from_menu'
group by store.id
order by products desc, store.id
limit %(limit)s
