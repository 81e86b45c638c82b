// Custom elements for times and JSON.

// <local-time how="at" | "ago" | "clock" datetime="…"><time>…</time></local-time>: a time in the viewer's zone,
// with the exact value on hover.

const AT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const HOW = { ago, clock: (moment) => CLOCK.format(moment) };
const shown = new Set();

class LocalTime extends HTMLElement {
  static observedAttributes = ["datetime", "how"];

  connectedCallback() {
    shown.add(this);
    this.write();
  }

  disconnectedCallback() {
    shown.delete(this);
  }

  attributeChangedCallback() {
    if (this.isConnected) this.write();
  }

  write() {
    const moment = new Date(this.getAttribute("datetime"));
    const time = this.querySelector("time");
    if (!time || Number.isNaN(moment.valueOf())) return;
    time.dateTime = this.getAttribute("datetime");
    time.title = EXACT.format(moment);
    time.textContent = HOW[this.getAttribute("how")]?.(moment) ?? AT.format(moment);
  }
}

function ago(moment) {
  const seconds = (moment - Date.now()) / 1000;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1);
  return AGO.format(Math.trunc(seconds / length), unit);
}

customElements.define("local-time", LocalTime);
setInterval(() => shown.forEach((each) => each.getAttribute("how") === "ago" && each.write()), 1000);

// <json-text><pre>…</pre></json-text>: highlights JSON. It only creates text nodes, so markup in the JSON is harmless.

const PIECES = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g;
const LONGEST = 200_000;

class JsonText extends HTMLElement {
  connectedCallback() {
    this.#write(this.textContent);
    // A refresh of the surrounding fragment would remove the highlighting. Write only a text that has changed.
    this.addEventListener("htmx:before:morph:node", (event) => {
      if (event.target !== this) return;
      event.preventDefault();
      const text = event.detail.newNode.textContent;
      if (text !== this.textContent) this.#write(text);
    });
  }

  #write(text) {
    const pre = this.querySelector("pre");
    if (pre) pre.replaceChildren(...(text.length <= LONGEST ? coloured(text) : [text]));
  }
}

function* coloured(text) {
  let end = 0;
  for (const found of text.matchAll(PIECES)) {
    yield text.slice(end, found.index);
    const [whole, string, colon] = found;
    yield piece(string ?? whole, string ? (colon ? "name" : "string") : "value");
    yield colon ?? "";
    end = found.index + whole.length;
  }
  yield text.slice(end);
}

function piece(text, kind) {
  const span = document.createElement("span");
  span.className = kind;
  span.textContent = text;
  return span;
}

customElements.define("json-text", JsonText);
