/**
 * One server for all files of a vitest worker that need none of their own: no settings, no figures of the process; and another for
 * those that move its clock on or kill it. Each gets an organization of its own with the same world as a new server's, which costs a tenth of a server.
 *
 *     let server: SharedServer;
 *     beforeAll(async () => void (server = await sharedServer())); // or movedServer()
 *     afterAll(() => server[Symbol.asyncDispose]());
 */
import type { Client } from "graphql-ws";
import { clientsOf, type TestServer } from "./client.ts";
import { ServerProcess, prepare } from "./server-process.ts";
import { sharedFolder, sharedProcess } from "./run-folder.ts";
import { MCP_STDIO_ALLOW } from "./mcp-commands.ts";
import type { World } from "./server.ts";

/** Settings that would change the server for later files, or that reach other organizations too. */
type OfTheProcess =
  | "pid"
  | "setupLink"
  | "metricsUrl"
  | "clock"
  | "setFreeBytes"
  | "measure"
  | "slowness"
  | "kill"
  | "ended"
  | "stop"
  | "restart";

/** `log` has what was written since it was asked for. To dispose of it closes its clients, and fails when an error was logged. */
export type SharedServer = Omit<TestServer, OfTheProcess> & AsyncDisposable;

/** The clock goes on alone, from a time that no other clock shows. What a file kills or stops it restarts. */
export type MovedServer = SharedServer &
  Pick<TestServer, "kill" | "stop"> & {
    clock: Pick<TestServer["clock"], "advance" | "now">;
    /** `laterMs`: by how much its clock has moved on meanwhile, beyond the time that really passed. */
    restart(env?: Record<string, string>, laterMs?: number): Promise<void>;
  };

/** An address of loopback whose connections have no share of their own. */
export const PROXY = "127.0.0.9";
/** Settings that change nothing for files that do not use them: calls reach loopback, and a client may be one behind a proxy. */
const SETTINGS = { OUTBOUND_ALLOW: "127.0.0.0/8", TRUSTED_PROXIES: `127.0.0.1, ${PROXY}`, MCP_STDIO_ALLOW };

const DAY_MS = 86_400_000;
/** How far the moved server is ahead: who takes its time for this machine's fails in each order of files. */
const AHEAD_MS = 400 * DAY_MS;

let still: Promise<ServerProcess> | undefined;
let moved: Promise<ServerProcess> | undefined;
let given = 0;

async function start(aheadMs: number): Promise<ServerProcess> {
  const server = new ServerProcess(sharedFolder(), { ...SETTINGS });
  await prepare(server);
  await server.start();
  noteProcess(server);
  if (aheadMs > 0) await server.command({ command: "advance", ms: aheadMs });
  return server;
}

const noteProcess = ({ folder, pid }: ServerProcess): void => sharedProcess(folder, pid);

/** The same server each time in one worker, with a new organization. E-mails get a domain of their own: users are everybody's. */
export async function sharedServer(): Promise<SharedServer> {
  still ??= start(0);
  return organizationOn(await still);
}

/**
 * The worker's other server, for files that move its clock on or kill it. To each it is a day later than to the one before, so that
 * none meets a limit by address that another has reached.
 */
export async function movedServer(): Promise<MovedServer> {
  moved ??= start(AHEAD_MS);
  const server = await moved;
  const restart = async (env?: Record<string, string>, laterMs?: number): Promise<void> => {
    await server.start(env, laterMs);
    noteProcess(server);
  };
  // A file that failed may have left it killed or stopped.
  if (!server.isRunning) await restart();
  await server.command({ command: "advance", ms: DAY_MS });
  const one = await organizationOn(server);
  const { clock, kill, stop } = clientsOf(server, one.world);
  return Object.assign(one, { clock, kill, stop, restart });
}

async function organizationOn(server: ServerProcess): Promise<SharedServer> {
  const domain = `s${++given}.example.org`;
  const own = (email: string): string =>
    email.endsWith(domain) ? email : email.replace(/@(.*)example\.org$/, `@$1${domain}`);
  const organization = (name: string): Promise<World> => server.command({ command: "organization", name, domain });
  const all = clientsOf(server, await organization("first"));
  const since = server.log().length;
  const log = (): string => server.log().slice(since);
  const clients: Client[] = [];
  const { url, dataFolder, isEmbedded, databaseUrl, world, graphql, data, watch, events, key, setPlan, uiToken } = all;
  return {
    url,
    dataFolder,
    isEmbedded,
    databaseUrl,
    world,
    log,
    graphql,
    data,
    watch,
    events,
    key,
    setPlan,
    uiToken,
    organization,
    member: (email, role) => all.member(own(email), role),
    memberOf: (other, email, role) => all.memberOf(other, own(email), role),
    webSocket: (token) => {
      const client = all.webSocket(token);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map(async (client) => client.dispose()));
      // Everything that it has written so far is here once it has answered.
      await server.command({ command: "now" });
      const errors = log()
        .split("\n")
        .filter((line) => /"level":[56]0/.test(line));
      if (errors.length > 0) throw new Error(`the shared server logged errors:\n${errors.join("\n")}`);
    },
  };
}
