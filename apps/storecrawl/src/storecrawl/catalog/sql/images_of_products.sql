-- returns: the kept image of each of some products that has one
select product.id as product_id, image.id, image.path, image.sha256, image.content_type, image.size, image.width, image.height
from storecrawl.products as product
join storecrawl.images as image on image.url = product.image_url
where product.id = any(%(product_ids)s)
    and image.path is not null
