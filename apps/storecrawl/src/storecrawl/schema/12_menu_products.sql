-- The current menus, with one row per product.

create view storecrawl.menu_products with (security_invoker = true) as
select
    product.store_id, product.external_id, product.name, product.brand, product.category, product.subcategory,
    product.strain_type,
    coalesce(option.price_rec_cents, option.price_med_cents) as price_cents,
    option.price_rec_cents, option.price_med_cents,
    product.thc_lo, product.thc_hi, product.thc_unit,
    product.thc_lo / unit.of_a_percent as thc_percent_lo, product.thc_hi / unit.of_a_percent as thc_percent_hi,
    product.cbd_lo, product.cbd_hi, product.cbd_unit,
    option.weight_value, option.weight_unit,
    product.availability, product.in_stock, product.image_url, product.description
from storecrawl.products as product
cross join lateral (
    select case product.thc_unit when 'PERCENTAGE' then 1 when 'MILLIGRAMS_PER_GRAM' then 10 end as of_a_percent
) as unit
cross join lateral (
    select
        min(price.rec_cents) as price_rec_cents, min(price.med_cents) as price_med_cents,
        (array_agg(variant.weight_value order by price.rec_cents, price.med_cents, variant.position))[1] as weight_value,
        (array_agg(variant.weight_unit order by price.rec_cents, price.med_cents, variant.position))[1] as weight_unit
    from storecrawl.variants as variant
    cross join lateral (
        select
            coalesce(variant.special_rec_cents, variant.price_rec_cents) as rec_cents,
            coalesce(variant.special_med_cents, variant.price_med_cents) as med_cents
    ) as price
    where variant.product_id = product.id
        and variant.listed
) as option
where product.availability <> 'removed_from_menu';

comment on view storecrawl.menu_products is
    'Each product of the current menus, with the lowest prices of its options, including specials.';
comment on column storecrawl.menu_products.price_cents is
    'The recreational price, or the medical one if there is no other. Null without a price.';
comment on column storecrawl.menu_products.thc_percent_lo is
    'The THC in percent of weight. Null if the unit cannot be converted.';
comment on column storecrawl.menu_products.weight_value is 'The weight of the option with the lowest price.';
