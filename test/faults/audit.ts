/**
 * The changes of runs in a database, commit by commit: triggers of this test write down each change of a run and
 * of a step. `violations` answers what must never be there; an empty list is a sound journal.
 */
import path from "node:path";
import pg from "pg";
import { decodeId } from "../../server/src/lib/ids.ts";
import { isFinal, RUN_STATUSES, RUN_TRANSITIONS } from "../../server/src/execution/run/states.ts";
import type { Connection } from "../../server/src/storage/database.ts";
import { socketConnection } from "../../server/src/postgres/embedded.ts";
import { readPassword } from "../../server/src/postgres/postgres-password.ts";
import { readPidFile } from "../../server/src/postgres/postmaster.ts";
import type { TestServer } from "../client.ts";

/** A connection to the server's PostgreSQL, or to the one of a URL. */
export async function connectTo(
  server: Pick<TestServer, "dataFolder" | "databaseUrl">,
  databaseUrl = server.databaseUrl,
): Promise<pg.Client> {
  const ownConnection = (): Connection =>
    socketConnection(
      readPidFile(path.join(server.dataFolder, "postgres"))!.socketFolder,
      readPassword(server.dataFolder)!,
    );
  const client = new pg.Client(databaseUrl ?? ownConnection());
  client.on("error", () => {});
  await client.connect();
  return client;
}

const INSTALL = `
create table audit (
  seq bigserial primary key, tx xid8 not null default pg_current_xact_id(), program text not null default current_setting('application_name'),
  run_id uuid not null, step integer, before text, after text,
  old_revision integer, new_revision integer, old_epoch integer, new_epoch integer, between_tries boolean not null default false);
create function audit_run() returns trigger language plpgsql as $$ begin
  insert into audit (run_id, before, after, old_revision, new_revision, old_epoch, new_epoch)
  values (coalesce(new.id, old.id), old.status, new.status, old.revision, new.revision, old.epoch, new.epoch);
  return null;
end $$;
create function audit_step() returns trigger language plpgsql as $$ begin
  insert into audit (run_id, step, before, after, old_revision, new_revision, old_epoch, new_epoch, between_tries)
  values (coalesce(new.run_id, old.run_id), coalesce(new.number, old.number), old.status, new.status, old.revision, new.revision,
    old.attempt, new.attempt, (old.state ->> 'try' is not null and old.state ->> 'until' is not null) is true);
  return null;
end $$;
create trigger audit after insert or update or delete on runs for each row execute function audit_run();
create trigger audit after insert or update or delete on steps for each row execute function audit_step();`;

/** From here on everything is written down. A step's attempt stands in the columns of the run's epoch. */
export async function installAudit(client: pg.Client): Promise<void> {
  await client.query(INSTALL);
}

const literals = (words: string[]): string => words.map((word) => `'${word}'`).join(", ");
const FINAL = literals(RUN_STATUSES.filter(isFinal));
const ALLOWED = literals(Object.entries(RUN_TRANSITIONS).flatMap(([from, ends]) => ends.map((to) => `${from} ${to}`)));
const OPEN_STEP = literals(["pending", "running", "paused"]);

/** Each answers rows of `run_id` and `what`. */
const CHECKS: Record<string, string> = {
  "a state off the table": `
    select run_id, before || ' -> ' || after as what from audit
     where step is null and before is distinct from after and before is not null
       and (before || ' ' || after in (${ALLOWED})) is not true`,
  "columns that contradict the state": `
    select id as run_id, format('%s, finished %s, cancelled %s, owner %s, due %s, %s %%', status, finished_at, cancelled_at,
                                owner, wake_at, progress) as what
      from runs
     where (status in (${FINAL})) <> (finished_at is not null)
        or (finished_at is not null and (owner is not null or wake_at is not null))
        or (status = 'cancelled') <> (cancelled_at is not null)
        or progress not between 0 and 100 or (progress = 100) <> (status = 'completed')`,
  "a change after the final state": `
    select a.run_id, coalesce('step ' || a.step, 'run') || ' ' || coalesce(a.before, 'new') || ' -> ' || a.after as what
      from audit a join audit f on f.run_id = a.run_id and f.step is null and f.after in (${FINAL})
        and f.before is distinct from f.after
     where a.seq > f.seq and a.tx <> f.tx`,
  "revisions that are not 1, 2, 3 and so on": `
    select r.id as run_id, format('%s revisions up to %s, the run has %s', count(*), max(new_revision), r.revision) as what
      from runs r join audit a on a.run_id = r.id and a.old_revision is distinct from a.new_revision
     group by r.id, r.revision
    having count(*) <> r.revision or count(distinct new_revision) <> r.revision or max(new_revision) <> r.revision`,
  "a revision or an epoch that falls": `
    select run_id, format('step %s: revision %s -> %s, epoch %s -> %s', step, old_revision, new_revision, old_epoch, new_epoch) as what
      from audit where new_revision < old_revision or new_epoch < old_epoch`,
  // But for one that was cancelled in the pause before another try, and is reached again: that try had not begun, and may end in the
  // commit in which it begins.
  "a finished step that changed": `
    select run_id, format('step %s: %s -> %s, attempt %s -> %s', step, before, after, old_epoch, new_epoch) as what
      from audit where step is not null and before not in (${OPEN_STEP})
       and new_epoch = old_epoch and (before <> after or old_revision <> new_revision)
       and not (between_tries and before = 'cancelled')`,
  "a row that was removed": "select run_id, 'step ' || step as what from audit where after is null",
  "step numbers with gaps": `
    select run_id, format('%s steps, up to number %s', count(*), max(number)) as what from steps
     group by run_id having min(number) <> 1 or max(number) <> count(*)`,
  "two results for one key": `
    select run_id, key as what from steps group by run_id, key having count(*) > 1`,
  "an open step in a finished run": `
    select r.id as run_id, format('%s %s in a %s run', s.name, s.status, r.status) as what
      from runs r join steps s on s.run_id = r.id where r.status in (${FINAL}) and s.status in (${OPEN_STEP})`,
  "attempts with gaps": `
    select run_id, format('step %s: %s attempts before number %s', number, count(t.attempt), s.attempt) as what
      from steps s left join attempts t using (run_id, number)
     group by run_id, number, s.attempt having count(t.attempt) <> s.attempt - 1 or max(t.attempt) <> s.attempt - 1`,
  "an open approval of a finished run": `
    select r.id as run_id, a.status as what from runs r join approvals a on a.run_id = r.id
     where r.status in (${FINAL}) and a.status = 'open'`,
  "an idempotency key without its one run": `
    select k.run_id, format('%s: %s runs', key, count(r.id)) as what from idempotency_keys k left join runs r on r.id = k.run_id
     group by k.organization_id, k.agent_id, k.key, k.run_id having count(r.id) <> 1`,
  "more runs started than attempts to": `
    select parent_run_id as run_id, format('%s children, %s attempts', count(*), tries) as what
      from runs c cross join lateral (
        select sum(attempt) as tries from steps s where s.run_id = c.parent_run_id and s.kind = 'run') t
     where parent_run_id is not null group by parent_run_id, tries having count(*) > tries`,
};

const SHOWN = 5;

/** The violations, with the first few places of each kind. */
export async function violations(client: pg.Client): Promise<string[]> {
  const found: string[] = [];
  for (const [name, sql] of Object.entries(CHECKS)) {
    const { rows } = await client.query<{ run_id: string; what: string }>(sql);
    for (const { run_id: runId, what } of rows.slice(0, SHOWN)) found.push(`${name}: ${runId} ${what}`);
    if (rows.length > SHOWN) found.push(`${name}: ${rows.length} in all`);
  }
  return found;
}

/** How many runs have ended as what. */
export async function statusesOf(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query<{ status: string; count: string }>(
    "select status, count(*) from runs group by 1",
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}

/** All that the database knows of a run and its children, for a failure's message. `runId` is the API's. */
export async function journalOf(client: pg.Client, runId: string): Promise<string> {
  const id = decodeId("run", runId);
  const { rows: runs } = await client.query(
    `select id, status, epoch, owner, wake_at, wake_seq, blamed, revision, finished_at, error from runs where id = $1 or parent_run_id = $1`,
    [id],
  );
  const { rows: steps } = await client.query(
    "select number, key, status, attempt, state, error from steps where run_id = $1 order by number",
    [id],
  );
  const { rows: executor } = await client.query("select * from executor");
  const { rows: audit } = await client.query("select * from audit where run_id = $1 order by seq", [id]);
  return JSON.stringify({ runs, steps, executor, audit }, null, 1);
}

/** Installs the audit in a server's database. */
export async function auditServer(server: TestServer): Promise<void> {
  const client = await connectTo(server);
  await installAudit(client);
  await client.end();
}

/** Each reading has a connection of its own, since the tests kill the server of an older one. */
export const journalReader =
  (server: TestServer) =>
  async (runId: string): Promise<string> => {
    const client = await connectTo(server);
    try {
      return await journalOf(client, runId);
    } finally {
      await client.end();
    }
  };
