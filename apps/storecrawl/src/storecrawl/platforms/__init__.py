"""The platforms on which stores publish their menus, one package for each.

protocol      the contract of a platform
registry      all platforms by name
access, client, exchange, retry    requests over the egress, for every platform
rest, paged   lists and menus of platforms with a plain JSON API
readers, envelopes    documents whose platform is unknown
dutchie, dispense, weedmaps    one platform each; only documents of jane are read
"""
