/**
 * The habits of CONTRIBUTING.md that a program can check. Each rule finds places as `path:line`, carries what to do
 * about them, and a sample that it must find.
 */
import type { ESTree } from "vite";
import { MEASURES } from "../measures.ts";
import { at, isTest, literalsOf, walk, type Source } from "./source.ts";

export type Rule = {
  name: string;
  /** The remedy. */
  advice: string;
  find(source: Source): string[];
  /** Where the rule does not hold, from the root. */
  except?: string[];
  bad: string;
};

/** Words of other people's tables of contents: they say nothing about what the code does. */
const EMPTY_NAMES = /^(service|helper|util|common|type|manager)s?$/;

const isCallOf = (node: { callee: { type: string } }, object: string, property: string): boolean => {
  const callee = node.callee as { type: string; object?: { name?: string }; property?: { name?: string } };
  return callee.type === "MemberExpression" && callee.object?.name === object && callee.property?.name === property;
};

/** Most files have none: they need no tree. */
const mayHave = ({ text }: Source, [object, property]: [string, string]): boolean =>
  new RegExp(`\\b${object}[\\s?.[]*${property}\\b`).test(text);

const callsOf =
  (...names: [string, string][]) =>
  (source: Source): string[] => {
    if (!names.some((name) => mayHave(source, name))) return [];
    const found: string[] = [];
    walk(source, {
      CallExpression: (node) =>
        void (
          names.some(([object, property]) => isCallOf(node, object, property)) && found.push(at(source, node.start))
        ),
    });
    return found;
  };

const membersOf =
  (object: string, property: string) =>
  (source: Source): string[] => {
    if (!mayHave(source, [object, property])) return [];
    const found: string[] = [];
    walk(source, {
      MemberExpression: (node) => {
        const { object: of, property: name } = node as { object: { name?: string }; property: { name?: string } };
        if (of.name === object && name.name === property) found.push(at(source, node.start));
      },
    });
    return found;
  };

const literalsLike =
  (pattern: RegExp) =>
  (source: Source): string[] =>
    literalsOf(source)
      .filter(({ text }) => pattern.test(text))
      .map(({ start }) => at(source, start));

const currentDates = (source: Source): string[] => {
  const found: string[] = [];
  walk(source, {
    NewExpression: ({ callee, arguments: given, start }) => {
      if (callee.type === "Identifier" && callee.name === "Date" && given.length === 0) found.push(at(source, start));
    },
  });
  return found;
};

/** Statements at the top of a module that do something when it is imported. A worker is not imported but started. */
const effectsOnImport = (source: Source): string[] =>
  source.path.endsWith("-worker.ts")
    ? []
    : source.program.body
        .filter((node) => node.type === "ExpressionStatement" && node.directive === null)
        .map((node) => at(source, node.start));

const linesLike =
  (pattern: RegExp) =>
  ({ path, text }: Source): string[] =>
    text.split("\n").flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : []));

const ENTRIES = ["server/src/main.ts", "server/src/cli/main.ts", "server/src/graphql/print-schema.ts"];

/** `name in object` also holds for what every object has from its prototype, such as `constructor`. */
const looseIn = (source: Source): string[] => {
  const found: string[] = [];
  walk(source, {
    BinaryExpression: ({ operator, left, start }) => {
      const isOwnSymbol = left.type === "MemberExpression" && textAt(source, left).startsWith("Symbol.");
      if (operator === "in" && left.type !== "Literal" && !isOwnSymbol) found.push(at(source, start));
    },
  });
  return found;
};

/** Comparisons of a `typeof` with this text. */
const typesOf =
  (type: string) =>
  (source: Source): string[] => {
    const found: string[] = [];
    walk(source, {
      BinaryExpression: ({ left, right, start }) => {
        const isTypeof = left.type === "UnaryExpression" && left.operator === "typeof";
        if (isTypeof && right.type === "Literal" && right.value === type) found.push(at(source, start));
      },
    });
    return found;
  };

const textAt = ({ text }: Source, { start, end }: { start: number; end: number }): string => text.slice(start, end);

/** Tables with any text as their key, declared and looked up in one file. One with a closed list of keys TypeScript guards. */
const looseTables = (source: Source): string[] => {
  const tables = new Set<string>();
  walk(source, {
    VariableDeclarator: ({ id, init }) => {
      if (id.type !== "Identifier" || init?.type !== "ObjectExpression" || init.properties.length === 0) return;
      const type = id.typeAnnotation ? textAt(source, id.typeAnnotation) : "";
      if (/^:\s*(Partial<)?Record<string,|^:\s*\{\s*\[\w+: string\]/.test(type)) tables.add(id.name);
    },
  });
  const found: string[] = [];
  walk(source, {
    MemberExpression: ({ object, property, computed, start }) => {
      if (computed && object.type === "Identifier" && tables.has(object.name) && property.type !== "Literal")
        found.push(at(source, start));
    },
  });
  return found;
};

/** `clock.at(…)` of any clock, and `setInterval`. */
const timers = (source: Source): string[] => {
  const found: string[] = [];
  walk(source, {
    CallExpression: ({ callee, start }) => {
      const text = textAt(source, callee);
      if (/(^|[.#])clock\.at$|^setInterval$/i.test(text)) found.push(at(source, start));
    },
  });
  return found;
};

/** Files that set a timer once within a request, a run or a log; `every` is for work that awaits nothing. */
const TIMERS_OF_THEIR_OWN = [
  "server/src/execution/branches.ts",
  "server/src/execution/scope.ts",
  "server/src/fairness/pace.ts",
  "server/src/http/write-pieces.ts",
  "server/src/lib/clock.ts",
  "server/src/lib/log/log-repeats.ts",
  "server/src/lib/loops/loop.ts",
  "server/src/llm/llm.ts",
  "server/src/mail/transport.ts",
  "server/src/main.ts",
  "server/src/outbound/interruption.ts",
  "server/src/runs/unpark-runs.ts",
  "server/src/runs/decide-approval.ts",
  "server/src/runs/watch/wait-for-run.ts",
  "server/src/triggers/firings/map-input.ts",
  "server/src/watchdog/watchdog-worker.ts",
  "server/src/watchdog/watchdog.ts",
];

/** For what runs in the server. */
export const SERVER_RULES: Rule[] = [
  {
    name: "only config.ts reads the environment",
    advice: "add a setting to server/src/config.ts and hand its value in; an entry may pass process.env to it",
    find: membersOf("process", "env"),
    except: ["server/src/config.ts", ...ENTRIES],
    bad: "const quiet = process.env.QUIET;",
  },
  {
    name: "only the entries end the process",
    advice: "throw an OperatorError, or return and dispose of what is open",
    find: callsOf(["process", "exit"], ["process", "abort"]),
    except: ENTRIES,
    bad: "if (broken) process.exit(1);",
  },
  {
    name: "time comes in from outside",
    advice: "take a Clock (lib/clock.ts) and call clock.now()",
    find: (source) => [...callsOf(["Date", "now"])(source), ...currentDates(source)],
    except: ["server/src/lib/clock.ts"],
    bad: "const due = at < Date.now() || at < +new Date();",
  },
  {
    name: "randomness comes in from outside",
    advice: "take a function that answers a number, so that a test can choose it; secrets come from node:crypto",
    find: callsOf(["Math", "random"]),
    bad: "const jitter = Math.random() * 100;",
  },
  {
    name: "JSON is read where its numbers keep their digits",
    advice:
      "parseJson for what comes from outside, parseStored for what we wrote (lib/json/json.ts); read an answer as text first",
    find: (source) => [
      ...callsOf(["JSON", "parse"])(source),
      ...callsOf(["response", "json"], ["answer", "json"])(source),
    ],
    except: [
      "server/src/lib/json/json.ts",
      // Files of ours without numbers from outside, read before or beside the program.
      "server/src/lib/version.ts",
      "server/src/lib/log/log.ts",
      "server/src/postgres/instance-lock.ts",
      "server/src/postgres/binaries.ts",
      "server/src/watchdog/watchdog-worker.ts",
      // Compared with what a package has parsed so.
      "server/src/llm/known-events.ts",
    ],
    bad: "const id = JSON.parse(body).id;",
  },
  {
    name: "JSON values are told apart by what they are in JSON",
    advice: "isObject, isScalar and isNumber (lib/json/json.ts): a number of many digits is an object to typeof",
    find: typesOf("object"),
    except: [
      "server/src/lib/json/json.ts",
      "server/src/lib/json/survey.ts",
      // It is meant there too, or left to others.
      "server/src/lib/json/weigh.ts",
      "server/src/expressions/native/operators.ts",
      "server/src/definition/rules/long-numbers.ts",
      "server/src/graphql/documents/variables.ts",
      // No values: trees, schemas and answers of our own.
      "server/src/auth/tokens/access-token.ts",
      "server/src/cli/server/api.ts",
      "server/src/expressions/native/native.ts",
      "server/src/definition/flow/shape.ts",
      "server/src/definition/schema/schema-walk.ts",
      "server/src/definition/profile/sentences.ts",
    ],
    bad: 'const isPart = (value: Json) => typeof value === "object" && value !== null;',
  },
  {
    name: "what works again and again is a loop, which is watched",
    advice:
      "make it a Loop (lib/loops/loop.ts) and add it to the watch in join-rooms.ts; one wait of a request is `until`",
    find: timers,
    except: TIMERS_OF_THEIR_OWN,
    bad: "const arm = () => this.#clock.at(1, async () => (await look(), arm()));",
  },
  {
    name: "SQL takes the time as a parameter",
    advice: "pass new Date(clock.now()) as a parameter instead of the database's clock",
    find: literalsLike(/\b(now\(\)|current_(timestamp|date|time)\b|(clock|statement|transaction)_timestamp\(\))/i),
    bad: "const text = `update runs set finished_at = now() where id = $1`;",
  },
  {
    name: "only engine/ knows which process executes",
    advice: "ask `executing` of the engine (engine/engine.ts), or write the statement in engine/",
    find: literalsLike(/\b(from|join|update|into)\s+executor\b/i),
    except: ["claims", "election", "suspect"].map((name) => `server/src/engine/${name}.ts`),
    bad: "const text = `select instance_id from executor where instance_id = $1`;",
  },
  {
    name: "node:http is not imported, except for its types",
    advice: "import it from http/node-http.ts: all of node:http costs a start 25 ms of processor time",
    find: linesLike(/^(?!import type ).*\bfrom "(?:node:)?http"/),
    bad: 'import { createServer, type Server } from "node:http";',
  },
  {
    name: "nothing happens on import",
    advice: "put it into a function that app.ts or an entry calls",
    find: effectsOnImport,
    except: ENTRIES,
    bad: 'registry.add("task");',
  },
  {
    name: "a name from outside is looked up among an object's own keys",
    advice: "Object.hasOwn(object, name), or a Map",
    find: looseIn,
    bad: "const isKnown = (name: string) => name in handlers;",
  },
  {
    name: "a table that is looked up by any text is a Map",
    advice: 'new Map(Object.entries({…})) and get: an object also answers to "constructor"',
    find: looseTables,
    bad: 'const WORDS: Record<string, string> = { a: "b" };\nconst word = (name: string) => WORDS[name];',
  },
];

const SAMPLE = "sample.ts";
const inTheBrowser = ({ path }: Source): boolean => path === SAMPLE || (path.startsWith("web/src/") && !isTest(path));
const inSuitesOfUnits = ({ path }: Source): boolean =>
  path === SAMPLE || /^(server|web)\/src\/.*\.(testsuite|fixture)\.tsx?$/.test(path);

const inTests = ({ path }: Source): boolean => path === SAMPLE || isTest(path) || path.startsWith("test/");

const ELAPSED = /\b(?:performance|Date)\.now\(\)\s*-|\bthreadMs\(\)\s*-|\b(?:thread)?[cC]puUsage\(\w/;

/** Expectations that less than a bound has passed on a clock of this machine. Two times may be compared with each other. */
const boundsOfTimes = (source: Source): string[] => {
  const times = new Set<string>();
  const note = (name: ESTree.Node, value: ESTree.Node | null): void => {
    if (!value || name.type !== "Identifier" || /Function|Await/.test(value.type)) return;
    if (ELAPSED.test(textAt(source, value))) times.add(name.name);
  };
  walk(source, {
    VariableDeclarator: ({ id, init }) => note(id, init),
    AssignmentExpression: ({ left, right }) => note(left, right),
  });
  const isTime = (node: ESTree.Node): boolean => {
    const text = textAt(source, node);
    return ELAPSED.test(text) || (text.match(/(?<![.\w])\w+/g) ?? []).some((word) => times.has(word));
  };
  const found: string[] = [];
  walk(source, {
    CallExpression: ({ callee, arguments: [bound], start }) => {
      if (callee.type !== "MemberExpression" || callee.object.type !== "CallExpression" || !bound) return;
      if (!textAt(source, callee.property).startsWith("toBeLessThan")) return;
      const [measured] = callee.object.arguments;
      if (measured && isTime(measured) && !isTime(bound)) found.push(at(source, start));
    },
  });
  return found;
};

/** A comment whose first word makes the reader wait for its subject, and words that nobody says. */
const RIDDLES =
  /(?:\/\*\*|\/\/|^\s*\*) (?:Of|What|Whoever|Whose|As many as|As much as) |\banew\b|\bby hearsay\b|\bover with\b|\b[Nn]obody's\b|\bMOST_[A-Z]|(?:\/\*\*|\/\/|^\s*\*) .*\b(?:[Ww]hoever|at the most|by now)\b/;

/** For all code here, tests and tools included. */
export const RULES: Rule[] = [
  {
    name: "no test fails because the machine is slow: it holds no time to a bound that knows nothing of the machine",
    advice:
      "hold it by order, by counts or by the server's clock; else leastMs (lib/processor-time.testsuite.ts) or expectInTime (test/in-time.ts)",
    find: (source) => (inTests(source) ? boundsOfTimes(source) : []),
    // Whether the log shows this machine's time, to a minute.
    except: ["server/src/lib/log/log.test.ts"],
    bad: "const since = performance.now(); work(); const ms = performance.now() - since; expect(ms).toBeLessThan(100);",
  },
  {
    name: "no test gives up earlier than all others do, since a machine may be slow",
    advice: "leave the time limit to vitest.config.ts; what promises a time measures it",
    find: (source) => (inTests(source) ? linesLike(/\btestTimeout:|\btimeout: (?:\d\d?|1\d\d)_000\b/)(source) : []),
    except: ["test/tidy/rules.ts"],
    bad: "await expect.poll(() => asked.length, { timeout: 20_000 }).toBe(1);",
  },
  {
    name: "a test asks for processor time where a slow machine is reckoned with",
    advice: "leastMs, startStretches or watchThread (lib/processor-time.testsuite.ts)",
    find: (source) =>
      inTests(source)
        ? [...membersOf("process", "cpuUsage")(source), ...membersOf("process", "threadCpuUsage")(source)]
        : [],
    except: [
      "server/src/lib/processor-time.testsuite.ts",
      // All threads together, and compared with each other: both are longer on a slow machine.
      "server/src/auth/sign-in/passwords.test.ts",
      "server/src/expressions/hostile-expressions.test.ts",
    ],
    bad: "const before = process.threadCpuUsage();",
  },
  {
    name: "the browser reads JSON where its numbers keep their digits",
    advice: "parseJson (web/src/lib/json.ts)",
    find: (source) => (inTheBrowser(source) ? callsOf(["JSON", "parse"], ["response", "json"])(source) : []),
    except: [
      "web/src/lib/json.ts",
      // Tokens and words of our own.
      "web/src/api/session.ts",
      "web/src/components/palette/on-screen.ts",
    ],
    bad: "const id = JSON.parse(text).id;",
  },
  {
    name: "a unit test that measures its process says so in its own file, which keeps it apart from the others",
    advice: "measure in the test, or with lib/processor-time.testsuite.ts",
    find: (source) => (inSuitesOfUnits(source) ? linesLike(MEASURES)(source) : []),
    except: ["server/src/lib/processor-time.testsuite.ts"],
    bad: "const before = process.threadCpuUsage();",
  },
  {
    name: "no module mocks",
    advice: "hand the part in, or run a small real server on loopback (test/sink.ts)",
    find: callsOf(["vi", "mock"], ["vi", "doMock"], ["jest", "mock"]),
    bad: 'vi.mock("../lib/clock.ts");',
  },
  {
    name: "no test is skipped, focused or promised",
    advice: "run it, or remove it; what a machine may lack (root, a mount) is asked with runIf",
    find: callsOf(
      ...["it", "test", "describe"].flatMap((name) =>
        ["skip", "only", "todo", "fails"].map((way): [string, string] => [name, way]),
      ),
    ),
    bad: 'test.only("x", () => {});',
  },
  {
    name: "no unfinished work by its own words",
    advice: "do it now, or write it down where work is planned",
    find: linesLike(/\b(TO(?:DO)|FIX(?:ME)|X(?:XX))\b/),
    bad: `// ${["TO", "DO"].join("")}: the rest`,
  },
  {
    name: "a comment says first what the thing is or does",
    advice:
      'begin with the thing or the verb: "The limit of …", "Ends …"; say "again", "anyone who", "at most", "already", MAX_…',
    find: linesLike(RIDDLES),
    // Its own samples; and the descriptions of the API, which belong to its contract.
    except: ["test/tidy/rules.ts", "web/src/api/documents.ts"],
    bad: "/** What the caller gets. */",
  },
  {
    name: "a file has at most 500 lines",
    advice: "it has two jobs: give the second a file and a name of its own",
    find: ({ path, text }) => (text.split("\n").length > 501 ? [path] : []),
    // Written by a program; one document in SQL, to be read from the top.
    except: ["web/src/api/documents.ts", "server/src/storage/migrations/0001-start.ts"],
    bad: "\n".repeat(502),
  },
  {
    name: "names of files and folders are kebab-case",
    advice: "rename it: start-run.ts",
    find: ({ path }) =>
      path.split("/").every((name) => /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/.test(name)) ? [] : [path],
    bad: "startRun.ts",
  },
  {
    name: "a name says what the code does",
    advice: "name it for the thing of the subject that it is about",
    find: ({ path }) => (path.split("/").some((name) => EMPTY_NAMES.test(name.replace(/\..*/, ""))) ? [path] : []),
    bad: "runs/helpers.ts",
  },
  {
    name: "no index.ts but in client/",
    advice: "import the file that has what you need",
    find: ({ path }) => (/(^|\/)index\.tsx?$/.test(path) && !path.startsWith("client/") ? [path] : []),
    bad: "runs/index.ts",
  },
];
