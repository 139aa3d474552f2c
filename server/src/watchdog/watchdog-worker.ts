/** The watchdog's thread. It imports next to nothing until needed: it costs memory as long as the process lives. */
import { writeSync } from "node:fs";
import { Session, type Debugger } from "node:inspector";
import { setTimeout as sleep } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import { MARK_SUSPECT } from "../engine/suspect.ts";
import { realClock } from "../lib/clock.ts";
import { withApiIds } from "../lib/log/log-ids.ts";
import { BEAT, DEBUGGED, LOOK_EVERY_MS, WHAT_RUNS, type Watched, type WhatRuns } from "./watched.ts";

const { beats, connection, instanceId, standstillSeconds, isTerminal } = workerData as Watched;
/** If this thread stood still too, the process was stopped or the machine slept. */
const ASLEEP_MS = 3 * LOOK_EVERY_MS;
/** On a busy machine an interrupt may take a while. */
const PAUSE_TIMEOUT_MS = 5_000;
const BLAME_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 5_000;
const FRAMES = 30;
const STDERR = 2;
const EXIT_CODE = 70;

let seen = Atomics.load(beats, BEAT);
let looks = 0;
let lookedAt = performance.now();

const looking = setInterval(() => {
  const now = performance.now();
  const wasAsleep = now - lookedAt > ASLEEP_MS;
  lookedAt = now;
  const count = Atomics.load(beats, BEAT);
  if (wasAsleep || count !== seen || Atomics.load(beats, DEBUGGED) === 1) {
    seen = count;
    looks = 0;
  } else if (++looks >= standstillSeconds) {
    clearInterval(looking);
    void bite();
  }
}, LOOK_EVERY_MS);

async function bite(): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  const files = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => files.set(scriptId, url));
  const frames = await pause(session);
  const what = frames && (await whatRuns(session, frames));
  const seconds = standstillSeconds;
  if (frames)
    say(
      { ...what, stack: frames.slice(0, FRAMES).map((frame) => lineOf(frame, files)) },
      `the event loop stood still for ${seconds} s`,
    );
  else say({}, `the event loop stood still for ${seconds} s, in code that can't be interrupted`);
  if (what?.runId !== undefined) {
    const blamed = blame(what.runId).catch((error: unknown) =>
      say({ reason: String(error) }, "no run could be blamed"),
    );
    await Promise.race([blamed, sleep(BLAME_TIMEOUT_MS)]);
  }
  if (frames) await exit(session, frames);
  // A main thread that does not respond is ended from here.
  process.kill(process.pid, "SIGABRT");
}

/** The main thread's frames; undefined if it is in code that no interrupt reaches. */
function pause(session: Session): Promise<Debugger.CallFrame[] | undefined> {
  const { promise, resolve } = Promise.withResolvers<Debugger.CallFrame[] | undefined>();
  session.once("Debugger.paused", ({ params }) => resolve(params.callFrames));
  session.post("Debugger.enable");
  session.post("Debugger.pause");
  return Promise.race([promise, sleep(PAUSE_TIMEOUT_MS, undefined)]);
}

const evaluate = (session: Session, [frame]: Debugger.CallFrame[], expression: string): Promise<unknown> => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  session.post(
    "Debugger.evaluateOnCallFrame",
    { callFrameId: frame!.callFrameId, expression, returnByValue: true, silent: true },
    (_error, answer) => resolve(answer?.result.value),
  );
  return Promise.race([promise, sleep(ANSWER_TIMEOUT_MS)]);
};

async function whatRuns(session: Session, frames: Debugger.CallFrame[]): Promise<WhatRuns | undefined> {
  const told = await evaluate(session, frames, `globalThis[Symbol.for("${WHAT_RUNS}")]()`);
  return typeof told === "string" ? (JSON.parse(told) as WhatRuns) : undefined;
}

const lineOf = ({ functionName, location }: Debugger.CallFrame, files: ReadonlyMap<string, string>): string => {
  const { scriptId, lineNumber, columnNumber = 0 } = location;
  return `${functionName || "(anonymous)"} (${files.get(scriptId) ?? "?"}:${lineNumber + 1}:${columnNumber + 1})`;
};

/** Writes in the log's format, bypassing the stalled thread. */
function say(fields: Partial<WhatRuns> & { stack?: string[]; reason?: string }, msg: string): void {
  const shown = withApiIds(fields);
  const text = isTerminal
    ? `${msg} ${JSON.stringify(shown, null, 2)}\n`
    : `${JSON.stringify({ level: 50, time: realClock.now(), ...shown, msg })}\n`;
  try {
    writeSync(STDERR, text);
  } catch {
    // Nobody reads it, or there is no space.
  }
}

/** Blamed like a run that was alone under way: the engine counts it at the next start; the fifth time it fails. */
async function blame(runId: string): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: BLAME_TIMEOUT_MS });
  client.on("error", () => {});
  await client.connect();
  await client.query(MARK_SUSPECT, [instanceId, runId]);
  await client.end();
}

/** A process exit would wait for its threads; a program that replaces it does not, and exits with our code. */
async function exit(session: Session, frames: Debugger.CallFrame[]): Promise<void> {
  await evaluate(session, frames, `globalThis.process.execve("/bin/sh", ["sh", "-c", "exit ${EXIT_CODE}"], {})`);
}
