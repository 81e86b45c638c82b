-- returns: every path that a row names
select storage_path
from storecrawl.payloads
