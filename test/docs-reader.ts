/** A reader of the documents, who pastes what they show into a terminal of their own. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import { bundled } from "./bundle.ts";
import { settingsOf } from "./command-line.ts";
import { eventually, type Answer, type TestServer } from "./client.ts";
import { COMPILED } from "./compile-cache.ts";

const ROOT = path.join(import.meta.dirname, "..");
const EMAIL = "ada@example.org";
const PASSWORD = "correct horse battery";

/** The files that the pages tell a reader to have in the folder. */
const FILES: Record<string, string> = {
  "order-intake.yaml": readFileSync(path.join(ROOT, "examples/agents/order-intake.yaml"), "utf8"),
  "agent.yaml": readFileSync(path.join(ROOT, "examples/agents/order-intake.yaml"), "utf8"),
  "orders.yaml": `document:
  dsl: 1.0.3
  namespace: demo
  name: orders
  version: 1.0.0

do:
  - fetchThem:
      call: http
      with:
        method: get
        endpont: https://example.com/orders
`,
  "token.txt": "a token of the shop\n",
};

/** Not run: they start a server for good, or need what a test machine may lack. */
const LEFT_OUT = [/npm start/, /psql/, ...(spawnSync("openssl", ["version"]).error ? [/openssl/] : [])];

/** Times that a command that watches is run at most: the lines of a passing state may have been there before it began to look. */
const MAX_WATCHED = 20;

export type Block = {
  line: number;
  kind: "sh" | "transcript" | "graphql" | "js";
  text: string;
  json: string | undefined;
};

/** The text between fences, and the answer in JSON if it stands right behind a query. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(path.join(ROOT, "docs", `${page}.md`), "utf8");
  const blocks: Block[] = [];
  for (const { 1: kind = "", 2: content = "", index } of text.matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    const line = text.slice(0, index).split("\n").length;
    if (kind === "json") {
      const last = blocks.at(-1);
      if (last?.kind === "graphql" && content.startsWith('{\n  "data"')) last.json = content;
    } else if (kind === "sh" || kind === "graphql" || kind === "js")
      blocks.push({ line, kind, text: content, json: undefined });
    else if (/^\$ /m.test(content)) blocks.push({ line, kind: "transcript", text: content, json: undefined });
  }
  return blocks.filter(({ text: content }) => !LEFT_OUT.some((pattern) => pattern.test(content)));
}

/** One after the other where each line is one: a later line may need what an earlier one printed. */
export const commandsOf = (text: string): string[] =>
  text
    .trim()
    .split("\n")
    .every((line) => line.startsWith("npx "))
    ? text.trim().split("\n")
    : [text];

const ID = /\b([a-z]+)_[0-9a-hjkmnp-tv-z]{26}\b/g;
const HASH = /\b[0-9a-f]{64}\b/g;

let published = 0;

export class Reader implements AsyncDisposable {
  readonly #server: TestServer;
  readonly #modelUrl: string;
  readonly #servicesUrl: string;
  readonly #env: Record<string, string>;
  readonly #folder = mkdtempSync(path.join(tmpdir(), "reader-"));
  /** The newest of each kind, by its prefix. */
  readonly #ids = new Map<string, string>();
  #hash = "";
  #link = "";
  password: string;
  #key = "";

  constructor({
    server,
    modelUrl = "",
    password = PASSWORD,
    servicesUrl = "",
    env = {},
  }: {
    server: TestServer;
    modelUrl?: string;
    password?: string | undefined;
    /** In place of examples/automations/loopback.ts. */
    servicesUrl?: string;
    /** Variables of the terminal beside the usual ones. */
    env?: Record<string, string>;
  }) {
    this.#server = server;
    this.#modelUrl = modelUrl;
    this.#servicesUrl = servicesUrl;
    this.#env = env;
    this.password = password;
    const bin = path.join(this.#folder, "bin");
    mkdirSync(bin);
    writeFileSync(
      path.join(bin, "npx"),
      `#!/bin/sh\nshift\nexec "${process.execPath}" "${bundled("cli/main")}" "$@"\n`,
    );
    chmodSync(path.join(bin, "npx"), 0o755);
    for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(this.#folder, name), text);
    symlinkSync(server.dataFolder, path.join(this.#folder, "data"));
    writeFileSync(path.join(this.#folder, "state"), "");
  }

  async prepare(): Promise<void> {
    // The set-up that the README begins with has left it there; pages call it so.
    this.#key = readFileSync(path.join(this.#server.dataFolder, "api.key"), "utf8").trim();
    appendFileSync(path.join(this.#folder, "state"), `KEY=${this.#key}\n`);
    // An agent that takes any object, for pages whose agents the reader makes up.
    const version = `1.0.${published++}`;
    const definition = `document: {dsl: '1.0.3', namespace: demo, name: anything, version: '${version}'}\ndo: [{a: {set: {b: 1}}}]\n`;
    const publish =
      "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id project { id } } }";
    const { publishAgent } = (await this.#server.graphql(publish, { definition }, this.#key)).data;
    const start = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
    const { runAgent } = (await this.#server.graphql(start, { input: { agentId: publishAgent.id } }, this.#key)).data;
    const invite = "mutation { inviteMember(input: {role: editor}) { url } }";
    const { inviteMember } = (await this.#server.graphql(invite, {}, this.#key)).data;
    this.#learn(`${publishAgent.id} ${publishAgent.project.id} ${runAgent.id} ${inviteMember.url}`);
  }

  #learn(text: string): void {
    for (const [id, prefix] of text.matchAll(ID)) this.#ids.set(prefix!, id);
    this.#link = /\binv_[\w-]{64}/.exec(text)?.[0] ?? this.#link;
    this.password = /^password +(\S+): keep it/m.exec(text)?.[1] ?? this.password;
    this.#hash = [...text.matchAll(HASH)].at(-1)?.[0] ?? this.#hash;
  }

  /** As the reader would fill it in. */
  #filledIn(text: string): string {
    return text
      .replaceAll("http://127.0.0.1:4400", this.#server.url)
      .replaceAll("ws://127.0.0.1:4400", this.#server.url.replace("http", "ws"))
      .replaceAll("https://agents.example.org", this.#server.url)
      .replaceAll("{base}", this.#server.url)
      .replaceAll("https://models.example.com/v1", this.#modelUrl)
      .replaceAll("http://127.0.0.1:4500", this.#servicesUrl)
      .replace(/"password": "…"/g, `"password": "${this.password}"`)
      .replace(/\b[0-9a-f]{4}…/g, this.#hash)
      .replaceAll("inv_…", this.#link)
      .replace(ID, (id, prefix: string) => this.#ids.get(prefix) ?? id)
      .replace(/\b([a-z]+)_…/g, (id, prefix: string) => this.#ids.get(prefix) ?? id);
  }

  /** Variables set in one block are known in the next ones, as in one terminal. */
  async shell(text: string): Promise<{ stdout: string; output: string }> {
    const child = spawn("bash", ["--norc", "-s"], {
      cwd: this.#folder,
      env: {
        PATH: `${path.join(this.#folder, "bin")}:${process.env["PATH"]}`,
        HOME: this.#folder,
        PORT: "0",
        NODE_COMPILE_CACHE: COMPILED,
        ...settingsOf(this.#server),
        ...this.#env,
      },
    });
    const said = { stdout: "", output: "" };
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      said.stdout += piece;
      said.output += piece;
    });
    child.stderr.setEncoding("utf8").on("data", (piece: string) => (said.output += piece));
    child.stdin.end(
      `set -a; . ./state; AUTOGRAPH_API_KEY=${this.#key}; ${this.#filledIn(text)}\nexport -p > ./state\n`,
    );
    await once(child, "close");
    this.#learn(said.output);
    return said;
  }

  /** Each command with what the page shows of its output. */
  async transcript(text: string): Promise<void> {
    for (const part of text.split(/^\$ /m).filter(Boolean)) {
      const [command = "", ...shown] = part.trimEnd().split("\n");
      const asks = shown.some((line) => line.startsWith("Password:"));
      const wanted = shown.filter((line) => !line.startsWith("Password:"));
      const left = new Set(wanted);
      let printed = "";
      // Who watches may come too late for what a slow machine shows only for a moment: all else is there each time.
      const times = command.includes("--watch") ? MAX_WATCHED : 1;
      const passing = new Set(times > 1 ? passingOf(wanted) : []);
      for (let time = 0; time === 0 || (time < times && left.size > 0); time++) {
        const { output } = await this.shell(asks ? `printf '%s\\n' '${this.password}' | ${command}` : command);
        printed += output;
        const lines = output.split("\n").map(shapeOf);
        const missing = wanted.filter((line) => !lines.some((one) => patternOf(line).test(one)));
        for (const line of wanted) if (!missing.includes(line)) left.delete(line);
        expectShown(
          missing.filter((line) => !passing.has(line)),
          `${command}\n${output}`,
        );
      }
      expectShown([...left], `${command}\n${printed}`);
    }
  }

  async query({ text, json }: Block): Promise<void> {
    const { data, errors } = await this.#server.graphql(this.#filledIn(text), this.#variables(text), this.#key);
    expectAnswered({ data, errors }, { text, json });
    this.#learn(JSON.stringify(data));
  }

  /** The pages say in words what the variables of these two are. */
  #variables(text: string): Record<string, unknown> {
    if (text.includes("$input: RunAgentInput!")) return { input: { agentId: this.#ids.get("agent"), input: {} } };
    return text.includes("$apiKey: String") ? { projectId: this.#ids.get("project"), apiKey: "sk-of-the-reader" } : {};
  }

  async program(text: string): Promise<void> {
    const login =
      "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
    const given = { email: EMAIL, password: this.password };
    // A busy machine may refuse a sign-in that would wait too long.
    const { accessToken } = await eventually(async () => (await this.#server.graphql(login, given, null)).data?.login);
    const source = `const accessToken = ${JSON.stringify(accessToken)};\n${this.#filledIn(text)}`;
    const child = spawn(process.execPath, ["--input-type=module", "-", this.#ids.get("run")!], {
      cwd: path.join(ROOT, "test/clients"),
      env: { PATH: process.env["PATH"], AUTOGRAPH_API_KEY: this.#key },
      stdio: ["pipe", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => (stderr += piece));
    child.stdin.end(source);
    const [code] = await once(child, "close");
    expectNothingWrong(code, stderr, text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
  }
}

function expectShown(left: string[], what: string): void {
  expect(left, `not printed by ${what}`).toEqual([]);
}

function expectAnswered(
  { data, errors }: Pick<Answer, "data" | "errors">,
  { text, json }: Pick<Block, "text" | "json">,
): void {
  expect(errors, text).toBeUndefined();
  expect(JSON.stringify(data), text).not.toContain('"outcome":"refused"');
  if (json !== undefined) expect({ data }).toMatchObject(JSON.parse(json));
}

function expectNothingWrong(code: unknown, stderr: string, text: string): void {
  expect({ code, stderr }, text).toEqual({ code: 0, stderr: "" });
}

/** The lines of steps that have a later line, with what is indented below them. */
function passingOf(lines: readonly string[]): string[] {
  const stepOf = (line: string): string | undefined => /^ {1,3}(\d+ +\S+) /.exec(line)?.[1];
  let isPassing = false;
  return lines.filter((line, at) => {
    const step = stepOf(line);
    if (step !== undefined) isPassing = lines.slice(at + 1).some((later) => stepOf(later) === step);
    return isPassing && (step !== undefined || line.startsWith("     "));
  });
}

const shapeOf = (line: string): string => line.trim().replace(/\s+/g, " ");

/** A line as a page shows it: ids, times and figures are others, and what is cut with `…` is longer. */
function patternOf(line: string): RegExp {
  const escaped = shapeOf(line)
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replace(ID, (_, prefix: string) => `${prefix}_\\w+`)
    .replace(/\d{4}-\d\d-\d\d( \d\d:\d\d)?/g, "[-\\d: ]+")
    .replace(/\d+ ms/g, "[\\d,.]+ m?s")
    .replace(/\d+/g, "\\d+")
    .replace(/\/srv\S*/, "\\S+")
    .replaceAll("…", ".*");
  return new RegExp(`^${escaped}$`);
}
