"""The subcommands, one module a noun or verb; each makes one service call and shows what it answers."""
