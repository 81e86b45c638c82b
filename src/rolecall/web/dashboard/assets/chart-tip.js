// What stands beside the pointer over a plot: where it is, and what each series says there.

export class Tip {
  #box = document.createElement("div");

  /** `place` and `figure` write a place on the x axis and a value. */
  constructor(series, place, figure) {
    this.series = series;
    this.place = place;
    this.figure = figure;
    this.#box.className = "chart-tip";
    this.#box.hidden = true;
  }

  get plugin() {
    return {
      hooks: {
        init: (plot) => {
          plot.over.append(this.#box);
          plot.over.addEventListener("mouseleave", () => this.#hide());
        },
        setCursor: (plot) => this.#show(plot),
        setData: (plot) => this.#show(plot),
      },
    };
  }

  #hide() {
    this.#box.hidden = true;
  }

  #show(plot) {
    const index = plot.cursor.idx;
    // The crosshair of another plot moves here too; what it says there is enough.
    if (index == null || !plot.over.matches(":hover")) return this.#hide();
    const lines = this.series.map((each, at) => `${each.label}: ${this.figure(plot.data[at + 1][index])}`);
    this.#box.replaceChildren(...[this.place(plot.data[0][index]), ...lines].map((text) => Object.assign(document.createElement("span"), { textContent: text })));
    this.#box.hidden = false;
    const left = plot.cursor.left + 14;
    const fits = left + this.#box.offsetWidth < plot.over.clientWidth;
    this.#box.style.left = `${fits ? left : Math.max(0, plot.cursor.left - this.#box.offsetWidth - 14)}px`;
  }
}
