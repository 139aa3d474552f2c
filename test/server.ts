/**
 * The server as tests run it: a process of its own that can be killed, whose clock and free space its parent moves by
 * messages (`Command`), each answered once. Settings come from the environment like the real one's.
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { startApp, type App } from "../server/src/app.ts";
import { createApiKey } from "../server/src/auth/api-keys/create-api-key.ts";
import { ALL_SCOPES } from "../server/src/auth/scopes.ts";
import { setPlan } from "../server/src/auth/accounts/organizations.ts";
import { createOrganization } from "../server/src/auth/accounts/create-organization.ts";
import { ownerCaller } from "../server/src/auth/caller.ts";
import { createProject } from "../server/src/projects/projects.ts";
import type { Scope } from "../server/src/auth/scopes.ts";
import { createUser, findUser } from "../server/src/auth/accounts/users.ts";
import { readConfig } from "../server/src/config.ts";
import type { JoinOptions } from "../server/src/join-rooms.ts";
import { LeaseEngine } from "../server/src/engine/leases.testsuite.ts";
import type { Clock } from "../server/src/lib/clock.ts";
import { OperatorError } from "../server/src/lib/errors.ts";
import { decodeId, encodeId, type OrganizationId, type UserId } from "../server/src/lib/ids.ts";
import { LastActs } from "../server/src/lib/last-acts.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { createLog } from "../server/src/lib/log/log.ts";
import type { Database } from "../server/src/storage/database.ts";
import type { Plan, Role } from "../server/src/storage/schema.ts";
import { startMeter, type Meter } from "./meter.ts";

export type Command =
  /** Moves the clock on and fires what is due. */
  | { command: "advance"; ms: number }
  /** Sets the clock, back too. ms since 1970. */
  | { command: "setNow"; now: number }
  | { command: "now" }
  /** Forgets every timer that is armed. */
  | { command: "loseTimers" }
  /** The free disk space from now on; null: the real one. */
  | { command: "freeBytes"; bytes: number | null }
  /** A new organization with an owner, a project and a key. The owner's e-mail is of the domain, else of example.org. */
  | { command: "organization"; name: string; domain?: string }
  /** Another member of an organization (its public id). */
  | { command: "member"; organizationId: string; email: string; role: Role }
  /** Another API key of an organization (its public id), with these scopes alone: the API makes none such yet. */
  | { command: "key"; organizationId: string; scopes: Scope[] }
  /** Sets an organization's (its public id's) plan in the database, as `autograph org set-plan` does. */
  | { command: "plan"; organizationId: string; plan: Plan; perMinute?: number }
  /** The same session's access token as the web UI gets it. */
  | { command: "uiToken"; token: string }
  /** The processor time and memory of the process (`Figures`); `collected`: without garbage. The first one starts the meter. */
  | { command: "measure"; collected: boolean }
  /** The present cost of a fixed piece of work in it. */
  | { command: "slowness" };

export type World = {
  organizationId: string;
  email: string;
  password: string;
  apiKey: string;
  projectId: string;
};

/** `url`: where it listens; `metricsUrl`: with a `METRICS_PORT`. */
export type Started = { url: string; metricsUrl: string | null; dataFolder: string; setupLink: string | null };

type MovableClock = Clock & { move(offsetMs: number): void; offset(): number; lose(): void };

const HOUR_MS = 3_600_000;

/**
 * The real time plus an offset; what is due by a jump is fired at once. A jump back holds nothing up, as with the real
 * clock: what was armed before keeps the time that it had left.
 */
function movableClock(offsetMs: number): MovableClock {
  let offset = offsetMs;
  const armed = new Set<{ at: number; fire: () => void; timer: NodeJS.Timeout | undefined }>();
  const now = (): number => Date.now() + offset;
  const arm = (entry: { at: number; fire: () => void; timer: NodeJS.Timeout | undefined }): void => {
    clearTimeout(entry.timer);
    const left = entry.at - now();
    entry.timer = setTimeout(
      () => {
        // Longer than an hour, or a millisecond early.
        if (now() < entry.at) return arm(entry);
        armed.delete(entry);
        entry.fire();
      },
      Math.min(Math.max(0, left), HOUR_MS),
    );
    entry.timer.unref();
  };
  return {
    now,
    at: (at, fire) => {
      const entry = { at, fire, timer: undefined };
      armed.add(entry);
      arm(entry);
      return {
        [Symbol.dispose]: () => {
          clearTimeout(entry.timer);
          armed.delete(entry);
        },
      };
    },
    move: (ms) => {
      offset += ms;
      if (ms < 0) for (const entry of armed) entry.at += ms;
      for (const entry of [...armed].toSorted((a, b) => a.at - b.at)) arm(entry);
    },
    offset: () => offset,
    lose: () => {
      for (const { timer } of armed) clearTimeout(timer);
      armed.clear();
    },
  };
}

const PASSWORD = "correct horse battery";

async function makeOrganization({ auth }: App["handles"], name: string, domain = "example.org"): Promise<World> {
  const email = `${name}@${domain}`;
  const { organization, owner } = await createOrganization(auth, {
    name,
    plan: "enterprise",
    owner: { email, name, password: PASSWORD },
  });
  const caller = ownerCaller(organization.id, owner);
  const { secret } = await createApiKey(auth, caller, { name: "test", scopes: ALL_SCOPES });
  const project = await createProject(auth, caller, { handle: "test", name: "Test" });
  return {
    organizationId: encodeId("organization", organization.id),
    email,
    password: PASSWORD,
    apiKey: secret,
    projectId: encodeId("project", project.id),
  };
}

async function addMember(
  { auth }: App["handles"],
  { organizationId, email, role }: { organizationId: string; email: string; role: Role },
): Promise<{ email: string; password: string }> {
  const id = decodeId("organization", organizationId)!;
  const known = await findUser(auth, email);
  if (known) await join(auth.database, id, known.id, role, auth.clock.now());
  else await createUser(auth, id, { email, name: role, password: PASSWORD, role });
  return { email, password: PASSWORD };
}

const join = (
  database: Database,
  organizationId: OrganizationId,
  userId: UserId,
  role: Role,
  now: number,
): Promise<unknown> =>
  database.query("insert into members (organization_id, user_id, role, created_at) values ($1, $2, $3, $4)", [
    organizationId,
    userId,
    role,
    new Date(now),
  ]);

async function addKey(
  { auth }: App["handles"],
  { organizationId, scopes }: { organizationId: string; scopes: Scope[] },
): Promise<string> {
  const id = decodeId("organization", organizationId)!;
  const [owner] = await auth.database.query(
    "select user_id from members where organization_id = $1 and role = 'owner'",
    [id],
    id,
  );
  const caller = ownerCaller(id, { id: owner!["user_id"], name: "owner" });
  const { key, secret } = await createApiKey(auth, caller, { name: scopes.join(" ") || "none", scopes: ALL_SCOPES });
  const narrow = "update api_keys set scopes = $3 where organization_id = $1 and id = $2";
  await auth.database.query(narrow, [id, key.id, scopes], id);
  return secret;
}

const changePlan = ({ auth }: App["handles"], { organizationId, plan, perMinute }: Command & { command: "plan" }) =>
  setPlan(auth, decodeId("organization", organizationId)!, { plan, requestsPerMinute: perMinute });

async function uiTokenOf({ auth }: App["handles"], token: string): Promise<string> {
  const claims = await auth.accessTokens.verify(token);
  if (typeof claims !== "object") throw new Error("the access token is not valid any longer");
  return (await auth.accessTokens.issue({ ...claims, client: "ui" })).token;
}

/** How long an answer with `TAKES_TIME` in it holds the thread. */
const TAKEN_MS = 5;

/**
 * With `HANGS` in its settings, JSON with one of these words makes this process stand still: in code, or in a call of the system; or
 * for a moment, when it writes it. Without a processor, which other tests need.
 */
function hangOn(): void {
  const { parse, stringify } = JSON;
  JSON.stringify = (value: unknown, ...more: []) => {
    const text = stringify(value, ...more);
    if (text?.includes("TAKES_TIME")) pause(TAKEN_MS);
    return text;
  };
  JSON.parse = (text: string, ...more: []) => {
    if (text.includes("STAND-STILL")) standStill();
    if (text.includes("SLEEP-FOR-EVER")) execFileSync("sleep", ["60"]);
    return parse(text, ...more);
  };
}

const never = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms: number): unknown => Atomics.wait(never, 0, 0, ms);

/** In code that a debugger interrupts. It is the only function there, so that the log names it. */
function standStill(): never {
  for (;;) Atomics.wait(never, 0, 0, 20);
}

const openLeases: NonNullable<JoinOptions["openEngine"]> = (options) => new LeaseEngine(options);

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { offset: { type: "string", default: "0" } } });
  const stopped = new Promise((resolve) => process.once("SIGTERM", resolve));
  const config = readConfig(process.env, process.cwd());
  using log = createLog(config.logLevel);
  const lastActs = new LastActs((code) => process.exit(code));
  lastActs.endOnUnhandled((err) => log.error({ err }, "unhandled"));
  const clock = movableClock(Number(values.offset));
  let freeBytes: number | null = null;
  const readFreeBytes = async (): Promise<number> => freeBytes ?? 2 ** 40;
  // A test that fills a real disk wants the real figures.
  const space = process.env["REAL_SPACE"] ? { everyMs: 100 } : { readFreeBytes, everyMs: 100, ballastBytes: 0 };
  const standstillSeconds = Number(process.env["STANDSTILL_SECONDS"] ?? LIMITS.standstillSeconds);
  if (process.env["HANGS"]) hangOn();
  const openEngine = process.env["TEST_ENGINE"] === "leases" ? openLeases : undefined;
  await using app = await startApp({
    ...(openEngine && { openEngine }),
    config,
    clock,
    log,
    random: Math.random,
    space,
    standstillSeconds,
    lastActs,
  });

  if (process.env["HANGS"]) {
    // Within an operation: a token that is looked at.
    const { verify } = app.handles.auth.accessTokens;
    app.handles.auth.accessTokens.verify = (token) => (token === "STAND-STILL" ? standStill() : verify(token));
  }

  let meter: Meter | undefined;

  const obey = async (command: Command): Promise<unknown> => {
    if (command.command === "advance") clock.move(command.ms);
    else if (command.command === "setNow") clock.move(command.now - clock.now());
    else if (command.command === "loseTimers") clock.lose();
    else if (command.command === "freeBytes") freeBytes = command.bytes;
    else if (command.command === "organization") return makeOrganization(app.handles, command.name, command.domain);
    else if (command.command === "member") return addMember(app.handles, command);
    else if (command.command === "key") return addKey(app.handles, command);
    else if (command.command === "plan") return changePlan(app.handles, command);
    else if (command.command === "uiToken") return uiTokenOf(app.handles, command.token);
    else if (command.command === "measure") {
      meter ??= startMeter();
      return command.collected ? meter.readCollected() : meter.read();
    } else if (command.command === "slowness") return (meter ??= startMeter()).slowness();
    return { now: clock.now(), offset: clock.offset() };
  };
  process.on("message", ({ id, ...command }: { id: number } & Command) => {
    obey(command).then(
      (result) => process.send!({ id, result }),
      (error: unknown) => process.send!({ id, error: String(error) }),
    );
  });
  // A test that dies takes its server along.
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.send!({
    started: {
      url: app.localUrl,
      metricsUrl: app.metricsUrl ?? null,
      dataFolder: app.dataFolder,
      setupLink: app.setupLink ?? null,
    } satisfies Started,
  });
  await stopped;
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
  process.exit();
}
