// A form with data-ask asks that first, in a dialog, and is sent when the answer is yes.

/** Stand before every form of the page. */
export function listen() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const question = event.submitter?.dataset.ask ?? form.dataset.ask;
    if (!question || form.dataset.answered) return;
    event.preventDefault();
    if (!(await yes(question, event.submitter?.textContent.trim() || "Yes"))) return;
    form.dataset.answered = "yes";
    form.requestSubmit(event.submitter);
    delete form.dataset.answered;
  });
}

function yes(question, word) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "question");
  const text = document.createElement("p");
  text.id = "question";
  text.textContent = question;
  const form = document.createElement("form");
  form.method = "dialog";
  form.append(button("Back", "no"), button(word, "yes"));
  dialog.append(text, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

function button(text, value) {
  const made = document.createElement("button");
  made.textContent = text;
  made.value = value;
  made.className = value === "yes" ? "primary" : "";
  return made;
}
