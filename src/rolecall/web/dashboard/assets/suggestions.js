// Suggestions below a text field, as a combobox: arrow keys move, Enter chooses, Escape closes. Without scripts, the search field
// is a plain field, and the palette does not open.

// The word at the end of a text. A quoted part of it can contain spaces.
const LAST_WORD = /(?:[^\s"]|"[^"]*"?)*$/;
// A condition that needs a value.
const IS_BEGUN = /[:~<>.]$/;

/** Open the palette on Ctrl-K or Cmd-K. */
export function palette() {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const field = dialog.querySelector("input");
  const refresh = combobox(field, dialog.querySelector("ul"), () => field.value, ({ href }) => {
    dialog.close();
    location.href = href;
  }, 0);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    if (document.querySelector("dialog[open]:not(#palette)")) return;
    event.preventDefault();
    if (dialog.open) return dialog.close();
    field.value = "";
    dialog.showModal();
    refresh();
  });
}

/** Suggest conditions and their values in the search field of tasks. */
export function searchSuggestions() {
  const field = document.querySelector("main input[data-suggests]");
  if (!field) return;
  const list = document.createElement("ul");
  list.id = "conditions";
  list.className = "suggestions";
  field.closest("form").append(list);
  const word = () => LAST_WORD.exec(field.value.slice(0, field.selectionStart))[0];
  const refresh = combobox(field, list, word, ({ text }) => {
    const end = field.selectionStart;
    field.setRangeText(IS_BEGUN.test(text) ? text : `${text} `, end - word().length, end, "end");
    if (IS_BEGUN.test(text)) refresh();
  });
  field.addEventListener("blur", () => { list.hidden = true; });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hidden) return;
    // By default, Escape also clears the field.
    event.preventDefault();
    list.hidden = true;
  });
}

/**
 * Show suggestions for `typed()` in a list, and call `choose` with the chosen one. `first` is the index of the suggestion that is
 * active without an arrow key, -1 for none. Return a function that asks for suggestions.
 */
function combobox(field, list, typed, choose, first = -1) {
  let items = [];
  let active = -1;
  let asked;
  let pending = Promise.resolve();

  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  show([]);
  new MutationObserver(tell).observe(list, { attributeFilter: ["hidden"] });
  field.addEventListener("input", refresh);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.isComposing || (!step && event.key !== "Enter")) return;
    if (step && list.hidden) refresh();
    else if (step) activate(active < 0 && step < 0 ? items.length - 1 : (active + step + items.length) % items.length);
    else if (first >= 0) pending.then(() => pick(active));
    else if (active >= 0 && !list.hidden) pick(active);
    else return;
    event.preventDefault();
  });
  // The field keeps the focus.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", ({ target }) => {
    const option = target.closest("[role=option]");
    if (option) pick([...list.children].indexOf(option));
  });
  return refresh;

  function refresh() {
    // Enter chooses no suggestion for an earlier text.
    if (first < 0) activate(-1);
    pending = ask();
  }

  async function ask() {
    asked?.abort();
    const { signal } = (asked = new AbortController());
    const address = `${field.dataset.suggests}?${new URLSearchParams({ text: typed() })}`;
    // Without a session, the answer is the login page.
    const found = await fetch(address, { signal }).then((answer) => (answer.ok ? answer.json() : [])).catch(() => []);
    if (!signal.aborted && document.activeElement === field) show(found);
  }

  function show(found) {
    items = found;
    list.replaceChildren(...found.map(option));
    list.hidden = found.length === 0;
    activate(Math.min(first, found.length - 1));
    tell();
  }

  function activate(index) {
    active = index;
    for (const [place, each] of [...list.children].entries()) each.setAttribute("aria-selected", String(place === index));
    list.children[index]?.scrollIntoView({ block: "nearest" });
    tell();
  }

  function tell() {
    field.setAttribute("aria-expanded", String(!list.hidden));
    const shown = list.hidden ? null : list.children[active];
    if (shown) field.setAttribute("aria-activedescendant", shown.id);
    else field.removeAttribute("aria-activedescendant");
  }

  function pick(index) {
    const chosen = items[index];
    if (!chosen) return;
    asked?.abort();
    show([]);
    choose(chosen);
  }

  function option({ text, help }, index) {
    const row = document.createElement("li");
    row.id = `${list.id}-${index}`;
    row.setAttribute("role", "option");
    const about = document.createElement("small");
    about.textContent = help;
    const name = document.createElement("span");
    name.textContent = text;
    row.append(name, " ", about);
    return row;
  }
}
