// Before anything is drawn: the theme that the viewer chose, where they chose one; else that of their system.
"use strict";
const chosen = localStorage.getItem("rolecall-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
