/** An organization with three projects and five agents whose runs start each other, and keys that are narrowed to some of them. */
import { ALL_SCOPES } from "../server/src/auth/scopes.ts";
import { start } from "./agents.ts";
import { publishEvent } from "./published-events.ts";
import { call, firingsOf, webhookOf } from "./webhooks.ts";
import { eventually, type Data, type TestServer } from "./client.ts";

export const SCOPES = ALL_SCOPES.filter((scope) => scope !== "admin");

/** `mine` and `calls` are what one key is narrowed to. Families go both ways over the border. */
export const AGENTS = {
  mine: { project: "test", body: "ask: {call: 'approval:1.0.0@default', with: {question: Asked by mine}}" },
  calls: { project: "test", body: "down: {run: {workflow: {namespace: other, name: far, version: latest}}}" },
  near: {
    project: "test",
    body: "both: {fork: {branches: [{ask: {call: 'approval:1.0.0@default', with: {question: Asked by near}}}, {down: {run: {workflow: {namespace: test, name: mine, version: latest}}}}]}}",
  },
  far: { project: "other", body: "ask: {call: 'approval:1.0.0@default', with: {question: Asked by far}}" },
  above: { project: "third", body: "down: {run: {workflow: {namespace: test, name: mine, version: latest}}}" },
} as const;
export type Name = keyof typeof AGENTS;
export const NAMES = Object.keys(AGENTS) as Name[];
export const definitionOf = (name: string, project: string, body: string): string =>
  `document: {dsl: '1.0.3', namespace: ${project}, name: ${name}, version: '1.0.0', title: Title of ${name}}\ndo: [{${body}}]\n`;

/** Ids that belong to an agent. */
export type Its = Record<
  "agent" | "agentVersion" | "run" | "step" | "approval" | "trigger" | "firing" | "event" | "runDraft",
  string
> & {
  runs: string[];
};
export const its = {} as Record<Name, Its>;
export const projects = {} as Record<"test" | "other" | "third", string>;

/** Which agents and projects each key shows. */
export const VARIANTS = {
  agents: { shown: ["mine", "calls"], projects: ["test"] },
  project: { shown: ["mine", "calls", "near"], projects: ["test"] },
  both: { shown: ["mine", "far"], projects: ["test", "other"] },
} as const satisfies Record<string, { shown: readonly Name[]; projects: readonly (keyof typeof projects)[] }>;
export type Variant = keyof typeof VARIANTS;
export const variants = Object.keys(VARIANTS) as Variant[];
export const keys = {} as Record<Variant | "whole", string>;

export const isShown = (variant: Variant, name: Name): boolean => VARIANTS[variant].shown.some((one) => one === name);
/** An agent that the key does not reach and that has a run, an approval and children of its own. */
export const hiddenName = (variant: Variant): Name => (isShown(variant, "far") ? "near" : "far");
export const hiddenProject = (variant: Variant): string => (variant === "both" ? projects.third : projects.other);
/** Texts that only what is hidden has. */
export const markersOf = (variant: Variant): string[] => [
  ...NAMES.flatMap((name) =>
    isShown(variant, name)
      ? []
      : [
          ...Object.values(its[name]).flat().filter(Boolean),
          `Title of ${name}`,
          `Asked by ${name}`,
          `Hook of ${name}`,
          `Source of ${name}`,
        ],
  ),
  ...(["test", "other", "third"] as const)
    .filter((project) => !VARIANTS[variant].projects.some((one) => one === project))
    .map((project) => projects[project]),
];

type Server = Pick<TestServer, "data" | "graphql" | "world">;
const save = async (server: Server, name: Name): Promise<string> => {
  const { project, body } = AGENTS[name];
  const { publishAgent } = await server.data(
    "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input: { definition: definitionOf(name, project, body) } },
  );
  const draft = definitionOf(name, project, body).replace("1.0.0", "1.1.0");
  await server.data("mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }", {
    input: { definition: draft },
  });
  return publishAgent.id;
};

export const createKey = async (server: Server, input: object): Promise<Data> =>
  (
    await server.data(
      "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { id secret projects { id } agents { id } } }",
      { input: { name: "narrow", scopes: SCOPES, ...input } },
    )
  ).createApiKey;

/** Fills the objects above. */
export async function makeAgents(server: Server): Promise<void> {
  projects.test = server.world.projectId;
  for (const handle of ["other", "third"] as const) {
    const make = `mutation { createProject(input: {handle: "${handle}", name: "Project ${handle}"}) { id } }`;
    projects[handle] = (await server.data(make)).createProject.id;
  }
  const agents = {} as Record<Name, string>;
  for (const name of ["mine", "far", "calls", "near", "above"] as const) agents[name] = await save(server, name);
  for (const name of NAMES) await start(server, agents[name]);
  // `mine` is also started by `near` and `above`, `far` by `calls`.
  const settled = `{ approvals(filter: {status: open}) { nodes { id } } }`;
  await eventually(async () => (await server.data(settled)).approvals.nodes.length === 6);
  for (const name of NAMES) {
    const { agent } = await server.data(
      `{ agent(id: "${agents[name]}") { versions { nodes { id } } runs(first: 5) { nodes { id steps(first: 5) { id } approvals(first: 1) { nodes { id } } } } } }`,
    );
    const runs = agent.runs.nodes as Data[];
    const hook = await webhookOf(server, agents[name], { name: `Hook of ${name}` });
    const refused = await call(hook.url, "[]");
    if (refused.status !== 400) throw new Error(`a list was answered with ${refused.status}`);
    const [firing] = await firingsOf(server, hook);
    const own = await createKey(server, { agentIds: [agents[name]] });
    its[name] = {
      agent: agents[name],
      agentVersion: agent.versions.nodes[0].id,
      run: runs[0].id,
      step: runs[0].steps[0].id,
      approval: runs[0].approvals.nodes[0]?.id,
      trigger: hook.id,
      firing: firing!.id,
      event: (await publishEvent(server, { source: `Source of ${name}`, event: "e", id: "1" }, own.secret)).data
        .publishEvent.id,
      runDraft: (
        await server.data(
          `mutation { draftRunInput(input: {agentId: "${agents[name]}", text: "x", timezone: "UTC"}) { id } }`,
        )
      ).draftRunInput.id,
      runs: runs.map(({ id }) => id),
    };
  }
  keys.whole = (await createKey(server, {})).secret;
  keys.agents = (await createKey(server, { agentIds: [agents.mine, agents.calls] })).secret;
  keys.project = (await createKey(server, { projectIds: [projects.test] })).secret;
  keys.both = (await createKey(server, { projectIds: [projects.other], agentIds: [agents.mine] })).secret;
}
