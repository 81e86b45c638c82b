// A field for a time zone that nothing stands in yet begins with the viewer's own.

/** Fill in those fields of the page. */
export function fillIn() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const field of document.querySelectorAll("input[data-viewers-zone]")) field.value ||= zone ?? "";
}
