// A form that asks before it acts (data-asks) shows the server's question in a dialog. Without this script, and wherever
// the dialog cannot be had, the same question is a page of its own: it is the server that does nothing without a yes.

/** Stand before every form of the page. */
export function listen() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const asks = "asks" in form.dataset || (event.submitter && "asks" in event.submitter.dataset);
    if (!asks || "plain" in form.dataset) return;
    event.preventDefault();
    const answer = await sent(form, event.submitter);
    // Where it leads elsewhere, what it has to say is told on the next page that is loaded.
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
  // Not form.action: that is a button where one of them has this name.
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
