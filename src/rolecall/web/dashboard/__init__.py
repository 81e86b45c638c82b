"""The service layer as pages: the third shell, beside the command line and the API, and as thin.

    request ──► Access: who is it? ──► route of pages/: Reading, Operating or Administering ──► service ──► Postgres
                   │                        │
                nobody: /login         view.page(template)            an error: the error as a page
                                       view.done(sentence)  ──► 303 ──► the page that the form stood on

Pages are whole without a script: each is one GET with everything it shows in its address, each change is a form.
With scripts they live: one stream of events tells the browser what moved on, and it asks for those parts of the same
page again that say so (`data-live`, see assets/live.js).

    pages/      the routes, one module a page
    forms/      what people type or ask for in an address, read; what is wrong with it
    presenters/ what services answer, made ready to be shown: sentences, stories, lists
    drawing/    pictures: where everything stands
    templates/  what they look like: layout.html around each, ui.html the pieces they are made of
    assets/     style.css, what was vendored, and five scripts; served under an address that changes with them

The scripts: early.js (before anything is drawn), live.js (the stream), chart.js, widgets.js (our own elements), and
rolecall.js, which starts the rest.

An app adds pages of its own: a router made by `Pages`, mounted like any other (`App.mount`).
"""

from __future__ import annotations
