/** The run that a form would start, as a call that works when it is pasted: the key is in the environment. */
import { curlOf } from "../../lib/curl.ts";
import type { JsonObject } from "../../lib/json.ts";

const QUERY = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }";

export type Call = { url: string; agentId: string; input: JsonObject };

export const curlOfRun = ({ url, agentId, input }: Call): string =>
  curlOf(url, "$AUTOGRAPH_API_KEY", { query: QUERY, variables: { input: { agentId, input } } });

/** A module that needs no package: Node 20, Deno, Bun. */
export function typescriptOf({ url, agentId, input }: Call): string {
  const variables = JSON.stringify({ input: { agentId, input } }, null, 2).replaceAll("\n", "\n    ");
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
    Authorization: \`Bearer \${process.env.AUTOGRAPH_API_KEY}\`,
  },
  body: JSON.stringify({
    query: "${QUERY}",
    variables: ${variables},
  }),
});
const { data, errors } = await response.json();
if (errors) throw new Error(errors[0].message);
console.log(data.runAgent.id, data.runAgent.status);
`;
}
