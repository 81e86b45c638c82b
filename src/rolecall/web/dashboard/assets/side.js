// The list of pages, which small screens unfold, and the theme.

const ORDER = ["", "dark", "light"];
const WORDS = { "": "Theme of the system", dark: "Dark", light: "Light" };

/** Make the two buttons work. */
export function listen() {
  const unfold = document.querySelector(".unfold");
  unfold?.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-expanded") !== "true";
    unfold.setAttribute("aria-expanded", String(open));
  });
  const theme = document.getElementById("theme");
  if (!theme) return;
  const words = () => {
    theme.querySelector(".words").textContent = WORDS[localStorage.getItem("rolecall-theme") ?? ""];
  };
  theme.addEventListener("click", () => {
    const now = localStorage.getItem("rolecall-theme") ?? "";
    const next = ORDER[(ORDER.indexOf(now) + 1) % ORDER.length];
    if (next) {
      localStorage.setItem("rolecall-theme", next);
      document.documentElement.dataset.theme = next;
    } else {
      localStorage.removeItem("rolecall-theme");
      delete document.documentElement.dataset.theme;
    }
    words();
    document.dispatchEvent(new Event("rolecall:theme"));
  });
  words();
}
