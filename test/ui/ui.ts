/** The UI in a real browser, as the server sends it: its pages are asked for by role and label. */
import { expect } from "vitest";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { accessibilityProblems, openBrowser, type Rules } from "../browser.ts";
import type { TestServer } from "../client.ts";

export const OWNER = {
  organization: "Analytical Engines",
  name: "Ada Lovelace",
  email: "ada@example.org",
  password: "correct horse battery",
};

export type Looks = { colorScheme: "light" | "dark"; viewport: { width: number; height: number } };

/** Colours are the same at any width, and nothing but they differs in the dark: each rule is asked where it may differ. */
export const LOOKS: (Looks & { name: string; rules: Rules })[] = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 800 }, rules: "all" },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 800 }, rules: "colours" },
  // So high that the bar at the bottom lies on nothing: axe takes what is half under it for a small target.
  { name: "narrow", colorScheme: "light", viewport: { width: 360, height: 4_000 }, rules: "all except colours" },
];

/** What the browser says of a request that failed. A style that is refused with JSON is one. */
const REQUEST_FAILED =
  /Failed to load resource|WebSocket connection|Failed to fetch dynamically|Refused to apply style/;

/** One person's browser. What it complains about, the Content-Security-Policy included, fails the test at its end. */
export class Person implements AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly #complaints: string[];
  /** A refused request is one that the test meant. */
  #mayFail = false;

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    this.#complaints = [];
  }

  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await browser.newContext(options);
    // For what hangs: this machine may be anybody's.
    context.setDefaultTimeout(90_000);
    const person = new Person(context, await context.newPage());
    person.#listen(person.page);
    return person;
  }

  /** Another tab of the same browser. */
  async tab(): Promise<Page> {
    const page = await this.context.newPage();
    this.#listen(page);
    return page;
  }

  /** From now on requests may be refused or fail: the browser tells of each. */
  mayFail(): void {
    this.#mayFail = true;
  }

  #listen(page: Page): void {
    page.on("console", (message) => {
      const isRequest = REQUEST_FAILED.test(message.text());
      if (message.type() === "error" && !(this.#mayFail && isRequest)) this.#complaints.push(message.text());
    });
    page.on("pageerror", ({ message, stack }) => this.#complaints.push(stack ?? message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    if (this.#complaints.length > 0) throw new Error(`the browser complains:\n${this.#complaints.join("\n")}`);
  }
}

/** The first owner, by the link that a fresh server prints. */
export async function setUp(page: Page, { setupLink }: TestServer): Promise<void> {
  await page.goto(setupLink!);
  await page.getByLabel("Organization").fill(OWNER.organization);
  await page.getByLabel("Your name").fill(OWNER.name);
  await page.getByLabel("E-mail").fill(OWNER.email);
  await page.getByRole("textbox", { name: "Password" }).fill(OWNER.password);
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Hides the page, which makes it send its decisions at once. */
export const sendDecisions = (page: Page): Promise<void> =>
  page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    Reflect.deleteProperty(document, "visibilityState");
  });

/** Of another session than the one in the browser. */
export async function accessTokenOf(
  server: TestServer,
  { email, password }: { email: string; password: string },
): Promise<string> {
  const login =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
  return (await server.data(login, { email, password }, null)).login.accessToken;
}

/** Fonts are there and what fades or moves has come to its end; what turns for ever turns on. */
export const settle = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    await document.fonts.ready;
    const passing = document
      .getAnimations()
      .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime));
    await Promise.allSettled(passing.map(({ finished }) => finished));
  });

export async function expectNothingSticksOut(page: Page, name: string): Promise<void> {
  const out = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(out, `${name}: nothing sticks out`).toBeLessThanOrEqual(0);
}

/** No rule of WCAG is broken, text has a width (fonts are there), and nothing sticks out at the side. */
export async function expectGoodLooks(page: Page, name: string, rules: Rules = "all"): Promise<void> {
  // What fades in is pale on its way, and may not have begun to: what is wrong must stay so.
  const problems = async (): Promise<string[]> => {
    await settle(page);
    return accessibilityProblems(page, rules);
  };
  await expect.poll(problems, { message: name, timeout: 30_000 }).toEqual([]);
  const width = await page.evaluate(() => document.querySelector("h1")!.getBoundingClientRect().width);
  expect(width, name).toBeGreaterThan(10);
  await expectNothingSticksOut(page, name);
}

export { openBrowser };
