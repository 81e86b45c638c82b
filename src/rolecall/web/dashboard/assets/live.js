// Keeps what is shown up to date: one stream of events tells what moved on, and the parts of the page that say so
// (data-live) are asked for again, from the address that the page has.
//
//   <section id="list" data-live="tasks" data-pace="2">   at most every two seconds
//
// data-live holds words: tasks (any task changed), task:7 (that one, or a child of it), roles, progress, and clock
// (as often as its pace says, whatever happens). While the page is hidden nothing is asked, and no stream is open.

const SLOWEST = 5;
const waiting = new Map();

/** Open the stream while the page can be seen. */
export function follow(address) {
  if (!address) return;
  let events = null;
  // To tell how far the roles are costs the server more than all the rest.
  const counted = document.querySelector("[data-live~=roles]") !== null;
  const begin = () => {
    events = open(`${address}${address.includes("?") ? "&" : "?"}counts=${counted}`);
  };
  const end = () => {
    events?.close();
    events = null;
    say("off", "paused");
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) end();
    else if (!events) {
      begin();
      stir(() => true);
    }
  });
  if (!document.hidden) begin();
  window.addEventListener("pagehide", end);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && !events) begin();
  });
  setInterval(() => stir((word) => word === "clock"), 1000);
}

function open(address) {
  const events = new EventSource(address);
  const on = (name, meant) => events.addEventListener(name, (event) => stir(meant(JSON.parse(event.data))));
  events.addEventListener("open", () => say("on", "live"));
  events.addEventListener("error", () => say("off", events.readyState === EventSource.CLOSED ? "not live" : "connecting"));
  on("task_changed", (task) => (word) => word === "tasks" || word === `task:${task.id}` || word === `task:${task.parent_id}`);
  on("role_changed", () => (word) => word === "roles");
  on("progress", () => (word) => word === "progress");
  on("reload", () => (word) => word !== "clock");
  return events;
}

/** Ask anew for the parts that one of their words concerns, each no more often than its pace. */
function stir(concerns) {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-live]")) {
    if (part.dataset.live.split(" ").some(concerns)) soon(part);
  }
}

function soon(part) {
  const known = waiting.get(part.id);
  if (known?.timer) return;
  const pace = 1000 * Number(part.dataset.pace || SLOWEST);
  const delay = Math.max(50, (known?.last ?? 0) + pace - Date.now());
  const timer = setTimeout(() => renew(part.id), delay);
  waiting.set(part.id, { last: known?.last ?? 0, timer });
}

async function renew(id) {
  waiting.set(id, { last: Date.now(), timer: null });
  const part = document.getElementById(id);
  if (!part) return;
  // Nobody's typing or choosing is taken away under their hands: what happens meanwhile is shown after.
  if (part.querySelector("dialog[open], [data-selects]:checked") || part.contains(document.activeElement?.closest("form:not(.act)"))) {
    soon(part);
    return;
  }
  await htmx.ajax("GET", location.pathname + location.search, {
    source: part, target: part, select: `#${CSS.escape(id)}`, swap: "outerMorph",
  }).catch(() => say("off", "not live"));
}

function say(state, words) {
  const shown = document.getElementById("stream-state");
  if (!shown) return;
  shown.dataset.state = state;
  shown.querySelector(".words").textContent = words;
}
