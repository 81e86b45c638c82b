// Keeps the page up to date: a stream of events reports changes, and the fragments that declare an interest in them
// (data-live) are fetched again from the page's own address.
//
//   <section id="list" data-live="tasks" data-pace="2">   at most every two seconds
//
// data-live is a list of: tasks (any task changed), task:7 (that task or a child of it changed), roles, progress, and
// clock (refresh once per pace in any case). While the page is hidden, nothing is fetched and no stream is open.
//
// If a request fails, the fragment stays as it is, and the request is repeated at growing intervals. The dot in the
// navigation shows the age of the data. A banner above the page shows the reason, the time of the data and the next
// attempt.

const SLOWEST = 5;
const PAUSES = [1, 2, 5, 10, 30];
const STREAM = "the stream";
const AWAY = "The database does not respond";
const UNREACHED = "The server cannot be reached";
const waiting = new Map();
const loaded = Date.now();
let address = "";
let events = null;
let failures = 0;
let retry = null;
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
// Failed fragments and the stream, by name: { reason, seen }, with the time of the last success.
const missing = new Map();
let idle = "not live";
let next = null;

/** Open the stream while the page is visible. */
export function follow(from) {
  document.addEventListener("htmx:before:swap", judge);
  document.addEventListener("htmx:error", (event) => missed(event.detail.ctx?.select, UNREACHED));
  if (!from) return;
  // Counting the tasks of all roles is the most expensive part for the server.
  const counted = document.querySelector("[data-live~=roles]") !== null;
  address = `${from}${from.includes("?") ? "&" : "?"}counts=${counted}`;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) end();
    else if (!events) {
      open();
      stir(() => true);
    }
  });
  if (!document.hidden) open();
  window.addEventListener("pagehide", end);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && !events) open();
  });
  setInterval(() => stir((word) => word === "clock"), 1000);
}

function end() {
  events?.close();
  events = null;
  clearTimeout(retry);
  retry = null;
  say("paused");
}

function open() {
  events = new EventSource(address);
  const on = (name, concerns) => events.addEventListener(name, (event) => stir(concerns(JSON.parse(event.data))));
  events.addEventListener("connected", () => {
    say("live");
    if (isMissing(STREAM)) back();
  });
  events.addEventListener("error", () => lost(events?.readyState === EventSource.CLOSED ? "The server sends no updates" : UNREACHED));
  events.addEventListener("stale", (event) => lost(AWAY, Date.now() - 1000 * JSON.parse(event.data).seconds));
  events.addEventListener("fresh", back);
  on("task_changed", (task) => (word) => word === "tasks" || word === `task:${task.id}` || word === `task:${task.parent_id}`);
  on("role_changed", () => (word) => word === "roles");
  on("progress", () => (word) => word === "progress");
  on("reload", () => (word) => word !== "clock");
}

function back() {
  had(STREAM);
  say("live");
  failures = 0;
  stir(() => true);
  again();
}

function lost(reason, seen) {
  say("not live");
  lacks(STREAM, reason, seen);
  later();
}

/** Refresh the fragments with a matching word, each at most once per pace. */
function stir(concerns) {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-live]")) {
    if (!isMissing(part.id) && part.dataset.live.split(" ").some(concerns)) soon(part);
  }
}

function soon(part) {
  const known = waiting.get(part.id);
  if (known?.timer) return;
  const pace = 1000 * Number(part.dataset.pace || SLOWEST);
  const delay = Math.max(50, (known?.last ?? 0) + pace - Date.now());
  const timer = setTimeout(() => renew(part.id), delay);
  waiting.set(part.id, { ...known, timer });
}

async function renew(id) {
  waiting.set(id, { ...waiting.get(id), last: Date.now(), timer: null });
  const part = document.getElementById(id);
  if (!part) return;
  // Do not replace a fragment while someone types or selects in it. It is refreshed afterwards.
  if (part.querySelector("dialog[open], [data-selects]:checked") || part.contains(document.activeElement?.closest("form:not(.act)"))) {
    soon(part);
    return;
  }
  await htmx.ajax("GET", location.pathname + location.search, {
    source: part, target: part, select: `#${CSS.escape(id)}`, swap: "outerMorph",
  });
}

/** Accept only a response that contains the requested fragment. Any other would remove it from the page. */
function judge(event) {
  const { response, select, text } = event.detail.ctx;
  if (!select) return;
  // A 404 page about a deleted object contains the fragment; error pages do not.
  const fits = (response.raw.ok || response.status === 404) && new DOMParser().parseFromString(text, "text/html").querySelector(select);
  if (!fits) {
    event.preventDefault();
    missed(select, response.status === 503 ? AWAY : response.raw.ok ? "The server sent an unexpected page" : `The server responded with ${response.status}`);
    return;
  }
  const part = document.querySelector(select);
  if (!part) return;
  waiting.set(part.id, { ...waiting.get(part.id), seen: Date.now() });
  had(part.id);
}

function missed(select, reason) {
  const part = select && document.querySelector(select);
  if (!part?.matches("[data-live]")) return;
  lacks(part.id, reason, waiting.get(part.id)?.seen ?? loaded);
  later();
}

/** Retry after a growing delay. */
function later() {
  if (retry || document.hidden) return;
  const pause = 1000 * PAUSES[Math.min(failures, PAUSES.length - 1)];
  failures += 1;
  retry = setTimeout(again, pause);
  triedAt(Date.now() + pause);
}

async function again() {
  clearTimeout(retry);
  retry = null;
  if (events?.readyState === EventSource.CLOSED) open();
  const parts = [...document.querySelectorAll("[data-live]")];
  // One by one: if the first one fails, the others would too.
  for (const part of parts.filter((each) => isMissing(each.id))) {
    await renew(part.id);
    if (isMissing(part.id)) break;
  }
  if (isMissing()) later();
  else failures = 0;
}

/** Note that a fragment or the stream was received. */
function had(name) {
  if (missing.delete(name)) tell();
}

/** Note that a fragment or the stream failed. `seen` is the time of the data shown. */
function lacks(name, reason, seen = Date.now()) {
  missing.set(name, { reason, seen: missing.get(name)?.seen ?? seen });
  tell();
}

/** Whether the given fragment, or any, has failed. */
function isMissing(name) {
  return name === undefined ? missing.size > 0 : missing.has(name);
}

/** Set the text next to the dot: "live", or why there is no stream. */
function say(words) {
  idle = words;
  tell();
}

/** Set the time of the next attempt. */
function triedAt(moment) {
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
    // Screen readers announce the reason once, and not the countdown.
    shown.append(document.createElement("span"), document.createElement("span"));
    shown.lastChild.setAttribute("aria-hidden", "true");
    document.getElementById("main").prepend(shown);
  }
  // The reason of a fragment is more precise than that of the stream.
  const { reason } = [...missing.values()].at(-1);
  const wait = Math.ceil((next - Date.now()) / 1000);
  write(shown.firstChild, `${reason}; data from ${CLOCK.format(seen)}`);
  write(shown.lastChild, wait > 0 ? `; retrying in ${wait} s` : "; retrying");
}

function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

function age(seen) {
  const seconds = Math.max(0, Math.round((Date.now() - seen) / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

setInterval(() => missing.size && tell(), 1000);
