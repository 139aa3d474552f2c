/** A disk without space: new runs are refused in time, open ones go on, and nothing is lost when it is full all the same. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { publish, start } from "../agents.ts";
import { ON_OPERATORS, eventually, startTestServer, type Answer, type TestServer } from "../client.ts";
import { agentOf, DECIDE, decide, ENDED, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { askedAs } from "./asked-as.ts";
import { insisted } from "./workload.ts";

const MIB = 1024 * 1024;
const isReady = async (server: TestServer): Promise<boolean> => (await fetch(`${server.url}/readyz`)).status === 200;
const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

async function expectRefused(server: Pick<TestServer, "graphql">, agentId: string): Promise<void> {
  const refused = await server.graphql(START, { input: { agentId, input: { n: 1 } } });
  expect([refused.status, refused.errors?.[0]!.extensions.code]).toEqual([503, "UNAVAILABLE"]);
  expect(refused.errors![0]!.message).toMatch(/disk/);
}

test("little space left: starts are UNAVAILABLE, open runs go on, and all is well when there is space again", async (context) => {
  await using server = await startTestServer();
  context.skip(!server.isEmbedded, ON_OPERATORS);
  const three = await publish(server, "three");
  const asking = await start(server, await publish(server, "approve"));
  const waiting = await start(server, await agentOf(server, "do: [{pause: {wait: PT3S}}, {done: {set: {n: 1}}}]"));
  await until(server, asking, "paused");
  await server.setFreeBytes(100 * MIB);
  await eventually(async () => !(await isReady(server)));
  await expectRefused(server, three);
  expect((await decide(server, asking, "approve", { answer: { costCentre: "office" } })).errors).toBeUndefined();
  expect((await until(server, asking, ...ENDED)).status).toBe("completed");
  expect((await until(server, waiting, ...ENDED)).output).toEqual({ n: 1 });
  await expectRefused(server, three);
  await server.setFreeBytes(null);
  await eventually(() => isReady(server));
  expect((await until(server, await start(server, three, { n: 1 }), ...ENDED)).output).toEqual({ n: 4 });
});

/** A disk of its own, small enough to be filled; undefined where none may be mounted. */
function mountDisk(): ({ folder: string } & Disposable) | undefined {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=768m,mode=0755", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    fs.rmdirSync(folder);
    return undefined;
  }
  return {
    folder,
    [Symbol.dispose]() {
      execFileSync("umount", ["-l", folder]);
      fs.rmdirSync(folder);
    },
  };
}

function canMount(): boolean {
  using disk = mountDisk();
  return disk !== undefined;
}

const freeBytes = (folder: string): number => {
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize;
};

/** Leaves so much; with 0 nothing at all. */
function fill(folder: string, leftBytes: number): void {
  const file = fs.openSync(path.join(folder, "filler"), "a");
  const block = Buffer.alloc(MIB, 1);
  try {
    while (freeBytes(folder) > leftBytes) fs.writeSync(file, block, 0, Math.min(MIB, freeBytes(folder) - leftBytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
  fs.closeSync(file);
}

/** Each holds its run until it is decided, with an answer that needs room. */
const QUESTIONS = scaled({ whole: 60, part: 8 });
const ANSWER_BYTES = 600_000;
/** Decisions on the full disk. After each, PostgreSQL starts again. */
const REFUSED = scaled({ whole: 60, part: 2 });

test.runIf(canMount())(
  "a real disk filled to the last byte: nothing acknowledged is lost, and everything goes on when there is room",
  async (context) => {
    using disk = mountDisk()!;
    const { folder } = disk;
    const env = { DATA_DIR: path.join(folder, "data"), REAL_SPACE: "1", LOG_LEVEL: "error" };
    await using plain = await startTestServer({ fresh: true, env });
    context.skip(!plain.isEmbedded, ON_OPERATORS);
    const world = await plain.organization("disk");
    const server = askedAs(plain, world);
    const three = await publish(server, "three");
    const ask = await agentOf(
      server,
      "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?}}}, {done: {set: '${ .answer }'}}]",
    );
    const asking: { id: string; approvalId: string; answer: string }[] = [];
    for (let count = 0; count < QUESTIONS; count++) {
      const id = await start(server, ask);
      const { approvals } = await until(server, id, "paused");
      asking.push({ id, approvalId: approvals.nodes[0].id, answer: randomBytes(ANSWER_BYTES / 2).toString("hex") });
    }
    fill(folder, 150 * MIB);
    await eventually(async () => !(await isReady(plain)));
    await expectRefused(server, three);
    const say = ({ approvalId, answer }: (typeof asking)[number]): Promise<Answer> =>
      server.graphql(DECIDE, { input: { approvalId, decision: "approve", answer } });
    expect((await say(asking[0]!)).errors).toBeUndefined();
    expect((await until(server, asking[0]!.id, ...ENDED)).output).toBe(asking[0]!.answer);

    const refusals: string[] = [];
    const acknowledged = new Set<string>();
    for (const one of asking.slice(1)) {
      if (refusals.length === REFUSED) break;
      fill(folder, 0);
      const { errors } = await say(one);
      refusals.push(...(errors ?? []).map(({ extensions }) => extensions.code));
      if (!errors) acknowledged.add(one.id);
    }
    process.stderr.write(`on a full disk: ${acknowledged.size} decisions were taken, ${refusals.length} refused\n`);
    expect(new Set(refusals)).toEqual(new Set(["UNAVAILABLE"]));
    expect((await fetch(`${plain.url}/healthz`)).status).toBe(200);

    fs.rmSync(path.join(folder, "filler"));
    await eventually(() => isReady(plain), 60_000);
    for (const one of asking.slice(1)) {
      const { approval } = await insisted(server, "query($id: ID!) { approval(id: $id) { status } }", {
        id: one.approvalId,
      });
      if (acknowledged.has(one.id)) expect(approval.status).toBe("approved");
      if (approval.status === "open")
        await insisted(server, DECIDE, {
          input: { approvalId: one.approvalId, decision: "approve", answer: one.answer },
        });
      const run = await until(server, one.id, ...ENDED);
      expect(run.output === one.answer).toBe(true);
    }
    expect((await until(server, await start(server, three, { n: 1 }), ...ENDED)).output).toEqual({ n: 4 });
  },
);
