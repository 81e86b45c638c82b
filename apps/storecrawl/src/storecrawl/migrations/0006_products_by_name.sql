-- Lists of products by name, of all stores or of one, a page at a time.
-- breaking: no

create index products_by_name on storecrawl.products (name, id);
create index products_of_store_by_name on storecrawl.products (store_id, name, id);
