/** After SIGTERM in the middle of each kind of work the server ends in order, and leaves no PostgreSQL. */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { readPidFile } from "../../server/src/postgres/postmaster.ts";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { leftToLong, scaled } from "../scale.ts";
import { startSink } from "../sink.ts";
import { keepBusy, publishAll, type Answered } from "./busy.ts";
import { clusterOf } from "./kills.ts";
import { titleOf } from "./processes.ts";
import { seeded } from "./random.ts";

const STOPS = scaled({ whole: 50, part: 2 });
/** Runs that nobody answers make a stop take its ten seconds. */
const HANGING_EVERY = 10;
/** A deadline for what hangs. */
const MAX_MS = STOPS * 75_000;

const RUNNING = { runAgent: { id: expect.any(String), status: "running" } };

const processesOf = ({ dataFolder }: TestServer): string[] =>
  fs
    .readdirSync("/proc")
    .map((name) => titleOf(Number(name)))
    .filter((title) => title.includes(`-D\0${dataFolder}`));

async function expectThere(server: TestServer, { runs, events, version, draft }: Answered): Promise<void> {
  const kept = async (kind: string, ids: Set<string>): Promise<(string | undefined)[]> =>
    Promise.all(
      [...ids].map(async (id) => (await server.data(`query($id: ID!) { ${kind}(id: $id) { id } }`, { id }))[kind]?.id),
    );
  expect(await kept("run", runs)).toEqual([...runs]);
  expect(await kept("event", events)).toEqual([...events]);
  const { agents } = await server
    .data("{ agentsConnection(first: 100) { nodes { handle version draft { revision } } } }")
    .then(({ agentsConnection }) => ({
      agents: agentsConnection.nodes as { handle: string; version: string; draft: { revision: number } | null }[],
    }));
  const named = (handle: string) => agents.find((agent) => agent.handle === handle);
  if (version > 0) expect(Number(named("published")!.version.split(".")[2])).toBeGreaterThanOrEqual(version);
  if (draft > 0) expect(named("drafted")!.draft!.revision).toBeGreaterThanOrEqual(draft);
}

test.skipIf(leftToLong)(
  `${STOPS} stops at random in the middle of everything: exit code 0, nothing unhandled, no PostgreSQL left, what was answered is there`,
  async () => {
    const random = seeded("stops");
    await using sink = await startSink();
    await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
    const agents = await publishAll(server, sink);
    let logged = 0;
    for (let stop = 0; stop < STOPS; stop++) {
      const withHanging = stop % HANGING_EVERY === 0;
      const busy = await keepBusy(server, agents, random, { withHanging });
      await busy.isUnderWay();
      await sleep(random.between(0, 500));
      const code = await server.stop();
      await busy.end();
      const log = server.log().slice(logged);
      logged += log.length;
      expect(code, log).toBe(0);
      expect(log).not.toMatch(/Cannot use a pool|nhandled|"level":[56]0/);
      expect(processesOf(server)).toEqual([]);
      expect(readPidFile(clusterOf(server))).toBeUndefined();
      if (withHanging) expect(await Promise.all(busy.waits)).toEqual(busy.waits.map(() => RUNNING));
      await server.restart();
      await eventually(async () => (await fetch(`${server.url}/readyz`)).ok);
      await expectThere(server, busy.answered);
      await server.data(
        "mutation { cancelRuns(input: {runs: {filter: {status: [pending, running]}}}) { cancelledCount } }",
      );
    }
  },
  MAX_MS,
);
