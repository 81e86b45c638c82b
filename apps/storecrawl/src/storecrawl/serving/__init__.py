"""What the API and the pages share below them: the resources of a request, what it holds, what it is refused for.

`resources` hands routes the crawl payload files, `lookup` finds what is named, `parameters` bounds what is asked for,
`refusals` tells what cannot be done.
"""
