/** True on every screen: few requests, the focus, a deploy, and the organization that one is in. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ran } from "../runs.ts";
import { scaled } from "../scale.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { sharedBrowser, Person } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let person: Person;
let agentId: string;
let runId: string;
let eventId: string;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  const publish = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  agentId = (await server.data(publish, { definition: DEFINITION })).publishAgent.id;
  runId = (await ran(server, agentId)).id;
  const { publishEvent } = await server.data(
    `mutation { publishEvent(input: {source: "shop", event: "order.created", id: "1", data: {}}) { id } }`,
  );
  eventId = publishEvent.id;
  person = await Person.open(browser, { viewport: { width: 1280, height: 800 } });
  person.mayFail();
  await person.enter(server, "/runs");
  await person.page.getByRole("row", { name: /Greeter/ }).waitFor();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Paused: at their hour, a run of theirs would be one more than the screens are waited for with. */
const triggers = Array.from({ length: 12 }, (_, at) =>
  JSON.stringify({
    name: `at ${at}`,
    status: "paused",
    trigger: { type: "cron", schedule: `${at} 8 * * *`, timezone: "UTC" },
  }),
);
const DEFINITION = `
document:
  dsl: "1.0.3"
  namespace: test
  name: greeter
  version: "1.0.0"
  title: Greeter
  metadata: {triggers: [${triggers.join(", ")}]}
do: [{done: {set: {ok: true}}}]
`;

/** A screen's requests, besides the frame's own, and the check of a text that is written. An agent's page asks for the agent and for its tab, that of triggers for the members who may get mails, too. */
type Screen = [path: () => string, shows: string, requests: number];
/** One of each kind: a list, a run and what is opened in it, a form, and pages of two parts. */
const TELLING: Screen[] = [
  [() => "/runs", "1 run", 1],
  [() => `/runs/${runId}?step=1`, "Output", 2],
  [() => "/describe", "What should it do?", 1],
  [() => "/settings/members", "Create invite link", 2],
  [() => "/agents/new", "A definition says", 0],
  [() => `/agents/${agentId}?tab=triggers`, "At 08:11, UTC", 3],
];
const OTHERS: Screen[] = [
  [() => "/agents", "Greeter", 1],
  [() => "/approvals", "No approvals waiting", 1],
  [() => "/approvals?show=decided", "No decisions yet", 1],
  [() => "/events", "order.created", 1],
  [() => `/events/${eventId}`, "What it started", 1],
  [() => `/runs/${runId}`, "1 step", 1],
  [() => "/settings/keys", "Last used", 1],
  [() => "/settings/usage", "Last 30 days", 2],
  [() => "/settings/secrets", "No secrets yet", 1],
  [() => "/settings/models", "No language model yet", 3],
  [() => "/settings/sessions", "this one", 1],
  [() => `/agents/${agentId}`, "Run greeter", 1],
  [() => `/agents/${agentId}?tab=runs`, "1 run", 2],
  [() => `/agents/${agentId}?tab=definition`, "Published version", 2],
];

test("a screen asks once for what it shows, also while its subscriptions are opened", async () => {
  const page = await person.tab();
  // The page waits 250 ms for its connection (READ_AFTER_MS in web/src/api/client.ts), and reads again what it read before it.
  // Here it waits longer: on a slow machine, too, the connection comes first.
  await page.addInitScript(() => {
    const { setTimeout: set } = window;
    Object.assign(window, {
      setTimeout: (act: () => void, ms = 0, ...given: []) => set(act, ms === 250 ? 30_000 : ms, ...given),
    });
  });
  let asked: string[] = [];
  page.on("request", (request) => {
    const operation = /^\s*(?:query|mutation) (\w+)/.exec(JSON.parse(request.postData() ?? "{}").query ?? "")?.[1];
    if (request.method() === "POST" && request.url().endsWith("/graphql")) asked.push(operation ?? "?");
  });
  const found: Record<string, string[]> = {};
  const wanted: Record<string, number> = {};
  const load = async (path: string, shows: string): Promise<string[]> => {
    asked = [];
    await page.goto(server.url + path);
    await page.getByText(shows).first().waitFor();
    await page.waitForLoadState("networkidle");
    return asked.filter((operation) => operation !== "CheckDefinition");
  };
  for (const [path, shows, requests] of scaled({ whole: [...TELLING, ...OTHERS], part: TELLING })) {
    const all = await load(path(), shows);
    expect(all.filter((operation) => operation === "Frame")).toHaveLength(1);
    found[path()] = all.filter((operation) => operation !== "Frame");
    wanted[path()] = requests;
  }
  const counts = Object.entries(found).map(([path, operations]) => [path, operations.length]);
  expect(Object.fromEntries(counts), JSON.stringify(found)).toEqual(wanted);
  await page.close();
});

test("where nothing is there yet what to do next stands alone: nothing offers to read it again", async () => {
  const { page } = person;
  await person.go("/settings/secrets");
  await page.getByRole("heading", { name: "No secrets yet", exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Reload" }).count()).toBe(0);
});

test("the focus stays on its row when the connection is lost and the list is read again", async () => {
  const { page } = person;
  await person.go("/runs");
  await page.getByText("1 run", { exact: true }).waitFor();
  await page.keyboard.press("j");
  const focused = (): Promise<string | null> =>
    page.evaluate(() => document.activeElement?.getAttribute("data-line") ?? null);
  const before = await focused();
  expect(before).toMatch(/^run_/);
  await page.context().setOffline(true);
  await page.getByText(/^Reconnecting/).waitFor();
  const read = page.waitForResponse((response) => response.request().postData()?.includes("query Runs(") ?? false);
  await page.context().setOffline(false);
  await read;
  await page.getByText(/^Reconnecting/).waitFor({ state: "detached" });
  expect(await focused()).toBe(before);
});

/** Each list with its query and what stands in it. The first four are read page by page as one goes down. */
const LISTS = [
  ["agents", "query Agents(", "Greeter"],
  ["runs", "query Runs(", "Greeter"],
  ["approvals", "query Approvals(", "No approvals waiting"],
  ["events", "query Events(", "order.created"],
  ["settings/keys", "query Keys(", "test"],
  ["settings/members", "query Members(", "@"],
  ["settings/secrets", "query Secrets(", "No secrets yet"],
  ["settings/models", "query Models(", "cheap"],
  ["settings/sessions", "query Sessions", "this one"],
] as const;

test("a list that does not come is not busy any longer and comes when it is asked for again; read again in vain, it keeps its rows", async () => {
  const { page } = person;
  const create = "mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
  const { projectId } = server.world;
  const model = { projectId, name: "cheap", provider: "openai_compatible", baseUrl: "https://example.org", model: "m" };
  await server.data(create, { input: model });
  for (const [path, query, row] of LISTS) {
    let isRefused = true;
    await page.route("**/graphql", (route) =>
      isRefused && route.request().postData()?.includes(query) ? route.abort() : route.continue(),
    );
    await page.goto(`${server.url}/${path}`);
    const refused = page.getByRole("alert").getByText("The server does not answer.");
    await refused.waitFor();
    const busy = page.locator("table[aria-busy=true]");
    await expect.poll(() => busy.count(), { message: path }).toBe(0);
    const ask = async (): Promise<void> => {
      isRefused = false;
      // A second click in one place within half a second would do nothing.
      await page.getByRole("button", { name: "Try again" }).press("Enter");
      await page.getByRole("alert").waitFor({ state: "detached" });
    };
    await ask();
    const shown = page.locator("main").getByText(row).first();
    await shown.waitFor();
    expect(await busy.count(), path).toBe(0);

    // One comes back to it: it is there from the cache, and read again.
    isRefused = true;
    await person.go(`/${path}`);
    await refused.waitFor();
    expect(await shown.isVisible(), path).toBe(true);
    await ask();
    expect(await shown.isVisible(), path).toBe(true);
    await page.unroute("**/graphql");
  }
});

const refusedWith = (code: string) => ({ errors: [{ message: `refused with ${code}`, extensions: { code } }] });

/** A list is read as its token ends: which tokens are refused, what becomes of the token's exchange, and what is said above the rows. */
const ENDS: { name: string; refused: "this" | "all"; exchange?: "late" | "lost"; says?: string }[] = [
  { name: "exchanged late", refused: "this", exchange: "late" },
  { name: "an exchange that is lost", refused: "this", exchange: "lost", says: "The server does not answer." },
  { name: "refused again with the next one", refused: "all", says: "Refused with UNAUTHENTICATED" },
];

test("a list that is there from the cache keeps its rows while its token is exchanged, and when that fails; not when it is forbidden", async () => {
  const { page } = person;
  await page.goto(`${server.url}/settings/keys`);
  const key = page.getByRole("row", { name: /^test/ });
  await key.waitFor();
  // By token: the page may ask twice with one.
  let isRefused: (token: string | undefined) => boolean = () => false;
  let code = "UNAUTHENTICATED";
  await page.route("**/graphql", (route) =>
    route.request().postData()?.includes("query Keys(") && isRefused(route.request().headers()["authorization"])
      ? route.fulfill({ status: code === "UNAUTHENTICATED" ? 401 : 200, json: refusedWith(code) })
      : route.continue(),
  );
  const alert = page.getByRole("alert");
  for (const { name, refused, exchange, says } of ENDS) {
    let first: string | undefined;
    isRefused = (token) => refused === "all" || (first ??= token) === token;
    const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route("**/auth/session/refresh", async (route) => {
      asked.resolve();
      await released.promise;
      await (exchange === "lost" ? route.abort() : route.continue());
    });
    await person.go("/settings/keys");
    await asked.promise;
    await key.waitFor();
    const read = exchange === "late" ? page.waitForResponse((response) => response.ok()) : undefined;
    released.resolve();
    if (says) await alert.getByText(says).waitFor();
    await read;
    expect(await key.isVisible(), name).toBe(true);
    isRefused = () => false;
    await page.unroute("**/auth/session/refresh");
    if (says) await page.getByRole("button", { name: "Try again" }).press("Enter");
    await alert.waitFor({ state: "detached" });
    expect(await key.isVisible(), name).toBe(true);
  }
  code = "FORBIDDEN";
  isRefused = () => true;
  await person.go("/settings/keys");
  await alert.getByText("Refused with FORBIDDEN").waitFor();
  await key.waitFor({ state: "detached" });
  await page.unroute("**/graphql");
});

/** Bytes: issue 13's promise; `npm run bench -- --only ui` prints how many there are. */
const FIRST_PAGE_MOST = 220_000;
/** With what is loaded soon after, before anybody asks for it. */
const EARLY_MOST = 300_000;

/** The sizes of its files, as they were sent. */
const bytesOf = (page: Page): Promise<number> =>
  page.evaluate(() =>
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => !/\/(graphql|auth)\b/.test(name))
      .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0),
  );

test("the first page weighs less than it may", async () => {
  const page = await person.tab();
  // Files that load two seconds later (web/src/lib/later.ts) do not come: on a slow machine they would be weighed, too.
  await page.addInitScript(() => {
    const { setTimeout: set } = window;
    Object.assign(window, {
      setTimeout: (act: () => void, ms = 0, ...given: []) => (ms === 2_000 ? 0 : set(act, ms, ...given)),
    });
  });
  await page.goto(`${server.url}/agents`);
  await page
    .getByRole("button", { name: "Run greeter" })
    .or(page.getByRole("link", { name: "greeter" }))
    .first()
    .waitFor();
  const bytes = await bytesOf(page);
  expect(bytes).toBeGreaterThan(100_000);
  expect(bytes).toBeLessThan(FIRST_PAGE_MOST);
  await page.close();
});

test("a part that is loaded before anybody asks for it and is missing leaves the page alone", async () => {
  const page = await person.tab();
  const refused = Promise.withResolvers<void>();
  await page.route(/assets\/palette-[^/]*\.js/, async (route) => {
    await route.fulfill({ status: 404, body: "" });
    refused.resolve();
  });
  await page.goto(`${server.url}/agents`);
  await page.evaluate(() => Object.assign(window, { isSame: true }));
  await refused.promise;
  // A page that is reloaded asks for it first.
  for (const place of ["Runs", "Approvals", "Events", "Agents"]) {
    await page.getByRole("link", { name: new RegExp(`^${place}`) }).click();
    await page.getByRole("heading", { name: place, exact: true }).waitFor();
  }
  expect(await page.evaluate(() => "isSame" in window)).toBe(true);
  await page.close();
});

test("a deploy replaces a page's files: it is reloaded, once; a file that stays missing is an error within the frame", async () => {
  const { page } = person;
  let missing = 1;
  await page.route(/assets\/approvals-[^/]*\.js/, (route) =>
    missing-- > 0 ? route.fulfill({ status: 404, body: "" }) : route.continue(),
  );
  await page.goto(`${server.url}/agents`);
  // Also once all that is loaded before anybody asks for it is there.
  await page.waitForFunction(() => {
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
    return ["menus", "palette", "key-help", "sign-in-again"].every((part) =>
      loaded.some((name) => name.includes(`/assets/${part}-`) && name.endsWith(".js")),
    );
  });
  expect(await bytesOf(page), "the editor is not among it").toBeLessThan(EARLY_MOST);
  const nav = page.getByRole("navigation", { name: "Main" });
  await nav.getByRole("link", { name: "Approvals" }).click();
  await page.getByRole("heading", { name: "No approvals waiting" }).waitFor();
  expect(missing).toBe(-1);

  missing = Number.POSITIVE_INFINITY;
  await page.goto(`${server.url}/agents`);
  await nav.getByRole("link", { name: "Approvals" }).click();
  await page.getByRole("heading", { name: "This page cannot be shown" }).waitFor();
  await nav.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: "Greeter", exact: true }).waitFor();
  await page.unroute(/assets\/approvals-[^/]*\.js/);
});

test("who is a member of two organizations goes from one to the other, in all tabs", async () => {
  const other = await server.organization("difference");
  await server.memberOf(other, server.world.email, "viewer");
  const { page } = person;
  const tab = await person.tab();
  for (const one of [page, tab]) {
    await one.goto(`${server.url}/agents`);
    await one.getByRole("link", { name: "Greeter", exact: true }).waitFor();
  }
  await page.getByRole("button", { name: /^Organization .*: switch$/ }).click();
  await page.getByRole("menuitem", { name: "difference" }).click();
  for (const one of [page, tab]) {
    await one.getByRole("button", { name: "Organization difference: switch" }).waitFor();
    await one.getByRole("link", { name: "Greeter", exact: true }).waitFor({ state: "detached" });
  }
});
