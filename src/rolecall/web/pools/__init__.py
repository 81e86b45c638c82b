"""Several pools on one server: each in its own application, with one page over all of them.

    /                   the page of all pools        /api/pools      the same as JSON
    /pools/NAME/...     the application of a pool, with its own connections, stream, users, sessions and limits

A pool whose database is away is shown as such, and the others do not wait for it.
"""
