/**
 * Notifies the other processes of one database about changes. NOTIFY takes a lock at each commit that has one (÷4 inside
 * the hot transaction), so notices gather for 5 ms and go separately, and only while another process is registered. They
 * may be lost with a connection or their sender: a process that may have missed some is told, and looks for itself.
 */
import type { Client } from "pg";
import { every, type Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type {
  AgentId,
  ApiKeyId,
  ApprovalId,
  EventId,
  FiringId,
  InstanceId,
  OrganizationId,
  RunId,
  SessionId,
  TriggerId,
  UserId,
} from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import type { Database, Row } from "../storage/database.ts";

/** What a notice of each kind is about. */
type NoticeIds = {
  /** Read the run again. */
  changed: RunId;
  /** The run is due. */
  wake: RunId;
  /** Stop what the run has in flight. */
  cancelled: RunId;
  /** One was requested or decided. */
  approval: ApprovalId;
  /** Forget what is cached about it. */
  agent: AgentId;
  /** Forget what is cached about it. */
  trigger: TriggerId;
  /** There is a new one. */
  firing: FiringId;
  event: EventId;
  apiKey: ApiKeyId;
  session: SessionId;
  /** Forget the sessions of the user in the organization. */
  member: UserId;
};
type NoticeKind = keyof NoticeIds;
export type Notice = {
  [Kind in NoticeKind]: { kind: Kind; organizationId: OrganizationId; id: NoticeIds[Kind] };
}[NoticeKind];

type NoticesOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
};

export type Notices = {
  send(notice: Notice): void;
  /** Calls `hear` with what another process sends of this kind. */
  on<Kind extends NoticeKind>(kind: Kind, hear: (organizationId: OrganizationId, id: NoticeIds[Kind]) => void): void;
  /** Calls `look` when notices from others may have been lost until now, until it is disposed. */
  onMissed(look: () => void): Disposable;
};

const CHANNEL = "autograph";
const LISTEN = `listen ${CHANNEL}`;
const GATHER_MS = 5;
const REGISTER_MS = 5_000;
/**
 * A process whose row has not changed for this many looks has ended or stands still, with notices of its last commits that
 * it may not have sent. Counted, not timed: the clocks of two machines may be hours apart.
 */
const SILENT_AFTER_LOOKS = 3;
/** Then its row goes: by now each of the others has looked for what it left untold. */
const GONE_AFTER_LOOKS = 6;
/** The listening connection is ended when a look gets no answer for this long. */
const SILENT_MS = 10_000;
/** A message that could not be sent is retried after this. */
const AGAIN_MS = 1_000;
/** Beyond this, notices for an unreachable database are dropped: the others look for themselves when it is back. */
const MOST_WAITING = 10_000;
/** PostgreSQL takes 8,000 bytes; a notice has about 90. */
const NOTICES_A_MESSAGE = 80;

/** For a process that is alone with its database. */
export const noNotices: Notices = { send: () => {}, on: () => {}, onMissed: () => ({ [Symbol.dispose]: () => {} }) };

export async function openNotices(options: NoticesOptions): Promise<Notices & AsyncDisposable> {
  if (options.database.isEmbedded) return { ...noNotices, [Symbol.asyncDispose]: () => Promise.resolve() };
  const notices = new DatabaseNotices(options);
  await notices.open();
  return notices;
}

class DatabaseNotices implements Notices {
  readonly #options: NoticesOptions;
  readonly #waiting = new Set<string>();
  readonly #listeners = new Map<string, ((organizationId: OrganizationId, id: string) => void)[]>();
  readonly #lookers = new Set<() => void>();
  #client: Client | undefined;
  /** The others by id: their heartbeat, and for how many looks it has not changed. */
  #others = new Map<string, { heartbeat: number; looks: number }>();
  #timer: Disposable | undefined;
  #registering: Disposable | undefined;
  #isClosed = false;
  #hasListened = false;
  /** Since the last look. */
  #mayHaveMissed = false;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.#register();
    let looking: Promise<void> | undefined;
    this.#registering = every(this.#options.clock, REGISTER_MS, async () => {
      // A look that waits for a slow database is not overtaken.
      await (looking ??= this.#register().finally(() => (looking = undefined)));
    });
  }

  send({ kind, organizationId, id }: Notice): void {
    if (this.#others.size === 0) return;
    this.#waiting.add(`${kind} ${organizationId} ${id}`);
    this.#arm(GATHER_MS);
  }

  on<Kind extends NoticeKind>(kind: Kind, hear: (organizationId: OrganizationId, id: NoticeIds[Kind]) => void): void {
    const listeners = this.#listeners.get(kind) ?? [];
    this.#listeners.set(kind, [...listeners, hear as (organizationId: OrganizationId, id: string) => void]);
  }

  onMissed(look: () => void): Disposable {
    const looker = (): void => look();
    this.#lookers.add(looker);
    return { [Symbol.dispose]: () => void this.#lookers.delete(looker) };
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

  /** Says that this process lives, and looks who else does. A new process's first look announces it to the others. */
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
      const wasAlone = this.#others.size === 0;
      const gone = this.#look(rows.filter((row) => row["id"] !== null));
      if (gone.length > 0) await database.query("delete from instances where id = any ($1)", [gone]);
      if (rows[0]!["is_new"] && this.#others.size > 0) await this.#notify("");
      if (!this.#mayHaveMissed) return;
      // Who is alone misses nothing.
      this.#mayHaveMissed = false;
      if (!wasAlone || this.#others.size > 0) for (const look of this.#lookers) look();
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "this process could not register; trying again");
    }
  }

  /** Returns those whose rows are to go. */
  #look(rows: Row[]): string[] {
    const looks = rows.map((row): [string, { heartbeat: number; looks: number }] => {
      const [id, heartbeat] = [row["id"] as string, (row["heartbeat_at"] as Date).getTime()];
      const before = this.#others.get(id);
      return [id, { heartbeat, looks: before?.heartbeat === heartbeat ? before.looks + 1 : 0 }];
    });
    this.#mayHaveMissed ||= looks.some(([, { looks: stood }]) => stood === SILENT_AFTER_LOOKS);
    this.#others = new Map(looks.filter(([, { looks: stood }]) => stood < GONE_AFTER_LOOKS));
    return looks.flatMap(([id]) => (this.#others.has(id) ? [] : [id]));
  }

  async #listen(): Promise<void> {
    if ((await this.#isHeard()) || this.#isClosed) return;
    this.#client = await this.#options.database.dedicated(SILENT_MS);
    this.#client.on("notification", ({ payload }) => this.#receive(payload ?? ""));
    if (!(await this.#isHeard())) return;
    this.#mayHaveMissed ||= this.#hasListened;
    this.#hasListened = true;
  }

  /** Repeated at each look: a connection that only listens would not notice that the other side is gone. */
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
      const listeners = (id && this.#listeners.get(kind!)) || [];
      for (const hear of listeners) hear(organizationId as OrganizationId, id!);
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
