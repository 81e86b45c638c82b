// Forms that make an address (data-tidy): what is empty stays out of it, and a moment, which is shown and typed in the
// viewer's zone, stands in it as UTC, so that the address means the same to everybody.

/** Show moments in the viewer's zone, and write them as UTC. */
export function listen() {
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
