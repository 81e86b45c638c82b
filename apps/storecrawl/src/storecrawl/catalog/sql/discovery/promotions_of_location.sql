-- returns: what was decided about a location, the latest first
select promotion.id, promotion.at, promotion.was::text, promotion.became::text, promotion.store_id,
    store.name as store_name, promotion.by, promotion.because
from storecrawl.promotions as promotion
left join storecrawl.stores as store on store.id = promotion.store_id
where promotion.location_id = %(location_id)s
order by promotion.id desc
limit %(limit)s
