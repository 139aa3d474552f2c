/** Word between two processes of one database, over its real notifications. That a caller is told: test/faults/two-servers.test.ts. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { quiet, startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { newId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { openNotices, type Notice, type Notices } from "./notices.ts";

let databases: Databases;
let database: Database;
let clock: TestClock;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

const stack: AsyncDisposable[] = [];
beforeEach(async () => {
  database = await databases.open();
  stack.push(database);
  clock = testClock();
});
afterEach(async () => {
  for (const one of stack.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

type Process = { id: string; notices: Notices; heard: string[]; isMet: () => boolean; missed: () => number };

const notice = (kind: "changed" | "wake"): Notice => ({ kind, organizationId: newId<"organization">(), id: newId() });
/** The messages of two processes until they know of each other. */
const HELLO = notice("changed");

async function process(): Promise<Process> {
  const id = newId<"instance">();
  const notices = await openNotices({ database, clock, log: quiet, instanceId: id });
  stack.push(notices);
  const heard: string[] = [];
  let isMet = false;
  let missed = 0;
  notices.on("changed", (_, id) => (isMet ||= id === HELLO.id));
  notices.on("changed", (_, id) => id === HELLO.id || heard.push(`changed ${id}`));
  notices.on("wake", (_, id) => heard.push(`wake ${id}`));
  notices.onMissed(() => missed++);
  return { id, notices, heard, isMet: () => isMet, missed: () => missed };
}

/** Two that know of each other. */
async function pair(): Promise<[Process, Process]> {
  const both: [Process, Process] = [await process(), await process()];
  // The second has told the first that it is there; the answer is not awaited.
  await eventually(() => {
    for (const { notices } of both) notices.send(HELLO);
    clock.pass(5);
    return both.every(({ isMet }) => isMet());
  });
  return both;
}

/** Both look once: a second look while the other one's takes long would count it as silent. */
async function look(both: Process[]): Promise<void> {
  clock.pass(5_000);
  const written = "select from instances where id = any ($1) and heartbeat_at = $2";
  await eventually(async () => {
    const rows = await database.query(written, [both.map(({ id }) => id), new Date(clock.now())]);
    return rows.length === both.length;
  });
}

test("each is told of what another does, by kind, and not of what it does itself; 200 at once all arrive", async () => {
  const [one, two] = await pair();
  const sent = Array.from({ length: 200 }, (_, index) => notice(index % 2 ? "changed" : "wake"));
  for (const each of sent) one.notices.send(each);
  // The same once more before it is sent is one.
  one.notices.send(sent[0]!);
  clock.pass(5);
  await eventually(() => two.heard.length >= sent.length);
  expect(two.heard).toEqual(sent.map(({ kind, id }) => `${kind} ${id}`));
  const back = notice("wake");
  two.notices.send(back);
  clock.pass(5);
  await eventually(() => one.heard.length > 0);
  expect(one.heard).toEqual([`wake ${back.id}`]);
  expect([one.missed(), two.missed()]).toEqual([0, 0]);
  // And once.
  const last = notice("changed");
  one.notices.send(last);
  clock.pass(5);
  await eventually(() => two.heard.length > sent.length);
  expect(two.heard.slice(sent.length)).toEqual([`changed ${last.id}`]);
});

test("what could not be sent is sent again a second later", async () => {
  const [one, two] = await pair();
  const { query } = database;
  let refused = 0;
  database.query = (...of) => (refused++ === 0 ? Promise.reject(new Error("Connection terminated")) : query(...of));
  const sent = notice("changed");
  one.notices.send(sent);
  clock.pass(5);
  await eventually(() => refused > 0);
  await eventually(() => {
    clock.pass(1_000);
    return two.heard.length > 0;
  });
  expect(two.heard).toEqual([`changed ${sent.id}`]);
});

test("whose connection was lost looks for itself when it listens again, and hears the others again", async () => {
  const [one, two] = await pair();
  const lost = await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen autograph' and datname = current_database()",
  );
  expect(lost).toHaveLength(2);
  await eventually(async () => {
    await look([one, two]);
    return one.missed() === 1 && two.missed() === 1;
  });
  const sent = notice("wake");
  one.notices.send(sent);
  clock.pass(5);
  await eventually(() => two.heard.length > 0);
  expect(two.heard).toEqual([`wake ${sent.id}`]);
});

test("one that ends without a word may have left something untold: the others look once, and later its row goes", async () => {
  const [one, two] = await pair();
  const gone = newId();
  await database.query("insert into instances (id, started_at, heartbeat_at) values ($1, now(), now())", [gone]);
  const rows = async (): Promise<number> =>
    (await database.query("select from instances where id = $1", [gone])).length;
  await eventually(async () => {
    await look([one, two]);
    return one.missed() === 1 && two.missed() === 1;
  });
  expect(await rows()).toBe(1);
  await eventually(async () => {
    await look([one, two]);
    return (await rows()) === 0;
  });
  expect([one.missed(), two.missed()]).toEqual([1, 1]);
});

test("one that says goodbye has told all: nobody looks", async () => {
  const [one] = await pair();
  await stack.pop()![Symbol.asyncDispose]();
  for (let look = 0; look < 10; look++) {
    clock.pass(5_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(one.missed()).toBe(0);
});
