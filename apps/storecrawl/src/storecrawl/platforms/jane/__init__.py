"""Jane: search hits with one price member per weight. Only its documents are read."""
