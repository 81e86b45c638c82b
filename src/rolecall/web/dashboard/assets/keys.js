// Keyboard shortcuts. The dialog #keys in layout.html lists them.

const PAGES = { o: "/", t: "/tasks", c: "/chains", j: "/jobs", s: "/schedules", w: "/admin/workers", r: "/roles" };
const IN_FIELDS = "input, textarea, select, [contenteditable]";
// The link of a row, which its first cell contains.
const ROW_LINKS = "main tbody th[scope=row] a[href]:first-of-type";
let before = "";

/** Handle shortcuts: / searches, ? helps, j and k move between rows, g and a letter open a page. */
export function shortcuts() {
  document.getElementById("help")?.addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches(IN_FIELDS)) return;
    if (document.querySelector("dialog[open]")) return;
    const act = before === "g" && event.key in PAGES ? () => go(PAGES[event.key]) : ACTS[event.key];
    before = event.key;
    if (act?.() === true) event.preventDefault();
  });
}

const ACTS = {
  "/": () => focus(document.querySelector("main input[type=search]")),
  "?": help,
  j: () => step(1),
  k: () => step(-1),
};

function help() {
  document.getElementById("keys")?.showModal();
  return true;
}

function go(path) {
  const brand = document.querySelector("a.brand");
  if (brand) location.href = brand.href.replace(/\/$/, "") + path;
}

/** Focus the link of the next or previous row. The browser follows it on Enter. */
function step(by) {
  const links = [...document.querySelectorAll(ROW_LINKS)];
  const now = links.indexOf(document.activeElement?.closest("tr")?.querySelector("th[scope=row] a[href]"));
  return focus(links[now < 0 ? (by > 0 ? 0 : links.length - 1) : now + by]);
}

function focus(element) {
  element?.focus();
  return Boolean(element);
}
