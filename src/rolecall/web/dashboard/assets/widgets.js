// Custom elements for times and JSON.
import { LOCALE } from "./locale.js";

// <local-time how="at" | "ago" | "for" | "clock" | "second" datetime="…"><time>…</time></local-time>: a time in the viewer's zone,
// with the exact value on hover. "ago" is "3 min ago" or "in 2 h", "for" is "3 min".

const AT = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" });
const SECOND = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium" });
const EXACT = new Intl.DateTimeFormat(LOCALE, { dateStyle: "full", timeStyle: "long" });
// The same units as durations of the server (formats.py).
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const HOW = {
  ago,
  for: (moment) => since(Date.now() - moment),
  clock: (moment) => CLOCK.format(moment),
  second: (moment) => SECOND.format(moment),
};
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
  const left = moment - Date.now();
  if (Math.abs(left) < 1000) return "now";
  return left > 0 ? `in ${since(left)}` : `${since(-left)} ago`;
}

function since(milliseconds) {
  const seconds = Math.max(0, milliseconds / 1000);
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? UNITS.at(-1);
  return `${Math.floor(seconds / length)} ${unit}`;
}

customElements.define("local-time", LocalTime);
setInterval(() => shown.forEach((each) => ["ago", "for"].includes(each.getAttribute("how")) && each.write()), 1000);

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
