-- Look for products of a store by name.
-- returns: ids of those that fit, in order; where more may follow, the one that the next page comes after
with found as (
    select id, name
    from storecrawl.products
    where store_id = %(store_id)s
        and (name, id) > (
            coalesce((select name from storecrawl.products where id = %(after)s), ''),
            coalesce(%(after)s::bigint, 0)
        )
        and (%(availability)s::text is null or availability = %(availability)s::text::storecrawl.availability)
        and (%(pattern)s::text is null or name ilike %(pattern)s or brand ilike %(pattern)s)
    order by name, id
    limit %(limit)s
)
select
    array(select id from found order by name, id) as ids,
    case
        when (select count(*) from found) = %(limit)s then (select id from found order by name desc, id desc limit 1)
    end as reached
