// <json-text><pre>…</pre></json-text>: colours JSON, by making elements of text, never of markup.

const PIECES = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g;
const LONGEST = 200_000;

class JsonText extends HTMLElement {
  connectedCallback() {
    this.#write(this.textContent);
    // What is refreshed around it would take the colours away; only a text that has changed is written again.
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
