"""Weedmaps: listings with menu items that are priced by unit, by weight, or by variants."""
