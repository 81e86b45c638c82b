"""Dispense: venues with an API of their own; a product is priced once, and groups have one variant per size."""
