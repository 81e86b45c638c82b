-- Look for products among the next ones by name: at most so many are read, however few of them fit.
-- returns: ids of those that fit, in order; where more may follow, the one that the next page comes after
with passing as (
    select id, store_id, name, brand, availability, row_number() over () as place
    from (
        select id, store_id, name, brand, availability
        from storecrawl.products
        where (name, id) > (
                coalesce((select name from storecrawl.products where id = %(after)s), ''),
                coalesce(%(after)s::bigint, 0)
            )
        order by name, id
        limit %(most)s
    ) as next_ones
),
found as (
    select id, place
    from passing
    where (%(availability)s::text is null or availability = %(availability)s::text::storecrawl.availability)
        and (
            %(pattern)s::text is null
            or name ilike %(pattern)s
            or brand ilike %(pattern)s
            or store_id = any(array(select store.id from storecrawl.stores as store where store.name ilike %(pattern)s))
        )
    limit %(limit)s
)
select
    array(select id from found order by place) as ids,
    case
        when (select count(*) from found) = %(limit)s then (select id from found order by place desc limit 1)
        when (select count(*) from passing) = %(most)s then (select id from passing order by place desc limit 1)
    end as reached
