/**
 * The service that `call` posts to during the soak: notes each request by run and step, and whether one came again that had ended. It
 * answers after 50 ms, so that kills fall into calls.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The calls of one run, by step: index 0 is step 1. */
type Calls = { requests: number[]; keys: (string | undefined)[] };

export type SoakSink = {
  url: string;
  runs: ReadonlyMap<string, Calls>;
  /** Requests beyond the first of their run and step. */
  repeats(): number;
  /** Repeated requests whose Idempotency-Key was another. */
  keysChanged(): number;
  /** Requests of a step whose next step had been called before: its end was committed, so it should never be called again. */
  finishedCalledAgain(): number;
  /** Runs that have called and whose last answer is not yet surely committed. */
  underWay(): number;
  /** Calls that wait for their answers now. */
  waiting(): number;
} & AsyncDisposable;

export const STEPS = 3;
const ANSWER_MS = 50;
/** From the last answer to its commit, at most. */
const COMMIT_MS = 1_000;

export async function startSoakSink(): Promise<SoakSink> {
  const runs = new Map<string, Calls>();
  const counts = { repeats: 0, keysChanged: 0, finishedCalledAgain: 0, waiting: 0 };
  const ended = new Set<string>();

  const note = (run: string, step: number, key: string | undefined): void => {
    let calls = runs.get(run);
    if (!calls) runs.set(run, (calls = { requests: [], keys: [] }));
    const before = calls.requests[step - 1] ?? 0;
    calls.requests[step - 1] = before + 1;
    if (before === 0) {
      calls.keys[step - 1] = key;
      return;
    }
    counts.repeats++;
    if (calls.keys[step - 1] !== key) counts.keysChanged++;
    if ((calls.requests[step] ?? 0) > 0) counts.finishedCalledAgain++;
  };

  const server = createServer((request, response) => {
    const query = new URLSearchParams(request.url!.split("?", 2)[1]);
    const key = request.headers["idempotency-key"];
    const [run, step] = [query.get("run")!, Number(query.get("step"))];
    note(run, step, typeof key === "string" ? key : undefined);
    request.resume();
    counts.waiting++;
    const timer = setTimeout(() => {
      response.writeHead(200, { "content-type": "application/json", "content-length": 11 }).end('{"ok":true}');
    }, ANSWER_MS);
    response.once("close", () => {
      clearTimeout(timer);
      counts.waiting--;
      if (response.writableFinished && step === STEPS) setTimeout(() => ended.add(run), COMMIT_MS).unref();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    runs,
    repeats: () => counts.repeats,
    keysChanged: () => counts.keysChanged,
    finishedCalledAgain: () => counts.finishedCalledAgain,
    underWay: () => runs.size - ended.size,
    waiting: () => counts.waiting,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
