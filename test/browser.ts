/** A real Chromium for the tests of pages: the one from npm on Linux x64, elsewhere an installed Chrome. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type axe from "axe-core";
import { chromium, type Browser, type Page } from "playwright-core";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  // A process less, through which each byte would go: 7 % of what the browser and its pages cost.
  "--enable-features=NetworkServiceInProcess2",
  // Letters stand where the font has them, not at whole pixels, as on a screen of today.
  "--font-render-hinting=none",
  // A page that asks for anything beyond this machine fails here as it would without a network.
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
];

let running: Promise<Browser> | undefined;

/** One browser for all files of a vitest worker: it ends with the worker. Each person has a context of their own in it. */
export const sharedBrowser = (): Promise<Browser> => (running ??= openBrowser());

export async function openBrowser(): Promise<Browser> {
  if (process.platform !== "linux" || process.arch !== "x64")
    return chromium.launch({ channel: "chrome", args: ARGUMENTS });
  const home = await unpackChromium();
  return chromium.launch({ executablePath: join(home, "chromium"), args: ARGUMENTS, env: environment(home) });
}

/**
 * The unpacked browser's folder, made once for each version of the package (2 s). The package writes to the folder for
 * temporary files, so it works in a process of its own; beside and renamed, since several tests may come at once.
 */
async function unpackChromium(): Promise<string> {
  const packageFile = findPackage();
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  const home = join(import.meta.dirname, "..", "node_modules", ".cache", `chromium-${version}`);
  if (existsSync(home)) return home;
  const fresh = `${home}-${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  const bin = join(dirname(packageFile), "bin");
  const code = `
    import { inflate } from "@sparticuz/chromium";
    for (const name of ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"]) await inflate(${JSON.stringify(bin)} + "/" + name);`;
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
    cwd: import.meta.dirname,
    env: { ...process.env, TMPDIR: fresh },
  });
  try {
    renameSync(fresh, home);
  } catch (error) {
    if (!existsSync(home)) throw error;
    rmSync(fresh, { recursive: true });
  }
  return home;
}

const findPackage = (): string =>
  join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..", "package.json");

/** Without a fonts.conf that finds fonts Chromium shows no text at all, and says nothing. */
function environment(home: string): Record<string, string> {
  const fonts = join(home, "fonts.conf");
  const folders = [join(home, "fonts"), "/usr/share/fonts"].map((folder) => `<dir>${folder}</dir>`);
  writeFileSync(
    fonts,
    `<fontconfig>${folders.join("")}<cachedir>${join(home, "fonts-cache")}</cachedir></fontconfig>\n`,
  );
  const { env } = process;
  const found = { ...(env as Record<string, string>), FONTCONFIG_FILE: fonts };
  // The package's libraries (NSS) only where the machine has none.
  const { stdout } = spawnSync("ldd", [join(home, "chromium")], { encoding: "utf8" });
  if (!stdout.includes("not found")) return found;
  return { ...found, LD_LIBRARY_PATH: [join(home, "al2023", "lib"), env["LD_LIBRARY_PATH"] ?? ""].join(":") };
}

/** Which are asked; contrast takes half the time of them all. */
export type Rules = "all" | "colours";

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const CONTRAST = "color-contrast";
const ASKED: Record<Rules, axe.RunOptions> = {
  all: { runOnly: WCAG },
  colours: { runOnly: { type: "rule", values: [CONTRAST] } },
};

/** Half a megabyte: a page reads it once. */
let axeSource: string | undefined;

/** Rules of WCAG 2.2 A and AA that the page breaks, as `rule: selector`; none is what is wanted. */
export async function accessibilityProblems(page: Page, rules: Rules = "all"): Promise<string[]> {
  axeSource ??= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const violations = await page.evaluate(
    async (options) => {
      const all = await (window as unknown as { axe: typeof axe }).axe.run(document, options);
      return all.violations.map(({ id, nodes }) => ({ id, targets: nodes.map(({ target }) => target.join(" ")) }));
    },
    { ...ASKED[rules], resultTypes: ["violations"] } satisfies axe.RunOptions,
  );
  return violations.flatMap(({ id, targets }) => targets.map((target) => `${id}: ${target}`));
}
