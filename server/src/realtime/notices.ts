/**
 * Word of what changed to the other processes of one database. NOTIFY takes a lock at each commit that has one (÷4 inside
 * the hot transaction), so notices gather for 5 ms and go by themselves, and only while another process is registered.
 * They may be lost with a connection: who may have missed some is told so, and looks for itself.
 */
import type { Client } from "pg";
import { every, type Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { InstanceId, OrganizationId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { Database, Row } from "../storage/database.ts";

/**
 * `changed`: read the run again; `wake`: it is due; `cancelled`: stop what is in flight; `approval`: one was asked or decided.
 * `agent`, `apiKey`, `session`: forget what is remembered of it.
 */
export type NoticeKind = "changed" | "wake" | "cancelled" | "approval" | "agent" | "apiKey" | "session";
export type Notice = { kind: NoticeKind; organizationId: OrganizationId; id: string };

export type NoticesOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
  receive: (notice: Notice) => void;
  /** Notices of others may have been lost until now. */
  missed: () => void;
};

export type Notices = { send(notice: Notice): void } & AsyncDisposable;

const CHANNEL = "autograph";
const LISTEN = `listen ${CHANNEL}`;
const GATHER_MS = 5;
const REGISTER_MS = 5_000;
/**
 * A process whose row has stood still for so many looks is gone. Counted, not timed: the clocks of two machines may be
 * hours apart.
 */
const GONE_AFTER_LOOKS = 3;
/** The connection that listens is ended when a look gets no answer for so long. */
const SILENT_MS = 10_000;
/** A message that could not be sent is sent again after this. */
const AGAIN_MS = 1_000;
/** Beyond it nothing is kept for a database that is away: the others look for themselves when it is back. */
const MOST_WAITING = 10_000;
/** PostgreSQL takes 8,000 bytes; a notice has about 90. */
const NOTICES_A_MESSAGE = 80;

/** The embedded database has one process. */
const SILENT: Notices = { send: () => {}, [Symbol.asyncDispose]: () => Promise.resolve() };

export async function openNotices(options: NoticesOptions): Promise<Notices> {
  if (options.database.isEmbedded) return SILENT;
  const notices = new DatabaseNotices(options);
  await notices.open();
  return notices;
}

class DatabaseNotices implements Notices {
  readonly #options: NoticesOptions;
  readonly #waiting = new Set<string>();
  #client: Client | undefined;
  /** The others by id: their heartbeat, and how many looks it has stood still. */
  #others = new Map<string, { heartbeat: number; looks: number }>();
  #timer: Disposable | undefined;
  #registering: Disposable | undefined;
  #isClosed = false;
  #hasListened = false;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.#register();
    let looking: Promise<void> | undefined;
    this.#registering = every(this.#options.clock, REGISTER_MS, async () => {
      // One that waits for a slow database is not overtaken.
      await (looking ??= this.#register().finally(() => (looking = undefined)));
    });
  }

  send({ kind, organizationId, id }: Notice): void {
    if (this.#others.size === 0) return;
    this.#waiting.add(`${kind} ${organizationId} ${id}`);
    this.#arm(GATHER_MS);
  }

  #arm(ms: number): void {
    const { clock } = this.#options;
    this.#timer ??= clock.at(clock.now() + ms, () => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const lines = [...this.#waiting];
    this.#waiting.clear();
    let told = 0;
    try {
      for (; told < lines.length; told += NOTICES_A_MESSAGE) {
        await this.#notify(lines.slice(told, told + NOTICES_A_MESSAGE).join("\n"));
      }
    } catch (error) {
      this.#options.log.warn({ reason: messageOf(error) }, "other processes were not told of changes; trying again");
      for (const line of lines.slice(told)) if (this.#waiting.size < MOST_WAITING) this.#waiting.add(line);
      if (!this.#isClosed) this.#arm(AGAIN_MS);
    }
  }

  async #notify(lines: string): Promise<void> {
    await this.#options.database.query("select pg_notify($1, $2)", [CHANNEL, `${this.#options.instanceId}\n${lines}`]);
  }

  /** Says that this process lives, and looks who else does. The first look of a new process tells the others of it. */
  async #register(): Promise<void> {
    const { database, clock, instanceId, log } = this.#options;
    try {
      await this.#listen();
      const rows = await database.query(
        `with me as (
           insert into instances (id, started_at, heartbeat_at) values ($1, $2, $2)
           on conflict (id) do update set heartbeat_at = $2 returning started_at = $2 as is_new)
         select is_new, id, heartbeat_at from me left join instances on id <> $1`,
        [instanceId, new Date(clock.now())],
      );
      const gone = this.#look(rows.filter((row) => row["id"] !== null));
      if (gone.length > 0) await database.query("delete from instances where id = any ($1)", [gone]);
      if (rows[0]!["is_new"] && this.#others.size > 0) await this.#notify("");
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "this process could not register; trying again");
    }
  }

  /** Answers who has given no sign of life for long enough. */
  #look(rows: Row[]): string[] {
    const looks = rows.map((row): [string, { heartbeat: number; looks: number }] => {
      const [id, heartbeat] = [row["id"] as string, (row["heartbeat_at"] as Date).getTime()];
      const before = this.#others.get(id);
      return [id, { heartbeat, looks: before?.heartbeat === heartbeat ? before.looks + 1 : 0 }];
    });
    this.#others = new Map(looks.filter(([, { looks: stood }]) => stood < GONE_AFTER_LOOKS));
    return looks.flatMap(([id]) => (this.#others.has(id) ? [] : [id]));
  }

  async #listen(): Promise<void> {
    if ((await this.#isHeard()) || this.#isClosed) return;
    this.#client = await this.#options.database.dedicated(SILENT_MS);
    this.#client.on("notification", ({ payload }) => this.#receive(payload ?? ""));
    if (!(await this.#isHeard())) return;
    if (this.#hasListened) this.#options.missed();
    this.#hasListened = true;
  }

  /** Said again at each look: a connection that only waits for word would not notice that the other side is gone. */
  async #isHeard(): Promise<boolean> {
    try {
      await this.#client?.query(LISTEN);
      return this.#client !== undefined;
    } catch {
      void this.#client?.end().catch(() => {});
      return false;
    }
  }

  #receive(message: string): void {
    const [sender, ...lines] = message.split("\n");
    if (!sender || sender === this.#options.instanceId) return;
    if (!this.#others.has(sender)) this.#others.set(sender, { heartbeat: 0, looks: 0 });
    for (const line of lines) {
      const [kind, organizationId, id] = line.split(" ");
      if (id) this.#options.receive({ kind: kind as NoticeKind, organizationId: organizationId as OrganizationId, id });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#registering?.[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
    await this.#flush();
    await this.#client?.end().catch(() => {});
    await this.#options.database
      .query("delete from instances where id = $1", [this.#options.instanceId])
      .catch(() => {});
  }
}
