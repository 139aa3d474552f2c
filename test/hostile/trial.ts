/** One hostile case after the other: what each costs, whether it is answered as it should be, and what a neighbour feels. */
import { ERRORS } from "../../server/src/lib/mcp/protocol.ts";
import { outsideTheLists } from "../closed-lists.ts";
import type { Data } from "../client.ts";
import { MAIN_THREAD_MS, type Figures } from "../meter.ts";
import { startCanary, type Canary } from "./canary.ts";
import { Unanswered, type Received } from "./send.ts";
import type { HostileWorld } from "./world.ts";

/** The effect of a case on the server; its answer is held to the closed list. `about`: a line for the report. */
export type Case = { about: string; run(world: HostileWorld): Promise<Result> };
/** `heldBytes`: what the server held when the case had done its worst. */
export type Result = { answers: Received[]; heldBytes?: number };
export type Kind = {
  name: string;
  /** The same seed, the same case. */
  make(seed: number, world: HostileWorld): Case;
  /** All of a request's work, or the longest stretch of what it set going. */
  limit: "request" | "stretch";
};
/** `case`: for `HOSTILE_CASE`. */
export type Finding = { case: string; what: string; about: string };
export type Spent = {
  kind: string;
  count: number;
  cpuMs: number;
  mostMs: number;
  mostRssBytes: number;
  mostHeldBytes: number;
};

/** The most that connections that read nothing, or send nothing whole, may make the server hold in all. */
const HELD_BYTES = 160 * 1024 * 1024;
const TRIED_AGAIN = 3;
const FINDINGS_MOST = 30;
const FINDINGS_OF_A_SORT = 5;
const ABOUT_CHARACTERS = 600;
const LOG_CHARACTERS = 400;

export type Trial = {
  findings: Finding[];
  spent(): Spent[];
  try(kind: Kind, seed: number): Promise<void>;
  isOver(): boolean;
  canary: Canary;
};

/** `answersAgain` brings a server back that no longer answers. */
export function startTrial(world: HostileWorld): Trial & AsyncDisposable {
  const findings: Finding[] = [];
  const spent = new Map<string, Spent>();
  const known = new Map<string, number>();
  let now = "the beginning";
  const found = (what: string, about = ""): void => {
    // One place that is broken is found many times.
    const sort = `${now.split(":")[0]} ${what.replaceAll(/\d+/g, "0").replaceAll(/"(time|requestId|runId)":[^,]*/g, "")}`;
    const count = (known.get(sort) ?? 0) + 1;
    known.set(sort, count);
    if (count <= FINDINGS_OF_A_SORT) findings.push({ case: now, what, about });
  };
  let isDown = false;
  const canary = startCanary(world.server, world.neighbour, (what) => isDown || found(what));

  const measured = async (one: Case): Promise<{ figures: Figures; answers: Received[]; heldBytes: number }> => {
    await world.server.measure();
    const { answers, heldBytes = 0 } = await one.run(world);
    return { figures: await world.server.measure(), answers, heldBytes };
  };

  let readTo = 0;
  /** An error that the server masks is a bug of ours, whatever caused it. */
  const readLog = (about: string): void => {
    const log = world.server.log();
    for (const line of log.slice(readTo).split("\n")) {
      if (line.startsWith('{"level":50') || line.startsWith('{"level":60'))
        found(`in the log: ${line.slice(0, LOG_CHARACTERS)}`, about);
    }
    readTo = log.length;
  };

  const attempt = async (kind: Kind, seed: number): Promise<void> => {
    const one = kind.make(seed, world);
    const first = await measured(one);
    const about = shortened(one.about);
    readLog(about);
    let { heldBytes } = first;
    // One moment may hold twice as much as another; without a bound it is too much each time.
    for (let again = 0; heldBytes > HELD_BYTES && again < TRIED_AGAIN; again++)
      heldBytes = Math.min(heldBytes, (await measured(kind.make(seed, world))).heldBytes);
    if (heldBytes > HELD_BYTES) found(`${Math.round(heldBytes / 2 ** 20)} MiB held`, about);
    for (const wrong of first.answers.flatMap(mistakes)) found(wrong, about);
    const costOf = async ({ figures: { longestMs, spentMs }, answers }: typeof first): Promise<number> => {
      if (kind.limit === "stretch") return longestMs;
      // One request's; a case may be two.
      const ms = spentMs / answers.length;
      return Math.max(longestMs, ms > MAIN_THREAD_MS ? ms / (await world.server.slowness()) : ms);
    };
    let ms = await costOf(first);
    for (let again = 0; ms > MAIN_THREAD_MS && again < TRIED_AGAIN; again++) {
      // The collector may have chosen this one, or a busy machine emptied its caches: alone, the case has itself to blame.
      await world.server.measure(true);
      ms = Math.min(ms, await costOf(await measured(kind.make(seed, world))));
    }
    if (ms > MAIN_THREAD_MS) found(`${Math.round(ms)} ms of the main thread`, about);
    const sum = spent.get(kind.name) ?? {
      kind: kind.name,
      count: 0,
      cpuMs: 0,
      mostMs: 0,
      mostRssBytes: 0,
      mostHeldBytes: 0,
    };
    sum.count++;
    sum.cpuMs += first.figures.spentMs;
    sum.mostMs = Math.max(sum.mostMs, ms);
    sum.mostRssBytes = Math.max(sum.mostRssBytes, first.figures.rssBytes);
    sum.mostHeldBytes = Math.max(sum.mostHeldBytes, heldBytes);
    spent.set(kind.name, sum);
    if (first.answers.some(({ status }) => status === 401)) await world.signInAgain();
  };

  return {
    findings,
    canary,
    spent: () => [...spent.values()],
    isOver: () => findings.length >= FINDINGS_MOST,
    async try(kind, seed) {
      now = `${kind.name}:${seed}`;
      try {
        await attempt(kind, seed);
      } catch (error) {
        const { about } = kind.make(seed, world);
        const why = error instanceof Unanswered ? error.message : String(error);
        found(`no answer: ${why}`, shortened(about));
        if (!(await answers(world))) {
          found("the process does not answer any more", shortened(about));
          isDown = true;
          await world.server.kill();
          await world.server.restart();
          isDown = false;
        }
      }
    },
    [Symbol.asyncDispose]: () => canary.stop(),
  };
}

/** One line, with its beginning and its end. */
function shortened(about: string): string {
  const half = ABOUT_CHARACTERS / 2;
  const isLong = about.length > ABOUT_CHARACTERS;
  const kept = isLong ? `${about.slice(0, half)} … (${about.length}) … ${about.slice(-half)}` : about;
  return kept.split("\n").join(" ⏎ ");
}

const PROBE_MS = 10_000;

async function answers({ server }: HostileWorld): Promise<boolean> {
  try {
    return (await fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(PROBE_MS) })).ok;
  } catch {
    return false;
  }
}

/** Forms that no answer may have. */
function mistakes({ status, type, text, isWhole }: Received): string[] {
  if (type.startsWith("text/event-stream")) {
    const events = text.match(/^data: \{.*\}$/gm) ?? [];
    return events.flatMap((line) => codesOf(line.slice("data: ".length)));
  }
  // HEAD has no body.
  if (!isWhole || text === "") return status === 500 ? [`status 500`] : [];
  if (/json/.test(type)) return codesOf(text);
  // A refusal by node:http itself has no body.
  return status === 500 || (status !== 200 && text.length > 0)
    ? [`status ${status} ${type}: ${text.slice(0, 100)}`]
    : [];
}

/** All but the one that says that the server is broken. */
const PROTOCOL_CODES: readonly number[] = Object.values(ERRORS).filter((code) => code !== ERRORS.internal);

function codesOf(text: string): string[] {
  let body: Data;
  try {
    body = JSON.parse(text);
  } catch {
    // Only the beginning of a very large answer is kept.
    return text.length < 1_000_000 ? [`an answer that is not JSON: ${text.slice(0, 100)}`] : [];
  }
  // Errors of JSON-RPC have in `data` what others have in `extensions`; those of the protocol itself have a code of its own.
  const isProtocols = body.error && PROTOCOL_CODES.includes(body.error.code) && !body.error.data?.reason;
  const ofMessage = body.error && !isProtocols ? [{ extensions: body.error.data }] : [];
  const found = [...(body.errors ?? []), ...ofMessage].flatMap(({ extensions }: Data) =>
    extensions?.code === "INTERNAL_SERVER_ERROR" ? ["the code INTERNAL_SERVER_ERROR"] : outsideTheLists(extensions),
  );
  return found.map((what: string) => `an answer with ${what}`);
}
