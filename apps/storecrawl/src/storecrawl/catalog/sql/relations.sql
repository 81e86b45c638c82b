-- name: relations
-- returns: the named tables and views of the schema with their comments, in the given order
select relation.relname::text as name, obj_description(relation.oid, 'pg_class') as comment
from unnest(%(names)s::text[]) with ordinality as chosen (name, place)
join pg_catalog.pg_class as relation
    on relation.relname = chosen.name and relation.relnamespace = 'storecrawl'::regnamespace
order by chosen.place


-- name: columns
-- returns: the columns of the named tables and views in their order: type, comment, whether they may be null,
--          whether they alone identify a row, and the table and column that a foreign key leads to
select
    relation.relname::text as relation,
    attribute.attname::text as name,
    format_type(attribute.atttypid, attribute.atttypmod) as type,
    col_description(relation.oid, attribute.attnum) as comment,
    attribute.attnotnull as is_required,
    exists (
        select
        from pg_catalog.pg_index as index
        where index.indrelid = relation.oid
            and index.indisunique
            and index.indpred is null
            and index.indkey::text = attribute.attnum::text
    ) as is_unique,
    (
        select target.relname
        from pg_catalog.pg_constraint as reference
        join pg_catalog.pg_class as target on target.oid = reference.confrelid
        where reference.conrelid = relation.oid
            and reference.contype = 'f'
            and reference.conkey = array[attribute.attnum]
        limit 1
    )::text as refers_to
from pg_catalog.pg_class as relation
join pg_catalog.pg_attribute as attribute on attribute.attrelid = relation.oid
where relation.relnamespace = 'storecrawl'::regnamespace
    and relation.relname = any(%(names)s)
    and attribute.attnum > 0
    and not attribute.attisdropped
order by relation.relname, attribute.attnum
