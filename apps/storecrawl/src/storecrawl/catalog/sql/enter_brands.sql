-- Enter the brands that a menu names and nobody has named before; a logo is kept where there was none.
with named as (
    select distinct on (slug) name, slug, external_id, logo_url
    from jsonb_to_recordset(%(brands)s::jsonb) as brand (name text, external_id text, logo_url text)
    cross join lateral storecrawl.brand_slug(name) as slug
    order by slug, logo_url nulls last, name
)
insert into storecrawl.brands as known (name, slug, external_id, logo_url)
select name, slug, external_id, logo_url
from named
where not exists (
    select
    from storecrawl.brands as standing
    where standing.slug = named.slug
        and (standing.logo_url is not null or named.logo_url is null)
)
order by slug
on conflict (slug) do update
set logo_url = excluded.logo_url
where known.logo_url is null
    and excluded.logo_url is not null
