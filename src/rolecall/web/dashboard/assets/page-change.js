// Before anything is drawn: where the browser leaves out the transition from the page before, as it may, that is no error.
"use strict";
addEventListener("pagereveal", (event) => event.viewTransition?.ready.catch(() => {}));
