/**
 * Notifies the other processes of one database about changes. NOTIFY takes a lock at each commit that has one (÷4 inside
 * the hot transaction), so notices gather for 5 ms and go separately, and only while another process is registered. They
 * may be lost with a connection or their sender: a process that may have missed some is told, and looks for itself.
 */
import type { Client } from "pg";
import type { Clock } from "../lib/clock.ts";
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
import { Loop, Round } from "../lib/loops/loop.ts";
import type { Database, Row } from "../storage/database.ts";

/** The subject of a notice of each kind. */
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

/** `loops`: to be watched. */
type OpenedNotices = Notices & { loops: readonly Loop[] } & AsyncDisposable;

const CHANNEL = "autograph";
const LISTEN = `listen ${CHANNEL}`;
const GATHER_MS = 5;
const REGISTER_MS = 5_000;
/**
 * A process whose row has not changed for this many looks has ended or stands still, with notices of its last commits that
 * it may not have sent. Counted, not timed: the clocks of two machines may be hours apart.
 */
const SILENT_AFTER_LOOKS = 3;
/** Then its row goes: each of the others has looked by then for what it left untold. */
const GONE_AFTER_LOOKS = 6;
/** The listening connection is ended when a look gets no answer for this long. */
const SILENT_MS = 10_000;
const NOT_REGISTERED = "this process could not register; trying again";
/** A message that could not be sent is retried after this. */
const AGAIN_MS = 1_000;
/** Beyond this, notices for an unreachable database are dropped: the others look for themselves when it is back. */
const MAX_WAITING = 10_000;
/** PostgreSQL takes 8,000 bytes; a notice has about 90. */
const NOTICES_A_MESSAGE = 80;

/** For a process that is alone with its database. */
export const noNotices: Notices = {
  send: () => {},
  on: () => {},
  onMissed: () => ({ [Symbol.dispose]: () => {} }),
};

export async function openNotices(options: NoticesOptions): Promise<OpenedNotices> {
  if (options.database.isEmbedded) return { ...noNotices, loops: [], [Symbol.asyncDispose]: () => Promise.resolve() };
  const notices = new DatabaseNotices(options);
  await notices.open();
  return notices;
}

class DatabaseNotices implements OpenedNotices {
  readonly #options: NoticesOptions;
  readonly #waiting = new Set<string>();
  readonly #listeners = new Map<string, ((organizationId: OrganizationId, id: string) => void)[]>();
  readonly #lookers = new Set<() => void>();
  #client: Client | undefined;
  /** The others by id: their heartbeat, and for how many looks it has not changed. */
  #others = new Map<string, { heartbeat: number; looks: number }>();
  /** Tells the others, and says that this process lives. */
  readonly #telling: Loop;
  readonly #registering: Loop;
  #hasListened = false;
  /** Since the last look. */
  #mayHaveMissed = false;

  constructor(options: NoticesOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#telling = new Loop({
      clock,
      log,
      name: "notices",
      everyMs: REGISTER_MS,
      retryMs: AGAIN_MS,
      look: (round) => this.#flush(() => round.goesOn()),
      failed: "other processes were not told of changes; trying again",
    });
    this.#registering = new Loop({
      clock,
      log,
      name: "processes",
      everyMs: REGISTER_MS,
      look: (round) => this.#register(round),
      failed: NOT_REGISTERED,
    });
  }

  get loops(): readonly Loop[] {
    return [this.#telling, this.#registering];
  }

  async open(): Promise<void> {
    const { clock, log } = this.#options;
    const first = new Round(() => {});
    await this.#register(first).catch((error: unknown) => log.warn({ reason: messageOf(error) }, NOT_REGISTERED));
    this.#telling.start(Infinity);
    this.#registering.start(clock.now() + REGISTER_MS);
  }

  send({ kind, organizationId, id }: Notice): void {
    if (this.#others.size === 0) return;
    this.#waiting.add(`${kind} ${organizationId} ${id}`);
    this.#telling.wake(this.#options.clock.now() + GATHER_MS);
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

  async #flush(goesOn: () => boolean): Promise<void> {
    const lines = [...this.#waiting];
    this.#waiting.clear();
    let told = 0;
    try {
      for (; told < lines.length; told += NOTICES_A_MESSAGE) {
        await this.#notify(lines.slice(told, told + NOTICES_A_MESSAGE).join("\n"));
        goesOn();
      }
    } catch (error) {
      for (const line of lines.slice(told)) if (this.#waiting.size < MAX_WAITING) this.#waiting.add(line);
      throw error;
    }
  }

  async #notify(lines: string): Promise<void> {
    await this.#options.database.query("select pg_notify($1, $2)", [CHANNEL, `${this.#options.instanceId}\n${lines}`]);
  }

  /** Says that this process lives, and looks who else does. A new process's first look announces it to the others. */
  async #register(round: Round): Promise<void> {
    const { database, clock, instanceId } = this.#options;
    await this.#listen(round);
    const rows = await database.query(
      `with me as (
         insert into instances (id, started_at, heartbeat_at) values ($1, $2, $2)
         on conflict (id) do update set heartbeat_at = $2 returning started_at = $2 as is_new)
       select is_new, id, heartbeat_at from me left join instances on id <> $1`,
      [instanceId, new Date(clock.now())],
    );
    if (!round.goesOn()) return;
    const wasAlone = this.#others.size === 0;
    const gone = this.#look(rows.filter((row) => row["id"] !== null));
    if (gone.length > 0) await database.query("delete from instances where id = any ($1)", [gone]);
    if (rows[0]!["is_new"] && this.#others.size > 0) await this.#notify("");
    if (!round.goesOn() || !this.#mayHaveMissed) return;
    // A process that is alone misses nothing.
    this.#mayHaveMissed = false;
    if (!wasAlone || this.#others.size > 0) for (const look of this.#lookers) look();
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

  async #listen(round: Round): Promise<void> {
    if ((await this.#isHeard()) || round.signal.aborted) return;
    const client = await this.#options.database.dedicated(SILENT_MS);
    if (round.signal.aborted) return void client.end().catch(() => {});
    this.#client = client;
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
    await Promise.all(this.loops.map((loop) => loop[Symbol.asyncDispose]()));
    await this.#flush(() => true).catch((error: unknown) =>
      this.#options.log.warn({ reason: messageOf(error) }, "other processes were not told of changes"),
    );
    await this.#client?.end().catch(() => {});
    await this.#options.database
      .query("delete from instances where id = $1", [this.#options.instanceId])
      .catch(() => {});
  }
}
