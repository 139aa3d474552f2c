/** Every question to the API, generated from its schema: every argument that takes an id, and every field that leads anywhere. */
import {
  getNamedType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
} from "graphql";
import { readFieldAccess } from "../server/src/graphql/builder/access.ts";
import { createSchema } from "../server/src/graphql/schema.ts";
import { encodeId, encodeStepId, newId, type Kind } from "../server/src/lib/ids.ts";
import type { ShownError, TestServer } from "./client.ts";
import {
  definitionOf,
  hiddenName,
  hiddenProject,
  isShown,
  its,
  projects,
  type Its,
  type Variant,
} from "./narrowed-keys.ts";

const schema = createSchema();
const access = readFieldAccess(schema);
/** Whether a narrowed key with the right scopes may ask for a root field. */
const isForNarrowedKeys = (field: string): boolean => {
  const { scope, narrowedKeys } = access.get(field)!;
  return narrowedKeys === true && scope !== "public";
};

type Field = GraphQLField<unknown, unknown>;
type Operation = "query" | "mutation" | "subscription";
export type NodeKind = Kind | "step";
export type Place = { name: string; operation: Operation; field: Field; path: string[]; kinds: NodeKind[] };

/** Paths of all arguments of type ID, into input objects. */
function idPaths(inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string[][] {
  return inputs.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    if (named.name === "ID") return [[name]];
    return isInputObjectType(named) ? idPaths(Object.values(named.getFields())).map((rest) => [name, ...rest]) : [];
  });
}

/** `node` takes these. */
const NODES: NodeKind[] = ["project", "agent", "agentVersion", "run", "step", "approval", "trigger", "firing", "event"];
/** By the last name of the path, without `Id` or `Ids`. */
function kindsOf(field: string, path: string[]): NodeKind[] {
  if (field === "node") return NODES;
  if (path.at(-2) === "startedBy") return ["run"];
  const name = path.at(-1) === "id" ? field : path.at(-1)!.replace(/Ids?$/, "");
  if (name !== "runDraft" && !NODES.includes(name as NodeKind))
    throw new Error(`of which kind is ${field}(${path.join(".")})?`);
  return [name as NodeKind];
}

const ROOTS = {
  query: schema.getQueryType()!,
  mutation: schema.getMutationType()!,
  subscription: schema.getSubscriptionType()!,
};
export const places: Place[] = (Object.entries(ROOTS) as [Operation, GraphQLObjectType][]).flatMap(
  ([operation, type]) =>
    (Object.values(type.getFields()) as Field[])
      .filter(({ name }) => isForNarrowedKeys(`${type.name}.${name}`))
      .flatMap((field) =>
        idPaths(field.args).map((path) => ({
          name: `${operation} ${field.name}(${path.join(".")})`,
          operation,
          field,
          path,
          kinds: kindsOf(field.name, path),
        })),
      ),
);

/** The required arguments beside the id, so that nothing else is wrong. */
const RESTS: Record<string, object> = {
  saveAgentDraft: { definition: definitionOf("new", "test", "wait: {wait: PT1H}") },
  publishAgent: { definition: definitionOf("new", "test", "wait: {wait: PT1H}") },
  validateDefinition: { definition: definitionOf("new", "test", "wait: {wait: PT1H}") },
  publishAgentVersion: { version: "1.0.0" },
  createTrigger: { name: "new", trigger: { type: "webhook" } },
  updateTrigger: { name: "new" },
  setTriggerStatus: { status: "paused" },
  rotateWebhookToken: { overlapMinutes: 0 },
  fireTrigger: { payload: {} },
  setAgentStatus: { status: "paused" },
  setAgentLimit: { concurrency: 1 },
  draftRunInput: { text: "n 1", timezone: "UTC" },
  decideApproval: { decision: "approve" },
};

type Asked = { data: unknown; errors: ShownError[] | undefined };

export async function ask(
  server: Pick<TestServer, "graphql" | "events">,
  { operation, field, path }: Place,
  id: string,
  token: string,
): Promise<Asked> {
  const [first, ...within] = path as [string, ...string[]];
  const rest = field.name === "runAgent" ? { agentId: its.mine.agent, input: {} } : RESTS[field.name];
  let value: unknown = id;
  for (const name of within.toReversed()) value = { [name]: value };
  if (rest && within.length > 0) value = { ...rest, ...(value as object) };
  const given: Record<string, unknown> = within.length > 0 ? { [first]: value } : { ...rest, [first]: value };
  const used = field.args.filter(({ name }) => Object.hasOwn(given, name));
  const variables = used.map(({ name, type }) => `$${name}: ${String(type)}`).join(", ");
  const values = used.map(({ name }) => `${name}: $${name}`).join(", ");
  const selection = isCompositeType(getNamedType(field.type)) ? `{ ${leavesOf(getNamedType(field.type), 0)} }` : "";
  const query = `${operation}(${variables}) { ${field.name}(${values}) ${selection} }`;
  if (operation !== "subscription") {
    const { data, errors } = await server.graphql(query, given, token);
    return { data, errors };
  }
  for await (const { data } of server.events(query, given, token)) return { data: data.data, errors: data.errors };
  throw new Error("no answer");
}

/** Whatever can be selected without arguments and `admin`, `depth` objects deep, and lists with what they list. */
function leavesOf(type: unknown, depth: number): string {
  if (!isObjectType(type) && !isInterfaceType(type)) return "__typename";
  const isConnection = type.name.endsWith("Connection");
  const names = (Object.values(type.getFields()) as Field[]).flatMap((field) => {
    if (field.args.some(isRequiredArgument) || access.get(`${type.name}.${field.name}`)?.scope === "admin") return [];
    const { name, args } = field;
    const inner = getNamedType(field.type);
    const few = args.some((argument) => argument.name === "first") ? "(first: 5)" : "";
    if (!isCompositeType(inner)) return [`${name}${few}`];
    if (isConnection) return name === "nodes" ? [`nodes { ${leavesOf(inner, depth)} }`] : [];
    return depth > 0 ? [`${name}${few} { ${leavesOf(inner, depth - 1)} }`] : [];
  });
  return names.length > 0 ? names.join(" ") : "__typename";
}

export const unknownOf = (kind: NodeKind): string =>
  kind === "step" ? encodeStepId({ runId: newId(), number: 1 }) : encodeId(kind, newId());
export const hiddenOf = (variant: Variant, kind: NodeKind): string =>
  kind === "project" ? hiddenProject(variant) : its[hiddenName(variant)][kind as keyof Omit<Its, "runs">];
export const ownOf = (kind: NodeKind): string =>
  kind === "project" ? projects.test : its.mine[kind as keyof Omit<Its, "runs">];

/** Where types whose fields are asked are read from, by what every key reaches; other types are found from these. */
const WAYS: Record<string, () => string> = {
  Query: () => "",
  Agent: () => `agent(id: "${its.mine.agent}")`,
  AgentVersion: () => `node(id: "${its.mine.agentVersion}") { ... on AgentVersion`,
  Project: () => `project(id: "${projects.test}")`,
  Approval: () => `approval(id: "${its.mine.approval}")`,
  Trigger: () => `trigger(id: "${its.mine.trigger}")`,
  Firing: () => `node(id: "${its.mine.firing}") { ... on Firing`,
  Event: () => `event(id: "${its.mine.event}")`,
  Organization: () => "organization",
  Caller: () => "caller",
};
/** A run whose parent no key reaches, and one whose child or parent this key does not reach. */
const runsOf = (variant: Variant): string[] =>
  [its.mine.runs[0], isShown(variant, "calls") ? its.calls.run : its.far.runs[1]].map((id) => `run(id: "${id}")`);

/** Where a whole key is shown what the key for two agents is not. */
export const LEADS = [
  "Query.projects",
  "Query.agents",
  "Query.agentsConnection",
  "Query.runs",
  "Query.approvals",
  "Query.triggers",
  "Query.events",
  "Agent.runs",
  "Run.startedBy",
  "Run.parent",
  "Run.children",
  "Run.steps",
  "Run.stepsConnection",
];

/** Every field that can be asked from what is reached, one by one, the deeper question first: it may ask for too much. */
export function questions(variant: Variant): { name: string; queries: string[] }[] {
  const own: Record<string, string> = {
    project: ownOf("project"),
    agent: ownOf("agent"),
    run: ownOf("run"),
    approval: ownOf("approval"),
    trigger: ownOf("trigger"),
    event: ownOf("event"),
  };
  const ways = {
    ...Object.fromEntries(Object.entries(WAYS).map(([type, way]) => [type, [way()]])),
    Run: runsOf(variant),
  };
  return Object.entries(ways).flatMap(([typeName, all]) => {
    const type = schema.getType(typeName) as GraphQLObjectType;
    return (Object.values(type.getFields()) as Field[]).flatMap((field) => {
      if (typeName === "Query" && !isForNarrowedKeys(`Query.${field.name}`)) return [];
      const given = field.args.flatMap(({ name, type: argument }) => {
        if (name === "first") return ["first: 5"];
        if (!String(argument).endsWith("!")) return [];
        const value =
          name === "id" || name.endsWith("Id")
            ? own[kindsOf(field.name === "node" ? "agent" : field.name, [name])[0]!]!
            : "x";
        return [`${name}: "${value}"`];
      });
      const inner = getNamedType(field.type);
      const asked = `${field.name}${given.length > 0 ? `(${given.join(", ")})` : ""}`;
      return all.flatMap((way) => {
        const close = "}".repeat(way.split("{").length - 1);
        const wrap = (selected: string): string =>
          way === "" ? `{ ${selected} }` : `{ ${way} { ${selected} } ${close} }`;
        if (!isCompositeType(inner)) return [{ name: `${typeName}.${field.name}`, queries: [wrap(asked)] }];
        const queries = [1, 0].map((depth) => wrap(`${asked} { ${leavesOf(inner, depth)} }`));
        return [{ name: `${typeName}.${field.name}`, queries }];
      });
    });
  });
}
