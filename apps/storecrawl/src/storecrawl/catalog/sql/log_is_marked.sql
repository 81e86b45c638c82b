-- returns: a row unless the server has crashed since the round began, which emptied the partials
select set_at
from storecrawl.change_log_mark
