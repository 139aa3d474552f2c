/** Every question to the API, generated from its schema: every argument that takes an id, and every field that leads anywhere. */
import {
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  type GraphQLObjectType,
} from "graphql";
import { readFieldAccess } from "../server/src/graphql/builder/access.ts";
import { encodeId, encodeStepId, newId } from "../server/src/lib/ids.ts";
import type { ShownError, TestServer } from "./client.ts";
import { hiddenName, hiddenProject, isShown, its, projects, type Its, type Variant } from "./narrowed-keys.ts";
import {
  argumentsWith,
  fieldsOf,
  kindsOf,
  questionOf,
  ROOT_PLACES,
  ROOTS,
  schema,
  type IdPlace,
  type NodeKind,
} from "./root-fields.ts";

const access = readFieldAccess(schema);
/** Whether a narrowed key with the right scopes may ask for a root field. */
const isForNarrowedKeys = (field: string): boolean => {
  const { scope, narrowedKeys } = access.get(field)!;
  return narrowedKeys === true && scope !== "public";
};

/** Kinds of what belongs to agents and projects, and may be hidden from a narrowed key. */
const HIDDEN: readonly NodeKind[] = [
  "project",
  "agent",
  "agentVersion",
  "run",
  "runDraft",
  "step",
  "approval",
  "trigger",
  "firing",
  "event",
];
export const places: IdPlace[] = ROOT_PLACES.filter(({ operation, field }) =>
  isForNarrowedKeys(`${ROOTS[operation].name}.${field.name}`),
).map((place) => ({ ...place, kinds: place.kinds.filter((kind) => HIDDEN.includes(kind)) }));

type Asked = { data: unknown; errors: ShownError[] | undefined };

export async function ask(
  server: Pick<TestServer, "graphql" | "events">,
  place: IdPlace,
  id: string,
  token: string,
): Promise<Asked> {
  const { operation, field } = place;
  const selection = isCompositeType(getNamedType(field.type)) ? `{ ${leavesOf(getNamedType(field.type), 0)} }` : "";
  const { query, variables } = questionOf(
    operation,
    field,
    argumentsWith(place, id, { agent: its.mine.agent }),
    selection,
  );
  if (operation !== "subscription") {
    const { data, errors } = await server.graphql(query, variables, token);
    return { data, errors };
  }
  for await (const { data } of server.events(query, variables, token)) return { data: data.data, errors: data.errors };
  throw new Error("no answer");
}

/** Whatever can be selected without arguments and `admin`, `depth` objects deep, and lists with what they list. */
function leavesOf(type: unknown, depth: number): string {
  if (!isObjectType(type) && !isInterfaceType(type)) return "__typename";
  const isConnection = type.name.endsWith("Connection");
  const names = fieldsOf(type).flatMap((field) => {
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
    return fieldsOf(type).flatMap((field) => {
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
