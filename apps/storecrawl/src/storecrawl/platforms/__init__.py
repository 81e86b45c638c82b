"""The platforms on which stores publish their menus, one package for each."""
