/**
 * The services that the automations beside this file call, on loopback: a shop, a tracker of tickets, a library, a register of companies,
 * a deploy service, a chat, a warehouse with long jobs, and a mailbox. They keep everything in memory and print each request.
 *
 *     npm ci && npx node examples/automations/loopback.ts
 *
 * The requests and mails are on stdout. Each service wants the API key that is listed in KEYS.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json, text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

/** The names of the secrets, and what the services take as their values. */
export const KEYS = {
  shopKey: "key-of-the-shop",
  trackerKey: "key-of-the-tracker",
  libraryKey: "key-of-the-library",
  registerToken: "token-of-the-register",
  deployKey: "key-of-the-deploy-service",
  chatHook: "T024/B061/hook-of-the-chat",
  warehouseKey: "key-of-the-warehouse",
} as const;

export type Request = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: any;
};
export type Answer = { status?: number; headers?: Record<string, string>; body?: unknown };

const ORDERS = [
  { id: 1, day: "2026-11-16", country: "DE", cents: 4200 },
  { id: 2, day: "2026-11-18", country: "FR", cents: 1800 },
  { id: 3, day: "2026-11-22", country: "DE", cents: 990 },
];

const PAGES = [
  { id: "returns", title: "Returns", text: "Goods may be sent back within 30 days. The shop pays the postage." },
  { id: "shipping", title: "Shipping", text: "A parcel takes two days within the country and five elsewhere." },
];

/** The document of a register that describes itself. */
const REGISTER = {
  openapi: "3.1.0",
  info: { title: "Register of companies", version: "1" },
  servers: [{ url: "/register/v1" }],
  paths: {
    "/companies/{domain}": {
      get: {
        operationId: "getCompany",
        parameters: [
          { name: "domain", in: "path", required: true, schema: { type: "string" } },
          { name: "fields", in: "query", explode: false, schema: { type: "array", items: { type: "string" } } },
        ],
        security: [{ token: [] }],
        responses: { 200: { content: { "application/json": { schema: { type: "object" } } } } },
      },
    },
  },
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
};

const COMPANIES: Record<string, object> = {
  "acme.example": { name: "Acme", country: "DE", employees: 120 },
  "globex.example": { name: "Globex", country: "US", employees: 4000 },
  "initech.example": { name: "Initech", country: "US", employees: 60 },
};

const UNAUTHORIZED: Answer = { status: 401, body: { message: "which key?" } };
const MISSING: Answer = { status: 404, body: { message: "there is no such thing" } };

/** State of the services. A version that ends with "-broken" is never healthy. */
class State {
  readonly tickets: object[] = [];
  readonly said: string[] = [];
  readonly running: Record<string, string> = { shop: "1.4.0" };
  readonly jobs: { looks: number; fails: boolean }[] = [];
  /** The register asks for patience once for each domain that begins with "busy". */
  readonly #busy = new Set<string>();

  isBusy(domain: string): boolean {
    const isFirst = domain.startsWith("busy") && !this.#busy.has(domain);
    this.#busy.add(domain);
    return isFirst;
  }
}

type Service = (state: State, request: Request, rest: string[]) => Answer;
const hasKey = ({ headers }: Request, key: string): boolean => headers["x-api-key"] === key;

const SERVICES: Record<string, Service> = {
  shop(_, request) {
    if (!hasKey(request, KEYS.shopKey)) return UNAUTHORIZED;
    const [from, to] = [request.query.get("from") ?? "", request.query.get("to") ?? ""];
    return { body: ORDERS.filter(({ day }) => from <= day && day <= to) };
  },
  tracker(state, request) {
    if (!hasKey(request, KEYS.trackerKey)) return UNAUTHORIZED;
    const number = state.tickets.push(request.body);
    return { status: 201, body: { number } };
  },
  library(_, request, [what, id]) {
    if (!hasKey(request, KEYS.libraryKey)) return UNAUTHORIZED;
    if (what === "search") {
      const words = (request.query.get("words") ?? "").toLowerCase().split(/\s+/);
      const found = PAGES.filter((page) =>
        words.some((word) => `${page.title} ${page.text}`.toLowerCase().includes(word)),
      );
      return { body: found.map((page) => ({ id: page.id, title: page.title })) };
    }
    const page = PAGES.find((one) => one.id === id);
    return page ? { body: page } : MISSING;
  },
  register(state, request, [first, , domain = ""]) {
    if (first === "openapi.json") return { body: REGISTER };
    if (request.headers.authorization !== `Bearer ${KEYS.registerToken}`) return UNAUTHORIZED;
    if (state.isBusy(domain)) return { status: 429, headers: { "retry-after": "1" }, body: { message: "one moment" } };
    const company = COMPANIES[domain.replace(/^busy-/, "")];
    return company ? { body: company } : MISSING;
  },
  deploy(state, request, [, service = "", what]) {
    if (!hasKey(request, KEYS.deployKey)) return UNAUTHORIZED;
    const version = state.running[service];
    if (version === undefined) return MISSING;
    if (what === "health") return { body: { isHealthy: !version.endsWith("-broken") } };
    if (request.method === "PUT") state.running[service] = request.body.version;
    return { body: { version: state.running[service] } };
  },
  chat(state, request, rest) {
    if (rest.slice(1).join("/") !== KEYS.chatHook) return MISSING;
    state.said.push(request.body.text);
    return { body: "ok" };
  },
  // A job is over when it has been looked at three times, and fails for a day that the warehouse does not have.
  warehouse(state, request, [, id]) {
    if (!hasKey(request, KEYS.warehouseKey)) return UNAUTHORIZED;
    if (request.method === "POST") {
      const fails = request.body.day < "2000-01-01";
      return { status: 202, body: { id: state.jobs.push({ looks: 0, fails }) - 1, status: "queued" } };
    }
    const job = state.jobs[Number(id)];
    if (!job) return MISSING;
    if (++job.looks < 3) return { body: { id: Number(id), status: "running" } };
    return {
      body: job.fails
        ? { id: Number(id), status: "failed", why: "no such day" }
        : { id: Number(id), status: "done", rows: 1200 },
    };
  },
};

export type Services = AsyncDisposable & {
  url: string;
  smtpUrl: string;
  state: State;
  seen: Request[];
  /** Each mail as it came, with its headers. */
  mails: string[];
};

/** Ports of 0 are any free ones. */
export async function startServices({
  port = 0,
  smtpPort = 0,
  log = (_line: string): void => {},
} = {}): Promise<Services> {
  const [state, seen, mails] = [new State(), [] as Request[], [] as string[]];
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(message.url!, "http://localhost");
    const hasBody = message.headers["content-type"]?.includes("json") === true;
    const body: unknown = hasBody ? await json(message) : await text(message);
    const request = { method: message.method!, path: pathname, query: searchParams, headers: message.headers, body };
    seen.push(request);
    const [, service = "", ...rest] = pathname.split("/").map(decodeURIComponent);
    const { status = 200, headers = {}, body: said } = SERVICES[service]?.(state, request, rest) ?? MISSING;
    log(`${request.method} ${message.url} ${hasBody ? JSON.stringify(body) : ""} → ${status}`);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(said));
  };
  const server = createServer((message, response) => void answer(message, response)).listen(port, "127.0.0.1");
  const mailbox = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    async onData(stream, _session, callback) {
      const mail = await text(stream);
      mails.push(mail);
      log(mail);
      callback();
    },
  });
  const smtp = mailbox.listen(smtpPort, "127.0.0.1");
  await Promise.all([once(server, "listening"), once(smtp, "listening")]);
  const portOf = (one: { address(): unknown }): number => (one.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    smtpUrl: `smtp://127.0.0.1:${portOf(smtp)}`,
    state,
    seen,
    mails,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => mailbox.close(resolve));
    },
  };
}

if (import.meta.main) {
  const { url, smtpUrl } = await startServices({ port: 4500, smtpPort: 4525, log: (line) => console.log(line) });
  console.log(`services at ${url}, mail at ${smtpUrl}`);
}
