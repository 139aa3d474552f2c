/** Rough weather: texts of others that have broken programs, values of a megabyte, a slow network, and none at all. */
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "../agents.ts";
import { type Variables } from "../client.ts";
import { NAUGHTY } from "../hostile/naughty.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { sharedBrowser, Person, signIn } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
const NARROW = { width: 360, height: 780 };
/** Go from test to test, with a page of a phone's width and another. */
let narrow: Person;
let wide: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  narrow = await Person.open(browser, { viewport: NARROW });
  wide = await Person.open(browser);
  for (const person of [narrow, wide]) person.mayFail();
});
afterAll(async () => {
  await narrow[Symbol.asyncDispose]();
  await wide[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** The processor time to show it with all of its scripts, styles and layout: a tenth of it is usual. */
const MAX_S = 1;
/** Says so on the page if any browser takes it for more than text. */
const SCRIPT = "document.documentElement.dataset.ran=1";
const HTML = `<img src=x onerror="${SCRIPT}"><script>${SCRIPT}</script>\u202Egpj.exe 👩‍👩‍👧‍👦${"W".repeat(60)}`;
const LINK = `javascript:${SCRIPT}`;

const asking = `
document: {dsl: "1.0.3", namespace: test, name: asking, version: "1.0.0", title: ${JSON.stringify(HTML)}, summary: ${JSON.stringify(LINK)}}
input:
  schema:
    format: json
    document:
      type: object
      properties:
        text: {type: string, title: ${JSON.stringify(HTML)}, description: ${JSON.stringify(LINK)}, default: ${JSON.stringify(HTML)}}
do:
  - ask:
      call: approval:1.0.0@default
      with: {question: "\${ .text }", context: "\${ . }"}
`;

const MANY = `
document: {dsl: "1.0.3", namespace: test, name: many, version: "1.0.0"}
do:
  - make: {set: {keys: '\${ [range(8000) | {key: "key\\(.)", value: "<b>"}] | from_entries }'}}
  - only: {set: '\${ .keys }'}
`;

const publishText = async (definition: string): Promise<string> =>
  (
    await server.data("mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
      definition,
    })
  ).publishAgent.id;
const start = async (agentId: string, input: object): Promise<string> =>
  (
    await server.data("mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId, input, wait: 20 },
    })
  ).runAgent.id;
const change = (name: string, type: string, input: Variables): Promise<unknown> =>
  server.data(`mutation ($input: ${type}!) { ${name}(input: $input) { id } }`, { input });

test("what others have written is shown as text: no script runs, no other host is asked, nothing freezes or sticks out", async () => {
  const echo = await publish(server, "echo");
  const asks = await publishText(asking);
  const naughty = await start(echo, { HTML, LINK, [HTML]: LINK, NAUGHTY });
  const long = await start(echo, { text: "W".repeat(600_000) });
  const many = await start(await publishText(MANY), {});
  await start(asks, { text: HTML });
  await change("createApiKey", "CreateApiKeyInput", { name: HTML, scopes: ["runs:read"] });
  await change("publishEvent", "PublishEventInput", {
    source: HTML,
    event: LINK,
    id: LINK,
    data: { HTML, LINK, NAUGHTY },
  });

  const { page } = narrow;
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url)) elsewhere.push(request.url());
  });
  page.on("dialog", (dialog) => elsewhere.push(dialog.message()));
  await narrow.enter(server, "/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const cdp = await narrow.context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  // It counts on from page to page of one load.
  const spentS = async (): Promise<number> =>
    (await cdp.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")!.value;
  const shown: [path: string, text: string][] = [
    ["/agents", HTML],
    [`/agents/${asks}`, HTML],
    [`/agents/${asks}?tab=definition`, "Versions"],
    [`/agents/${echo}`, "Run echo"],
    ["/runs", HTML],
    // Invisible characters by their numbers: somebody decides on this.
    ["/approvals", HTML.replace("\u202E", String.raw`\u{202e}`)],
    ["/events", LINK],
    ["/settings/keys", HTML],
    [`/runs/${naughty}`, LINK],
    [`/runs/${naughty}?step=1`, LINK],
    [`/runs/${long}?step=1`, "WWW"],
    [`/runs/${many}?step=1`, "key0"],
  ];
  const problems: string[] = [];
  for (const [path, text] of shown) {
    let leastS = Infinity;
    // Delays by others on the machine cost processor time, too: not each time.
    for (let time = 0; time < 5 && leastS > MAX_S; time++) {
      const beforeS = await spentS();
      await narrow.go(path);
      await page.locator("#page").getByText(text).first().waitFor();
      leastS = Math.min(leastS, (await spentS()) - beforeS);
    }
    if (leastS > MAX_S) problems.push(`${path}: ${leastS} s of the main thread`);
    problems.push(...(await page.evaluate(problemsHere)).map((problem) => `${path}: ${problem}`));
  }
  expect(problems).toEqual([]);
  expect(elsewhere).toEqual([]);
});

const WIDTHS = [NARROW, { width: 1280, height: 800 }];

/** As long as they may be, without a place to break a line. */
const LONGEST = {
  document: {
    dsl: "1.0.3",
    namespace: "test",
    name: "h".repeat(63),
    version: `1.0.0-${"v".repeat(58)}`,
    title: "W".repeat(200),
    summary: "S".repeat(10_000),
  },
  input: {
    schema: {
      format: "json",
      document: {
        type: "object",
        properties: {
          text: { type: "string", title: "W".repeat(200), description: "D".repeat(500) },
          one: { type: "string", title: "Which", enum: ["e".repeat(200), "f".repeat(150)] },
          some: { type: "array", title: "Some", items: { type: "string", enum: ["g".repeat(200), "h".repeat(150)] } },
          list: { type: "array", title: "W".repeat(200), items: { type: "string" } },
          yes: { type: "boolean", title: "W".repeat(200) },
        },
      },
    },
  },
  do: [
    {
      ask: {
        call: "approval:1.0.0@default",
        with: { question: "Q".repeat(10_000), context: { ["k".repeat(200)]: 1 } },
      },
    },
    {
      ["b".repeat(100)]: {
        raise: { error: { type: "https://example.org/errors/broken", status: 500, title: "T".repeat(500) } },
      },
    },
  ],
};

test("the longest names stick out nowhere, and take the place of nothing else", async () => {
  const agentId = await publishText(JSON.stringify(LONGEST));
  const runId = await start(agentId, {});
  const failedId = await start(agentId, {});
  const { approvals } = await server.data("query ($id: ID!) { approvals(filter: {runId: [$id]}) { nodes { id } } }", {
    id: failedId,
  });
  await change("decideApproval", "DecideApprovalInput", { approvalId: approvals.nodes[0].id, decision: "approve" });
  const { publishEvent } = await server.data(
    "mutation ($input: PublishEventInput!) { publishEvent(input: $input) { id } }",
    { input: { source: "s".repeat(255), event: "e".repeat(255), id: "i".repeat(255), data: {} } },
  );
  const { page } = narrow;
  const problems: string[] = [];
  for (const [path, text] of [
    ["/agents", "WWW"],
    [`/agents/${agentId}`, "eee"],
    [`/agents/${agentId}?tab=definition`, "Versions"],
    ["/describe", "WWW"],
    ["/runs", "WWW"],
    [`/runs/${runId}`, "QQQ"],
    [`/runs/${failedId}`, "TTT"],
    ["/approvals", "QQQ"],
    ["/events", "eee"],
    [`/events/${publishEvent.id}`, "eee"],
  ] as const) {
    await narrow.go(path);
    await page.locator("#page").getByText(text).first().waitFor();
    for (const viewport of WIDTHS) {
      await page.setViewportSize(viewport);
      const here = await page.evaluate(problemsHere);
      problems.push(...here.map((problem) => `${viewport.width} ${path}: ${problem}`));
    }
  }
  expect(problems).toEqual([]);

  const boxOf = async (of: Locator): Promise<{ y: number; width: number; height: number }> => (await of.boundingBox())!;
  for (const viewport of WIDTHS) {
    await page.setViewportSize(viewport);
    await narrow.go("/approvals");
    const question = page.getByRole("button", { name: /^QQQ/ }).first();
    expect((await boxOf(question)).height).toBeLessThan(viewport.width < 800 ? 200 : 120);
    expect((await boxOf(question)).width).toBeGreaterThan(250);
    await question.click();
    await expect.poll(async () => (await question.textContent())!.length).toBe(10_000);
    await page.keyboard.press("Control+k");
    const found = page.getByRole("option", { name: /WWW/ }).first();
    await found.waitFor();
    expect(await found.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await page.keyboard.press("Escape");
    await found.waitFor({ state: "detached" });
    await narrow.go("/events");
    expect((await boxOf(page.getByRole("link", { name: /^eee/ }))).width).toBeGreaterThan(100);
    await narrow.go(`/agents/${agentId}`);
    await page.getByRole("button", { name: "Show all 10,000 characters" }).click();
    await expect.poll(async () => (await page.getByText(/^SSS/).textContent())!.length).toBe(10_000);
  }
});

test("what an address says and no page knows is as good as nothing", async () => {
  const echo = await publish(server, "echo");
  const runId = await start(echo, {});
  const { page } = wide;
  let unanswered = 0;
  page.on("request", () => unanswered++);
  page.on("requestfinished", () => unanswered--);
  page.on("requestfailed", () => unanswered--);
  const agents = page.getByRole("heading", { name: "Agents", exact: true });
  await page.goto(`${server.url}/sign-in?to=//`);
  await signIn(page, server.world);
  await agents.waitFor();
  await page.goto(`${server.url}/sign-in?to=5`);
  await agents.waitFor();
  for (const [path, text] of [
    ["/agents?status=evil&text=5&project=7", "echo"],
    ["/describe?text=5", "For example:"],
    [`/agents/${echo}?tab=evil&from=5&by=6&text=7&add=8&edit=9&compare=10`, "Run echo"],
    ["/runs?from=yesterday&to=never&when=5&status=evil&agent=6&by=7", "echo"],
    [`/runs/${runId}?step=first&part=evil&show=evil`, "Output"],
    ["/approvals?show=evil&open=5", "Decided"],
    ["/events?source=5&publish=maybe", "Publish a test event"],
    ["/settings/usage?show=evil&project=5", "Settings"],
  ] as const) {
    await wide.go(path);
    await page.locator("#page").getByText(text).first().waitFor();
    await expect.poll(() => unanswered, { message: path }).toBe(0);
    expect(await page.getByRole("alert").allTextContents(), path).toEqual([]);
  }
});

const GREETER = `
document: {dsl: "1.0.3", namespace: test, name: greeter, version: "1.0.0", title: Greeter}
input: {schema: {format: json, document: {type: object, required: [who], properties: {who: {type: string, title: Who}}}}}
do:
  - greet: {set: {greeting: '\${ "hello \\(.who)" }'}}
`;

test("on a slow network nothing jumps, and what is pressed twice is done once", async () => {
  const greeter = await publishText(GREETER);
  const runId = await start(greeter, { who: "Ada" });
  await using person = await Person.open(browser, { viewport: { width: 1280, height: 800 } });
  person.mayFail();
  const { page } = person;
  await person.enter(server, "/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const cdp = await person.context.newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  await cdp.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 100,
    downloadThroughput: 400_000,
    uploadThroughput: 100_000,
  });
  await page.addInitScript(() => {
    const all: PerformanceEntry[] = [];
    const seen = new PerformanceObserver((list) => all.push(...list.getEntries()));
    seen.observe({ type: "layout-shift" });
    Object.assign(window, { shifts: () => [...all, ...seen.takeRecords()] });
  });
  for (const [path, text] of [
    ["/agents", "Greeter"],
    ["/runs", "Greeter"],
    [`/runs/${runId}`, "hello Ada"],
    ["/settings/members", "Create invite link"],
  ] as const) {
    await page.goto(server.url + path);
    await page.locator("#page").getByText(text).first().waitFor();
    const { sum, what } = await page.evaluate(shiftsHere);
    expect(sum, `${path}: ${what}`).toBe(0);
  }

  await page.goto(`${server.url}/agents/${greeter}`);
  let started = 0;
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  await page.route("**/graphql", async (route) => {
    if (/runAgent\(/.test(route.request().postData() ?? "")) {
      started++;
      await held;
    }
    await route.continue();
  });
  await page.getByLabel(/^Who/).fill("Grace");
  const button = page.getByRole("button", { name: "Run greeter" });
  await button.dblclick();
  await expect.poll(() => button.isDisabled()).toBe(true);
  await page.getByLabel(/^Who/).press("Enter");
  await page.getByLabel(/^Who/).press("Enter");
  letGo();
  await page.getByRole("region", { name: "Output" }).getByText("hello Grace").waitFor();
  expect(started).toBe(1);
});

test("without a network the page says since when, and is right again when it is back", async () => {
  const { page } = wide;
  await wide.go("/runs");
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  const another = await publishText(GREETER.replaceAll("reeter", "uest"));
  // Files that the first page does without come soon after it.
  await page.waitForFunction(() =>
    performance.getEntriesByType("resource").some(({ name }) => /\/menus-[^/]+\.js$/.test(name)),
  );
  await wide.context.setOffline(true);
  await page.getByText(/^Reconnecting/).waitFor();
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  const dialog = page.getByRole("dialog", { name: "Could not sign out" });
  await dialog.getByText("The server does not answer.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await start(another, { who: "nobody" });
  await wide.context.setOffline(false);
  await page.getByText(/^Reconnecting/).waitFor({ state: "detached" });
  await page.getByRole("row", { name: /Guest/ }).getByText("completed").waitFor();
});

/** Elements that moved by themselves once they were painted. */
async function shiftsHere(): Promise<{ sum: number; what: string }> {
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  type Shift = { value: number; sources: { node: Element | null }[] };
  const all = (window as unknown as { shifts: () => Shift[] }).shifts();
  const what = all.flatMap(({ sources }) => sources.map(({ node }) => node?.outerHTML?.slice(0, 80)));
  return { sum: all.reduce((sum, { value }) => sum + value, 0), what: what.join() };
}

function problemsHere(): string[] {
  const out = [...document.querySelectorAll("body *")].filter((one) => {
    for (let parent = one.parentElement; parent; parent = parent.parentElement)
      if (getComputedStyle(parent).overflowX !== "visible") return false;
    return one.getBoundingClientRect().right > innerWidth + 1 && one.checkVisibility();
  });
  return [
    ...(document.documentElement.dataset["ran"] ? ["a script ran"] : []),
    ...[...document.querySelectorAll("[href^='javascript:' i]")].map(({ outerHTML }) => outerHTML),
    ...(document.documentElement.scrollWidth > innerWidth ? ["scrolls sideways"] : []),
    ...out.slice(0, 3).map((one) => `sticks out: ${one.outerHTML.slice(0, 120)}`),
  ];
}
