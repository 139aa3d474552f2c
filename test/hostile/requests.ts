/** The kinds of single requests. */
import http from "node:http";
import { randomFrom, type Random } from "../faults/random.ts";
import { randomBody } from "./bodies.ts";
import { randomText } from "./definitions.ts";
import { randomDocument, readSchema } from "./documents.ts";
import { jsonHeaders, send } from "./send.ts";
import { ask } from "./runs.ts";
import type { Kind } from "./trial.ts";
import type { As } from "./world.ts";

const schema = readSchema();
const agent = new http.Agent({ keepAlive: true });

const caller = (random: Random): As => random.pick(["stranger", "owner", "owner", "owner", "viewer", "wrong"]);
const ACCEPTS = [
  "application/json",
  "application/json",
  "application/graphql-response+json",
  "*/*",
  "text/event-stream",
  "text/html",
];

export const documents: Kind = {
  name: "document",
  limit: "request",
  make(seed, { ids }) {
    const random = randomFrom(seed);
    const as = caller(random);
    const body = JSON.stringify(randomDocument(random, schema, ids));
    const accept = body.includes("subscription") ? "text/event-stream" : random.pick(ACCEPTS);
    return {
      about: `${as} ${body}`,
      run: async ({ server, token }) => ({
        answers: [await send({ url: server.url, agent }, { headers: { ...jsonHeaders(token(as)), accept }, body })],
      }),
    };
  },
};

export const bodies: Kind = {
  name: "body",
  limit: "request",
  make(seed) {
    const random = randomFrom(seed);
    const as = caller(random);
    const sent = randomBody(random);
    const { body, headers, method, path } = sent;
    return {
      about: `${as} ${method} ${path?.slice(0, 100)} ${JSON.stringify(headers).slice(0, 200)} ${body.length} bytes: ${String(body).slice(0, 200)}`,
      run: async ({ server, token }) => {
        const all = { ...sent, headers: { ...jsonHeaders(token(as)), ...headers } };
        return { answers: [await send({ url: server.url, agent }, all)] };
      },
    };
  },
};

const VALIDATE =
  "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path line message } } }";
const DRAFT = "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }";
const DIFF = "query($id: ID!) { agentDiff(agentId: $id) }";

export const definitions: Kind = {
  name: "definition",
  limit: "request",
  make(seed) {
    const random = randomFrom(seed);
    const definition = randomText(random);
    const isDraft = random.next() < 0.2;
    return {
      about: `${isDraft ? "draft" : "validate"} ${definition.length}: ${definition}`,
      run: async (world) => {
        if (!isDraft) return { answers: [await ask(world, VALIDATE, { definition })] };
        const saved = await ask(world, DRAFT, { input: { projectId: world.server.world.projectId, definition } });
        const id = /"id":"(agent_\w+)"/.exec(saved.text)?.[1];
        return { answers: id === undefined ? [saved] : [saved, await ask(world, DIFF, { id })] };
      },
    };
  },
};
