-- Note that the views are brought up to date, unless they are.
-- returns: a row when they were not
update storecrawl.derivation
set views_out_of_date = false
where views_out_of_date
returning only_one
