/** The theme that was chosen, before anything is painted: the page's own scripts, which keep it (Mantine's key), come later. */
{
  let chosen;
  try {
    chosen = localStorage.getItem("mantine-color-scheme-value");
  } catch {
    // Storage is off: as the system has it.
  }
  const isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const scheme = isDark ? "dark" : "light";
  document.documentElement.dataset.mantineColorScheme = scheme;
  // The ground until the style sheets are there.
  document.querySelector("meta[name=color-scheme]").content = scheme;
}
