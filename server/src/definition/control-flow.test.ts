import { describe, expect, test } from "vitest";
import { problemsOf, problemsOfTask } from "./definitions.fixture.ts";
import { parseDefinition } from "./parse-definition.ts";

const named = (count: number, task: string): string =>
  Array.from({ length: count }, (_, index) => `{b${index}: ${task}}`).join(", ");

describe("fork", () => {
  const ofBranches = (branches: string): [string, string][] =>
    problemsOfTask(`{fork: {branches: [${branches}]}}`).map(([path, message]) => [
      path.replace("/fork/branches", ""),
      message,
    ]);

  test.each([2, 100])("%i branches", (count) => expect(ofBranches(named(count, "{wait: PT1S}"))).toEqual([]));

  const say = "write 2 to 100 branches, each as `- name:` with its task below";
  test.each([
    ["", "", `"branches" must have at least 2 items; ${say}`],
    ["{a: {wait: PT1S}}", "", `"branches" must have at least 2 items; ${say}`],
    [named(101, "{wait: PT1S}"), "", `"branches" must have at most 100 items; ${say}`],
    ["{a: {wait: PT1S}}, {a: {wait: PT2S}}", "/1/a", 'there is another task "a" in this list; give each its own name'],
    [
      "{a: {wait: PT1S}}, {exit: {wait: PT2S}}",
      "/1/exit",
      '"exit" has a meaning of its own in then; give the task another name',
    ],
    [
      "{a: {wait: PT1S}, b: {wait: PT1S}}, {c: {wait: PT2S}}",
      "/0",
      "item 1 has more than one key; write one task per list item, as `- name:` with its keys indented below the name",
    ],
    ["{a: {wait: PT1S}}, {b: {waits: PT2S}}", "/1/b/waits", '"waits" is not known; did you mean "wait"?'],
  ])("%s", (branches, path, message) => expect(ofBranches(branches)).toEqual([[path, message]]));

  test.each([
    ["{fork: {}}", "/fork/branches", '"branches" is missing in fork'],
    ["{fork: {brances: []}}", "/fork/brances", '"brances" is not known in fork; did you mean "branches"?'],
    [
      `{fork: {branches: [${named(2, "{wait: PT1S}")}], compete: first}}`,
      "/fork/compete",
      '"compete" must be true or false, not text',
    ],
    [
      `{fork: {branches: [${named(2, "{wait: PT1S}")}]}, do: [{a: {wait: PT1S}}]}`,
      "/do",
      'a fork task cannot have "do" as well; a task does one thing',
    ],
  ])("%s", (task, path, message) => expect(problemsOfTask(task)).toEqual([[path, message]]));

  test.each(["continue", "exit", "end"])("a branch may say then: %s", (then) => {
    expect(ofBranches(`{a: {wait: PT1S, then: ${then}}}, {b: {switch: [{c: {then: ${then}}}]}}`)).toEqual([]);
  });

  const cannot =
    "a branch cannot continue at another task, because the others run beside it; write continue, exit or end, or put the tasks under do";
  test.each([
    ["{a: {wait: PT1S, then: b}}, {b: {wait: PT1S}}", "/0/a/then"],
    ["{a: {wait: PT1S, then: a}}, {b: {wait: PT1S}}", "/0/a/then"],
    ["{a: {wait: PT1S, then: t}}, {b: {wait: PT1S}}", "/0/a/then"],
    ["{a: {switch: [{c: {then: b}}]}}, {b: {wait: PT1S}}", "/0/a/switch/0/c/then"],
  ])("a branch may not go on elsewhere: %s", (branches, path) =>
    expect(ofBranches(branches)).toEqual([[path, cannot]]),
  );

  test("inside a branch tasks go on where they like", () => {
    expect(ofBranches("{a: {do: [{x: {wait: PT1S}}, {y: {wait: PT1S, then: x}}]}}, {b: {wait: PT1S}}")).toEqual([]);
    expect(ofBranches("{a: {do: [{x: {wait: PT1S, then: b}}]}}, {b: {wait: PT1S}}")).toEqual([
      ["/0/a/do/0/x/then", 'there is no task "b" in this list; known here: x, continue, exit, end'],
    ]);
  });

  test("a branch knows what the fork knows, and has its own input", () => {
    const loop = (text: string): string =>
      `{for: {each: a, in: .x}, do: [{f: {fork: {branches: [{b: {set: {v: '\${ ${text} }'}}}, {c: {wait: PT1S}}]}}}]}`;
    expect(problemsOfTask(loop("[$a, $index, $input, $context, $task.name]"))).toEqual([]);
    expect(problemsOfTask(loop("$b"))[0]![1]).toMatch(/^\$b is not known here/);
  });

  test("loops, exports and inputs in a branch are as anywhere", () => {
    expect(
      ofBranches(
        "{a: {for: {each: z, in: .x}, do: [{y: {set: {v: '${ $z }'}}}]}}, {b: {wait: PT1S, export: {as: $output}}}",
      ),
    ).toEqual([]);
    expect(ofBranches("{a: {wait: PT1S, input: {from: $input}}}, {b: {wait: PT1S}}")).toEqual([
      ["/0/a/input/from", "$input is not known here; known here: $workflow, $runtime, $context, $task"],
    ]);
  });
});

describe("run: workflow", () => {
  const ofRun = (run: string): [string, string][] =>
    problemsOfTask(`{run: ${run}}`).map(([path, message]) => [path.replace("/run", ""), message]);
  const child = (more = "", version = "latest"): string =>
    `{workflow: {namespace: billing, name: invoice, version: ${version}${more}}}`;

  test.each([
    child(),
    child("", "1.0.0"),
    child("", "2.1.0-beta.1+build.7"),
    child(", input: {}"),
    "{workflow: {namespace: '${ .team }', name: '${ .kind }', version: latest}}",
    child(", input: {total: '${ .total + $context.more }', all: [1, '${ $input }']}"),
    child().replace(/}$/, ", await: false}"),
  ])("%s", (run) => expect(ofRun(run)).toEqual([]));

  const version = 'write latest, or three numbers with dots, such as "1.0.0"';
  const handle = "write 1 to 63 lower-case letters, digits and hyphens, such as";
  test.each([
    [child("", "newest"), "/workflow/version", `"version" does not fit; ${version}`],
    [child("", "latest-1"), "/workflow/version", `"version" does not fit; ${version}`],
    [child("", "'1.0'"), "/workflow/version", `"version" does not fit; ${version}`],
    [child("", "1.0"), "/workflow/version", `"version" must be text, not a number; ${version}`],
    ["{workflow: {namespace: a, name: b}}", "/workflow/version", '"version" is missing in the workflow to run'],
    [
      "{workflow: {namespace: A, name: b, version: latest}}",
      "/workflow/namespace",
      `"namespace" does not fit; ${handle} billing`,
    ],
    [
      "{workflow: {namespace: a, name: in_voice, version: latest}}",
      "/workflow/name",
      `"name" does not fit; ${handle} order-intake`,
    ],
    [
      child(", input: '${ . }'"),
      "/workflow/input",
      '"input" must be an object, not text; write its fields, or leave it out and make the task\'s input with input.from',
    ],
    [
      child(", input: {a: 'x ${ .a }'}"),
      "/workflow/input/a",
      'text and ${ } are mixed; write one expression, such as ${ "Hello \\(.name)" }',
    ],
    [
      child(", input: {a: '${ $output }'}"),
      "/workflow/input/a",
      "$output is not known here; known here: $workflow, $runtime, $context, $task, $input",
    ],
    [child(", inputs: {}"), "/workflow/inputs", '"inputs" is not known in the workflow to run; did you mean "input"?'],
    [child().replace(/}$/, ", await: 'no'}"), "/await", '"await" must be true or false, not text'],
    [
      "{}",
      "",
      '"run" is empty; write workflow with namespace, name and version below it, or script with language and code',
    ],
    [
      "{await: true}",
      "",
      '"run" does not say enough; write workflow with namespace, name and version below it, or script with language and code',
    ],
    ["{workflo: {}}", "/workflo", '"workflo" is not known; did you mean "workflow"?'],
  ])("%s", (run, path, message) => expect(ofRun(run)).toEqual([[path, message]]));

  test("a run task does one thing", () => {
    expect(problemsOfTask(`{run: ${child()}, set: {a: 1}}`)).toEqual([
      ["/run", 'a set task cannot have "run" as well; a task does one thing'],
    ]);
  });
});

describe("call: each", () => {
  const each = (values: string): string => `{call: 'each:1.0.0@default', with: {${values}}}`;
  const ofEach = (values: string): [string, string][] =>
    problemsOfTask(each(values)).map(([path, message]) => [path.replace("/with", ""), message]);
  const list = "do: [{a: {set: {v: '${ [$item, $index] }'}}}]";

  test.each([
    `in: .x, ${list}`,
    `in: '\${ .x }', item: item, concurrency: 1, onError: stop, ${list}`,
    `in: '[1, 2]', concurrency: 100, onError: collect, ${list}`,
    "in: .x, item: order, do: [{a: {if: $order.open, wait: PT1S, then: exit}}, {b: {wait: PT1S, then: a}}]",
  ])("%s", (values) => expect(ofEach(values)).toEqual([]));

  test.each([
    ["in: .x", "/do", '"do" is missing in the arguments of each'],
    [list, "/in", '"in" is missing in the arguments of each'],
    [
      `in: [1], ${list}`,
      "/in",
      '"in" must be text, not a list; write an expression in quotes, such as "${ .total > 100 }"',
    ],
    [`in: '', ${list}`, "/in", "the expression is empty"],
    [`in: .x, concurrency: 0, ${list}`, "/concurrency", limit("must be at least 1")],
    [`in: .x, concurrency: 101, ${list}`, "/concurrency", limit("must be at most 100")],
    [`in: .x, concurrency: '\${ 3 }', ${list}`, "/concurrency", limit("must be a whole number, not text")],
    [`in: .x, onError: go, ${list}`, "/onError", '"onError" must be one of stop, collect'],
    [
      `in: .x, onErrors: stop, ${list}`,
      "/onErrors",
      '"onErrors" is not known in the arguments of each; did you mean "onError"?',
    ],
    [`in: .x, item: context, ${list}`, "/item", "$context already exists; choose another name"],
    [`in: .x, item: index, do: [{a: {wait: PT1S}}]`, "/item", "$index is the item's number; choose another name"],
    [
      `in: .x, item: a-b, do: [{a: {wait: PT1S}}]`,
      "/item",
      '"item" does not fit; write a name of 1 to 63 letters, digits and underscores',
    ],
    ["in: .x, do: []", "/do", '"do" is empty; write a list of tasks, each as `- name:` with its keys below'],
    [
      "in: .x, do: [{a: {wait: PT1S}}, {a: {wait: PT1S}}]",
      "/do/1/a",
      'there is another task "a" in this list; give each its own name',
    ],
    [
      "in: .x, do: [{a: {wait: PT1S, then: t}}]",
      "/do/0/a/then",
      'there is no task "t" in this list; known here: a, continue, exit, end',
    ],
    [
      "in: .x, do: [{a: {switch: [{b: {then: t}}]}}]",
      "/do/0/a/switch/0/b/then",
      'there is no task "t" in this list; known here: a, continue, exit, end',
    ],
    ["in: .x, do: [{a: {sett: {}}}]", "/do/0/a/sett", '"sett" is not known; did you mean "set"?'],
  ])("%s", (values, path, message) => expect(ofEach(values)).toContainEqual([path, message]));

  test("the item and its number are known inside, under the item's name, and nowhere else", () => {
    const known = "known here: $workflow, $runtime, $context, $task, $input";
    expect(ofEach(`in: $item, ${list}`)).toEqual([["/in", `$item is not known here; ${known}`]]);
    expect(ofEach(`in: .x, item: order, ${list}`)).toEqual([
      [
        "/do/0/a/set/v",
        "$item is not known here; known here: $workflow, $runtime, $context, $task, $order, $index, $input",
      ],
    ]);
    expect(problemsOfTask(`{call: 'each:1.0.0@default', output: {as: $item}, with: {in: .x, ${list}}}`)).toEqual([
      ["/output/as", `$item is not known here; ${known}`],
    ]);
  });

  test("in loops, catches and branches inside, and they inside it", () => {
    const inner = each(
      "in: $a.list, item: b, do: [{t: {try: [{x: {set: {v: '${ [$a, $b, $index] }'}}}], " +
        "catch: {as: e, when: $b == $e.status, do: [{f: {fork: {branches: [{l: {set: {v: '${ [$a, $b, $e] }'}}}, " +
        "{r: {wait: PT1S}}]}}}]}}}]",
    );
    expect(problemsOfTask(`{for: {each: a, in: .x}, do: [{e: ${inner}}]}`)).toEqual([]);
  });

  test("an http call may send fields of these names", () => {
    const http = "{call: http, with: {method: POST, endpoint: 'https://example.com', body: {do: [{a: '${ $item }'}]}}}";
    expect(problemsOfTask(http)).toEqual([["/with/body/do/0/a", expect.stringMatching(/^\$item is not known here/)]]);
  });

  function limit(reason: string): string {
    return `"concurrency" ${reason}; write a whole number from 1 to 100`;
  }
});

describe("branches and items are nesting", () => {
  const inFork = (tasks: string): string => `[{f: {fork: {branches: [${tasks.slice(1, -1)}, {other: {wait: PT1S}}]}}}]`;
  const inEach = (tasks: string): string => `[{e: {call: 'each:1.0.0@default', with: {in: .x, do: ${tasks}}}}]`;
  const deep = "tasks are nested deeper than 16 levels; move the inner ones to another agent";

  test.each([
    ["fork", inFork],
    ["each", inEach],
  ])("%s: sixteen lists in each other, not seventeen", (_, around) => {
    let tasks = "[{x: {wait: PT1S}}]";
    for (let level = 2; level <= 16; level++) tasks = around(tasks);
    expect(problemsOf(`do: ${tasks}`)).toEqual([]);
    expect(problemsOf(`do: ${around(tasks)}`).map(([, message]) => message)).toEqual([deep]);
  });

  test("a task may not be called do or 7", () => {
    let tasks = "[{x: {wait: PT1S}}]";
    for (let level = 2; level <= 16; level++) tasks = `[{${level % 2 ? "'7'" : "do"}: {do: ${tasks}}}]`;
    expect(problemsOf(`do: ${tasks}`)).toEqual([]);
  });
});

test("each problem has its line and column, in branches, items and the input of a child", () => {
  const text = `document: {dsl: '1.0.3', namespace: demo, name: places, version: '1.0.0'}
do:
  - all:
      fork:
        branches:
          - one:
              set:
                a: \${ $nothing }
          - two:
              wait: soon
  - items:
      call: each:1.0.0@default
      with:
        in: .list
        item: task
        do:
          - first:
              wait: PT1S
              then: second
  - child:
      run:
        workflow:
          namespace: demo
          name: other
          version: latest
          input:
            a: x \${ .a }
`;
  expect(parseDefinition(text).problems.map(({ line, column, path }) => `${line}:${column} ${path}`)).toEqual([
    "8:20 /do/0/all/fork/branches/0/one/set/a",
    "10:21 /do/0/all/fork/branches/1/two/wait",
    "15:15 /do/1/items/with/item",
    "19:21 /do/1/items/with/do/0/first/then",
    "27:16 /do/2/child/run/workflow/input/a",
  ]);
});
