"""The platforms on which stores publish their menus, one package for each.

protocol      the contract of a platform
registry      all platforms by name
access, client, exchange, retry    requests over the egress, for every platform
dutchie       one platform
"""
