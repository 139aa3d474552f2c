/** The language over the wire: how data and control go from task to task. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { type Data } from "./client.ts";
import { agentOf, answered, runOf, stepsOf } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Publishes `do:` and the rest, runs it and expects it to complete. */
async function completed(body: string, input: object = {}): Promise<Data> {
  const run = await runOf(server, body, input);
  expect(run.error).toBeNull();
  expect(run).toMatchObject({ status: "completed", progress: 100 });
  return run;
}
const outputOf = async (body: string, input: object = {}): Promise<unknown> => (await completed(body, input)).output;
async function failed(body: string, input: object = {}): Promise<Data> {
  const run = await runOf(server, body, input);
  expect(run).toMatchObject({ status: "failed", output: null });
  return run;
}

const stepsBehind = async (id: string, after: number): Promise<number[]> =>
  (await server.data(`{ run(id: "${id}") { steps(after: ${after}, first: 5) { number } } }`)).run.steps.map(
    ({ number }: Data) => number,
  );

describe("data", () => {
  test("input.from, output.as and export.as, of tasks and of the workflow", async () => {
    const run = await completed(
      `
input: {from: '\${ {order: ., by: "workflow"} }'}
do:
  - add:
      input: {from: '\${ .order }'}
      set: {total: '\${ .price * .pieces }', was: '\${ $input }'}
      output: {as: {total: '\${ .total }', currency: EUR}}
      export: {as: '\${ ($context // {}) + {last: $output.total, from: $input.price} }'}
  - finish:
      set: {message: '\${ "\\(.total) \\(.currency)" }', context: '\${ $context }'}
output: {as: {text: '\${ .message }', last: '\${ $context.last }', workflow: '\${ $workflow.input }'}}
`,
      { price: 2, pieces: 21 },
    );
    expect(run.output).toEqual({ text: "42 EUR", last: 42, workflow: { price: 2, pieces: 21 } });
    expect(run.input).toEqual({ price: 2, pieces: 21 });
    expect(run.steps[0]).toMatchObject({
      name: "add",
      kind: "set",
      input: { price: 2, pieces: 21 },
      output: { total: 42, currency: "EUR" },
    });
    expect(run.steps[1].output).toEqual({ message: "42 EUR", context: { last: 42, from: 2 } });
  });

  test("$context is null at first; $task, $workflow and $runtime are there", async () => {
    const output: Data = await outputOf(
      `
do:
  - look:
      set:
        context: '\${ $context }'
        task: '\${ $task }'
        run: '\${ $workflow.id }'
        name: '\${ $workflow.definition.document.namespace }'
        runtime: '\${ $runtime.name }'
        now: '\${ $runtime.now }'
        started: '\${ $workflow.startedAt.iso8601 }'
`,
    );
    expect(output).toMatchObject({
      context: null,
      task: { name: "look", reference: "/do/0/look", attempt: 1, startedAt: { iso8601: expect.any(String) } },
      run: expect.stringMatching(/^run_/),
      name: "test",
      runtime: "autograph",
      now: { iso8601: expect.any(String), epoch: { seconds: expect.any(Number), milliseconds: expect.any(Number) } },
    });
    expect(Date.parse(output.started)).toBeLessThanOrEqual(output.now.epoch.milliseconds);
  });

  test("jq and native evaluation agree, in one object", async () => {
    expect(
      await outputOf(
        `do: [{one: {set: {jq: '\${ .list | group_by(.a) | map(length) }', here: '\${ .list[0].a + 1 }'}}}]`,
        {
          list: [{ a: 1 }, { a: 2 }, { a: 1 }],
        },
      ),
    ).toEqual({ jq: [2, 1], here: 2 });
  });

  test("NUL, lone surrogates, deep and empty values go through every place that keeps data", async () => {
    const value = { "\0": "\0", lone: "\ud800", pair: "😀", list: [[], {}, null, 0, -0.5, 1e300, ""], "": true };
    const run = await completed(
      `
do:
  - keep: {set: {value: '\${ .value }'}, export: {as: '\${ .value }'}}
  - pause: {wait: {milliseconds: 1200}}
  - loop: {for: {in: '\${ [$context] }'}, do: [{back: {set: {value: '\${ $item }'}}}]}
`,
      { value },
    );
    expect(JSON.stringify(run.output)).toBe(JSON.stringify({ value }));
    expect(JSON.stringify(run.steps[0].output)).toBe(JSON.stringify({ value }));
  });

  test("a task's input.schema checks what comes in, before input.from makes the task's input of it", async () => {
    const schema =
      "{schema: {document: {type: object, properties: {n: {type: number}}, required: [n]}}, from: '${ .n }'}";
    const body = `do: [{one: {set: {n: 7}}}, {two: {input: ${schema}, set: {got: '\${ . }'}}}]`;
    expect(await outputOf(body, {})).toEqual({ got: 7 });
  });

  test("schemas of input, output and export refuse what does not fit, with the error validation", async () => {
    const task = (part: string): string => `do: [{check: {${part}, set: {total: '\${ .total }'}}}]`;
    const document = "{document: {type: object, properties: {total: {type: number}}, required: [total]}}";
    for (const part of [
      `input: {schema: ${document}}`,
      `output: {schema: ${document}}`,
      `export: {as: '\${ . }', schema: ${document}}`,
    ]) {
      expect(await outputOf(task(part), { total: 1 })).toEqual({ total: 1 });
      const run = await failed(task(part), { total: "1" });
      expect(run.error).toMatchObject({
        type: expect.stringMatching(/\/validation$/),
        status: 400,
        detail: expect.stringMatching(/does not fit its schema: .*total must be a number/),
        instance: "/do/0/check",
        stepNumber: 1,
      });
    }
    const { error, steps } = await failed(`output: {schema: ${document}}\ndo: [{one: {set: {total: x}}}]`);
    expect(error).toMatchObject({ type: expect.stringMatching(/\/validation$/), stepNumber: null });
    expect(steps[0].status).toBe("completed");
  });

  test("an expression that fails is the error expression, in a task and in the workflow's own parts", async () => {
    const { error, steps } = await failed(`do: [{one: {set: {a: '\${ .a.b }'}}}, {two: {set: {a: 1}}}]`, { a: 1 });
    expect(error).toMatchObject({ type: expect.stringMatching(/\/expression$/), instance: "/do/0/one", stepNumber: 1 });
    expect(steps).toHaveLength(1);
    for (const body of [
      `output: {as: '\${ error("no") }'}\ndo: [{one: {set: {a: 1}}}]`,
      `input: {from: '\${ error("no") }'}\ndo: [{one: {set: {a: 1}}}]`,
      `timeout: {after: '\${ "never" }'}\ndo: [{one: {set: {a: 1}}}]`,
    ]) {
      expect((await failed(body)).error).toMatchObject({
        type: expect.stringMatching(/\/expression$/),
        stepNumber: null,
      });
    }
  });

  test("an output over 1 MiB fails its step, however it came about", async () => {
    const text = "x".repeat(600_000);
    const { error } = await failed(`do: [{twice: {set: {a: '\${ .text }', b: '\${ .text }'}}}]`, { text });
    expect(error.detail).toMatch(/1048576 bytes/);
    const escaped = await failed(`do: [{one: {set: {a: '\${ "\\u0000" * 200000 }'}}}]`);
    expect(escaped.error.detail).toMatch(/bytes/);
    const context = await failed(
      `do: [{one: {set: {a: '\${ .text }'}, export: {as: '\${ [$output.a, $output.a] }'}}}]`,
      { text },
    );
    expect(context.error.detail).toMatch(/1048576 bytes/);
  });
});

describe("control", () => {
  test("if: a task whose condition does not hold is skipped, its input goes on", async () => {
    const body = `
do:
  - never: {if: '\${ .n > 5 }', set: {n: 0}, then: end}
  - bare: {if: .n == 2, set: {n: 20}}
  - last: {set: {n: '\${ .n + 1 }'}}
`;
    const run = await completed(body, { n: 2 });
    expect(run.output).toEqual({ n: 21 });
    expect(stepsOf(run)).toEqual(["never skipped", "bare completed", "last completed"]);
    expect(run.steps[0]).toMatchObject({ output: null, attempts: [] });
    expect(await outputOf(body, { n: 6 })).toEqual({ n: 0 });
  });

  test("then: a later task, an earlier one, exit, end", async () => {
    const loop = await completed(`
do:
  - count: {set: {n: '\${ (.n // 0) + 1 }'}}
  - enough: {switch: [{yes: {when: '\${ .n >= 3 }', then: report}}]}
  - again: {set: '\${ . }', then: count}
  - never: {set: {wrong: true}}
  - report: {set: {n: '\${ .n }', said: done}, then: end}
  - after: {set: {wrong: true}}
`);
    expect(loop.output).toEqual({ n: 3, said: "done" });
    expect(loop.steps.map(({ name }: Data) => name).join(" ")).toBe(
      "count enough again count enough again count enough report",
    );
    expect(loop.steps.map(({ number }: Data) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const exit = await completed(`
do:
  - inner:
      do:
        - one: {set: {a: 1}, then: exit}
        - two: {set: {a: 2}}
  - after: {set: {a: '\${ .a + 10 }'}}
`);
    expect(exit.output).toEqual({ a: 11 });
    const end = await completed(`
do:
  - inner: {do: [{deeper: {do: [{one: {set: {a: 1}, then: end}}]}}]}
  - after: {set: {a: 2}}
`);
    expect(end.output).toEqual({ a: 1 });
    expect(stepsOf(end)).toEqual(["inner completed", "deeper completed", "one completed"]);
  });

  test("switch: the first case that holds, the one without when last, else the next task", async () => {
    const body = `
do:
  - which:
      switch:
        - otherwise: {then: other}
        - small: {when: '\${ .n < 10 }', then: small}
        - even: {when: '\${ .n % 2 == 0 }', then: end}
  - small: {set: {is: small}, then: end}
  - other: {set: {is: other}}
`;
    expect(await outputOf(body, { n: 4 })).toEqual({ is: "small" });
    expect(await outputOf(body, { n: 40 })).toEqual({ n: 40 });
    expect(await outputOf(body, { n: 41 })).toEqual({ is: "other" });
    expect(
      await outputOf(`do: [{which: {switch: [{never: {when: 'false', then: end}}]}}, {next: {set: {went: on}}}]`),
    ).toEqual({ went: "on" });
  });

  test("for: items, names, input from round to round, while, exit, end, nothing to do", async () => {
    expect(
      await outputOf(
        `
do:
  - sum:
      input: {from: '\${ {sum: 0, items: .items} }'}
      for: {each: piece, at: place, in: '\${ .items }'}
      while: '\${ .sum < 6 }'
      do: [{add: {set: {sum: '\${ .sum + $piece }', place: '\${ $place }'}}}]
`,
        { items: [1, 2, 3, 4, 5] },
      ),
    ).toEqual({ sum: 6, place: 2 });
    expect(
      await outputOf(`
do:
  - find:
      for: {in: '\${ [range(10)] }'}
      do:
        - look: {switch: [{found: {when: '\${ $item == 3 }', then: take}}]}
        - skip: {set: {seen: '\${ $index }'}, then: continue}
        - next: {set: '\${ . }', then: rest}
        - take: {set: {took: '\${ $item }'}, then: exit}
        - rest: {set: '\${ . }'}
  - after: {set: {took: '\${ .took }', seen: '\${ .seen }'}}
`),
    ).toEqual({ took: 3, seen: null });
    const ends = await completed(`
do:
  - loop: {for: {in: '\${ [1, 2, 3] }'}, do: [{one: {set: {n: '\${ $item }'}, then: end}}]}
  - after: {set: {wrong: true}}
`);
    expect(ends.output).toEqual({ n: 1 });
    for (const list of ["[]", "null"]) {
      const empty = await completed(`do: [{loop: {for: {in: '\${ ${list} }'}, do: [{one: {set: {a: 1}}}]}}]`, {
        kept: 1,
      });
      expect(empty.output).toEqual({ kept: 1 });
      expect(stepsOf(empty)).toEqual(["loop completed"]);
    }
    expect((await failed(`do: [{loop: {for: {in: '\${ 7 }'}, do: [{one: {set: {a: 1}}}]}}]`)).error).toMatchObject({
      type: expect.stringMatching(/\/expression$/),
      detail: expect.stringMatching(/list/),
    });
  });

  test("loops within loops, with their own variables", async () => {
    const run = await completed(`
do:
  - outer:
      for: {each: a, in: '\${ [1, 2] }'}
      do:
        - inner:
            for: {each: b, in: '\${ [10, 20] }'}
            do: [{add: {set: {a: 1}, export: {as: '\${ ($context // []) + [$a * $b] }'}}}]
output: {as: '\${ $context }'}
`);
    expect(run.output).toEqual([10, 20, 20, 40]);
    expect(run.steps).toHaveLength(1 + 2 + 4);
  });

  test("wait: sat out in memory and unloaded, its input goes on", async () => {
    for (const [duration, least] of [
      ["{milliseconds: 50}", 50],
      ["PT1.5S", 1_500],
      ["'${ .pause }'", 1_200],
    ] as const) {
      const run = await completed(`do: [{pause: {wait: ${duration}}}]`, { pause: { milliseconds: 1_200 } });
      expect(run.output).toEqual({ pause: { milliseconds: 1_200 } });
      expect(run.steps[0].duration).toBeGreaterThanOrEqual(least);
      expect(run.steps[0].duration).toBeLessThan(least + 10_000);
    }
    expect((await failed(`do: [{pause: {wait: '\${ "soon" }'}}]`)).error.detail).toMatch(/"soon" is not a duration/);
  });

  test("a run has at most 10,000 steps, and a run that is too large ends before it is", async () => {
    const steps = await failed(`do: [{again: {set: '\${ . }', then: again}}]`);
    expect(steps.error).toMatchObject({
      type: expect.stringMatching(/\/runtime$/),
      detail: expect.stringMatching(/10000 steps/),
    });
    expect(await stepsBehind(steps.id, 9_998)).toEqual([9_999, 10_000]);
    // Nor is it begun with items that do not fit.
    const each = (items: number, more: string): string =>
      `do: [{all: {call: 'each:1.0.0@default', with: {in: '\${ [range(${items})] }', concurrency: 100, ${more}}}}]`;
    const loop = (items: number, more: string): string =>
      `do: [{all: {for: {in: '\${ [range(${items})] }'}, ${more}}}]`;
    const two = "do: [{one: {set: {n: 1}}}, {two: {set: {n: 2}}}]";
    for (const [definition, items, least] of [
      [each(10_000, "onError: collect, do: [{one: {set: {n: 1}}}]"), 10_000, "1 step"],
      [each(5_000, two), 5_000, "2 steps"],
      [loop(5_000, two), 5_000, "2 steps"],
    ] as const) {
      const { error, steps: rows } = await failed(definition);
      expect(error.detail).toBe(
        `${items} items of at least ${least} each do not fit into the 9999 steps that are left: a run has at most 10000`,
      );
      expect(rows).toHaveLength(1);
    }
    // A loop that may be left is.
    const left = loop(20_000, "do: [{one: {if: $index == 3, set: {n: 1}, then: exit}}]");
    expect((await runOf(server, left)).status).toBe("completed");
    const agentId = await agentOf(
      server,
      `do: [{loop: {for: {in: '\${ [range(1000)] }'}, do: [{big: {set: {text: '\${ $workflow.input.text }'}}}]}}]`,
    );
    // Without its steps' outputs, of which an answer has not room for all.
    const input = { agentId, input: { text: "x".repeat(500_000) } };
    const bytes = await answered(server, "error { detail } steps { number }", input);
    expect(bytes).toMatchObject({ status: "failed", error: { detail: expect.stringMatching(/67108864 bytes/) } });
    // The loop, what there is room for, and the step that there is not.
    expect(bytes.steps).toHaveLength(2 + Math.floor(LIMITS.runBytes / ('{"text":""}'.length + 500_000)));
  });
});

test("$input in an `if` is what comes in", async () => {
  const run = await runOf(
    server,
    "do: [{a: {if: $input.x == 1, set: {b: 1}}}, {c: {if: $input.x == 2, set: {d: 1}}}]",
    { x: 1 },
  );
  expect(run).toMatchObject({ status: "completed", output: { b: 1 } });
  expect(run.steps.map(({ status }: Data) => status)).toEqual(["completed", "skipped"]);
});
