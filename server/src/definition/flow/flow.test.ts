/** Names of data that cannot be there, and expressions that hardly anybody means; said when a definition is checked. */
import { describe, expect, test } from "vitest";
import { DEFINITIONS } from "../../../../test/agents.ts";
import { sandboxDefinitions } from "../../cli/commands/sandbox-agents.ts";
import { checkDefinition } from "../check-definition.ts";
import { documented, EVERYTHING, examples, whole } from "../definitions.fixture.ts";

const FORM =
  "input: {schema: {document: {type: object, properties: {orderId: {type: string}, amount: {type: number}}}}}\n";
const checked = (part: string) => checkDefinition(whole(part), async () => undefined);
const told = async (part: string): Promise<string[]> => {
  const { problems, warnings } = await checked(part);
  return [...problems, ...warnings].map(({ severity, path, message }) => `${severity} ${path} ${message}`);
};
const afterForm = (...tasks: string[]): string => `${FORM}do:\n${tasks.map((task) => `  - ${task}\n`).join("")}`;
const call = (endpoint: string): string => `send: {call: http, with: {method: delete, endpoint: ${endpoint}}}`;
const set = (value: string): string => `s: {set: ${value}}`;

describe("a name without a value is an error", () => {
  test.each([
    [
      [call("'https://x/orders/{orderID}'")],
      '/do/0/send/with/endpoint {orderID} is not known here; did you mean "orderId"?',
    ],
    [
      [call("{uri: 'https://x/{customer}'}")],
      "/do/0/send/with/endpoint/uri {customer} is not known here; known here: orderId, amount",
    ],
    [
      [call("'${ \"https://x/\\(.orderID)\" }'")],
      '/do/0/send/with/endpoint .orderID is not known here; did you mean "orderId"?',
    ],
    [
      [set("{a: [{b: '${ $input.orderID }'}]}")],
      '/do/0/s/set/a/0/b $input.orderID is not known here; did you mean "orderId"?',
    ],
    [
      [set("{a: '${ $workflow.input.orderID }'}")],
      '/do/0/s/set/a $workflow.input.orderID is not known here; did you mean "orderId"?',
    ],
    [
      [set("{a: '${ $workflow.name }'}")],
      "/do/0/s/set/a $workflow.name is not known here; known here: id, definition, input, startedAt",
    ],
    [
      [set("{a: '${ $runtime.now.iso }'}")],
      "/do/0/s/set/a $runtime.now.iso is not known here; known here: iso8601, epoch",
    ],
    [[set("'${ {orderID} }'")], '/do/0/s/set .orderID is not known here; did you mean "orderId"?'],
    [["w: {if: .orderID, wait: PT1S}"], '/do/0/w/if .orderID is not known here; did you mean "orderId"?'],
    [["w: {wait: '${ .pause }'}"], "/do/0/w/wait .pause is not known here; known here: orderId, amount"],
    [
      ["w: {switch: [{a: {when: .amunt > 1, then: end}}]}"],
      '/do/0/w/switch/0/a/when .amunt is not known here; did you mean "amount"?',
    ],
    [
      ["w: {for: {in: .orderIds}, do: [{a: {wait: PT0S}}]}"],
      '/do/0/w/for/in .orderIds is not known here; did you mean "orderId"?',
    ],
    [
      ["w: {run: {workflow: {namespace: a, name: b, version: latest, input: {c: '${ .orderID }'}}}}"],
      '/do/0/w/run/workflow/input/c .orderID is not known here; did you mean "orderId"?',
    ],
    [
      ["w: {raise: {error: {type: 'https://x/y', status: 400, detail: '${ .why }'}}}"],
      "/do/0/w/raise/error/detail .why is not known here; known here: orderId, amount",
    ],
    // Yielded by a task before it.
    [
      [set("{total: 1}"), call("'https://x/{orderId}'")],
      "/do/1/send/with/endpoint {orderId} is not known here; known here: total",
    ],
    [
      [set("'${ . + {total: 1} }'"), "t: {set: {a: '${ .totl }'}}"],
      '/do/1/t/set/a .totl is not known here; did you mean "total"?',
    ],
    [[set("{a: {b: 1}}"), "t: {set: {a: '${ .a.c }'}}"], "/do/1/t/set/a .a.c is not known here; known here: b"],
    [
      ["s: {wait: PT1S, output: {as: {total: 1}}}", "t: {set: {a: '${ .amount }'}}"],
      "/do/1/t/set/a .amount is not known here; known here: total",
    ],
    [
      ["s: {input: {from: {id: '${ .orderId }'}}, set: {a: '${ .orderId }'}}"],
      "/do/0/s/set/a .orderId is not known here; known here: id",
    ],
    [
      ["s: {switch: [{a: {when: .amount, then: u}}]}", "t: {set: {a: 1}, then: end}", "u: {set: {b: '${ .a }'}}"],
      "/do/2/u/set/b .a is not known here; known here: orderId, amount",
    ],
    [
      ["s: {do: [{a: {set: {b: 1}}}]}", "t: {set: {c: '${ .a }'}}"],
      "/do/1/t/set/c .a is not known here; known here: b",
    ],
    [
      [
        "s: {try: [{a: {set: {b: 1}}}], catch: {as: e, when: $e.code, do: [{c: {set: {d: 1}}}]}}",
        "t: {set: {c: '${ .a }'}}",
      ],
      "/do/0/s/catch/when $e.code is not known here; known here: type, status, title, detail, instance, response",
      "/do/1/t/set/c .a is not known here; known here: b, d",
    ],
    [
      [
        "s: {call: 'approval:1.0.0@default', with: {question: Q, form: {type: object, properties: {note: {type: string}}}}}",
        "t: {set: {c: '${ .answer.note }', d: '${ .answr }'}}",
      ],
      '/do/1/t/set/d .answr is not known here; did you mean "answer"?',
    ],
    [
      [
        "s: {call: http, with: {method: get, endpoint: 'https://x', output: response}}",
        "t: {set: {c: '${ .content.a }', d: '${ .status }'}}",
      ],
      "/do/1/t/set/d .status is not known here; known here: request, statusCode, headers, content",
    ],
    [
      [
        "s: {run: {workflow: {namespace: a, name: b, version: latest}, await: false}}",
        "t: {set: {c: '${ .b }', d: '${ .amount }'}}",
      ],
      "/do/1/t/set/c .b is not known here; known here: orderId, amount",
    ],
    // Exported.
    [[set("{a: '${ $context.total }'}")], "/do/0/s/set/a $context.total is not known here"],
    [
      ["s: {set: {a: 1}, export: {as: '${ ($context // {}) + {total: .a} }'}}", "t: {set: {c: '${ $context.totl }'}}"],
      '/do/1/t/set/c $context.totl is not known here; did you mean "total"?',
    ],
  ] as [string[], ...string[]][])("%j", async (tasks, ...messages) =>
    expect(await told(afterForm(...tasks))).toEqual(messages.map((message) => `error ${message}`)),
  );

  test("the workflow's own input and output, too", async () => {
    expect(
      await told(
        `${FORM.replace(/}\n$/, ", from: '${ {id: .orderID} }'}\n")}do: [{a: {set: {b: '\${ .orderId }'}}}]\noutput: {as: .c}`,
      ),
    ).toEqual([
      'error /input/from .orderID is not known here; did you mean "orderId"?',
      "error /do/0/a/set/b .orderId is not known here; known here: id",
      "error /output/as .c is not known here; known here: b",
    ]);
  });
});

describe("what is not known for certain is not said", () => {
  test.each([
    ["no form", "do: [{s: {set: {a: '${ .b.c }'}}}, {t: {set: {a: '${ .a.b }'}}}]"],
    ["a name that may be missing", afterForm(set("{a: '${ .b // 1 }', c: '${ .b? }', d: '${ try .b }'}"))],
    ["an optional field", afterForm("s: {if: .amount, set: {b: 1}}", "t: {set: {c: '${ .b }', d: '${ .orderId }'}}")],
    ["an answer", afterForm(call("'https://x/{orderId}'"), "t: {set: {a: '${ .b }'}}")],
    ["what a function is given", afterForm(set("'${ [.orderId | ltrimstr(\"a\")] | map(.b) | map(select(.c)) }'"))],
    [
      "what a loop brings back",
      afterForm(
        "s: {set: '${ {n: ((.n // 0) + 1)} }'}",
        "t: {if: .n < 3, set: '${ . }', then: s}",
        "u: {set: {a: '${ .n }'}}",
      ),
    ],
    [
      "what a task brings back to itself",
      afterForm("s: {set: {n: 1}}", "t: {if: .n < 3, set: '${ {n: (.n + 1), seen: .seen} }', then: t}"),
    ],
    ["an item", afterForm("s: {for: {each: x, in: .orderId}, do: [{a: {set: {b: '${ $x.c + .d }'}}}]}")],
    ["a new field", afterForm(set("'${ .b = 1 | .b }'"))],
    [
      "a variable of jq",
      afterForm(set("{a: '${ .orderId as $o | $o.b | {c: .d} }', b: '${ reduce .orderId[] as $x (0; . + $x.y) }'}")),
    ],
    [
      "a branch",
      afterForm("s: {fork: {branches: [{a: {set: {b: 1}}}, {c: {wait: PT0S}}]}}", "t: {set: {d: '${ .[0].b }'}}"),
    ],
    [
      "a context that may be anything",
      afterForm("s: {set: {a: 1}, export: {as: '${ $context.b + . }'}}", "t: {set: {c: '${ $context.d }'}}"),
    ],
    [
      "a context in the context",
      afterForm(
        "s: {set: {a: 1}, export: {as: {before: '${ $context }'}}}",
        "t: {set: {a: 1}, export: {as: {x: '${ $context }'}}}",
        "u: {set: {c: '${ $context.x.before.x }'}}",
      ),
    ],
    [
      "the form of an approval's answer that is not there",
      afterForm("s: {call: 'approval:1.0.0@default', with: {question: Q}}", "t: {set: {c: '${ .answer.b }'}}"),
    ],
    [
      "what comes after `then: end`",
      afterForm("s: {switch: [{a: {when: .amount, then: end}}]}", "t: {set: {b: 1}}").concat(
        "output: {as: {c: '${ .b }', d: '${ .amount }'}}",
      ),
    ],
    [
      "what comes after `then: end` in an inner list",
      afterForm(
        "d: {do: [{a: {if: .amount, set: {x: 1}, then: end}}, {b: {set: {y: 1}}}], output: {as: {z: '${ [.x, .y] }'}}}",
        "f: {fork: {branches: [{a: {wait: PT0S, then: end}}, {b: {wait: PT0S}}]}, output: {as: {v: '${ .[0] }'}}}",
        "t: {set: {w: 1}}",
      ).concat("output: {as: {z: '${ .z }', v: '${ .v }', w: '${ .w }'}}"),
    ],
    [
      "a try that lets its input through",
      afterForm("s: {try: [{a: {set: {b: 1}}}], catch: {}}", "t: {set: {c: '${ .amount }', d: '${ .b }'}}"),
    ],
    [
      "the output of another run",
      afterForm("s: {run: {workflow: {namespace: a, name: b, version: latest}}}", "t: {set: {c: '${ .b }'}}"),
    ],
    [
      "a task that no case leads to",
      afterForm(
        "s: {switch: [{a: {when: .amount, then: u}}, {b: {then: u}}]}",
        "t: {set: {c: '${ .b }'}}",
        "u: {set: {d: 1}}",
      ),
    ],
    [
      "a task that cannot be reached",
      afterForm("s: {raise: {error: {type: 'https://x/y', status: 400}}}", "t: {set: {c: '${ .b }'}}"),
    ],
  ])("%s", async (_, part) => expect(await told(part)).toEqual([]));

  const suite = Object.entries({ ...DEFINITIONS, ...sandboxDefinitions("test", "http://127.0.0.1:1") });
  test.each([...examples(), ...documented(), ...suite, ["everything", EVERYTHING]])("%s", async (_, text) =>
    expect(await told(text)).toEqual([]),
  );
});

describe("what hardly anybody means is a warning", () => {
  const ASSIGNS = "this assigns a value, which always counts as true; write == to compare";
  const SAME = "this condition refers to no data, so its result is always the same";
  test.each([
    ["s: {if: '${ .amount = 1 }', wait: PT1S}", `/do/0/s/if ${ASSIGNS}`],
    ["s: {if: .amount > 1 and (.amount |= 2), wait: PT1S}", `/do/0/s/if ${ASSIGNS}`],
    ["s: {switch: [{a: {when: .amount = 1, then: end}}]}", `/do/0/s/switch/0/a/when ${ASSIGNS}`],
    ["s: {for: {in: .orderId}, while: $item = 1, do: [{a: {wait: PT0S}}]}", `/do/0/s/while ${ASSIGNS}`],
    ["s: {try: [{a: {wait: PT0S}}], catch: {exceptWhen: .status = 404}}", `/do/0/s/catch/exceptWhen ${ASSIGNS}`],
    ["s: {if: '${ true }', wait: PT1S}", `/do/0/s/if ${SAME}`],
    ["s: {if: '\"amount\" == 1', wait: PT1S}", `/do/0/s/if ${SAME}`],
    ["s: {if: '\".amount\"', wait: PT1S}", `/do/0/s/if ${SAME}`],
    [set("{a: .amount}"), "/do/0/s/set/a this is a text, not an expression; write ${ .amount } for its value"],
    [
      set("{a: $input.amount}"),
      "/do/0/s/set/a this is a text, not an expression; write ${ $input.amount } for its value",
    ],
    [
      "s: {call: http, with: {method: get, endpoint: 'https://x/{orderId}', query: {id: 'a {b} {orderId}'}}}",
      "/do/0/s/with/query/id {orderId} is filled in only in an endpoint; write one expression with .orderId",
    ],
    [
      set("{a: 'Hello {{ amount }}'}"),
      '/do/0/s/set/a {{ }} is not filled in; write one expression, such as ${ "Hello \\(.name)" }',
    ],
    [
      set("{a: 'Pay \\(.amount)'}"),
      '/do/0/s/set/a \\( ) is filled in only within an expression, such as ${ "Hello \\(.name)" }',
    ],
  ])("%s", async (task, message) => {
    const { workflow, problems, warnings } = await checked(afterForm(task));
    expect([workflow !== undefined, problems]).toEqual([true, []]);
    expect(warnings.map(({ severity, path, message: text }) => `${severity} ${path} ${text}`)).toEqual([
      `warning ${message}`,
    ]);
  });

  test.each([
    "s: {if: .amount == 1, wait: PT1S}",
    "s: {if: '[range(3)] | any', wait: PT1S}",
    set("{a: .pdf, b: $5.00, c: '{price}', d: $unknown.x, e: ., f: '${ .amount = 1 }', g: '${ [1, 2] }'}"),
  ])("and this is not: %s", async (task) => expect(await told(afterForm(task))).toEqual([]));
});
