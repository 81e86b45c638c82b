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
// attempt. A part of a fragment that took too long keeps its content, with the time of its data.

import { LOCALE } from "./locale.js";
import { SharedStream } from "./stream.js";

const SLOWEST = 5;
const PAUSES = [1, 2, 5, 10, 30];
const STREAM = "the stream";
const AWAY = "The database does not respond";
const UNREACHED = "The server cannot be reached";
const waiting = new Map();
const loaded = Date.now();
// The server sends an event at least every 10 s. Without two of them, the stream is regarded as lost.
const SILENCE = 22_000;
const PATIENCE = "10s";
const SILENT = "The server does not respond";
// Rows under the pointer are not refreshed until it leaves them, or has rested for this long.
const HOLD = 60_000;
let moved = 0;
let pointed = null;
let heard = Date.now();
const LOGGED_OUT = "You are logged out";
const SLOW = "This page took longer than 5 s";
let stream = null;
let hasConnected = false;
// When a form was sent whose response replaces the page. It may have deleted what the page shows, so nothing is
// refreshed until the response is there, or for this long.
let leftAt = -Infinity;
const LEAVING = 10_000;
let failures = 0;
let retry = null;
const CLOCK = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium" });
// The times of the parts of fragments, by id.
const parts = new Map();
// Failed fragments and the stream, by name: { reason, seen, login }, with the time of the last success.
const missing = new Map();
let idle = "not live";
let next = null;

/** Open the stream while the page is visible. */
export function follow(from) {
  document.addEventListener("htmx:after:request", judge);
  document.addEventListener("pointermove", ({ target }) => {
    moved = Date.now();
    pointed = target.closest("tbody");
  }, { passive: true });
  document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
    if (!ctx.sourceElement.matches("[data-live]")) return;
    ctx.request.timeout = PATIENCE;
    const etag = waiting.get(ctx.sourceElement.id)?.etag;
    if (etag) ctx.request.headers["If-None-Match"] = etag;
  });
  document.addEventListener("htmx:error", (event) => missed(event.detail.ctx?.select, UNREACHED));
  if (!from) {
    // A page without a stream is kept up to date by the clock alone.
    setInterval(() => stir((word) => word === "clock"), 1000);
    return;
  }
  // Counting the tasks of all roles is the most expensive part for the server.
  stream = new SharedStream(from, document.querySelector("[data-live~=roles]") !== null, receive);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) end();
    else if (!stream.isJoined) {
      begin();
      stir(() => true);
    }
  });
  if (!document.hidden) begin();
  window.addEventListener("pagehide", end);
  window.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) leftAt = Date.now();
  });
  window.addEventListener("pageshow", (event) => {
    leftAt = -Infinity;
    if (event.persisted && !stream.isJoined) begin();
  });
  setInterval(() => {
    listen();
    stir((word) => word === "clock");
  }, 1000);
}

function begin() {
  heard = Date.now();
  stream.join();
}

function end() {
  stream.leave();
  clearTimeout(retry);
  retry = null;
  say("paused");
}

/** Handle an event of the stream. `state` is its last one, for a window that joins. */
function receive(name, data) {
  if (name === "state") return data && handle(...data, true);
  handle(name, data, false);
}

function handle(name, data, isJoining) {
  if (name !== "lost") heard = Date.now();
  if (name === "connected") connected(isJoining);
  else if (name === "lost") unconnected(data);
  else if (name === "stale") lost(AWAY, Date.now() - 1000 * data.seconds);
  else if (name === "fresh") back();
  else if (name === "task_changed") stir((word) => word === "tasks" || word === `task:${data.id}` || word === `task:${data.parent_id}`);
  else if (name === "role_changed") stir((word) => word === "roles");
  else if (name === "progress") stir((word) => word === "progress");
  else if (name === "reload") stir((word) => word !== "clock");
}

function connected(isJoining) {
  say("live");
  if (isMissing(STREAM)) back();
  // Events may be missing between two connections, for example if another window has taken over the stream.
  else if (hasConnected && !isJoining) stir(() => true);
  hasConnected = true;
}

function unconnected({ closed }) {
  lost(closed ? "The server sends no updates" : UNREACHED);
  // The responses tell whether the session has ended.
  if (closed) stir(() => true);
}

/** Notice a silent stream, also after the computer slept: a broken connection does not always cause an error. */
function listen() {
  if (!stream.isJoined || Date.now() - heard < SILENCE) return;
  const seen = heard;
  heard = Date.now();
  stream.reopen();
  lost(SILENT, seen);
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
  // Do not replace a fragment while someone types, selects or points in it. It is refreshed afterwards.
  if (Date.now() - leftAt < LEAVING || isPointedAt(part) || part.querySelector("dialog[open], [data-selects]:checked") || part.contains(document.activeElement?.closest("form:not(.act)"))) {
    soon(part);
    return;
  }
  await htmx.ajax("GET", location.pathname + location.search, {
    source: part, target: part, select: `#${CSS.escape(id)}`, swap: "outerMorph",
  });
}

/** Whether the pointer has last moved over the rows of a fragment, and lately. They hold still for a click. */
function isPointedAt(part) {
  return Date.now() - moved < HOLD && part.contains(pointed);
}

/** Accept only a response that contains the requested fragment. Any other would remove it from the page. */
function judge(event) {
  const { ctx } = event.detail;
  const { response, select, text } = ctx;
  if (!select) return;
  const part = document.querySelector(select);
  const known = waiting.get(part?.id);
  if (response.status === 304) {
    event.preventDefault();
    return refreshed(part, known.etag);
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  // A 404 page about a deleted object contains the fragment; error pages do not.
  const fragment = (response.raw.ok || response.status === 404) && page.querySelector(select);
  if (!fragment) {
    event.preventDefault();
    return missed(select, reasonOf(response.raw), response.status === 401 ? text : undefined);
  }
  const isLate = keepLate(page, fragment);
  if (isLate) ctx.text = page.documentElement.outerHTML;
  refreshed(part, isLate ? undefined : response.headers.get("etag"));
}

function reasonOf({ ok, status }) {
  const known = { 401: LOGGED_OUT, 503: AWAY, 504: SLOW };
  return known[status] ?? (ok ? "The server sent an unexpected page" : `The server responded with ${status}`);
}

function refreshed(part, etag) {
  if (!part) return;
  waiting.set(part.id, { ...waiting.get(part.id), etag, seen: Date.now() });
  had(part.id);
}

/** In a response, keep what the page shows of parts that took too long. Returns whether there are such parts. */
function keepLate(page, fragment) {
  for (const { id } of fragment.querySelectorAll(".part:not([data-late])")) parts.set(id, Date.now());
  const late = [...fragment.querySelectorAll(".part[data-late]")];
  for (const each of late) {
    const shown = document.getElementById(each.id);
    if (!shown || "late" in shown.dataset) continue;
    const kept = page.importNode(shown, true);
    kept.querySelector(":scope > .age")?.remove();
    const age = page.createElement("p");
    age.className = "note age";
    age.textContent = `${each.dataset.late}. Data from ${CLOCK.format(parts.get(each.id) ?? loaded)}.`;
    kept.prepend(age);
    each.replaceWith(kept);
  }
  return late.length > 0;
}

/** `login` is the address of the login page, if the session has ended. */
function missed(select, reason, login) {
  const part = select && document.querySelector(select);
  if (!part?.matches("[data-live]")) return;
  lacks(part.id, reason, waiting.get(part.id)?.seen ?? loaded, login);
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
  stream?.reopen({ closed: true });
  const fragments = [...document.querySelectorAll("[data-live]")];
  // One by one: if the first one fails, the others would too.
  for (const part of fragments.filter((each) => isMissing(each.id))) {
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
function lacks(name, reason, seen = Date.now(), login = undefined) {
  missing.set(name, { reason, login, seen: missing.get(name)?.seen ?? seen });
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
    shown.className = "notice warn stale";
    shown.setAttribute("role", "status");
    // Screen readers announce the reason once, and not the countdown.
    shown.append(document.createElement("span"), document.createElement("span"), document.createElement("a"));
    shown.children[1].setAttribute("aria-hidden", "true");
    write(shown.lastChild, "Log in");
    document.getElementById("main").prepend(shown);
  }
  // The reason of a fragment is more precise than that of the stream.
  const { reason, login } = [...missing].findLast(([name]) => name !== STREAM)?.[1] ?? missing.get(STREAM);
  const wait = Math.ceil((next - Date.now()) / 1000);
  write(shown.firstChild, `${reason}; data from ${CLOCK.format(seen)}`);
  write(shown.children[1], wait > 0 ? `; retrying in ${wait} s` : "; retrying");
  shown.lastChild.hidden = !login;
  if (login) shown.lastChild.href = login;
}

function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

function age(seen) {
  const seconds = Math.max(0, Math.round((Date.now() - seen) / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

setInterval(() => missing.size && tell(), 1000);
