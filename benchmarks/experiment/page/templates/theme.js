// Light, dark, or what the system says; remembered where the browser allows it.
const THEMES = { auto: "automatic", light: "light", dark: "dark" };

function startTheme() {
  const button = document.getElementById("theme"),
    root = document.documentElement;
  const tell = () => {
    button.textContent = `Theme: ${THEMES[root.dataset.theme]}`;
  };
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    root.dataset.theme = names[(names.indexOf(root.dataset.theme) + 1) % names.length];
    try {
      localStorage.setItem("sesa-theme", root.dataset.theme);
    } catch {
      /* a page from a file may not be allowed to */
    }
    tell();
  });
  if (!(root.dataset.theme in THEMES)) root.dataset.theme = "auto";
  tell();
}
