// One stream of events for all windows of a browser, because a browser opens only six connections to a server.
//
// Every visible window asks for the lock of the stream. The one that holds it has the stream, and passes each event on
// to the others through a channel. Each window also holds a lock whose name says which events it needs, so that the
// stream is opened with the needs of all windows. The browser releases the locks of a closed window.
//
// Browsers have locks only with https and on loopback. Otherwise, each window opens a stream of its own.

const NAMES = ["connected", "heartbeat", "stale", "fresh", "task_changed", "role_changed", "progress", "reload"];
// The events after which a window that joins knows the state of the stream.
const STATES = ["connected", "stale", "fresh", "lost"];
// The server accepts no more trees for a stream.
const MOST_ROOTS = 10;

export class SharedStream {
  /** `receive(name, data)` gets each event; `lost` is the one without a connection, with { closed }. */
  constructor(address, counts, receive) {
    const url = new URL(address, location.href);
    this.path = url.pathname;
    this.needs = [`counts=${counts}`, ...url.searchParams.getAll("root").map((root) => `root=${root}`)];
    this.receive = receive;
    this.events = null;
    this.presence = null;
    this.state = null;
    this.channel = navigator.locks ? new BroadcastChannel(this.path) : null;
    this.channel?.addEventListener("message", ({ data: [name, data] }) => {
      if (!this.presence) return;
      if (name === "join") this.welcome();
      else this.receive(name, data);
    });
  }

  get isJoined() {
    return this.presence !== null;
  }

  /** Receive events from now on. */
  join() {
    this.presence = new AbortController();
    const { signal } = this.presence;
    if (!this.channel) return this.open(this.needs);
    hold(`${this.path} needs ${this.needs.join("&")}`, "shared", signal, () => this.channel.postMessage(["join"]));
    hold(this.path, "exclusive", signal, () => this.lead());
  }

  /** Receive no more events. Another window takes over the stream. */
  leave() {
    this.events?.close();
    this.events = null;
    this.presence?.abort();
    this.presence = null;
  }

  /** Open the stream again if this window has it; with `closed`, only after the server has rejected it. */
  reopen({ closed = false } = {}) {
    if (this.events && (!closed || this.events.readyState === EventSource.CLOSED)) this.open(this.opened);
  }

  async lead() {
    const { signal } = this.presence;
    const needs = await this.allNeeds();
    if (!signal.aborted) this.open(needs);
  }

  /** Give a window that joins the events that it needs, and the state of the stream. */
  async welcome() {
    if (!this.events) return;
    const needs = await this.allNeeds();
    if (!this.events) return;
    if (needs.every((each) => this.opened.includes(each))) this.channel.postMessage(["state", this.state]);
    else this.open(needs);
  }

  async allNeeds() {
    const start = `${this.path} needs `;
    const { held } = await navigator.locks.query();
    const others = held.filter(({ name }) => name.startsWith(start)).flatMap(({ name }) => name.slice(start.length).split("&"));
    return [...new Set([...this.needs, ...others])];
  }

  open(needs) {
    this.events?.close();
    this.opened = needs;
    const roots = needs.filter((each) => each.startsWith("root=")).slice(0, MOST_ROOTS);
    const events = new EventSource(`${this.path}?${[`counts=${needs.includes("counts=true")}`, ...roots].join("&")}`);
    this.events = events;
    for (const name of NAMES) events.addEventListener(name, (event) => this.tell(name, JSON.parse(event.data)));
    events.addEventListener("error", () => {
      if (events === this.events) this.tell("lost", { closed: events.readyState === EventSource.CLOSED });
    });
  }

  tell(name, data) {
    if (STATES.includes(name)) this.state = [name, data];
    this.channel?.postMessage([name, data]);
    this.receive(name, data);
  }
}

/** Call `act` as soon as this window has the lock, and hold it until the signal. */
function hold(name, mode, signal, act) {
  const until = () => {
    act();
    return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  };
  // The request ends with an error if the signal comes first.
  navigator.locks.request(name, { mode, signal }, until).catch(() => {});
}
