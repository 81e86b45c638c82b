// Before anything is drawn: where the browser leaves out the transition between two pages, as it may, that is no error.
// The page that is left holds it too, and loses it when another click overtakes the first.
"use strict";
for (const moment of ["pageswap", "pagereveal"]) {
  addEventListener(moment, (event) => event.viewTransition?.ready.catch(() => {}));
}
