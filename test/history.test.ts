/** The record of a run's steps and attempts: every try with its error, what a `catch` caught, and the names as written. */
import { once } from "node:events";
import { createServer, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf, CANCEL, decide, ENDED, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

let server: MovedServer;
let sink: Sink;
let echoUrl: string;
/** `/STATUS`: what it was sent, as JSON, with that status, and a credential also as the status's reason; `/STATUS/LENGTH`: a text so long; `/binary`: no text. */
const echo = createServer((request, response) => {
  const [, status, length] = request.url!.split("/");
  if (status === "binary") return void response.end(Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a));
  const reason = request.headers.authorization ?? STATUS_CODES[status!];
  response.writeHead(Number(status), reason, { "content-type": "application/json" });
  response.end(JSON.stringify(length === undefined ? request.headers : "€".repeat(Number(length))));
});
beforeAll(async () => {
  [server, sink] = await Promise.all([movedServer(), startSink()]);
  await once(echo.listen(0, "127.0.0.1"), "listening");
  echoUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
});
afterAll(async () => {
  echo.close();
  echo.closeAllConnections();
  await Promise.all([server[Symbol.asyncDispose](), sink[Symbol.asyncDispose]()]);
});

const ERROR = "{ type status detail instance stepNumber }";
const HISTORY = `query($id: ID!) { run(id: $id) { id status output error ${ERROR} steps(first: 100) { number name kind status error ${ERROR}
  caught ${ERROR} callName callPath
  attempts { number status error ${ERROR} response { status body } startedAt finishedAt } } } }`;

let names = 0;
/** A call of the sink, which counts each `name` on its own. */
const call = (path: string, more = ""): string =>
  `{call: http, with: {method: post, endpoint: '${sink.url}${path}', query: {run: history, step: 's${++names}'}}${more}}`;
const raise = (status: number): string => `{raise: {error: {type: 'https://example.org/broken', status: ${status}}}}`;
const mend = "do: [{mend: {set: {at: '${ $error.instance }', status: '${ $error.status }'}}}]";
const again = (count: number): string => `retry: {delay: {milliseconds: 1}, limit: {attempt: {count: ${count}}}}`;

const historyOf = async (id: string): Promise<Data> => (await server.data(HISTORY, { id })).run;

async function historyAfter(body: string, input: object = {}): Promise<Data> {
  const id = await start(server, await agentOf(server, body), input);
  await until(server, id, ...ENDED);
  return historyOf(id);
}

/** `2 send http failed 503 of 2 [failed 503, failed 503]`: number, name, kind, status, error and attempts; `caught` as `! 503 of 2`. */
const told = ({ steps }: Data): string[] =>
  steps.map(({ number, name, kind, status, error, caught, attempts }: Data) => {
    const shown = (what: Data): string => (what ? ` ${what.status} of ${what.stepNumber}` : "");
    const tries = attempts.map((attempt: Data) => `${attempt.status}${shown(attempt.error)}`).join(", ");
    return `${number} ${name} ${kind} ${status}${shown(error)}${caught ? ` !${shown(caught)}` : ""} [${tries}]`;
  });

describe("a try around one call", () => {
  test("a caught error: the attempt failed with it, the step says what its catch caught", async () => {
    const run = await historyAfter(`do: [{pay: {try: [{send: ${call("/refuse")}}], catch: {${mend}}}}]`);
    expect(told(run)).toEqual([
      "1 pay http completed ! 503 of 1 [failed 503 of 1]",
      "2 mend set completed [completed]",
    ]);
    expect(run.output).toEqual({ at: "/do/0/pay/try/0/send", status: 503 });
    expect(run.steps[0].caught.instance).toBe("/do/0/pay/try/0/send");
    expect(run.steps[0].attempts[0].error).toEqual(run.steps[0].caught);
    expect(run.steps[0]).toMatchObject({ callName: "send", callPath: "/do/0/pay/try/0/send" });
    expect(run.steps[1]).toMatchObject({ callName: null, callPath: null });
  });

  test("an error that is dropped, as there is neither retry nor do", async () => {
    const run = await historyAfter(`do: [{pay: {try: [{send: ${call("/refuse")}}], catch: {}}}]`);
    expect(told(run)).toEqual(["1 pay http completed ! 503 of 1 [failed 503 of 1]"]);
  });

  test("tries that fail, then one that goes well: nothing is caught in the end", async () => {
    const run = await historyAfter(`do: [{pay: {try: [{send: ${call("/refuse/2")}}], catch: {${again(5)}, ${mend}}}}]`);
    expect(told(run)).toEqual(["1 pay http completed [failed 503 of 1, failed 503 of 1, completed]"]);
  });

  test("tries that are used up: the last one failed, too", async () => {
    const send = `try: [{send: ${call("/refuse")}}]`;
    const caught = await historyAfter(`do: [{pay: {${send}, catch: {${again(2)}, ${mend}}}}]`);
    expect(told(caught)[0]).toBe("1 pay http completed ! 503 of 1 [failed 503 of 1, failed 503 of 1, failed 503 of 1]");
    const failed = await historyAfter(`do: [{pay: {${send}, catch: {${again(1)}}}}]`);
    expect(told(failed)).toEqual(["1 pay http failed 503 of 1 [failed 503 of 1, failed 503 of 1]"]);
    expect(failed.error).toMatchObject({ stepNumber: 1, instance: "/do/0/pay/try/0/send" });
  });

  test("an error that this catch is not for", async () => {
    const send = `try: [{send: ${call("/refuse")}}]`;
    const other = await historyAfter(`do: [{pay: {${send}, catch: {errors: {with: {status: 404}}, ${mend}}}}]`);
    expect(told(other)).toEqual(["1 pay http failed 503 of 1 [failed 503 of 1]"]);
    const when = await historyAfter(`do: [{pay: {${send}, catch: {when: '\${ .status == 404 }', ${mend}}}}]`);
    expect(told(when)).toEqual(["1 pay http failed 503 of 1 [failed 503 of 1]"]);
  });

  test("an error in catch.do: the step failed with that one, its attempt with the one caught", async () => {
    const send = `try: [{send: ${call("/refuse")}}]`;
    const run = await historyAfter(`do: [{pay: {${send}, catch: {do: [{worse: ${raise(418)}}]}}}]`);
    expect(told(run)).toEqual([
      "1 pay http failed 418 of 2 ! 503 of 1 [failed 503 of 1]",
      "2 worse raise failed 418 of 2 [failed 418 of 2]",
    ]);
    expect(run.error).toMatchObject({ status: 418, stepNumber: 2, instance: "/do/0/pay/catch/do/0/worse" });
  });

  test("while catch.do waits: the attempt has failed, the step goes on", async () => {
    const send = `try: [{send: ${call("/refuse")}}]`;
    const id = await start(
      server,
      await agentOf(server, `do: [{pay: {${send}, catch: {do: [{rest: {wait: PT1H}}]}}}]`),
    );
    const run = await eventually(async () => {
      const read = await historyOf(id);
      return read.steps.length === 2 && read;
    });
    expect(told(run)[0]).toBe("1 pay http running ! 503 of 1 [failed 503 of 1]");
    expect(run.steps[0].attempts[0].finishedAt).not.toBeNull();
    await server.data(CANCEL, { id });
    expect(told(await historyOf(id))).toEqual([
      "1 pay http cancelled ! 503 of 1 [failed 503 of 1]",
      "2 rest wait cancelled [cancelled]",
    ]);
  });

  test("a pause between two tries is no attempt; the next one begins after it", async () => {
    const retry = "retry: {delay: PT1H, limit: {attempt: {count: 3}}}";
    const body = (): string => `do: [{pay: {try: [{send: ${call("/refuse/1")}}], catch: {${retry}}}}]`;
    const paused = async (): Promise<string> => {
      const id = await start(server, await agentOf(server, body()));
      await eventually(async () => (await historyOf(id)).steps[0]?.attempts[0]?.status === "failed");
      return id;
    };
    const [cancelled, tried] = [await paused(), await paused()];
    expect(told(await historyOf(tried))).toEqual(["1 pay http running [failed 503 of 1]"]);
    await server.data(CANCEL, { id: cancelled });
    expect(told(await historyOf(cancelled))).toEqual(["1 pay http cancelled [failed 503 of 1]"]);
    await server.clock.advance(3_600_000);
    await until(server, tried, "completed");
    const [{ attempts }] = (await historyOf(tried)).steps;
    expect(attempts.map(({ status }: Data) => status)).toEqual(["failed", "completed"]);
    expect(Date.parse(attempts[1].startedAt) - Date.parse(attempts[0].finishedAt)).toBeGreaterThanOrEqual(3_600_000);
  });

  test("nor is it one in the answer that waited for the run to ask", async () => {
    const later = "retry: {delay: PT1H, limit: {attempt: {count: 3}}}";
    const pay = `{pay: {try: [{send: ${call("/refuse/1")}}], catch: {${later}}}}`;
    const ask =
      "{last: {do: [{rest: {wait: {seconds: 1}}}, {ask: {call: 'approval:1.0.0@default', with: {question: Well?}}}]}}";
    const agentId = await agentOf(server, `do: [{both: {fork: {branches: [${pay}, ${ask}]}}}]`);
    const STEPS = "status steps { name attempts { status } }";
    const { runAgent } = await server.data(
      `mutation($input: RunAgentInput!) { runAgent(input: $input) { id ${STEPS} } }`,
      { input: { agentId, wait: 30 } },
    );
    expect(runAgent.status).toBe("paused");
    expect(runAgent.steps[1]).toEqual({ name: "pay", attempts: [{ status: "failed" }] });
    const { id, ...answered } = runAgent;
    expect((await server.data(`{ run(id: "${id}") { ${STEPS} } }`)).run).toEqual(answered);
    await server.data(CANCEL, { id });
  });

  test("cancelled during a try, and a try that took too long", async () => {
    const limited = "retry: {limit: {attempt: {count: 1, duration: {milliseconds: 300}}}}";
    const late = await historyAfter(`do: [{pay: {try: [{send: ${call("/hang")}}], catch: {${limited}, ${mend}}}}]`);
    expect(told(late)[0]).toBe("1 pay http completed ! 408 of 1 [failed 408 of 1, failed 408 of 1]");
    const patient = "retry: {limit: {attempt: {count: 1, duration: PT1M}}}";
    const id = await start(
      server,
      await agentOf(server, `do: [{pay: {try: [{send: ${call("/hang")}}], catch: {${patient}}}}]`),
    );
    await eventually(async () => (await historyOf(id)).steps.length === 1);
    await server.clock.advance(60_000);
    await eventually(async () => (await historyOf(id)).steps[0].attempts.length === 2);
    await server.data(CANCEL, { id });
    expect(told(await historyOf(id))).toEqual(["1 pay http cancelled [failed 408 of 1, cancelled]"]);
  });

  test("a timeout around it ends the pause between two tries: no attempt has failed with it", async () => {
    const retry = "retry: {delay: PT1H, limit: {attempt: {count: 3}}}";
    const send = `try: [{send: ${call("/refuse")}}]`;
    const id = await start(
      server,
      await agentOf(server, `do: [{pay: {timeout: {after: PT30M}, ${send}, catch: {${retry}}}}]`),
    );
    await eventually(async () => (await historyOf(id)).steps[0]?.attempts[0]?.status === "failed");
    await server.clock.advance(1_800_000);
    await until(server, id, "failed");
    expect(told(await historyOf(id))).toEqual(["1 pay http failed 408 of 1 [failed 503 of 1]"]);
  });
});

describe("any other try", () => {
  test("around several tasks: what failed, and the try that caught it", async () => {
    const tasks = `[{look: {set: {a: 1}}}, {send: ${call("/refuse")}}]`;
    const run = await historyAfter(`do: [{pay: {try: ${tasks}, catch: {${again(1)}, as: error, ${mend}}}}]`);
    expect(told(run)).toEqual([
      "1 pay try completed ! 503 of 3 [failed 503 of 3, failed 503 of 3]",
      "2 look set completed [completed, completed]",
      "3 send http failed 503 of 3 [failed 503 of 3, failed 503 of 3]",
      "4 mend set completed [completed]",
    ]);
    expect(run.output.at).toBe("/do/0/pay/try/1/send");
    expect(run.steps.map((step: Data) => step.callName)).toEqual([null, null, null, null]);
  });

  test("within another one: each says what it caught itself, also in each round of the outer one", async () => {
    const inner = `{inner: {try: [{send: ${call("/refuse")}}], catch: {do: [{worse: ${raise(418)}}]}}}`;
    const run = await historyAfter(`do: [{outer: {try: [${inner}], catch: {${again(1)}, ${mend}}}}]`);
    expect(told(run)).toEqual([
      "1 outer try completed ! 418 of 3 [failed 418 of 3, failed 418 of 3]",
      "2 inner http failed 418 of 3 ! 503 of 2 [failed 503 of 2, failed 503 of 2]",
      "3 worse raise failed 418 of 3 [failed 418 of 3, failed 418 of 3]",
      "4 mend set completed [completed]",
    ]);
    expect(run.output.at).toBe("/do/0/outer/try/0/inner/catch/do/0/worse");
  });

  test("an error that went past an inner catch and through the tasks between", async () => {
    const inner = `{inner: {try: [{send: ${call("/refuse")}}], catch: {errors: {with: {status: 404}}}}}`;
    const run = await historyAfter(`do: [{outer: {try: [{group: {do: [${inner}]}}], catch: {${mend}}}}]`);
    expect(told(run)).toEqual([
      "1 outer try completed ! 503 of 3 [failed 503 of 3]",
      "2 group do failed 503 of 3 [failed 503 of 3]",
      "3 inner http failed 503 of 3 [failed 503 of 3]",
      "4 mend set completed [completed]",
    ]);
  });

  test("an inner catch whose round was repeated keeps its attempt as failed", async () => {
    const inner = `{inner: {try: [{send: ${call("/refuse")}}], catch: {}}}`;
    const fail = `{fail: {if: '\${ $task.attempt == 1 }', ${raise(418).slice(1, -1)}}}`;
    const run = await historyAfter(`do: [{outer: {try: [${inner}, ${fail}], catch: {${again(1)}}}}]`);
    expect(told(run)).toEqual([
      "1 outer try completed [failed 418 of 3, completed]",
      "2 inner http completed ! 503 of 2 [failed 503 of 2, failed 503 of 2]",
      "3 fail raise skipped [failed 418 of 3]",
    ]);
  });

  test("in a loop, in branches and in items: each round and branch its own", async () => {
    const tried = (name = "pay"): string => `{${name}: {try: [{send: ${call("/refuse")}}], catch: {${mend}}}}`;
    const loop = await historyAfter(`do: [{loop: {for: {in: '\${ [1, 2] }'}, do: [${tried()}]}}]`);
    const caught = ({ name, caught: what }: Data): string =>
      `${name}${what ? ` ${what.stepNumber} ${what.instance}` : ""}`;
    expect(loop.steps.map(caught)).toEqual([
      "loop",
      "pay 2 /do/0/loop/do/0/pay/try/0/send",
      "mend",
      "pay 4 /do/0/loop/do/0/pay/try/0/send",
      "mend",
    ]);
    const fork = await historyAfter(`do: [{both: {fork: {branches: [${tried("one")}, ${tried("two")}]}}}]`);
    expect(fork.output.map(({ at }: Data) => at)).toEqual([
      "/do/0/both/fork/branches/0/one/try/0/send",
      "/do/0/both/fork/branches/1/two/try/0/send",
    ]);
    expect(fork.steps.map(caught).toSorted().slice(-2)).toEqual([
      "one 2 /do/0/both/fork/branches/0/one/try/0/send",
      "two 3 /do/0/both/fork/branches/1/two/try/0/send",
    ]);
    const each = `{all: {call: 'each:1.0.0@default', with: {in: '\${ [1, 2] }', concurrency: 1, do: [${tried()}]}}}`;
    expect((await historyAfter(`do: [${each}]`)).steps.map(caught)).toEqual([
      "all",
      "pay 2 /do/0/all/with/do/0/pay/try/0/send",
      "mend",
      "pay 4 /do/0/all/with/do/0/pay/try/0/send",
      "mend",
    ]);
  });

  test("a raised error, a child's failure and a rejection are caught like any other", async () => {
    const raised = await historyAfter(`do: [{t: {try: [{r: ${raise(418)}}], catch: {${mend}}}}]`);
    expect(told(raised).slice(0, 2)).toEqual([
      "1 t try completed ! 418 of 2 [failed 418 of 2]",
      "2 r raise failed 418 of 2 [failed 418 of 2]",
    ]);
    await agentOf(server, `do: [{deep: {do: [{r: ${raise(418)}}]}}]`, "history-raises");
    const child = "{c: {run: {workflow: {namespace: test, name: history-raises, version: latest}}}}";
    const run = await historyAfter(`do: [{t: {try: [${child}], catch: {${mend}}}}]`);
    // The number is of this run's step, not of the child's.
    expect(told(run).slice(0, 2)).toEqual([
      "1 t try completed ! 418 of 2 [failed 418 of 2]",
      "2 c run failed 418 of 2 [failed 418 of 2]",
    ]);
    expect(run.output.at).toBe("/do/0/t/try/0/c");
    const ask = "{ask: {call: 'approval:1.0.0@default', with: {question: Shall we?}}}";
    const id = await start(server, await agentOf(server, `do: [{t: {try: [${ask}], catch: {${mend}}}}]`));
    await decide(server, id, "reject");
    await until(server, id, "completed");
    expect(told(await historyOf(id)).slice(0, 2)).toEqual([
      "1 t try completed ! 403 of 2 [failed 403 of 2]",
      "2 ask approval failed 403 of 2 [failed 403 of 2]",
    ]);
  });

  test("an error names the step that raised it on every step that it went through", async () => {
    const run = await historyAfter(`do: [{outer: {do: [{one: {set: {a: 1}}}, {inner: {do: [{r: ${raise(418)}}]}}]}}]`);
    expect(told(run)).toEqual([
      "1 outer do failed 418 of 4 [failed 418 of 4]",
      "2 one set completed [completed]",
      "3 inner do failed 418 of 4 [failed 418 of 4]",
      "4 r raise failed 418 of 4 [failed 418 of 4]",
    ]);
    expect(run.error.stepNumber).toBe(4);
  });

  test("an expression sees the language's five fields of an error", async () => {
    const keys = "do: [{keys: {set: {keys: '${ $error | keys }'}}}]";
    expect((await historyAfter(`do: [{t: {try: [{r: ${raise(418)}}], catch: {${keys}}}}]`)).output.keys).toEqual([
      "detail",
      "instance",
      "status",
      "title",
      "type",
    ]);
    const each = `{all: {call: 'each:1.0.0@default', with: {in: '\${ [1] }', onError: collect, do: [{r: ${raise(418)}}]}}}`;
    const collected = await historyAfter(`do: [${each}, {keys: {set: {keys: '\${ .[0].error | keys }'}}}]`);
    expect(collected.output.keys).toHaveLength(5);
  });
});

describe("what an endpoint answered", () => {
  const get = (path: string, more = ""): string =>
    `{call: http, with: {method: get, endpoint: '${echoUrl}${path}'}${more}}`;
  const responses = (step: Data): [number | null, string | null][] =>
    step.attempts.map(({ response }: Data) => [response?.status ?? null, response?.body ?? null]);

  test("is with each attempt, also the failed ones and the caught one", async () => {
    const tried = `do: [{pay: {try: [{send: ${call("/refuse/2")}}], catch: {${again(5)}}}}, {last: {set: {a: 1}}}]`;
    const [pay, last] = (await historyAfter(tried)).steps;
    expect(responses(pay)).toEqual([
      [503, expect.any(String)],
      [503, expect.any(String)],
      [200, JSON.stringify({ received: 3 })],
    ]);
    expect(responses(last)).toEqual([[null, null]]);
    const caught = await historyAfter(`do: [{pay: {try: [{send: ${get("/404")}}], catch: {${mend}}}}]`);
    expect(responses(caught.steps[0])).toEqual([[404, expect.stringContaining("idempotency-key")]]);
    const failed = await historyAfter(`do: [{send: ${get("/500/3")}}]`);
    expect(responses(failed.steps[0])).toEqual([[500, '"€€€"']]);
    const unread = await historyAfter(`do: [{send: ${get("/200/3", ", output: {as: '${ error(\"no\") }'}")}}]`);
    expect(unread.steps[0]).toMatchObject({ status: "failed", attempts: [{ response: { status: 200 } }] });
  });

  test("nothing if there was no answer, a status alone if it is no text", async () => {
    expect(responses((await historyAfter(`do: [{send: ${call("/drop")}}]`)).steps[0])).toEqual([[null, null]]);
    const late = get("/200", "").replace(echoUrl, `${sink.url}/hang`);
    const timed = await historyAfter(`do: [{group: {timeout: {after: PT0.3S}, do: [{send: ${late}}]}}]`);
    expect(responses(timed.steps[1])).toEqual([[null, null]]);
    expect((await historyAfter(`do: [{send: ${get("/binary")}}]`)).steps[0].attempts[0].response).toEqual({
      status: 200,
      body: null,
    });
  });

  test("of an earlier attempt is not shown with one that had no answer", async () => {
    const endpoint = `\${ if $task.attempt == 1 then "${echoUrl}/503" else "${sink.url}/drop?run=history&step=dropped" end }`;
    const send = `try: [{send: {call: http, with: {method: get, endpoint: '${endpoint}'}}}]`;
    const run = await historyAfter(`do: [{pay: {${send}, catch: {${again(1)}}}}]`);
    expect(responses(run.steps[0])).toEqual([
      [503, expect.any(String)],
      [null, null],
    ]);
  });

  test("is cut at a character", async () => {
    const send = `try: [{send: ${get("/500/100000")}}]`;
    const run = await historyAfter(`do: [{pay: {${send}, catch: {${again(1)}, ${mend}}}}]`);
    const cut = `"${"€".repeat(Math.floor((LIMITS.responseBodyBytes - 1) / 3))}…`;
    expect(responses(run.steps[0])).toEqual([
      [500, cut],
      [500, cut],
    ]);
    expect(run.steps[0].caught.detail.length).toBeLessThan(600);
  });

  test("does not show what authenticated the call, whatever the endpoint gives back", async () => {
    for (const [authentication, secret] of [
      ["bearer: {token: 'very/secret'}", /very.{0,2}secret/],
      ["basic: {username: robot, password: 'other secret'}", new RegExp(`other secret|${btoa("robot:other secret")}`)],
      [`bearer: {token: '${'<"/'.repeat(2_700)}'}`, /<.{0,4}"/],
    ] as const) {
      for (const status of [401, 200]) {
        const endpoint = `{uri: '${echoUrl}/${status}', authentication: {${authentication}}}`;
        const shaped = "output: {as: '${ {} }'}";
        const send = `{call: http, with: {method: get, endpoint: ${endpoint}}, ${shaped}}`;
        const run = await historyAfter(`do: [{pay: {try: [{send: ${send}}], catch: {${mend}}}}]`);
        const [[shown, body]] = responses(run.steps[0]) as [[number, string]];
        expect([shown, body]).toEqual([status, expect.stringContaining("[redacted]")]);
        expect(JSON.stringify(run)).not.toMatch(secret);
      }
    }
  });

  test("is kept over a kill; an attempt that the kill has cut short has none", async () => {
    const retry = "retry: {delay: PT1H, limit: {attempt: {count: 3}}}";
    const paused = await start(
      server,
      await agentOf(server, `do: [{pay: {try: [{send: ${call("/refuse/1")}}], catch: {${retry}}}}]`),
    );
    const sent = await start(
      server,
      await agentOf(server, `do: [{pay: {try: [{send: ${call("/hang/1")}}], catch: {}}}]`),
    );
    const step = `s${names}`;
    await eventually(async () => (await historyOf(paused)).steps[0]?.attempts[0]?.status === "failed");
    await eventually(() => sink.count("history", step)?.requests === 1);
    await server.kill();
    // As a run was written before a step knew its call, and an error its step.
    const client = await connectTo(server);
    await client.query(
      `update steps set response = null, state = (state::jsonb - 'call' - 'caughtAt')::json where run_id = any ($1)`,
      [[decodeId("run", paused), decodeId("run", sent)]],
    );
    await client.query("update attempts set error = (error::jsonb - 'stepNumber')::json where run_id = $1", [
      decodeId("run", paused),
    ]);
    await client.end();
    await server.restart();
    await until(server, sent, "completed");
    expect(told(await historyOf(sent))).toEqual(["1 pay http completed [failed 500 of 1, completed]"]);
    expect(responses((await historyOf(sent)).steps[0])).toEqual([
      [null, null],
      [200, JSON.stringify({ received: 2 })],
    ]);
    expect(sink.count("history", step)!.keys).toHaveLength(1);
    expect(responses((await historyOf(paused)).steps[0])).toEqual([[503, expect.any(String)]]);
    await server.clock.advance(3_600_000);
    await until(server, paused, "completed");
    expect(responses((await historyOf(paused)).steps[0])).toEqual([
      [503, expect.any(String)],
      [200, JSON.stringify({ received: 2 })],
    ]);
  });
});

describe("in a run that retries another", () => {
  const RETRY = "mutation($input: RetryRunInput!) { retryRun(input: $input) { id } }";
  const retried = async ({ id }: Data): Promise<Data> => {
    const { retryRun } = await server.data(RETRY, { input: { runId: id } });
    await until(server, retryRun.id, ...ENDED);
    return historyOf(retryRun.id);
  };
  const failed = async (body: string): Promise<Data> => {
    const run = await historyAfter(body);
    expect(run.status).toBe("failed");
    return run;
  };
  const BAD = `{bad: ${raise(418)}}`;

  test("the attempts of kept steps are the old run's, with their errors, answers and times", async () => {
    const tried = `{pay: {try: [{send: ${call("/refuse/2")}}], catch: {${again(3)}}}}`;
    const caught = `{look: {try: [{send: ${call("/refuse")}}], catch: {${again(1)}, ${mend}}}}`;
    const old = await failed(`do: [${tried}, ${caught}, ${BAD}]`);
    expect(old.steps[0].attempts).toHaveLength(3);
    const again1 = await retried(old);
    expect(again1.steps.slice(0, 3)).toEqual(old.steps.slice(0, 3));
    expect(told(again1)).toEqual(told(old));
    expect((await retried(again1)).steps.slice(0, 3)).toEqual(old.steps.slice(0, 3));
  });

  test("a try in which it goes on has its earlier attempts; a task that is done again has none", async () => {
    const tasks = `[{one: {set: {a: 1}}}, {send: ${call("/refuse/3")}}]`;
    const old = await failed(`do: [{pay: {try: ${tasks}, catch: {${again(1)}}}}]`);
    expect(told(old)).toEqual([
      "1 pay try failed 503 of 3 [failed 503 of 3, failed 503 of 3]",
      "2 one set completed [completed, completed]",
      "3 send http failed 503 of 3 [failed 503 of 3, failed 503 of 3]",
    ]);
    expect(told(await retried(old))).toEqual([
      "1 pay try completed [failed 503 of 3, failed 503 of 3, completed]",
      "2 one set completed [completed, completed, completed]",
      "3 send http completed [failed 503 of 3, completed]",
    ]);
  });

  test("in the tasks of a catch: what was caught is shown as it was", async () => {
    const send = `try: [{send: ${call("/refuse")}}]`;
    const old = await failed(`do: [{pay: {${send}, catch: {${again(1)}, do: [{one: {set: {a: 1}}}, ${BAD}]}}}]`);
    await server.clock.advance(1_000);
    const run = await retried(old);
    const { attempts, caught, callName } = old.steps[0];
    expect(run.steps[0]).toMatchObject({ attempts, caught, callName });
    expect(told(run)).toEqual(told(old));
  });
});
