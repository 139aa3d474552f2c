/** Every screen in both themes, wide and narrow: no rule of WCAG is broken, and nothing sticks out. Its pictures are those of docs/ui.md. */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId, encodeId } from "../../server/src/lib/ids.ts";
import { startTestServer, type Data } from "../client.ts";
import { connectTo } from "../faults/audit.ts";
import { connectModel, createDemo, publishExample } from "../example-agents.ts";
import { startLlmService, toolCall, toolCalls } from "../llm-service.ts";
import { startStateless } from "../mcp-servers.ts";
import { wiki } from "../mcp-shop.ts";
import { ran } from "../runs.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import {
  accessTokenOf,
  expectEachLook,
  expectGoodLooks,
  expectNothingSticksOut,
  LOOKS,
  OWNER,
  Person,
  publishExamples,
  settle,
  setUp,
  sharedBrowser,
  type Credentials,
  type Looks,
} from "./ui.ts";

/** Where pictures of the screens go, for docs/ui.md: `SCREENS=docs/screens npm test -- test/ui/screens.test.ts`. */
const SHOTS = process.env["SCREENS"];

/** Those with a picture in the dark, too. */
const IN_THE_DARK: ReadonlySet<string> = new Set(["agents", "runs", "run that waits", "open approval", "palette"]);
/** Those whose pictures the help has no room for. */
const WITHOUT_PICTURE: ReadonlySet<string> = new Set(["models", "a new model"]);
/** Those with a picture of a phone. */
const ON_A_PHONE: ReadonlySet<string> = new Set(["agents", "runs", "failed run", "run that waits", "approvals"]);
/** Those with a picture of a wide screen. */
const ON_A_WIDE_SCREEN: ReadonlySet<string> = new Set(["agents", "runs"]);
const WIDE: Looks = { colorScheme: "light", viewport: { width: 2560, height: 1200 } };

/** Screens that have no fixed address on a fresh server. */
const made = { agent: "", order: "", greeting: "", run: "", failed: "", branches: "", waiting: "", event: "" };

/** `shows`: once it is there; `act`: what is done there. */
type Screen = [name: string, path: () => string, shows: string, act?: (page: Page) => Promise<void>];
const SCREENS: Screen[] = [
  ["agents", () => "/agents", "Order intake"],
  ["agent", () => made.agent, "Run flaky-service"],
  ["runs of an agent", () => `${made.agent}?tab=runs`, "2 runs"],
  ["agent in words", () => `${made.agent}?by=words`, "Review"],
  ["order form", () => made.order, "How fast"],
  ["triggers", () => `${made.order}?tab=triggers`, "shop"],
  ["trigger form", () => `${made.order}?tab=triggers`, "shop", addTrigger],
  ["definition", () => `${made.order}?tab=definition`, "Versions"],
  ["versions compared", () => `${made.greeting}?tab=definition`, "Versions", compareVersions],
  ["run", () => `${made.run}?step=1`, "Output"],
  ["failed run", () => `${made.failed}?step=2`, "Show the step"],
  ["run with branches", () => made.branches, "Output"],
  ["run that waits", () => made.waiting, "Pay 180 euros for Train?"],
  ["runs", () => "/runs", "Expense approval"],
  ["filter", () => "/runs", "Expense approval", (page) => page.keyboard.press("f")],
  ["no runs", () => "/runs?status=cancelled", "No cancelled runs"],
  ["approvals", () => "/approvals", "Pay 180 euros for Train?"],
  ["decided", () => "/approvals?show=decided", "No decisions yet"],
  ["event", () => made.event, "does not match"],
  ["events", () => "/events", "order.created"],
  ["API keys", () => "/settings/keys", "No API keys yet"],
  ["a new key", () => "/settings/keys?make=true", "What it may do"],
  ["a made key", () => "/settings/keys?make=true", "What it may do", makeKey],
  ["members", () => "/settings/members", "Create invite link"],
  ["no usage", () => "/settings/usage", "No requests"],
  ["usage", () => "/settings/usage?show=runs", "today, UTC"],
  ["secrets", () => "/settings/secrets", "No secrets yet"],
  ["a new secret", () => "/settings/secrets?make=true", "Value"],
  ["models", () => "/settings/models", "No language model yet"],
  ["a new model", () => "/settings/models?make=true", "Add a model to"],
  ["sessions", () => "/settings/sessions", "this one"],
  ["a sentence", () => "/describe?text=rush%20order%20intake,%20and%20sing", "Describe a run", reviewed],
  ["nowhere", () => "/nowhere", "There is nothing at this address"],
];

/** "How it was understood" is in the help, too. */
async function reviewed(page: Page): Promise<void> {
  await page.getByRole("region", { name: "Review" }).waitFor();
}

async function addTrigger(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Add a trigger" }).click();
  await page.getByRole("menuitem").first().click();
  await page.getByRole("menuitem").first().waitFor({ state: "detached" });
}

async function makeKey(page: Page): Promise<void> {
  const form = page.getByRole("form", { name: "Create key" });
  await form.getByLabel("Name", { exact: true }).fill("my laptop");
  await form.getByRole("combobox", { name: "Agents" }).click();
  await page.getByRole("option", { name: /Expense approval/ }).click();
  await page.keyboard.press("Escape");
  await form.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("heading", { name: "Your key “my laptop”" }).waitFor();
}

/** Publishes 1.1.0 beside 1.0.0. */
async function compareVersions(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Definition" }).focus();
  const line = Array.from({ length: 4 }, () => "ArrowDown");
  for (const key of ["ControlOrMeta+Home", ...line, "End", "ArrowLeft", "Backspace", "Backspace", "Backspace"])
    await page.keyboard.press(key);
  await page.keyboard.type("1.0");
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByRole("button", { name: "Compare with 1.0.0" }).click();
  await page.getByRole("textbox", { name: "Current text" }).getByText('"1.1.0"').waitFor();
}

let browser: Browser;
let server: SharedServer;
let person: Person;
let owner: Credentials;

/** The pictures begin with the way in, on a server of their own. */
async function beginWithPictures(): Promise<Credentials> {
  const { page } = person;
  const fresh = await startTestServer({ fresh: true });
  server = fresh;
  await page.setViewportSize(LOOKS[0]!.viewport);
  await page.goto(fresh.setupLink!);
  await page.getByRole("button", { name: "Set up" }).waitFor();
  await shoot(page, "setup", "light");
  await setUp(page, fresh);
  await page.getByLabel("What was it for").waitFor();
  await shoot(page, "first visit", "light");
  return OWNER;
}

/** With all of the first day but the setting up: nothing is used, and there are no keys. */
async function begin(): Promise<Credentials> {
  server = await sharedServer();
  const token = await server.uiToken(await accessTokenOf(server, server.world));
  await publishExamples({ data: (query, variables) => server.data(query, variables, token) });
  const client = await connectTo(server);
  await client.query("delete from api_keys where organization_id = $1", [
    decodeId("organization", server.world.organizationId),
  ]);
  await client.end();
  await person.enter(server, "/agents");
  return server.world;
}

beforeAll(async () => {
  browser = await sharedBrowser();
  person = await Person.open(browser);
  owner = await (SHOTS ? beginWithPictures() : begin());
  // The page's own requests are no usage.
  const token = await server.uiToken(await accessTokenOf(server, owner));
  const { agents } = await server.data("{ agents { id name } }", {}, token);
  const idOf = (name: string): string => agents.find((agent: Data) => agent.name === name).id;
  /** Returns the run's path once it has ended, or waits for an answer. */
  const start = async (name: string, input: object = {}): Promise<string> => {
    const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }";
    const { runAgent } = await server.data(run, { input: { agentId: idOf(name), input, wait: 30 } }, token);
    expect(["completed", "failed", "paused"], name).toContain(runAgent.status);
    return `/runs/${runAgent.id}`;
  };
  made.agent = `/agents/${idOf("Flaky service")}`;
  made.run = await start("Flaky service");
  made.failed = await start("Flaky service", { failures: 5 });
  made.branches = await start("Fan out");
  made.waiting = await start("Expense approval", { purpose: "Train", amount: 180 });
  made.order = `/agents/${idOf("Order intake")}`;
  made.greeting = `/agents/${idOf("Batch greeting")}`;
  const publish = "mutation ($input: PublishEventInput!) { publishEvent(input: $input) { id } }";
  const event = { source: "shop", event: "order.created", id: "o-17", data: { orderId: "o-17", country: "FR" } };
  made.event = `/events/${(await server.data(publish, { input: event }, token)).publishEvent.id}`;
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** `of`: the theme, and where it is seen. */
async function shoot(page: Page, name: string, of: string): Promise<void> {
  // The pointer is on nothing.
  await page.mouse.move(0, 0);
  await settle(page);
  await page.screenshot({ path: join(SHOTS!, `${name.replaceAll(" ", "-")}-${of}.png`), animations: "disabled" });
}

/** Screens without an address of their own, for their pictures; other tests look at them closer. */
async function shootOthers(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.goto(`${server.url}/approvals`);
  await page.getByRole("button", { name: /for Train\?/ }).click();
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await shoot(page, "open approval", colorScheme);
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /^Run / }).first().waitFor();
  await shoot(page, "palette", colorScheme);
  if (colorScheme !== "light") return;
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Agents").waitFor();
  await shoot(page, "keys", colorScheme);
  await page.goto(`${server.url}/settings/members`);
  await page.getByRole("button", { name: "Create invite link" }).click();
  const link = await page.locator("pre").first().textContent();
  await using stranger = await Person.open(browser, LOOKS[0]);
  stranger.mayFail();
  await stranger.page.goto(link!.trim());
  await stranger.page.getByRole("heading").first().waitFor();
  await shoot(stranger.page, "invitation", colorScheme);
  await stranger.page.goto(`${server.url}/sign-in`);
  await stranger.page.getByRole("button", { name: "Sign in" }).waitFor();
  await shoot(stranger.page, "sign in", colorScheme);
}

async function open(who: Person, [, path, shows, act]: Screen): Promise<void> {
  const { page } = who;
  await who.go(path());
  await page.locator("#page").getByText(shows).first().waitFor();
  await act?.(page);
}

test.each(SHOTS ? (["light", "dark"] as const) : [])("pictures, %s", async (colorScheme) => {
  const { page } = person;
  // An element that fades in is there at once.
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize(LOOKS[0]!.viewport);
  const hasPicture = ([name]: Screen): boolean =>
    !WITHOUT_PICTURE.has(name) && (colorScheme === "light" || IN_THE_DARK.has(name));
  for (const screen of SCREENS.filter(hasPicture)) {
    await open(person, screen);
    await shoot(page, screen[0], colorScheme);
  }
  await shootOthers(page, colorScheme);
});

test.each(SHOTS ? [{ width: 360, height: 740 }] : [])("pictures of a phone, and of a wide screen", async (viewport) => {
  await using phone = await Person.open(browser, { viewport, hasTouch: true, isMobile: true });
  phone.mayFail();
  await phone.enter(server, "/agents", owner);
  await phone.page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  for (const screen of SCREENS.filter(([name]) => ON_A_PHONE.has(name))) {
    await open(phone, screen);
    await shoot(phone.page, screen[0], "on-a-phone");
  }
  const { page } = person;
  await page.emulateMedia({ colorScheme: WIDE.colorScheme });
  await page.setViewportSize(WIDE.viewport);
  for (const screen of SCREENS.filter(([name]) => ON_A_WIDE_SCREEN.has(name))) {
    await open(person, screen);
    await shoot(page, screen[0], "on-a-wide-screen");
  }
});

/** Both themes and three widths, one after the other as a window is made narrower. */
test.each(SHOTS ? [] : SCREENS)("%s", async (...screen) => {
  const { page } = person;
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(LOOKS[0]!.viewport);
  await open(person, screen);
  await page.setViewportSize(WIDE.viewport);
  await expectNothingSticksOut(page, `${screen[0]}, wide`);
  await expectEachLook(page, screen[0]);
});

test.each(SHOTS ? [{ LLM_BASE_URL: "http://127.0.0.1:11434/v1", LLM_MODEL: "a-model" }] : [])(
  "a picture of models, of a project and of the server",
  async (env) => {
    await using configured = await startTestServer({ env });
    await using seeing = await Person.open(browser, LOOKS[0]);
    const create = "mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
    const { projectId } = configured.world;
    const input = { projectId, model: "claude-sonnet-5", name: "careful", provider: "anthropic", apiKey: "sk-a" };
    await configured.data(create, { input: { ...input, isDefault: true, limits: { concurrency: 4 } } });
    const prices = { inputPerMillion: 0.15, outputPerMillion: 0.6, currency: "EUR" };
    const cheap = { name: "cheap", model: "small", provider: "openai_compatible", prices };
    await configured.data(create, { input: { ...input, ...cheap, baseUrl: "https://models.example.com/v1" } });
    await seeing.enter(configured, "/settings/models");
    await seeing.page.getByText("a-model").first().waitFor();
    await seeing.page.getByRole("row", { name: /^cheap/ }).waitFor();
    await shoot(seeing.page, "models of a project", "light");
  },
);

test.each(SHOTS ? [{ OUTBOUND_ALLOW: "127.0.0.1/32" }] : [])(
  "a picture of an assistant that waits for a person",
  async (env) => {
    await using model = await startLlmService();
    await using documentation = await startStateless("reject", wiki);
    await using configured = await startTestServer({ env });
    await using seeing = await Person.open(browser, LOOKS[0]);
    const project = await createDemo(configured);
    await connectModel(configured, project, model.url);
    const places = { github: "http://127.0.0.1:1", wiki: documentation.url };
    await publishExample(configured, project, "open-ticket", places);
    const agentId = await publishExample(configured, project, "research-assistant", places);
    const repoName = "nodejs/undici";
    const question = "How do I limit the connections to one host?";
    model.replies = [
      toolCalls(["read_wiki_structure", { repoName }], ["ask_question", { repoName, question }]),
      toolCall("open-ticket", {
        title: "Say what `connections` counts",
        text: "The page on pools names it alone.",
        labels: ["docs"],
      }),
    ];
    const run = await ran(configured, agentId, { question });
    expect(run).toMatchObject({ status: "paused", error: null });
    // High enough for the conversation below the form.
    await seeing.page.setViewportSize({ width: 1280, height: 1066 });
    await seeing.enter(configured, `/runs/${run["id"]}`);
    await seeing.page.getByRole("button", { name: "Approve" }).waitFor();
    await seeing.page.getByRole("heading", { name: "Conversation of research" }).waitFor();
    await shoot(seeing.page, "assistant that waits", "light");
  },
);

/**
 * A screen while its rows are on their way, when they do not come, and to whom it is not for. Others look at a model that
 * is configured (settings.test.ts) and at 10,000 runs (lists.test.ts).
 */
test("states: loading, an error, no permission", async () => {
  const client = await connectTo(server);
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  // The world of a server that was set up by hand is not known.
  const { rows } = await client.query(
    "select organization_id from members join users on users.id = user_id where email = $1",
    [owner.email],
  );
  const organizationId = encodeId("organization", rows[0].organization_id);
  const viewer = await server.memberOf({ ...server.world, organizationId }, `looks-${owner.email}`, "viewer");
  await using seeing = await Person.open(browser, LOOKS[0]);
  seeing.mayFail();
  const { page } = seeing;
  const look = (name: string): Promise<void> =>
    SHOTS ? shoot(page, name, "light") : expectGoodLooks(page, name, LOOKS[0]!.rules);
  await seeing.enter(server, "/settings/keys", viewer);
  await page.getByRole("heading", { name: "You may not see API keys" }).waitFor();
  await look("no permission");

  const held = Promise.withResolvers<void>();
  const ofRuns = "**/graphql";
  await page.route(ofRuns, async (route) => {
    if (/query Runs\b/.test(route.request().postData() ?? "")) await held.promise;
    await route.continue();
  });
  await page.goto(`${server.url}/runs`);
  await page.locator("table[aria-busy=true]").waitFor();
  await look("loading");
  held.resolve();
  await page.getByRole("row", { name: /Expense approval/ }).waitFor();
  await page.unroute(ofRuns);

  const body = { errors: [{ message: "the server is starting", extensions: { code: "UNAVAILABLE" } }] };
  await page.route(ofRuns, (route) =>
    /query Runs\b/.test(route.request().postData() ?? "")
      ? route.fulfill({ status: 503, json: body })
      : route.continue(),
  );
  await page.goto(`${server.url}/runs`);
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await look("error");
  await page.unroute(ofRuns);

  if (!SHOTS) return;
  await client.query(
    `insert into runs select (jsonb_populate_record(one, jsonb_build_object('id',
       overlay((one).id::text placing lpad(to_hex(number), 12, '0') from 25)))).*
     from (select t as one from runs t order by id limit 1) as first, generate_series(1, 10000) as number`,
  );
  await page.goto(`${server.url}/runs`);
  await page
    .getByRole("row", { name: /Flaky service/ })
    .nth(20)
    .waitFor();
  await shoot(page, "many runs", "light");
});
