/** Texts and inputs near their limits: definitions, drafts, what differs between two, what a run is given (growth.ts). */
import { ask, documentOf, publish, set, start, tasks, type Task } from "./growth-subject.ts";
import type { GrowthCase, Subject } from "./growth.ts";

const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const SAVE = "mutation ($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }";
const VALIDATE =
  "query ($definition: String!) { validateDefinition(definition: $definition) { problems { message } } }";

/** Done to a text that is made before. */
const onText = (
  operation: string,
  input: string,
  full: number,
  make: (size: number) => { tasks: Task[]; more?: object },
  query: string,
): GrowthCase => ({
  operation,
  input,
  full,
  prepare: async (subject, size) => {
    const { tasks: list, more } = make(size);
    const definition = await documentOf(subject, list, more);
    const { projectId } = subject.world;
    const values = query === VALIDATE ? { definition } : { input: { projectId, definition } };
    return () => ask(subject, query, values);
  },
});

const plain = (size: number): { tasks: Task[] } => ({ tasks: tasks(size, () => set()) });
const expressions = (size: number): { tasks: Task[] } => ({
  tasks: tasks(size, (index) => set(`\${ .value + ${index} }`)),
});
const unknown = (size: number): { tasks: Task[] } => ({
  tasks: tasks(size, (index) => ({ ...set(), then: `nobody${index}` })),
});
const form = (size: number): { tasks: Task[]; more: object } => {
  const properties = Object.fromEntries(
    Array.from({ length: 10 }, (_, field) => [
      `f${field}`,
      { type: "string", enum: Array.from({ length: Math.floor(size / 10) }, (_, choice) => `choice ${choice}`) },
    ]),
  );
  return { ...plain(1), more: { input: { schema: { document: { type: "object", properties } } } } };
};
const nested = (size: number): { tasks: Task[] } => ({
  tasks: tasks(Math.ceil(size / 12), () => {
    let inner: object = set();
    for (let depth = 0; depth < 11; depth++) inner = { do: [{ inner }] };
    return inner;
  }),
});

/** A text of so many lines, none of which is in the one before, but for every second line when `half`. */
const lines = (size: number, half: boolean, other: boolean): Task[] =>
  tasks(size, (index) => set(other && (!half || index % 2 === 0) ? `now ${index}` : `then ${index}`));

/** As YAML with a line for each task: JSON is one line. */
const asYaml = (document: string): string => document.replaceAll('},{"t', '},\n{"t');

const diff = (input: string, full: number, half: boolean): GrowthCase => ({
  operation: "agentDiff",
  input,
  full,
  prepare: async (subject: Subject, size: number) => {
    const { projectId } = subject.world;
    const old = asYaml(await documentOf(subject, lines(size, half, false)));
    const { publishAgent } = await ask(subject, PUBLISH, { input: { projectId, definition: old } });
    const name = /"name":"([^"]+)"/.exec(old)![1]!;
    const draft = asYaml(await documentOf(subject, lines(size, half, true))).replace(
      /"name":"[^"]+"/,
      `"name":"${name}"`,
    );
    await ask(subject, SAVE, { input: { projectId, definition: draft.replace('"1.0.0"', '"1.1.0"') } });
    return () => ask(subject, "query ($agentId: ID!) { agentDiff(agentId: $agentId) }", { agentId: publishAgent.id });
  },
});

const given = (input: string, full: number, make: (size: number) => object): GrowthCase => ({
  operation: "runAgent",
  input,
  full,
  prepare: async (subject, size) => {
    const agentId = await publish(
      subject,
      tasks(3, () => ({ set: "${ . }" })),
    );
    const value = make(size);
    return () => start(subject, agentId, value, { wait: 30 });
  },
});

const inputs: GrowthCase[] = [
  given("keys of an input", 9_000, (size) => Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, i]))),
  given("numbers in an input", 100_000, (size) => ({ list: Array.from({ length: size }, (_, i) => i) })),
  given("characters of an input", 600_000, (size) => ({ text: "x".repeat(size) })),
];

const DEPTH = 60;
const documents: GrowthCase = {
  operation: "a query",
  input: "fields of its document",
  full: 100,
  prepare: async (subject, size) => {
    const fields = Array.from(
      { length: Math.ceil(size / DEPTH) },
      () => `...on Query { ${"__typename ".repeat(DEPTH)} }`,
    );
    return () => ask(subject, `{ ${fields.join(" ")} }`);
  },
};

export const textCases: GrowthCase[] = [
  onText("publishAgent", "tasks", 1_900, plain, PUBLISH),
  onText("publishAgent", "expressions", 1_900, expressions, PUBLISH),
  onText("publishAgent", "choices of a form", 5_000, form, PUBLISH),
  onText("publishAgent", "tasks nested 12 deep", 2_400, nested, PUBLISH),
  onText("saveAgentDraft", "tasks", 1_900, plain, SAVE),
  onText("validateDefinition", "unknown names", 1_300, unknown, VALIDATE),
  diff("lines that differ", 1_900, false),
  diff("lines of which half differ", 1_900, true),
  ...inputs,
  documents,
];
