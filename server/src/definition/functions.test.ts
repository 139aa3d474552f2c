/** `use.functions`: what is refused when a definition is read, with the place in the function and the place of the call. */
import { describe, expect, test } from "vitest";
import { inSlices } from "../fairness/slices.ts";
import { LIMITS } from "../lib/limits.ts";
import { problemsOf, whole } from "./definitions.fixture.ts";
import { checkFlow } from "./flow/flow.ts";
import { parseDefinition, parseWithPlaces } from "./parse-definition.ts";
import { compileWorkflow } from "./program.ts";
import { plannedTasks } from "./planned-tasks.ts";
import { tasksIn } from "./tasks-in.ts";

const GREET = "greet: {set: {text: '${ .name }'}}";
const using = (functions: string, tasks = "[{t: {call: greet, with: {name: Ann}}}]"): string =>
  `use: {functions: {${functions}}}\ndo: ${tasks}\n`;

test.each([
  ["a plain one", using(GREET)],
  ["without arguments", using(GREET, "[{t: {call: greet}}]")],
  ["one that is never called", using(GREET, "[{t: {set: {a: 1}}}]")],
  ["one that calls another", using(`${GREET}, both: {do: [{one: {call: greet}}, {two: {call: greet}}]}`)],
  [
    "a function with a condition and a timeout",
    using("greet: {if: .name, set: {a: 1}, timeout: {after: PT1S}, then: exit}"),
  ],
])("accepted: %s", (_, part) => expect(problemsOf(part)).toEqual([]));

describe("refused", () => {
  test.each([
    [
      "a name that there is not",
      using(GREET, "[{t: {call: great}}]"),
      "/do/0/t/call",
      'there is no function "great" under use.functions; did you mean "greet"?',
    ],
    [
      "arguments that are no object",
      using(GREET, "[{t: {call: greet, with: [1]}}]"),
      "/do/0/t/with",
      '"with" must be an object, not a list; write the names of arguments with their values',
    ],
    [
      "$secrets in arguments",
      using(GREET, "[{t: {call: greet, with: {name: '${ $secrets.a }'}}}]"),
      "/do/0/t/with/name",
      "$secrets can stand only in the endpoint, headers, query, body and authentication of a call: a credential must not get into data",
    ],
    [
      "a variable of the caller",
      using("greet: {set: {a: '${ $item }'}}", "[{t: {for: {in: .a}, do: [{u: {call: greet}}]}}]"),
      "/use/functions/greet/set/a",
      "$item is not known here; known here: $workflow, $runtime, $context, $task, $input",
    ],
    [
      "a target of then",
      using("greet: {set: {a: 1}, then: t}"),
      "/use/functions/greet/then",
      "a function cannot continue at a task, because it may be called anywhere; write continue, exit or end, or put the tasks under do",
    ],
    [
      "a target of a case",
      using("greet: {switch: [{a: {then: t}}]}"),
      "/use/functions/greet/switch/0/a/then",
      "a function cannot continue at a task, because it may be called anywhere; write continue, exit or end, or put the tasks under do",
    ],
    [
      "two things at once",
      using(GREET, "[{t: {call: greet, set: {a: 1}}}]"),
      "/do/0/t/call",
      'a set task cannot have "call" as well; a task does one thing',
    ],
    [
      "a function that is no task",
      using("greet: {}"),
      "/use/functions/greet",
      '"greet" is empty; write what to do: set or switch or for',
    ],
  ])("%s", (_, part, path, message) => {
    const [[at, said]] = problemsOf(part) as [[string, string]];
    expect(at).toBe(path);
    expect(said).toContain(message.replace(": set or switch or for", ""));
  });

  test.each(["http", "openapi", "asyncapi", "grpc", "mcp", "a2a"])("the name %s", (name) => {
    expect(problemsOf(using(`${name}: {set: {a: 1}}`, "[{t: {set: {a: 1}}}]"))).toEqual([
      [`/use/functions/${name}`, expect.stringContaining("that are not a call of the language")],
    ]);
  });

  test("a function that calls itself, at once or by way of others, at the call that closes the circle", () => {
    expect(problemsOf(using("greet: {do: [{a: {call: greet}}]}"))).toEqual([
      [
        "/use/functions/greet/do/0/a/call",
        "the function greet leads back to itself (greet → greet); a function cannot call itself",
      ],
    ]);
    const circle =
      "a: {call: b}, b: {for: {in: .x}, do: [{one: {call: c}}]}, c: {try: [{x: {set: {a: 1}}}], catch: {do: [{y: {call: a}}]}}";
    expect(problemsOf(using(circle, "[{t: {call: b}}]"))).toEqual([
      [
        "/use/functions/c/catch/do/0/y/call",
        "the function a leads back to itself (a → b → c → a); a function cannot call itself",
      ],
    ]);
  });

  test.each([
    ["itself", "greet: {call: greet}"],
    ["itself by another", "greet: {call: other}, other: {do: [{a: {call: greet}}]}"],
    [
      "a chain of hundreds",
      Array.from({ length: 400 }, (_, at) => `f${at}: {call: f${at + 1}}`).join(", ") + ", f400: {set: {a: 1}}",
    ],
  ])("its data is followed only so deep, if it leads to %s", async (_, functions) => {
    const { workflow } = await inSlices(parseWithPlaces(whole(using(functions, "[{t: {set: {a: 1}}}]"))));
    expect(await inSlices(checkFlow(workflow!))).toEqual([]);
  });

  test("tasks that are nested too deeply by calls, at the call", () => {
    const chain = (length: number): string =>
      Array.from({ length }, (_, at) => `f${at}: ${at + 1 === length ? "{set: {a: 1}}" : `{call: f${at + 1}}`}`).join(
        ", ",
      );
    expect(problemsOf(using(chain(LIMITS.definitionNesting - 1), "[{t: {call: f0}}]"))).toEqual([]);
    expect(problemsOf(using(chain(LIMITS.definitionNesting), "[{t: {call: f0}}]"))).toEqual([
      [
        "/do/0/t/call",
        expect.stringContaining("with the function f0, tasks are nested 17 levels deep here, and at most 16"),
      ],
    ]);
    const [first, ...others] = problemsOf(using(chain(60), "[{t: {call: f0}}]"));
    expect([first![0], others]).toEqual(["/use/functions/f43/call", []]);
    expect(problemsOf(using("deep: {do: [{a: {do: [{b: {set: {a: 1}}}]}}]}", nested(13)))).toEqual([]);
    expect(problemsOf(using("deep: {do: [{a: {do: [{b: {set: {a: 1}}}]}}]}", nested(14)))).toHaveLength(1);
  });
});

const nested = (levels: number): string =>
  `${"[{d: {do: ".repeat(levels - 1)}[{x: {call: deep}}]${"}}]".repeat(levels - 1)}`;

describe("the data of a call", () => {
  const flow = async (part: string): Promise<string[]> => {
    const { workflow, problems } = parseDefinition(whole(part));
    expect(problems).toEqual([]);
    return (await inSlices(checkFlow(workflow!))).map(({ path, message }) => `/${path.join("/")}: ${message}`);
  };

  test("a field that the call does not give is told at its place in the function, with the place of the call", async () => {
    expect(await flow(using(GREET, "[{t: {call: greet, with: {nam: Ann}}}]"))).toEqual([
      expect.stringMatching(/^\/use\/functions\/greet\/set\/text: .*name.* \(when \/do\/0\/t calls it\)$/),
    ]);
    expect(await flow(using(GREET, "[{t: {call: greet, with: {name: Ann}}}]"))).toEqual([]);
  });

  test("what the function yields is known after the call", async () => {
    const after = (field: string): Promise<string[]> =>
      flow(using(GREET, `[{t: {call: greet, with: {name: Ann}}}, {u: {set: {a: '\${ .${field} }'}}}]`));
    expect(await after("text")).toEqual([]);
    expect(await after("name")).toHaveLength(1);
  });

  test("the same problem of several calls is told once, and that of a function without calls, too", async () => {
    expect(
      await flow(using(GREET, "[{t: {call: greet, with: {a: 1}}}, {u: {call: greet, with: {a: 1}}}]")),
    ).toHaveLength(1);
    expect(await flow(using("idle: {if: '${ true }', set: {a: 1}}", "[{t: {set: {a: 1}}}]"))).toEqual([
      expect.stringMatching(/^\/use\/functions\/idle\/if: [^(]*$/),
    ]);
  });
});

test("functions that call each other twice at each level are compiled, listed and followed in linear time", async () => {
  const pairs = Array.from({ length: 14 }, (_, at) => {
    const inner = at === 13 ? "set: {a: 1}" : `do: [{one: {call: f${at + 1}}}, {two: {call: f${at + 1}}}]`;
    return `f${at}: {${inner}}`;
  }).slice(6);
  const wide = pairs.map((one) =>
    one.replace(
      /do: \[.*\]/,
      (list) =>
        `do: [${Array.from({ length: 60 }, (_, at) => list.slice(5, -1).replace("one", `o${at}`).replace("two", `t${at}`)).join(", ")}]`,
    ),
  );
  const { workflow, problems } = parseDefinition(whole(using(wide.join(", "), "[{t: {call: f6}}]")));
  expect(problems).toEqual([]);
  const own = [...tasksIn(workflow!)].length;
  expect(plannedTasks(compileWorkflow(workflow!))).toHaveLength(own);
  await inSlices(checkFlow(workflow!));
});
