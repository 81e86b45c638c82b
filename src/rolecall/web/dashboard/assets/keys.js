// Keys: / goes to the search, ? tells them, g and a letter goes to a page.

const PAGES = { o: "/", t: "/tasks", c: "/chains", j: "/jobs", s: "/schedules", w: "/admin/workers", r: "/roles" };
const IN_FIELDS = "input, textarea, select, [contenteditable]";

/** Listen to the keyboard. */
export function listen() {
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches(IN_FIELDS)) return;
    if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search) event.preventDefault();
      search?.focus();
    } else if (before === "g" && event.key in PAGES) {
      const brand = document.querySelector("a.brand");
      if (brand) location.href = brand.href.replace(/\/$/, "") + PAGES[event.key];
    }
    before = event.key;
  });
}
