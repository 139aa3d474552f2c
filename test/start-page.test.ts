/** The start page in a real browser, as the server sends it, and the first owner's way through it. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessibilityProblems, openBrowser } from "./browser.ts";
import { post, startTestServer, type TestServer } from "./client.ts";

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser.close());

type Looks = { colorScheme: "light" | "dark"; viewport: { width: number; height: number } };
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 340, height: 700 };
const LOOKS: Looks[] = [WIDE, NARROW].flatMap((viewport) => [
  { colorScheme: "light", viewport },
  { colorScheme: "dark", viewport },
]);

/** Runs `visit` on the page at `url` and expects that the browser had nothing to complain about, CSP included. */
async function onPage(url: string, visit: (page: Page) => Promise<void>, looks: Partial<Looks> = {}): Promise<void> {
  const context = await browser.newContext(looks);
  const complaints: string[] = [];
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", ({ message }) => complaints.push(message));
  await page.goto(url);
  await visit(page);
  await context.close();
  expect(complaints).toEqual([]);
}

async function expectGoodLooks(page: Page): Promise<void> {
  expect(await accessibilityProblems(page)).toEqual([]);
  const { width, scrolled } = await page.evaluate(() => ({
    width: document.querySelector("#version")!.getBoundingClientRect().width,
    scrolled: document.documentElement.scrollWidth - innerWidth,
  }));
  expect(width, "text has a width: fonts are there").toBeGreaterThan(10);
  expect(scrolled, "nothing sticks out at the side").toBeLessThanOrEqual(0);
}

const OWNER = {
  Organization: "Analytical Engines",
  "Your name": "Ada Lovelace",
  "E-mail": "ada@example.org",
  Password: "correct horse battery",
};

/** With the keyboard alone: the first field has the focus, Enter sends. */
async function typeOwner(page: Page, owner: Record<string, string>): Promise<void> {
  for (const text of Object.values(owner)) {
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.insertText(text);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
}

describe("without a setup link", () => {
  let server: TestServer;
  beforeAll(async () => void (server = await startTestServer()));
  afterAll(() => server[Symbol.asyncDispose]());

  test.each(LOOKS)("shows URLs and lines to paste: $colorScheme, $viewport.width px", async (looks) => {
    const visit = async (page: Page): Promise<void> => {
      await page.getByText("accepts runs").waitFor();
      expect(await page.getByText(`${server.url}/graphql`, { exact: true }).isVisible()).toBe(true);
      expect(await page.getByText("mutation SignIn").isVisible()).toBe(true);
      expect(await page.getByLabel("Organization").isVisible()).toBe(false);
      await expectGoodLooks(page);
    };
    await onPage(`${server.url}/`, visit, looks);
  });

  test("Copy takes the ten lines", async () => {
    const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
    const page = await context.newPage();
    await page.goto(`${server.url}/`);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied.").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied.trimEnd().split("\n")).toHaveLength(10);
    await context.close();
  });
});

describe("with a setup link", () => {
  test("the form is fit to be used, light and dark, wide and narrow", async () => {
    await using server = await startTestServer({ fresh: true });
    const visit = async (page: Page): Promise<void> => {
      await page.keyboard.press("Enter");
      await page.getByText("Your name must not be empty").waitFor();
      expect(await page.getByLabel("Organization").evaluate((input) => input === document.activeElement)).toBe(true);
      await expectGoodLooks(page);
    };
    for (const looks of LOOKS) await onPage(server.setupLink!, visit, looks);
  });

  test("makes the owner, by keyboard, after the server's own objection to a field", async () => {
    await using server = await startTestServer({ fresh: true });
    const link = server.setupLink!;
    await onPage(link, async (page) => {
      await typeOwner(page, { ...OWNER, Password: "x".repeat(300) });
      await page.getByText("Password must have at most 256 characters").waitFor();
      expect(await page.getByLabel("Password").getAttribute("aria-invalid")).toBe("true");
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.insertText(OWNER.Password);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Autograph is set up" }).waitFor();
      expect(await page.getByText("Ada Lovelace (ada@example.org)").isVisible()).toBe(true);
      expect(await page.getByText('login(email: "ada@example.org"').isVisible()).toBe(true);
      expect(page.url(), "the token is gone from the address").toBe(`${server.url}/`);
      await expectGoodLooks(page);
    });
    const login =
      "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
    const { data } = await server.graphql(login, { email: OWNER["E-mail"], password: OWNER.Password }, null);
    expect(data.login.accessToken).toBeTruthy();
    await onPage(link, async (page) => {
      await typeOwner(page, OWNER);
      await page.getByRole("alert").waitFor();
      expect(await page.getByRole("alert").textContent()).toMatch(/already set up/);
    });
  });

  test("says so when the link is wrong, and when the server is gone", async () => {
    await using server = await startTestServer({ fresh: true });
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.url}/#setup=wrong`);
    await typeOwner(page, OWNER);
    await page.getByText("the setup link is not valid or has expired").waitFor();
    await server.stop();
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByText("The server does not answer").waitFor();
    await context.close();
  });
});

test("works below a path of PUBLIC_URL", async () => {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}/agents/here`;
  await using server = await startTestServer({ fresh: true, env: { PORT: String(port), PUBLIC_URL: base } });
  expect(server.setupLink).toMatch(new RegExp(`^${base}/#setup=`));
  await onPage(server.setupLink!, async (page) => {
    await typeOwner(page, OWNER);
    await page.getByRole("heading", { name: "Autograph is set up" }).waitFor();
    expect(await page.getByText(`${base}/graphql`, { exact: true }).isVisible()).toBe(true);
    await page.goto(base); // without the slash at the end
    await page.getByText("accepts runs").waitFor();
  });
  expect((await post(`${base}/graphql`, "{ __typename }", undefined, null)).status).toBe(200);
});

async function freePort(): Promise<number> {
  const socket = createServer().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as AddressInfo;
  socket.close();
  await once(socket, "close");
  return port;
}
