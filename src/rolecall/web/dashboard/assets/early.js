// Runs before the first paint.
"use strict";

// Browsers may skip the transition between two pages, for example after a second click. That is not an error.
for (const moment of ["pageswap", "pagereveal"]) {
  addEventListener(moment, (event) => event.viewTransition?.ready.catch(() => {}));
}

// The theme that the viewer chose. By default, the system's theme applies.
const chosen = localStorage.getItem("rolecall-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
