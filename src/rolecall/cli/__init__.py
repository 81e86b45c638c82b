"""The `rolecall` command: argv in, one service call, a table or one JSON document out."""
