// Checkboxes of a list (data-selects), the one that stands for all of them, and what is said of how many are selected.

/** Follow what is selected on the page. */
export function listen() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-selects-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    if (event.target.matches("[data-selects], [data-selects-all]")) tell();
  });
  document.addEventListener("reset", () => setTimeout(tell));
  document.addEventListener("htmx:after:swap", tell);
  tell();
}

function boxes() {
  return [...document.querySelectorAll("[data-selects]")];
}

function tell() {
  const all = document.querySelector("[data-selects-all]");
  if (!all) return;
  const number = boxes().filter((box) => box.checked).length;
  all.hidden = false;
  all.checked = number > 0 && number === boxes().length;
  all.indeterminate = number > 0 && !all.checked;
  for (const shown of document.querySelectorAll("[data-selected]")) shown.textContent = number;
}
