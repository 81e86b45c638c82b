"""The engine: its tables and functions as .sql files, and one typed call for each public function.

A call is a value. The modules here build `Statement`s, which say what to send and how to read the answer;
only `rolecall.db.run` executes one. So everything here can be tested without a database, and the sync and
the async side share all of it.
"""
