-- Options that the newest state of their product no longer has stay, unlisted.
update storecrawl.variants as known
set listed = false,
    in_stock = false,
    changed_at = %(fetched_at)s
where known.product_id = any(%(product_ids)s)
    and known.listed
    and not exists (
        select
        from jsonb_to_recordset(%(variants)s::jsonb) as variant (product_id bigint, option text)
        where variant.product_id = known.product_id
            and variant.option = known.option
    )
