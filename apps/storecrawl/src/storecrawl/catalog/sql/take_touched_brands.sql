-- Take the brands whose partials have changed.
-- returns: their ids
with taken as (
    delete from storecrawl.touched_brands
    returning brand_id
)
select distinct brand_id
from taken
order by brand_id
