"""The subcommands, one module per noun or verb. Each makes one service call and prints the answer."""
