"""What the API and the pages share below them: the means of a request, what it holds, what it is refused for.

`means` hands routes the crawl payload files, `finding` looks up what is named, `parameters` bounds what is asked for,
`refusals` tells what cannot be done.
"""
