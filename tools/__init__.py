"""The project's own tools: the bootstrap behind `./dev setup`, and the checks behind `./dev check`."""
