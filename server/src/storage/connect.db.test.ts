import net from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPooler } from "../../../test/pooler.ts";
import { startTestPostgres, type TestPostgres } from "../../../test/postgres.ts";
import { createLog } from "../lib/log/log.ts";
import { connectServer } from "./connect.ts";
import type { Database } from "./database.ts";

const log = createLog("silent");
let server: TestPostgres;
let database: Database;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await connectServer(server.url, log);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await server.stop();
});

/** The server's URL with another part. */
function urlWith(change: (url: URL) => void): string {
  const url = new URL(server.url);
  change(url);
  return url.href;
}

/** The one line, which never contains the password. */
async function refusal(url: string): Promise<string> {
  const error = await connectServer(url, log).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: "OperatorError" });
  const { message } = error as Error;
  expect(message).not.toContain("\n");
  expect(message).not.toContain(new URL(server.url).password);
  return message;
}

test("a PostgreSQL with TCP and a password is used", async () => {
  expect(database.isEmbedded).toBe(false);
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
});

describe("one helpful line for", () => {
  test.each(["nonsense", "mysql://root@127.0.0.1/x", "127.0.0.1:5432", "postgres://a%zz@127.0.0.1/x"])(
    "%s, which is no URL of PostgreSQL",
    async (url) => {
      await expect(connectServer(url, log)).rejects.toThrow(/^DATABASE_URL is not of the form postgres:/);
    },
  );

  test("an unreachable host", async () => {
    // Nobody is given this one, as a free one might be meanwhile.
    const line = await refusal(urlWith((url) => (url.port = "1")));
    expect(line).toBe("DATABASE_URL: no PostgreSQL can be reached at 127.0.0.1:1 (ECONNREFUSED)");
  });

  test("something else that listens there", async () => {
    const other = net.createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as net.AddressInfo;
    expect(await refusal(urlWith((url) => (url.port = String(port))))).toContain(
      `no PostgreSQL can be reached at 127.0.0.1:${port}`,
    );
    other.close();
  });

  test("a wrong password, and none", async () => {
    const line = /refuses the password of user "tester"$/;
    expect(await refusal(urlWith((url) => (url.password = "wrong")))).toMatch(line);
    expect(await refusal(urlWith((url) => (url.password = "")))).toMatch(line);
  });

  test("a database that does not exist", async () => {
    expect(await refusal(urlWith((url) => (url.pathname = "/absent")))).toMatch(
      /has no database "absent": create it first$/,
    );
  });

  test("a user that may not create tables", async () => {
    await database.query("create role reader login password 'reader-password'");
    const line = await refusal(
      urlWith((url) => {
        url.username = "reader";
        url.password = "reader-password";
      }),
    );
    expect(line).toBe(`DATABASE_URL: user "reader" may not create tables in schema "public"`);
  });

  test("a database in another encoding", async () => {
    await database.query("create database latin encoding 'LATIN1' template template0");
    expect(await refusal(urlWith((url) => (url.pathname = "/latin")))).toContain("encoding is LATIN1");
  });
});

describe("a pooler in transaction mode is refused", () => {
  test.each([
    ["one backend", 1, true],
    ["several, the one used last first", 3, true],
    ["several, in turn", 3, false],
    ["more than we open connections", 12, false],
  ] as const)("with %s", async (_, backends, mostRecent) => {
    await using pooler = await startPooler(server.url, backends, mostRecent);
    await expect(connectServer(pooler.url, log)).rejects.toThrow(/leads through a pooler in transaction mode/);
  });
});
