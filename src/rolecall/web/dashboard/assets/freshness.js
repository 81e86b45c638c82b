// How old what is shown is. The dot at the side tells it, and where something could not be asked for, a sentence above the
// page: why, since when, and when it is tried again.

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
// What could not be had, by its name: { reason, seen }, the reason in words, and when it was known last.
const missing = new Map();
let idle = "not live";
let next = null;

/** This was had: a part of the page, or the stream. */
export function had(name) {
  if (missing.delete(name)) tell();
}

/** This could not be had, and what is shown of it was known last at this moment. */
export function lacks(name, reason, seen = Date.now()) {
  missing.set(name, { reason, seen: missing.get(name)?.seen ?? seen });
  tell();
}

/** Whether this, or anything, could not be had. */
export function isMissing(name) {
  return name === undefined ? missing.size > 0 : missing.has(name);
}

/** What the dot says while nothing is missing: "live", or why nothing is followed. */
export function say(words) {
  idle = words;
  tell();
}

/** When it is tried again. */
export function triedAt(moment) {
  next = moment;
  tell();
}

function tell() {
  const seen = Math.min(...[...missing.values()].map((each) => each.seen));
  dot(seen);
  banner(seen);
}

function dot(seen) {
  const shown = document.getElementById("stream-state");
  if (!shown) return;
  shown.dataset.state = missing.size ? "stale" : idle === "live" ? "on" : "off";
  write(shown.querySelector(".words"), missing.size ? `${age(seen)} old` : idle);
}

function banner(seen) {
  let shown = document.getElementById("stale");
  if (!missing.size) return shown?.remove();
  if (!shown) {
    shown = document.createElement("p");
    shown.id = "stale";
    shown.className = "said warn stale";
    shown.setAttribute("role", "status");
    // Who listens hears once that it is so, not every second how long it takes.
    shown.append(document.createElement("span"), document.createElement("span"));
    shown.lastChild.setAttribute("aria-hidden", "true");
    document.getElementById("main").prepend(shown);
  }
  // Why a part did not come is known better than why the stream did not.
  const { reason } = [...missing.values()].at(-1);
  const wait = Math.ceil((next - Date.now()) / 1000);
  write(shown.firstChild, `${reason}; figures from ${CLOCK.format(seen)}`);
  write(shown.lastChild, wait > 0 ? `; trying again in ${wait} s` : "; trying again");
}

function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

function age(seen) {
  const seconds = Math.max(0, Math.round((Date.now() - seen) / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

setInterval(() => missing.size && tell(), 1000);
