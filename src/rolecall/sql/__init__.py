"""The engine: its tables and functions as .sql files, and a typed call for each public function.

`schema` contains the tables as they are now, `migrations` how they came about, and `functions` the functions by
subject. `docs/engine.md` describes them: call graphs, lock order, errors, breakpoints.

A plain task passes three functions. `enqueue_many` stores rows in `tasks` and notifies an idle worker. `claim` takes
rows in the order of priority, time and id, and gives each a lease, a deadline and a new fence. `finish_free` moves
them to `finished_tasks`, frees their keys and releases the tasks that waited for them.

A call is a value: these modules build `Statement`s, which contain the query and a function that reads the rows. Only
`rolecall.db.run` executes them, so this package needs no database in tests and serves sync and async code.
"""
