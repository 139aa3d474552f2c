/**
 * One server for all files of a vitest worker that need none of their own: no clock, no settings, no kill, no figures of the
 * process. Each gets an organization of its own with the same world as a new server's, which costs a tenth of a server.
 *
 *     let server: SharedServer;
 *     beforeAll(async () => void (server = await sharedServer()));
 *     afterAll(() => server[Symbol.asyncDispose]());
 */
import type { Client } from "graphql-ws";
import { clientsOf, type TestServer } from "./client.ts";
import { ServerProcess, prepare } from "./server-process.ts";
import { sharedFolder, sharedProcess } from "./run-folder.ts";
import type { World } from "./server.ts";

/** What would change the server under the files that come after, or speaks of others' organizations too. */
type OfTheProcess =
  | "pid"
  | "setupLink"
  | "metricsUrl"
  | "clock"
  | "setFreeBytes"
  | "measure"
  | "referenceMs"
  | "kill"
  | "ended"
  | "stop"
  | "restart";

/** `log` has what was written since it was asked for. To dispose of it closes its clients, and fails when an error was logged. */
export type SharedServer = Omit<TestServer, OfTheProcess> & AsyncDisposable;

/** An address of loopback whose connections have no share of their own. */
export const PROXY = "127.0.0.9";
/** What changes nothing for who does not use it: calls reach loopback, and a client may be one behind a proxy. */
const SETTINGS = { OUTBOUND_ALLOW: "127.0.0.0/8", TRUSTED_PROXIES: `127.0.0.1, ${PROXY}` };

let running: Promise<ServerProcess> | undefined;
let given = 0;

async function start(): Promise<ServerProcess> {
  const folder = sharedFolder();
  const server = new ServerProcess(folder, { ...SETTINGS });
  await prepare(server);
  await server.start();
  sharedProcess(folder, server.pid);
  return server;
}

/** The same server each time in one worker, with a new organization. E-mails get a domain of their own: users are everybody's. */
export async function sharedServer(): Promise<SharedServer> {
  running ??= start();
  const server = await running;
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
      // What it has written until now is here once it has answered.
      await server.command({ command: "now" });
      const errors = log()
        .split("\n")
        .filter((line) => /"level":[56]0/.test(line));
      if (errors.length > 0) throw new Error(`the shared server logged errors:\n${errors.join("\n")}`);
    },
  };
}
