"""The engine: its tables and functions as .sql files, and one typed call for each public function.

The tables stand in `schema` as they are now, in `migrations` as they came to be; the functions in `functions`, by
subject. `docs/engine.md` is the map of these: what enqueue, claim and finish call, a line a function; in which order
they lock; why they end; where to put a breakpoint.

A plain task passes three of them. `enqueue_many` reads the drafts, stores rows in `tasks` and notifies an idle
worker. `claim` picks rows in order of priority, time and id, and gives each a lease, a deadline and the next
fence. `finish_free` moves what is still owned into `finished_tasks`, frees its key, and lets those go on who
waited for it.

A call is a value. The modules here build `Statement`s, which say what to send and how to read the answer;
only `rolecall.db.run` executes one. So everything here can be tested without a database, and the sync and
the async side share all of it.
"""
