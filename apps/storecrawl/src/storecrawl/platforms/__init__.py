"""Sources of menus, one package per platform."""
