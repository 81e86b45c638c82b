-- What an earlier application said of the payload is forgotten: what is refused, its latest reader says.
-- returns: nothing
with forgotten as (
    delete from storecrawl.refusals
    where payload_id = %(payload_id)s
),
counted as (
    update storecrawl.payloads
    set refused_products = %(products)s, refused_options = %(options)s
    where id = %(payload_id)s
        and (refused_products, refused_options) is distinct from (%(products)s::integer, %(options)s::integer)
)
insert into storecrawl.refusals (store_id, payload_id, record_index, external_id, option, reason)
select %(store_id)s, %(payload_id)s, index, external_id, option, reason
from jsonb_to_recordset(%(refusals)s::jsonb) as refusal (index integer, external_id text, option text, reason text)
