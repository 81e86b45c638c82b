delete from storecrawl.routes
where id = %(id)s
returning id
