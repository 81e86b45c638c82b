// Behavior of all pages. Without scripts, they work as plain links and forms.
import "./widgets.js";
import "./chart.js";
import { shortcuts } from "./keys.js";
import { follow } from "./live.js";
import { ZONE } from "./locale.js";
import { palette, searchSuggestions } from "./suggestions.js";

const ORDER = ["", "dark", "light"];
const WORDS = { "": "System theme", dark: "Dark", light: "Light" };

fillIn();
askFirst();
sideButtons();
shortcuts();
palette();
searchSuggestions();
copyOnClick();
followSelection();
tidyForms();
follow(document.body.dataset.stream);

/** Copy the text of an element when its button is clicked. */
function copyOnClick() {
  if (!navigator.clipboard) return;
  document.documentElement.dataset.scripts = "";
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copies]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    const word = button.querySelector("span");
    word.textContent = "Copied";
    setTimeout(() => { word.textContent = "Copy"; }, 2000);
  });
}

/** Fill empty time zone fields with the viewer's zone, and show it. */
function fillIn() {
  for (const field of document.querySelectorAll("input[data-viewers-zone]")) field.value ||= ZONE ?? "";
  const shown = document.getElementById("zone");
  if (!shown || !ZONE) return;
  shown.querySelector("span").textContent = ZONE.replaceAll("_", " ");
  shown.hidden = false;
}

// A form with data-asks shows the server's question in a dialog. Without this script, or if the dialog fails, the question
// is a page of its own. The server does not act without confirmation.

/** Intercept the submission of forms that ask for confirmation. */
function askFirst() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const asks = "asks" in form.dataset || (event.submitter && "asks" in event.submitter.dataset);
    if (!asks || "plain" in form.dataset) return;
    event.preventDefault();
    const answer = await sent(form, event.submitter);
    // A redirect means that it is done. The reloaded page shows the flash message.
    if (answer?.type === "opaqueredirect") return location.reload();
    const question = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("question");
    if (question) return show(question);
    form.dataset.plain = "";
    form.requestSubmit(event.submitter);
    delete form.dataset.plain;
  });
}

function sent(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  // Not form.action: if a button is named "action", it would be that button.
  return fetch(form.getAttribute("action"), { method: "POST", body, redirect: "manual", headers: { accept: "text/html" } }).catch(() => null);
}

function show(question) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "question-text");
  const back = document.createElement("button");
  back.formMethod = "dialog";
  back.textContent = "Back";
  question.classList.remove("alone", "card");
  question.querySelector("a.button").replaceWith(back);
  dialog.append(document.adoptNode(question));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Set up the buttons for the navigation, which small screens fold, and for the theme. */
function sideButtons() {
  const button = document.querySelector(".unfold");
  button?.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
  });
  const theme = document.getElementById("theme");
  if (!theme) return;
  const words = () => {
    theme.querySelector(".words").textContent = WORDS[localStorage.getItem("rolecall-theme") ?? ""];
  };
  theme.addEventListener("click", () => {
    const now = localStorage.getItem("rolecall-theme") ?? "";
    const next = ORDER[(ORDER.indexOf(now) + 1) % ORDER.length];
    if (next) {
      localStorage.setItem("rolecall-theme", next);
      document.documentElement.dataset.theme = next;
    } else {
      localStorage.removeItem("rolecall-theme");
      delete document.documentElement.dataset.theme;
    }
    words();
    document.dispatchEvent(new Event("rolecall:theme"));
  });
  words();
}

/** Keep the checkboxes of a list (data-selects), the one for all of them, and the number of selected ones in sync. */
function followSelection() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-selects-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    if (event.target.matches("[data-selects], [data-selects-all]")) countSelected();
  });
  document.addEventListener("reset", () => setTimeout(countSelected));
  document.addEventListener("htmx:after:swap", countSelected);
  countSelected();
}

function boxes() {
  return [...document.querySelectorAll("[data-selects]")];
}

function countSelected() {
  const all = document.querySelector("[data-selects-all]");
  if (!all) return;
  const number = boxes().filter((box) => box.checked).length;
  all.hidden = false;
  all.checked = number > 0 && number === boxes().length;
  all.indeterminate = number > 0 && !all.checked;
  for (const shown of document.querySelectorAll("[data-selected]")) shown.textContent = number;
}

// Forms that build a URL (data-tidy) omit empty fields. Times are shown and typed in the viewer's zone, and sent as UTC,
// so that the URL means the same to all viewers.

/** Show times in the viewer's zone, and send them as UTC. */
function tidyForms() {
  for (const field of document.querySelectorAll("input[type=datetime-local][data-moment]")) localize(field);
  document.addEventListener("formdata", (event) => {
    if (!event.target.matches("[data-tidy]")) return;
    for (const [name, value] of [...event.formData]) {
      if (value === "") event.formData.delete(name);
      else if (event.target.elements[name]?.type === "datetime-local") event.formData.set(name, new Date(value).toISOString());
    }
  });
}

function localize(field) {
  const zone = field.closest("label")?.querySelector(".zone");
  if (zone) zone.textContent = "(your time)";
  if (!field.value) return;
  const moment = new Date(`${field.value}Z`);
  if (Number.isNaN(moment.valueOf())) return;
  field.value = new Date(moment - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
