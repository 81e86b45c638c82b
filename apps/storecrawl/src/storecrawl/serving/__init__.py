"""Code shared by the API and the pages: resources of a request, lookups, parameters and errors.

`resources` provides the crawl payload files, `lookup` finds named objects, `parameters` validates parameters,
`refusals` converts errors to problem documents.
"""
