/** The UI in a real browser, as the server sends it: its pages are asked for by role and label. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Browser, BrowserContext, BrowserContextOptions, ConsoleMessage, Page } from "playwright-core";
import { accessibilityProblems, sharedBrowser, type Rules } from "../browser.ts";
import type { TestServer } from "../client.ts";
import type { World } from "../server.ts";

export const OWNER = {
  organization: "Analytical Engines",
  name: "Ada Lovelace",
  email: "ada@example.org",
  password: "correct horse battery",
};

/** The agent of tests that only need one. */
export const GREETER = `
document: {dsl: "1.0.3", namespace: test, name: greeter, version: "1.0.0", title: Greeter}
input:
  schema:
    format: json
    document: {type: object, required: [who], properties: {who: {type: string, title: Who}}}
do:
  - greet: {set: {greeting: "hello"}}
`;

export type Looks = { colorScheme: "light" | "dark"; viewport: { width: number; height: number } };

/** Each rule in both themes and at both widths: colours are the same at any width, and nothing but they differs in the dark. */
export const LOOKS: (Looks & { name: string; rules: Rules })[] = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 800 }, rules: "all" },
  // So high that the bar at the bottom lies on nothing: axe takes what is half under it for a small target.
  { name: "narrow and dark", colorScheme: "dark", viewport: { width: 360, height: 4_000 }, rules: "all" },
];

/** The browser's message about a request that failed. A style that is refused with JSON is one. */
const REQUEST_FAILED =
  /Failed to load resource|WebSocket connection|Failed to fetch dynamically|Refused to apply style/;

export type Credentials = { email: string; password: string };
/** Where one comes in: the server, and whom its organization belongs to. */
type Entrance = { url: string; world: World };

/** One person's browser. What it complains about, the Content-Security-Policy included, fails the test at its end. */
export class Person implements AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly #complaints: Promise<string>[];
  /** A refused request is one that the test meant. */
  #mayFail = false;

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    this.#complaints = [];
  }

  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await browser.newContext({ reducedMotion: "reduce", ...options });
    // For what hangs: this machine may be anybody's.
    context.setDefaultTimeout(240_000);
    await context.addInitScript(logWhatIsNoError);
    const person = new Person(context, await context.newPage());
    person.#listen(person.page);
    return person;
  }

  /** Opens a page of the server as somebody who has signed in before: the form's own tests are in entrance.test.ts. */
  async enter({ url, world }: Entrance, path: string, who: Credentials = world): Promise<Page> {
    const { email, password } = who;
    const session = await this.context.request.post(`${url}/auth/session`, {
      data: { email, password },
      headers: { origin: url },
    });
    if (!session.ok()) throw new Error(`signing in was answered with ${session.status()} ${await session.text()}`);
    // The page's own note that it has a cookie (web/src/api/session.ts).
    const note = await this.page.addInitScript(() => localStorage.setItem("autograph-session /", "in"));
    await this.page.goto(url + path);
    await note.dispose();
    return this.page;
  }

  /** Leads to another page as a link does, by a page that has nothing of it: a third of what it costs to load it. */
  async go(path: string): Promise<void> {
    const lead = (to: string): Promise<void> => this.page.evaluate((url) => history.pushState(null, "", url), to);
    await lead("/nowhere");
    await this.page.getByText("There is nothing at this address").waitFor();
    await lead(path);
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
      const text = message.text();
      // A page that misses a part logs an error and reloads, and the reload may have taken the error's text.
      const isRequest = text === "" || REQUEST_FAILED.test(text);
      if (message.type() === "error" && !(this.#mayFail && isRequest)) this.#complaints.push(tellOf(message));
    });
    page.on("pageerror", ({ message, stack }) => this.#complaints.push(Promise.resolve(stack || message)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const complaints = await Promise.all(this.#complaints);
    await this.context.close();
    if (complaints.length > 0) throw new Error(`the browser complains:\n${complaints.join("\n")}`);
  }
}

/** Runs in the page: of a thrown object that is no Error, the browser tells the class and nothing else. */
function logWhatIsNoError(): void {
  const log = (thrown: unknown): void => {
    // oxlint-disable-next-line no-console -- tellOf reads it
    if (!(thrown instanceof Error)) console.error(thrown);
  };
  addEventListener("error", ({ error }) => log(error));
  addEventListener("unhandledrejection", ({ reason }) => log(reason));
}

/** The message with what its objects hold, such as the code of a CloseEvent. */
async function tellOf(message: ConsoleMessage): Promise<string> {
  const inPage = (value: unknown): string => {
    if (typeof value !== "object" || value === null || value instanceof Error) return "";
    // The browser tells these itself.
    if (Object.getPrototypeOf(value) === Object.prototype) return "";
    const held: Record<string, unknown> = {};
    for (const key in value) {
      const one = (value as Record<string, unknown>)[key];
      if (/string|number|boolean/.test(typeof one)) held[key] = one;
    }
    return ` ${JSON.stringify(held)}`;
  };
  // The page may be gone.
  const details = await Promise.all(message.args().map((value) => value.evaluate(inPage).catch(() => "")));
  return message.text() + details.join("");
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

const EXAMPLES = join(import.meta.dirname, "../../examples/agents");

/** The project that a fresh server begins with, in an organization of a server that is shared; the agents' ids by their names. */
export async function publishExamples({ data }: Pick<TestServer, "data">): Promise<Record<string, string>> {
  const create = `mutation { createProject(input: {handle: "demo", name: "Demo"}) { id } }`;
  const { id: projectId } = (await data(create)).createProject;
  const publish = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id name } }";
  const ids: Record<string, string> = {};
  for (const file of readdirSync(EXAMPLES)) {
    const input = { projectId, definition: readFileSync(join(EXAMPLES, file), "utf8") };
    const { publishAgent } = await data(publish, { input });
    ids[publishAgent.name] = publishAgent.id;
  }
  return ids;
}

export async function signIn(page: Page, { email, password }: Credentials): Promise<void> {
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

/** From now on the page's time advances only when told to. */
export async function stopTime(page: Page): Promise<void> {
  for (let left = 5; ; left--) {
    try {
      return await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1_000);
    } catch (error) {
      // More than a second has gone by between the two calls: by then it has paused.
      if (left === 0) throw error;
    }
  }
}

/** In another session than the one in the browser. */
export async function accessTokenOf(
  server: Pick<TestServer, "data">,
  { email, password }: Credentials,
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

/** Good looks in both themes, wide and narrow, one after the other as a window is made narrower. */
export async function expectEachLook(page: Page, name: string): Promise<void> {
  for (const look of LOOKS) {
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.setViewportSize(look.viewport);
    await expectGoodLooks(page, `${name}, ${look.name}`, look.rules);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** No rule of WCAG is broken, text has a width (fonts are there), and nothing sticks out at the side. */
export async function expectGoodLooks(page: Page, name: string, rules: Rules = "all"): Promise<void> {
  // Fading elements are pale on their way, and may not have begun to: what is wrong must stay so.
  const problems = async (): Promise<string[]> => {
    await settle(page);
    return accessibilityProblems(page, rules);
  };
  await expect.poll(problems, { message: name }).toEqual([]);
  const width = await page.evaluate(() => document.querySelector("h1")!.getBoundingClientRect().width);
  expect(width, name).toBeGreaterThan(10);
  await expectNothingSticksOut(page, name);
}

export { sharedBrowser };
