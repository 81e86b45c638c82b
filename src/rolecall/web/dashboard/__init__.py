"""The dashboard: the services as web pages, as thin a layer as the API.

    request ──► Access: identify ──► route in pages/: Reading, Operating or Administering ──► service ──► Postgres
                   │                     │
                401: /login          view.page(template)            error: an error page
                                     view.done(sentence)  ──► 303 ──► the page with the form

Pages work without scripts: each is one GET whose URL contains its whole state, and each change is a form. With scripts,
one stream of events tells the browser what changed, and it refreshes the page's fragments that declare an interest
(`data-live`, see assets/live.js).

    pages/      the routes, one module for each page
    forms/      parsing of forms and queries, with their problems
    presenters/ results of services, prepared for templates
    drawing/    layout of pictures
    templates/  layout.html around each page, ui.html with its macros
    assets/     styles and scripts, served under a URL that changes with them
"""

from __future__ import annotations
