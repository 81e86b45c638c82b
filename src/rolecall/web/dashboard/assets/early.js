// Runs before anything is drawn.
"use strict";

// Where the browser leaves out the transition between two pages, as it may, that is no error.
// The page that is left holds it too, and loses it when another click overtakes the first.
for (const moment of ["pageswap", "pagereveal"]) {
  addEventListener(moment, (event) => event.viewTransition?.ready.catch(() => {}));
}

// The theme that the viewer chose, where they chose one; else that of their system.
const chosen = localStorage.getItem("rolecall-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
