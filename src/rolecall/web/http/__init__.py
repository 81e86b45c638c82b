"""HTTP for all routes: limits, rates, errors, events and headers. Nothing here knows tasks or services."""
