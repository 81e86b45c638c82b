-- Most products of a menu are only seen again: every row is written in every cycle, and indexes need not know of it where
-- the new version of a row finds room in its own page.
-- breaking: no

alter table storecrawl.products set (fillfactor = 50);
