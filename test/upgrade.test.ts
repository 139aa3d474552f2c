/**
 * A database that a former version made is brought up to date, and what was in it is there and goes on. A fixture is what the
 * first migrations up to its number made and a server of then filled, with rows in every table.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { createLog } from "../server/src/lib/log/log.ts";
import { openDatabase } from "../server/src/storage/database.ts";
import { migrate, MIGRATIONS } from "../server/src/storage/migrate.ts";
import { bundled } from "./bundle.ts";
import { startProcess } from "./cli-process.ts";
import { eventually, post, type Data } from "./client.ts";
import { sharedPostgres } from "./postgres.ts";

const FIXTURES = path.join(import.meta.dirname, "fixtures");
/** The key that the fixture's tokens and secrets are sealed with. */
const SECRET_KEY = "5a".repeat(32);
const OWNER = { email: "ada@example.org", password: "a long password" };
const LOGIN =
  "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
const DECIDE = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { status } }";
const ALL = `{
  agents { handle status }
  runs { nodes { status output agent { handle } steps(first: 1) { status } } }
  triggers { nodes { name type status url } }
  approvals { nodes { id status question } }
}`;

/** Makes the database as `last` left it. */
async function fill(url: string, last: string): Promise<void> {
  await using database = openDatabase({
    connection: { connectionString: url },
    isEmbedded: false,
    log: createLog("silent"),
  });
  await migrate(database, Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name <= last)));
  const client = await database.dedicated();
  await client.query(readFileSync(path.join(FIXTURES, `database-${last}.sql`), "utf8"));
  const { rows } = await client.query(
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname !~ '_default$'",
  );
  for (const { relname } of rows as { relname: string }[]) {
    const filled = await client.query(`select from ${pg.escapeIdentifier(relname)} limit 1`);
    expect(filled.rowCount, `rows in ${relname}`).toBe(1);
  }
  await client.end();
}

test("a filled database of 0001 is brought up to date and served, and its runs go on", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  await using postgres = await sharedPostgres();
  const url = await postgres.createDatabase();
  await fill(url, "0001-start");

  const env = { DATABASE_URL: url, DATA_DIR: folder, SECRET_KEY };
  const serving = startProcess([], { env, file: bundled("main") });
  try {
    const [, server] = await eventually(() => /^ready at (\S+)$/m.exec(serving.stdout));
    const { login } = (await post(`${server}/graphql`, LOGIN, OWNER, null)).data;
    const ask = async (query: string, variables = {}) => {
      const { data, errors } = await post(`${server}/graphql`, query, variables, login.accessToken);
      expect(errors).toBeUndefined();
      return data;
    };
    // A run that waited for a time that has passed goes on by itself.
    const { agents, runs, triggers, approvals } = await eventually(async () => {
      const found = await ask(ALL);
      return found.runs.nodes.every((run: Data) => run.status !== "running") && found;
    });
    expect(agents.map((agent: Data) => [agent.handle, agent.status])).toEqual(
      ["batch-greeting", "expense-approval", "fan-out", "flaky-service", "order-intake", "ten-minute-wait"].map(
        (handle) => [handle, "active"],
      ),
    );
    expect(
      runs.nodes.map((run: Data) => [run.agent.handle, run.status, run.output?.message ?? run.output?.count]),
    ).toEqual([
      ["ten-minute-wait", "completed", "Ten minutes have passed."],
      ["batch-greeting", "completed", 2],
      ["flaky-service", "completed", "The service answered at try 3."],
      ["ten-minute-wait", "completed", "Ten minutes have passed."],
      ["expense-approval", "completed", undefined],
      ["expense-approval", "paused", undefined],
    ]);
    for (const run of runs.nodes) expect(run.steps).toEqual([{ status: "completed" }]);
    expect(triggers.nodes).toEqual([
      { name: "paper for the office, every Monday", type: "cron", status: "paused", url: null },
      { name: "orders of the shop", type: "event", status: "active", url: null },
      {
        name: "shop",
        type: "webhook",
        status: "active",
        url: expect.stringMatching(/\/webhook\/agent_\w+\/[\w-]{43}$/),
      },
    ]);

    const [approval] = approvals.nodes;
    expect(approval).toMatchObject({ status: "open", question: "Pay 1200 euros for Train to Berlin?" });
    await ask(DECIDE, { input: { approvalId: approval.id, decision: "approve", answer: { costCentre: "travel" } } });
    await eventually(async () => {
      const [run] = (await ask(ALL)).runs.nodes.toReversed();
      return run.status === "completed" && run.output.decision === "approved";
    });
    const order = { customer: "Eve", speed: "rush", deliverBy: "2026-12-01", items: ["cup"] };
    const called = await fetch(triggers.nodes[2].url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(order),
    });
    expect(called.status, await called.text()).toBe(202);
  } finally {
    serving.kill("SIGTERM");
    await serving.ended;
    rmSync(folder, { recursive: true, force: true });
  }
});
