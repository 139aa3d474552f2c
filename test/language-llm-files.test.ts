/** The files that a `call: llm` shows a model, over the wire: from a real file server, to a real endpoint on loopback. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { held, json, send, startLlmService, toolCall, type LlmService } from "./llm-service.ts";
import { PROTOCOLS } from "./model-protocols.ts";
import { agentOf, ENDED, readRun, runOf, until } from "./runs.ts";

const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const VALIDATE =
  "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path message } } }";

const bytes = (beginning: string, size = 100): Buffer =>
  Buffer.concat([Buffer.from(beginning, "latin1"), Buffer.alloc(size, 7)]);
const PNG = bytes("\x89PNG\r\n\x1a\n");
const PDF = bytes("%PDF-1.7\n");
const CSV = "name,total\nAda,3\n";
const large = (size: number): Buffer => bytes("\xff\xd8\xff", size - 3);

type Answer = { type?: string; body?: string | Buffer; status?: number; location?: string };
const FILES: Record<string, Answer> = {
  "/photo.png": { type: "image/png", body: PNG },
  "/untyped": { body: PNG },
  "/my%20receipt.pdf": { type: "application/octet-stream", body: PDF },
  "/sales.csv": { type: "text/csv; charset=utf-8", body: CSV },
  "/notes": { type: "binary/octet-stream", body: "just words" },
  "/moved": { status: 302, location: "/photo.png" },
  "/away": { status: 302, location: "http://127.0.0.2:1/photo.png" },
  "/choices.png": { status: 300, type: "image/png", body: PNG },
  "/gone.png": { status: 404, type: "image/png", body: "no" },
  "/error.png": { type: "image/png", body: "<html>Sorry</html>" },
  "/archive.zip": { type: "application/zip", body: "PK\x03\x04" },
  "/empty.png": { type: "image/png", body: "" },
  "/largest.jpg": { type: "image/jpeg", body: large(LIMITS.modelFileBytes) },
  "/larger.jpg": { type: "image/jpeg", body: large(LIMITS.modelFileBytes + 1) },
};

const asked: string[] = [];
const credentials: string[] = [];
const files = createServer(({ url, headers }, response) => {
  asked.push(url!);
  const { type, body, status = 200, location } = FILES[url!]!;
  if (type !== undefined) response.setHeader("content-type", type);
  if (location !== undefined) response.setHeader("location", location);
  if (headers.authorization !== undefined) credentials.push(url!);
  response.writeHead(status).end(body);
});
let host: string;
let model: LlmService;
let server: TestServer;
beforeAll(async () => {
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  host = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  model = await startLlmService();
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
  await connect("sees");
});
afterAll(async () => {
  await database?.end();
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  files.closeAllConnections();
  await new Promise((resolve) => files.close(resolve));
});
beforeEach(() => {
  asked.length = model.asked.length = 0;
  model.replies = ["A receipt"];
});

async function connect(name: string, own: object = {}): Promise<void> {
  const { projectId } = server.world;
  const base = { projectId, name, provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await server.data(CREATE, { input: { ...base, ...own } });
}

const ask = (values: string, connection = "sees"): string =>
  `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: ${connection}, ${values}}}}]`;
const URLS = "prompt: What is this?, files: '${ .urls }'";
const dataUrl = (type: string, body: Buffer): string => `data:${type};base64,${body.toString("base64")}`;
/** A part of a message, as an OpenAI-compatible endpoint is shown it. */
const image = (body: Buffer): object => ({ type: "image_url", image_url: { url: dataUrl("image/png", body) } });
const pdf = (filename: string): object => ({
  type: "file",
  file: { filename, file_data: dataUrl("application/pdf", PDF) },
});

test("images, PDFs and texts go with the prompt, from URLs and out of data: URLs; the step shows the URLs", async () => {
  const urls = [
    `${host}/photo.png`,
    `${host}/my%20receipt.pdf`,
    `${host}/sales.csv`,
    `${host}/moved`,
    `${host}/untyped`,
    `${host}/notes`,
    dataUrl("image/png", PNG).replace("BwcH", "BwcH\n"),
    dataUrl("", PDF),
    "data:,some%20words",
    "data:text/plain;charset=iso-8859-1;base64,Y2Fm6Q==",
  ];
  const run = await runOf(server, ask(URLS), { urls });
  expect(run).toMatchObject({ status: "completed", output: "A receipt" });
  expect(run.steps[0].input.messages).toEqual([{ role: "user", content: "What is this?", files: urls }]);
  expect(model.asked[0]!.body.messages).toEqual([
    {
      role: "user",
      content: [
        image(PNG),
        pdf("my receipt.pdf"),
        image(PNG),
        image(PNG),
        image(PNG),
        pdf("document.pdf"),
        { type: "text", text: `sales.csv:\n\n${CSV}\n\nnotes:\n\njust words\n\nsome words\n\ncafé\n\nWhat is this?` },
      ],
    },
  ]);
  // An endpoint that knows nothing of files is shown a text.
  await runOf(server, ask(`prompt: Sum it up., files: ['data:,1']`));
  expect(model.asked[1]!.body.messages).toEqual([{ role: "user", content: "1\n\nSum it up." }]);
  expect(credentials).toEqual([]);
});

test("each message may have its own, and a question that is asked again shows them again", async () => {
  model.replies = ["no JSON", { ok: true }];
  const messages = `[{role: user, content: First, files: ['${host}/photo.png']}, {role: assistant, content: Yes}, {role: user, content: Second, files: '\${ .url }'}]`;
  const run = await runOf(server, ask(`messages: ${messages}, schema: {type: object}`), { url: `${host}/sales.csv` });
  expect(run.output).toEqual({ ok: true });
  const shown = [
    { role: "user", content: [image(PNG), { type: "text", text: "First" }] },
    { role: "assistant", content: "Yes" },
    { role: "user", content: `sales.csv:\n\n${CSV}\n\nSecond` },
  ];
  expect(model.asked.map(({ body }) => body.messages.slice(0, 3))).toEqual([shown, shown]);
  expect(asked).toEqual(["/photo.png", "/sales.csv", "/photo.png", "/sales.csv"]);
});

test("all messages together have no more than a model is shown", async () => {
  const half = LIMITS.modelFiles / 2;
  const messages = `[{role: user, content: First, files: '\${ .first }'}, {role: user, content: Second, files: '\${ .second }'}]`;
  const askWith = (first: number, second: number): Promise<Data> => {
    const [one, two] = [first, second].map((count) => Array<string>(count).fill("data:,x"));
    return runOf(server, ask(`messages: ${messages}`), { first: one, second: two });
  };
  expect(await askWith(half, half)).toMatchObject({ status: "completed" });
  expect((await askWith(half, half + 1)).error.detail).toContain(`shown at most ${LIMITS.modelFiles} files`);
  expect(model.asked).toHaveLength(1);
});

test("an assistant sees them with each of its questions", async () => {
  model.replies = [toolCall("note", {}), "A receipt"];
  const note = { name: "note", description: "Notes.", parameters: { type: "object" } };
  const tools = [{ http: { ...note, call: { method: "get", endpoint: `${host}/notes` } } }];
  const given = { connection: "sees", prompt: "What is this?", files: [`${host}/photo.png`], tools };
  const run = await runOf(server, `do: [{look: ${JSON.stringify({ call: "assistant:1.0.0@default", with: given })}}]`);
  expect(run).toMatchObject({ status: "completed", output: "A receipt" });
  expect(run.steps[0].input.messages[0].files).toEqual(given.files);
  const shown = { role: "user", content: [image(PNG), { type: "text", text: "What is this?" }] };
  expect(model.asked.map(({ body }) => body.messages[0])).toEqual([shown, shown]);
  const few = { ...given, limits: { tokens: 2_000 } };
  const { error } = await runOf(
    server,
    `do: [{look: ${JSON.stringify({ call: "assistant:1.0.0@default", with: few })}}]`,
  );
  expect(error.detail).toContain("limits.tokens (2000) is reached: so far 0 iterations");
});

test.each(Object.keys(PROTOCOLS))("%s is shown images and PDFs in its own protocol", async (provider) => {
  const { answer } = PROTOCOLS[provider]!;
  model.replies = [json(answer("Seen", "stop"))];
  const baseUrl = provider === "google" ? model.url.replace("/v1", "/v1beta") : model.url;
  await connect(`by-${provider}`, { provider, baseUrl, apiKey: "k" });
  const urls = [`${host}/photo.png`, `${host}/my%20receipt.pdf`];
  expect((await runOf(server, ask(URLS, `by-${provider}`), { urls })).output).toBe("Seen");
  const body = JSON.stringify(model.asked[0]!.body);
  for (const part of [PNG.toString("base64"), PDF.toString("base64"), "image/png", "application/pdf"])
    expect(body).toContain(part);
  expect(body).not.toContain(host);
});

const failing: [name: string, urls: (string | null)[], type: string, detail: string][] = [
  ["that is one of several", ["/choices.png"], "communication", "answered with 300, so nothing was asked"],
  ["not there", ["/gone.png"], "communication", "answered with 404, so nothing was asked"],
  [
    "a page of an error",
    ["/photo.png", "/error.png"],
    "validation",
    "files[1] is none of the files that models take (its server calls it image/png)",
  ],
  [
    "of another kind",
    ["/archive.zip"],
    "validation",
    "(its server calls it application/zip): PNG, JPEG, GIF and WebP images, PDF and text, so",
  ],
  ["empty", ["/empty.png"], "validation", "files[0] is empty"],
  ["larger than one may be", ["/larger.jpg"], "communication", `is larger than ${LIMITS.modelFileBytes} bytes`],
  [
    "together larger than they may be",
    ["/largest.jpg", "/largest.jpg", "/notes"],
    "validation",
    `the files are larger than ${LIMITS.modelFilesBytes} bytes together`,
  ],
  [
    "at an address that is closed",
    ["http://127.0.0.2:1/x.png"],
    "authorization",
    "files[0]: the call is refused: 127.0.0.2 is a loopback address",
  ],
  ["redirected to one", ["/away"], "authorization", "127.0.0.2 is a loopback address"],
  [
    "of another scheme",
    ["file:///etc/passwd"],
    "validation",
    "files[0] must be a URL that begins with https://, http:// or data:",
  ],
  ["with a password", ["http://a:b@127.0.0.1:1/"], "authorization", "it holds a user name or password"],
  ["no text", [null], "validation", "files[0] must be text"],
  ["broken data", ["data:image/png;base64,%"], "validation", "the data of files[0] can't be decoded"],
  ["data that is not base64", ["data:image/png;base64,!"], "validation", "the data of files[0] can't be decoded"],
  [
    "that only looks like text",
    ["data:;base64,UEsDBAA="],
    "validation",
    "files[0] is none of the files that models take: PNG",
  ],
  [
    "that is text in an unknown charset",
    ["data:text/plain;charset=x-none;base64,Y2Fm6Q=="],
    "validation",
    "files[0] is text in a charset that can't be read",
  ],
  ["without data", ["data:image/png"], "validation", "files[0] has no comma before its data"],
  ["too many", Array<string>(LIMITS.modelFiles + 1).fill("data:,x"), "validation", "a model is shown at most 20 files"],
];
test.each(failing)("a file %s is not shown, and nothing is asked", async (_, urls, type, detail) => {
  const given = urls.map((url) => (url?.startsWith("/") ? host + url : url));
  const run = await runOf(server, ask(URLS), { urls: given });
  expect(run.error).toMatchObject({
    type: expect.stringMatching(new RegExp(`/${type}$`)),
    detail: expect.stringContaining(detail),
  });
  expect(model.asked).toEqual([]);
});

test("files as large as they may be are shown", async () => {
  const run = await runOf(server, ask(URLS), { urls: [`${host}/largest.jpg`, `${host}/largest.jpg`] });
  expect(run).toMatchObject({ status: "completed", output: "A receipt" });
  expect(model.asked[0]!.body.messages[0].content[1].image_url.url).toHaveLength(
    "data:image/jpeg;base64,".length + Math.ceil(LIMITS.modelFileBytes / 3) * 4,
  );
});

test.each([
  ["messages: [{role: user, content: Hi}], files: ['data:,x']", "/files", "files stand beside prompt"],
  ["prompt: Hi, files: 'https://example.com/a.png'", "/files", "write a list of URLs here"],
  ["prompt: Hi, files: ['ftp://example.com/a.png']", "/files/0", "must begin with https://, http:// or data:"],
  ["prompt: Hi, files: ['https://example.com/${ .id }']", "/files/0", "text and ${ } are mixed"],
  ["messages: [{role: user, content: Hi, files: [/photo.png]}]", "/messages/0/files/0", "must begin with https://"],
])("files that can't be read are a problem of the definition: %s", async (values, path, message) => {
  const definition = `document: {dsl: '1.0.3', namespace: test, name: files, version: '1.0.0'}\n${ask(values)}`;
  const { valid, problems } = (await server.data(VALIDATE, { definition })).validateDefinition;
  expect({ valid, problems }).toEqual({
    valid: false,
    problems: [{ path: `/do/0/ask/with${path}`, message: expect.stringContaining(message) }],
  });
});

test("calls with files hold no more memory than they may: further ones wait without a try, and others do not", async () => {
  const hung = held();
  model.replies = [hung.reply];
  const answered = (count: number) => eventually(() => model.asked.length === count);
  const agent = await agentOf(server, ask(URLS));
  const large = { urls: [`${host}/largest.jpg`] };
  const runs = await Promise.all(Array.from({ length: 4 }, () => start(server, agent, large)));
  // Half of what all may hold.
  const own = LIMITS.modelFilesHeldBytes / 2 / (4 * LIMITS.modelFileBytes);
  await answered(own);
  const words = await start(server, await agentOf(server, ask("prompt: Hi")));
  await answered(own + 1);
  // The part for one is another organization's.
  const neighbour = await neighbourOf();
  const theirs = await start(neighbour, await agentOf(neighbour, ask(URLS)), {
    urls: [`${host}/largest.jpg`, `${host}/untyped`],
  });
  await answered(own + 2);
  expect(asked).toHaveLength(own + 2);
  // Those that were not waiting yet when the clock moved wait until it moves again.
  await eventually(async () => {
    await server.clock.advance(LIMITS.modelFilesWaitSeconds * 1_000);
    const left = eventually(async () => (await sleeping()) === runs.length - own, 1_000);
    return left.catch(() => false);
  });
  expect(asked).toHaveLength(own + 2);
  model.replies = [(response: ServerResponse) => send("Seen")(response)];
  hung.release(send("Seen"));
  expect((await until(neighbour, theirs, ...ENDED)).output).toBe("Seen");
  for (const id of [words, ...runs]) {
    await eventually(async () => {
      await server.clock.advance(2_000);
      return ENDED.includes((await readRun(server, id)).status);
    });
    const run = await readRun(server, id);
    expect(run).toMatchObject({ status: "completed" } satisfies Data);
    expect(run.steps[0].attempts).toHaveLength(1);
  }
});

async function neighbourOf() {
  const world = await server.organization("neighbour");
  const neighbour = {
    world,
    data: (text: string, variables?: object) => server.data(text, { ...variables }, world.apiKey),
    graphql: (text: string, variables?: object) => server.graphql(text, { ...variables }, world.apiKey),
  };
  const base = { name: "sees", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await neighbour.data(CREATE, { input: { projectId: world.projectId, ...base } });
  return neighbour;
}

let database: Awaited<ReturnType<typeof connectTo>> | undefined;
/** How many runs have left memory until a time. */
async function sleeping(): Promise<number> {
  database ??= await connectTo(server);
  return (await database.query("select 1 from runs where wake_at is not null and owner is null")).rows.length;
}
