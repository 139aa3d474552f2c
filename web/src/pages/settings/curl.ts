/** A command for a shell that does something with a new API key. */
import type { CreateKeyMutation, InputFieldType } from "../../api/documents.ts";
import { FIELD_TYPES } from "../../forms/field-types.ts";
import { curlOf } from "../../lib/curl.ts";
import type { Json, JsonObject } from "../../lib/json.ts";

type Made = Pick<NonNullable<CreateKeyMutation["createApiKey"]>, "scopes"> & {
  secret: string;
  agents: readonly Agent[] | null;
};
type Agent = { id: string; name: string; inputFields: readonly InputField[] };
type InputField = {
  name: string;
  type: InputFieldType;
  required: boolean;
  choices: readonly { value: string }[] | null;
  default: Json | null;
};

export type Command = {
  /** Its purpose, as in "starts a run of Expense approval". */
  does: string;
  text: string;
};

const RUN =
  "mutation ($agentId: ID!, $input: JSON) { runAgent(input: {agentId: $agentId, input: $input}) { id status } }";

/** `url`: of the API. `today`: as YYYY-MM-DD. */
export function commandFor({ secret, scopes, agents }: Made, url: string, today: string): Command {
  const [agent] = agents ?? [];
  const of = (does: string, query: string, variables?: JsonObject): Command => ({
    does,
    text: curlOf(url, secret, { query, ...(variables && { variables }) }),
  });
  if (agent && scopes.includes("runs:start"))
    return of(`starts a run of ${agent.name}`, RUN, { agentId: agent.id, input: sampleOf(agent.inputFields, today) });
  if (scopes.includes("agents:read"))
    return of("lists the agents that it reaches", "{ agentsConnection(first: 10) { nodes { id name status } } }");
  return of("answers what it may do", "{ caller { scopes } }");
}

/** Values for what must be given and has no default. */
const sampleOf = (fields: readonly InputField[], today: string): JsonObject =>
  Object.fromEntries(
    fields
      .filter((field) => field.required && field.default === null)
      .map((field) => [field.name, valueOf(field, today)]),
  );

const valueOf = ({ type, choices }: InputField, today: string): Json =>
  FIELD_TYPES[type].sample(choices?.[0]?.value ?? "example", today);
