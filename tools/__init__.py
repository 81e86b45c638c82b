"""The project's own tools: the bootstrap of `./dev setup`, and the checks of `./dev check`."""
