-- name: search_products
-- Search the next products by name, or those of a store or brand by price. At most a given number is read, however
-- few match. The unused one of the two lists is not read.
-- returns: ids of the matching ones, in order; if more may follow, the last one read
with brand as (
    select id
    from storecrawl.brands
    where slug = storecrawl.brand_slug(%(brand)s)
),
by_price as (
    select product.id, coalesce(%(sign)s::bigint * lowest_cents, 2147483648) as key
    from storecrawl.products as product
    left join storecrawl.product_prices as priced on priced.product_id = product.id
    where %(sign)s::bigint is not null
        and (%(store_id)s::bigint is null or store_id = %(store_id)s)
        and (%(brand)s::text is null or brand_id = (select id from brand))
),
passing as (
    select id, row_number() over () as place
    from (
        (
            select id
            from storecrawl.products
            where %(sign)s::bigint is null
                and (%(store_id)s::bigint is null or store_id = %(store_id)s)
                and (%(brand)s::text is null or brand_id = (select id from brand))
                and (name, id) > (
                    coalesce((select name from storecrawl.products where id = %(after)s), ''),
                    coalesce(%(after)s::bigint, 0)
                )
            order by name, id
            limit %(most)s
        )
        union all
        (
            select id
            from by_price
            where %(after)s::bigint is null
                or (key, id) > (
                    coalesce(
                        %(sign)s::bigint * (
                            select lowest_cents from storecrawl.product_prices where product_id = %(after)s
                        ),
                        2147483648
                    ),
                    %(after)s::bigint
                )
            order by key, id
            limit %(most)s
        )
    ) as next_ones
),
found as (
    select passing.id, passing.place
    from passing
    join storecrawl.products as product on product.id = passing.id
    join storecrawl.stores as store on store.id = product.store_id
    left join lateral (
        select lowest_cents, on_special
        from storecrawl.product_prices
        where product_id = passing.id
    ) as priced on true
    where (%(state)s::text is null or store.state = %(state)s)
        and (%(platform)s::text is null or store.platform = %(platform)s)
        and (%(category)s::text is null or product.category = %(category)s)
        and (%(in_stock)s::boolean is null or product.in_stock = %(in_stock)s)
        and (%(pattern)s::text is null or product.name ilike %(pattern)s or product.brand ilike %(pattern)s)
        and (%(on_special)s::boolean is null or coalesce(priced.on_special, false) = %(on_special)s)
        and (%(lowest_cents)s::bigint is null or priced.lowest_cents >= %(lowest_cents)s)
        and (%(highest_cents)s::bigint is null or priced.lowest_cents <= %(highest_cents)s)
    order by passing.place
    limit %(limit)s
)
select
    array(select id from found order by place) as ids,
    case
        when (select count(*) from found) = %(limit)s then (select id from found order by place desc limit 1)
        when (select count(*) from passing) = %(most)s then (select id from passing order by place desc limit 1)
    end as reached


-- name: categories
-- returns: the totals of each category over all stores or those of a state, the most products first
select
    nullif(counted.category, '') as category,
    count(*) as stores,
    sum(counted.products)::bigint as products,
    sum(counted.in_stock)::bigint as in_stock,
    sum(counted.variants)::bigint as variants,
    sum(counted.on_special)::bigint as on_special,
    min(counted.lowest_cents) as lowest_cents,
    max(counted.highest_cents) as highest_cents
from storecrawl.store_category_statistics as counted
join storecrawl.stores as store on store.id = counted.store_id
where %(state)s::text is null or store.state = %(state)s
group by counted.category
order by products desc, category
