"""Values, rules and errors that all other packages use. Imports only the standard library."""
