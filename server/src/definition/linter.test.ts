import { LIMITS } from "../lib/limits.ts";
import { describe, expect, test } from "vitest";
import { problemsOf, problemsOfTask } from "./definitions.fixture.ts";
import { KEYWORDS } from "./tasks/kinds.ts";

const WHAT_TO_DO = `"t" is empty; write what to do: ${KEYWORDS.slice(0, -1).join(", ")} or ${KEYWORDS.at(-1)}`;

describe("tasks", () => {
  test.each([
    ["{sett: {a: 1}}", "/sett", '"sett" is not known; did you mean "set"?'],
    ["{}", "", WHAT_TO_DO],
    ["", "", WHAT_TO_DO],
    ["{set: {a: 1}, call: http}", "/call", 'a set task cannot have "call" as well; a task does one thing'],
    ["{set: hello}", "/set", 'a text alone cannot be set; write a key before it, or one expression such as "${ . }"'],
    ["{set: {}}", "/set", '"set" is empty; write the data to set, or one expression such as "${ . + {done: true} }"'],
    ["{do: []}", "/do", '"do" is empty; write a list of tasks, each as `- name:` with its keys below'],
    [
      "{do: {a: {wait: PT1S}}}",
      "/do",
      '"do" must be a list, not an object; write a list of tasks, each as `- name:` with its keys below',
    ],
    ["{do: [{end: {wait: PT1S}}]}", "/do/0/end", '"end" has a meaning of its own in then; give the task another name'],
    [
      "{do: [{'a/b': {wait: PT1S}}]}",
      "/do/0/a~1b",
      'the name "a/b" does not fit; write 1 to 100 characters, none of them / # ~',
    ],
    ["{wait: PT1S, then: T}", "/then", 'there is no task "T" in this list; did you mean "t"?'],
    [
      "{do: [{a: {wait: PT1S, then: t}}]}",
      "/do/0/a/then",
      'there is no task "t" in this list; known here: a, continue, exit, end',
    ],
    [
      "{switch: [{a: {when: .x, then: b}}]}",
      "/switch/0/a/then",
      'there is no task "b" in this list; known here: t, continue, exit, end',
    ],
    [
      "{switch: [{a: {then: end}}, {b: {then: end}}]}",
      "/switch/1/b",
      'only one case may be without when, and "a" is; write a when here',
    ],
    [
      "{switch: [{a: {when: .x, then: end}}, {a: {then: end}}]}",
      "/switch/1/a",
      'there is another case "a" in this switch; give each its own name',
    ],
    ["{switch: []}", "/switch", '"switch" is empty; write at least one case'],
    ["{for: {in: .a}}", "/do", '"do" is missing in a for task'],
    [
      "{for: {in: [1, 2]}, do: [{a: {wait: PT1S}}]}",
      "/for/in",
      '"in" must be text, not a list; write an expression in quotes, such as "${ .total > 100 }"',
    ],
    [
      "{for: {each: input, in: .a}, do: [{a: {wait: PT1S}}]}",
      "/for/each",
      "$input already exists; choose another name",
    ],
    ["{for: {in: .a, at: item}, do: [{a: {wait: PT1S}}]}", "/for/at", '"each" and "at" have the same name; choose two'],
    [
      "{for: {each: x, in: .a, at: x}, do: [{a: {wait: PT1S}}]}",
      "/for/at",
      '"each" and "at" have the same name; choose two',
    ],
    [
      "{for: {each: a-b, in: .a}, do: [{a: {wait: PT1S}}]}",
      "/for/each",
      '"each" does not fit; write a name of 1 to 63 letters, digits and underscores',
    ],
    ["{try: [{a: {wait: PT1S}}]}", "/catch", '"catch" is missing in a try task'],
    ["{raise: {error: late}}", "/raise/error", 'there is no error "late" under use.errors'],
    [
      "{raise: {error: {type: timeout, status: 408}}}",
      "/raise/error/type",
      "the type of an error is a URI; write https://serverlessworkflow.io/spec/1.0.0/errors/timeout",
    ],
    [
      "{raise: {error: {type: 'a:b', status: '408'}}}",
      "/raise/error/status",
      '"status" must be a whole number, not text; write a number such as 500',
    ],
    ["{wait: PT1S, timeout: short}", "/timeout", 'there is no timeout "short" under use.timeouts'],
  ])("%s", (task, path, message) => expect(problemsOfTask(task)).toContainEqual([path, message]));

  test("sixteen lists of tasks may stand in each other, not seventeen", () => {
    const nested = (levels: number): string =>
      levels === 1 ? "[{x: {wait: PT1S}}]" : `[{d: {do: ${nested(levels - 1)}}}]`;
    expect(problemsOf(`do: ${nested(16)}`)).toEqual([]);
    expect(problemsOf(`do: ${nested(17)}`).map(([, message]) => message)).toEqual([
      "tasks are nested deeper than 16 levels; move the inner ones to another agent",
    ]);
  });
});

describe("durations and retries", () => {
  const ofRetry = (retry: string): [string, string][] =>
    problemsOfTask(`{try: [{a: {wait: PT1S}}], catch: {retry: ${retry}}}`);
  test.each([
    ["PT1Q", '"PT1Q" is not a duration; write PT1M30S for a minute and a half'],
    ["P", '"P" is not a duration; write PT1M30S for a minute and a half'],
    ["P1Y", "years and months have no fixed length; write days, such as P30D"],
    ["P31D", "this is longer than 30 days, the longest a run may take"],
    ["{days: 31}", "this is longer than 30 days, the longest a run may take"],
    ["{}", '"wait" is empty; write at least one of them, such as {minutes: 1, seconds: 30}'],
    [
      "5",
      '"wait" must be text or an object, not a number; write a duration such as PT1M30S, or an object such as {minutes: 1, seconds: 30}',
    ],
  ])("wait: %s", (wait, message) => expect(problemsOfTask(`{wait: ${wait}}`)).toEqual([["/wait", message]]));

  test.each([
    ["{seconds: -1}", "/wait/seconds", '"seconds" must be at least 0; write a whole number from 0'],
    ["{seconds: 1.5}", "/wait/seconds", '"seconds" must be a whole number; write a whole number from 0'],
    ["{second: 1}", "/wait/second", '"second" is not known in a duration; did you mean "seconds"?'],
  ])("wait: %s", (wait, path, message) => expect(problemsOfTask(`{wait: ${wait}}`)).toEqual([[path, message]]));

  test.each([
    ["{}", "", "this would retry forever without a pause; write a delay, or limit: {attempt: {count: 5}}"],
    [
      "{delay: PT0S, backoff: {exponential: {}}}",
      "",
      "this would retry forever without a pause; write a delay, or limit: {attempt: {count: 5}}",
    ],
    [
      "{limit: {attempt: {count: 0}}}",
      "/limit/attempt/count",
      '"count" must be at least 1; write a whole number from 1 to 1000',
    ],
    [
      "{jitter: {from: PT0S, to: PT0S}, backoff: {linear: {increment: PT0S}}}",
      "",
      "this would retry forever without a pause; write a delay, or limit: {attempt: {count: 5}}",
    ],
    [
      "{delay: PT1S, limit: {attempt: {duration: PT0S}}}",
      "/limit/attempt/duration",
      "a limit must be longer than zero",
    ],
    [
      "{delay: PT1S, limit: {attempt: {count: 1001}}}",
      "/limit/attempt/count",
      '"count" must be at most 1000; write a whole number from 1 to 1000',
    ],
    ["{delay: PT1S, jitter: {from: PT1S}}", "/jitter/to", '"to" is missing in jitter'],
    [
      "{delay: PT1S, backoff: {constant: {delay: PT1S}}}",
      "/backoff/constant/delay",
      '"delay" is not known in constant; it has no keys',
    ],
    [
      "{delay: PT1S, backoff: {linear: {factor: 2}}}",
      "/backoff/linear/factor",
      '"factor" is not known in linear; known here: increment',
    ],
    [
      "{delay: PT1S, backoff: {exponential: {factor: 0.5}}}",
      "/backoff/exponential/factor",
      '"factor" must be at least 1; write a number from 1 to 100',
    ],
    [
      "{delay: PT1S, jitter: {from: PT2S, to: PT1S}}",
      "/jitter/from",
      '"from" is longer than "to"; write the shorter one first',
    ],
    [
      "{delay: PT1S, backoff: {fast: {}}}",
      "/backoff",
      '"backoff" does not say enough; write exactly one of constant, linear, exponential',
    ],
    [
      "{delay: PT1S, backoff: {linear: {}, constant: {}}}",
      "/backoff",
      '"backoff" has more than one key; write exactly one of constant, linear, exponential',
    ],
    [
      "{delay: PT9S, backoff: {exponential: {maxDelay: PT1S}}}",
      "/backoff/exponential/maxDelay",
      '"maxDelay" is shorter than "delay"',
    ],
    ["fast", "", 'there is no retry policy "fast" under use.retries'],
  ])("retry: %s", (retry, path, message) => expect(ofRetry(retry)).toEqual([[`/catch/retry${path}`, message]]));

  test.each([
    "{delay: PT1S}",
    "{limit: {attempt: {count: 3}}}",
    "{limit: {duration: PT1M}}",
    "{delay: '${ .pause }'}",
    "{jitter: {from: PT0S, to: PT1S}}",
    "{backoff: {linear: {increment: PT1S}}}",
  ])("retry: %s has an end or a pause", (retry) => expect(ofRetry(retry)).toEqual([]));

  test.each([
    "{delay: PT1S, backoff: {constant: {}}}",
    "{delay: PT1S, backoff: {linear: {}}}",
    "{delay: {seconds: 1}, backoff: {linear: {increment: {milliseconds: 500}}}}",
    "{delay: PT1S, backoff: {exponential: {}}}",
    "{delay: PT1S, backoff: {exponential: {factor: 1.5, maxDelay: PT1M}}}",
    "{delay: PT1S, jitter: {from: PT0.1S, to: '${ .most }'}}",
    "{limit: {attempt: {count: 1000, duration: PT1M}, duration: P1D}}",
    "{delay: PT1S, when: $error.status >= 500, exceptWhen: .status == 501}",
    "usual",
  ])("retry: %s is the standard's", (retry) => {
    expect(
      problemsOf(
        `use: {retries: {usual: {delay: PT1S, backoff: {linear: {}}}}}\ndo:\n  - t: {try: [{a: {wait: PT1S}}], catch: {retry: ${retry}}}\n`,
      ),
    ).toEqual([]);
  });

  test("thirty days are not too long", () => {
    expect(problemsOfTask("{wait: P30D, timeout: {after: {days: 30}}}")).toEqual([]);
  });

  test("a timeout of zero is refused, also under use", () => {
    expect(problemsOfTask("{wait: PT1S, timeout: {after: PT0S}}")).toEqual([
      ["/timeout/after", "a timeout must be longer than zero"],
    ]);
    expect(problemsOf("use: {timeouts: {none: {after: {seconds: 0}}}}")).toEqual([
      ["/use/timeouts/none/after", "a timeout must be longer than zero"],
    ]);
  });
});

describe("call: http", () => {
  const ofHttp = (values: string): [string, string][] =>
    problemsOfTask(`{call: http, with: {method: GET, ${values}}}`).map(([path, message]) => [
      path.replace("/with", ""),
      message,
    ]);
  test.each([
    ["endpoint: example.com", "/endpoint", "the endpoint must begin with https:// or http://"],
    ["endpoint: 'ftp://example.com'", "/endpoint", "the endpoint must begin with https:// or http://"],
    ["endpoint: 'https://'", "/endpoint", "this is not a URL; write one such as https://example.com/orders/{id}"],
    [
      "endpoint: 'https://example.com/{a b}'",
      "/endpoint",
      "this is not a URL; write one such as https://example.com/orders/{id}",
    ],
    [
      "endpoint: 'https://example.com/a/%2e./{b}'",
      "/endpoint",
      "the path must not have the segment . or .., which leads elsewhere; write the path that is meant",
    ],
    [
      "endpoint: 'https://user:word@example.com/'",
      "/endpoint",
      "a URL must not hold a password; write it under endpoint.authentication",
    ],
    [
      "endpoint: {uri: 'https://example.com', authentication: {use: main}}",
      "/endpoint/authentication/use",
      'there is no authentication "main" under use.authentications',
    ],
    [
      "endpoint: {uri: 'https://example.com', authentication: {basic: {username: a}}}",
      "/endpoint/authentication/basic/password",
      '"password" is missing in basic',
    ],
    [
      "endpoint: {uri: 'https://example.com', authentication: {berer: {}}}",
      "/endpoint/authentication/berer",
      '"berer" is not known; did you mean "bearer"?',
    ],
    [
      "endpoint: 'https://example.com', headers: {'a b': c}",
      "/headers/a b",
      "this is not the name of a header; write letters, digits and hyphens",
    ],
    [
      "endpoint: 'https://example.com', headers: {Host: c}",
      "/headers/Host",
      "the header Host is set by the call itself; leave it out",
    ],
    [
      'endpoint: "https://example.com", headers: {a: "b\\r\\nc: d"}',
      "/headers/a",
      "the value of a header must be on one line",
    ],
    [
      "endpoint: 'https://example.com', headers: {a: 1}",
      "/headers/a",
      '"a" must be text, not a number; write a text in quotes or an expression',
    ],
    [
      "endpoint: 'https://example.com', query: text",
      "/query",
      "write names with texts here, or one expression that yields them",
    ],
    ["endpoint: 'https://example.com', output: body", "/output", '"output" must be one of content, response, raw'],
  ])("%s", (values, path, message) => expect(ofHttp(values)).toEqual([[path, message]]));

  test("a mixed text is refused with what to write instead", () => {
    expect(ofHttp("endpoint: 'https://example.com/${ .id }'")[0]![1]).toContain(
      "write {name} for a value of the input",
    );
  });
});

describe("expressions", () => {
  test.each([
    ["{if: '${ }', wait: PT1S}", "/if", "the expression is empty"],
    ["{if: '.a == ${ .b }', wait: PT1S}", "/if", "${ } goes around a whole expression, once; remove the inner one"],
    ["{set: {a: '${ .a }-${ .b }'}}", "/set/a", "${ } goes around a whole expression, once; remove the inner one"],
    [
      "{set: {a: [{b: 'x ${ .a }'}]}}",
      "/set/a/0/b",
      'text and ${ } are mixed; write one expression, such as ${ "Hello \\(.name)" }',
    ],
    ["{set: {a: '${ $contxt.a }'}}", "/set/a", '$contxt is not known here; did you mean "$context"?'],
    [
      "{set: {a: '${ $output }'}}",
      "/set/a",
      "$output is not known here; known here: $workflow, $runtime, $context, $task, $input",
    ],
    [
      "{set: {a: 1}, input: {from: '$input'}}",
      "/input/from",
      "$input is not known here; known here: $workflow, $runtime, $context, $task",
    ],
    [
      "{set: {a: '${ $secrets.key }'}}",
      "/set/a",
      "$secrets can stand only in the endpoint, headers, query, body and authentication of a call: a credential must not get into data",
    ],
    ["{set: {a: '${ $authorization }'}}", "/set/a", "$authorization is not given: a credential must not get into data"],
    [
      "{try: [{a: {if: $error, wait: PT1S}}], catch: {}}",
      "/try/0/a/if",
      "$error is not known here; known here: $workflow, $runtime, $context, $task, $input",
    ],
    [
      "{for: {in: $item}, do: [{a: {wait: PT1S}}]}",
      "/for/in",
      "$item is not known here; known here: $workflow, $runtime, $context, $task, $input",
    ],
    ['{wait: "${\\n.a }"}', "/wait", "an expression here must be on one line; fold it with `>-`"],
  ])("%s", (task, path, message) => expect(problemsOfTask(task)).toEqual([[path, message]]));

  test("a syntax mistake is reported at once, in jq's words", () => {
    const [[path, message]] = problemsOfTask("{set: {a: '${ .a + }'}}") as [[string, string]];
    expect(path).toBe("/set/a");
    expect(message).toMatch(/^the expression does not compile: syntax error/);
  });

  test("variables of loops and catches are known inside, and outer ones in inner lists", () => {
    const task = `
      for: {each: a, in: .x, at: i}
      while: $a != $i
      do:
        - inner:
            try: [{x: {set: {a: '\${ [$a, $i, $task.attempt] }'}, export: {as: '\${ $output }'}}}]
            catch: {as: e, when: $e.status == $i, do: [{y: {set: {a: '\${ [$a, $e] }'}}}]}`;
    expect(problemsOfTask(task)).toEqual([]);
    expect(problemsOfTask(task.replace("{as: e, when", "{as: f, when")).map(([path]) => path)).toEqual([
      "/do/0/inner/catch/when",
      "/do/0/inner/catch/do/0/y/set/a",
    ]);
  });

  test("a loop in what a catch does", () => {
    const loop = "{for: {each: z, in: .x}, do: [{y: {set: {a: '${ [$z, $error] }'}}}]}";
    expect(problemsOfTask(`{try: [{x: {wait: PT1S}}], catch: {do: [{loop: ${loop}}]}}`)).toEqual([]);
  });

  test("variables that jq binds itself are not free", () => {
    expect(problemsOfTask("{set: {a: '${ .x as [$a, {b: $c}] | reduce .y[] as $i (0; . + $i + $a + $c) }'}}")).toEqual(
      [],
    );
  });

  test("the workflow's own expressions know less", () => {
    expect(problemsOf("input: {from: '${ $context }'}")).toEqual([
      ["/input/from", "$context is not known here; known here: $workflow, $runtime"],
    ]);
    expect(problemsOf("output: {as: '${ $task }'}")).toEqual([
      ["/output/as", "$task is not known here; known here: $workflow, $runtime, $context"],
    ]);
    expect(problemsOf("output: {as: {a: '${ $context.a }'}}")).toEqual([]);
  });
});

describe("secrets", () => {
  const ofToken = (token: string): [string, string][] =>
    problemsOf(
      `use: {secrets: [key, my-key]}\ndo: [{t: {call: http, with: {method: get, endpoint: {uri: 'https://example.com', authentication: {bearer: {token: '\${ ${token} }'}}}}}}]`,
    );
  test.each(["$secrets.key", '$secrets["my-key"]', '"a\\($secrets.key)b"', ". as $secrets | $secrets"])(
    "%s can be used",
    (token) => expect(ofToken(token)).toEqual([]),
  );
  test.each([
    ["$secrets.other", 'the secret "other" is not listed under use.secrets; known here: key, my-key'],
    ["$secrets.kye", 'the secret "kye" is not listed under use.secrets; did you mean "key"?'],
    ["$secrets[.name]", 'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]'],
    ["$secrets | keys[0]", 'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]'],
    ["$secrets | .key", 'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]'],
    ["$secrets as $s | $s.key", 'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]'],
  ])("%s is refused", (token, message) =>
    expect(ofToken(token)).toEqual([["/do/0/t/with/endpoint/authentication/bearer/token", message]]),
  );

  const CALL = "call: http, with: {method: post, endpoint: 'https://example.com'";
  const TOOL = "call: 'assistant:1.0.0@default', with: {prompt: a, tools: [";
  test.each([
    `${CALL}, headers: {a: '\${ $secrets.key }'}}`,
    `${CALL}, headers: '\${ {a: $secrets.key} }'}`,
    `${CALL}, query: {a: '\${ $secrets.key | @base64 }'}}`,
    `${CALL}, body: {a: [{b: '\${ "x\\($secrets.key)" }'}]}}`,
    "call: http, with: {method: get, endpoint: '${ $secrets.key }'}",
    "call: http, with: {method: get, endpoint: {uri: '${ $secrets.key }'}}",
    "call: mcp, with: {method: tools/list, transport: {http: {endpoint: '${ $secrets.key }', headers: {a: '${ $secrets.key }'}}}}",
    `${TOOL}{mcp: {endpoint: '\${ $secrets.key }', headers: {a: '\${ $secrets.key }'}, allow: [a]}}]}`,
    `${TOOL}{http: {name: a, description: a, parameters: {type: object}, call: {method: post, endpoint: '\${ $secrets.key }', headers: {a: '\${ $secrets.key }'}, query: {a: '\${ $secrets.key }'}, body: '\${ [$arguments, $secrets.key] }'}}}]}`,
  ])("a part of a call can have one: %s", (task) =>
    expect(problemsOf(`use: {secrets: [key]}\ndo: [{t: {${task}}}]`)).toEqual([]),
  );

  test("a function can have one in its own calls, and none among its arguments", () => {
    const definition = (given: string): string =>
      `use: {secrets: [key], functions: {f: {${CALL}, headers: {a: '\${ $secrets.key }'}}}}}\ndo: [{t: {call: f${given}}}]`;
    expect(problemsOf(definition(""))).toEqual([]);
    expect(problemsOf(definition(", with: {a: '${ $secrets.key }'}"))).toEqual([["/do/0/t/with/a", ELSEWHERE]]);
  });

  const ELSEWHERE =
    "$secrets can stand only in the endpoint, headers, query, body and authentication of a call: a credential must not get into data";
  test.each([
    ["{set: {a: '${ $secrets.key }'}}", "/set/a"],
    ["{if: $secrets.key, wait: PT1S}", "/if"],
    [`{${CALL}}, input: {from: '\${ $secrets.key }'}}`, "/input/from"],
    [`{${CALL}}, output: {as: '\${ $secrets.key }'}}`, "/output/as"],
    [`{${CALL}}, export: {as: '\${ $secrets.key }'}}`, "/export/as"],
    [`{${CALL}}, timeout: {after: '\${ $secrets.key }'}}`, "/timeout/after"],
    ["{raise: {error: {type: 'https://e/timeout', status: 400, title: '${ $secrets.key }'}}}", "/raise/error/title"],
    [
      "{run: {workflow: {namespace: a, name: b, version: latest, input: {a: '${ $secrets.key }'}}}}",
      "/run/workflow/input/a",
    ],
    ["{call: 'approval:1.0.0@default', with: {question: '${ $secrets.key }'}}", "/with/question"],
    ["{call: 'llm:1.0.0@default', with: {prompt: '${ $secrets.key }'}}", "/with/prompt"],
    [`{${TOOL}]}}`.replace("prompt: a", "prompt: '${ $secrets.key }'"), "/with/prompt"],
    [
      "{call: mcp, with: {method: tools/call, parameters: {name: '${ $secrets.key }'}, transport: {http: {endpoint: 'https://example.com'}}}}",
      "/with/parameters/name",
    ],
    [
      "{call: mcp, with: {method: tools/list, transport: {stdio: {command: a, arguments: ['${ $secrets.key }']}}}}",
      "/with/transport/stdio/arguments/0",
    ],
  ])("nothing else can have one: %s", (task, path) =>
    expect(problemsOf(`use: {secrets: [key]}\ndo: [{t: ${task}}]`)).toEqual([[`/do/0/t${path}`, ELSEWHERE]]),
  );

  test("what a part of a call names is fixed and listed, as in authentication", () => {
    const ofHeader = (expression: string): string[] =>
      problemsOf(`use: {secrets: [key]}\ndo: [{t: {${CALL}, headers: {a: '\${ ${expression} }'}}}}]`).map(
        ([, text]) => text,
      );
    expect(ofHeader("$secrets.kye")).toEqual(['the secret "kye" is not listed under use.secrets; did you mean "key"?']);
    for (const computed of ["$secrets[.a]", "$secrets | .key", '$secrets["ke" + "y"]', "[$secrets[]]"])
      expect(ofHeader(computed), computed).toEqual([
        'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]',
      ]);
  });

  test("expressions that alter secrets are limited; those that pass them on are not", () => {
    const calls = (count: number, expression: string): string[] =>
      problemsOf(
        `use: {secrets: [key]}\ndo: [{t: {${CALL}, body: [${Array.from({ length: count }, () => `'\${ ${expression} }'`).join(", ")}]}}}]`,
      ).map(([path, message]) => `${path} ${message}`);
    expect(calls(LIMITS.secretExpressions, "$secrets.key | @base64")).toEqual([]);
    expect(calls(LIMITS.secretExpressions + 2, "$secrets.key | @base64")).toEqual([
      `/do/0/t/with/body/${LIMITS.secretExpressions} at most ${LIMITS.secretExpressions} expressions of a definition may do more with a secret than pass it on; write $secrets.NAME alone, or within a text`,
    ]);
    expect(calls(3 * LIMITS.secretExpressions, '"a\\($secrets.key)"')).toEqual([]);
  });

  test("a policy of another kind under use is refused", () => {
    expect(problemsOf("use: {secrets: [key], retries: {a: {when: '$secrets.key == 1', delay: PT1S}}}")).toEqual([
      ["/use/retries/a/when", ELSEWHERE],
    ]);
  });

  test("a definition names 20, each once", () => {
    const list = (count: number): string => Array.from({ length: count }, (_, index) => `s${index}`).join(", ");
    expect(problemsOf(`use: {secrets: [${list(20)}]}`)).toEqual([]);
    const message = "write a list of at most 20 names of secrets, each once";
    for (const names of [list(21), "a, a"])
      expect(problemsOf(`use: {secrets: [${names}]}`)).toEqual([["/use/secrets", expect.stringContaining(message)]]);
  });
});
