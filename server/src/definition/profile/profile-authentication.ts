/** How a call authenticates (DSL reference "Authentication"), and the names of secrets. */
import { LIMITS } from "../../lib/limits.ts";
import { SECRET_NAME } from "../../lib/secret-name.ts";
import {
  fixed,
  ignored,
  list,
  object,
  ref,
  refused,
  refusedKey,
  text,
  type Properties,
} from "../schema/schema-words.ts";
import { REFUSED } from "../schema/refusals.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";

const template = text({ "x-value": "template" });
const words = list(text({ "x-value": "template" }));

const LOGIN: Properties = { username: template, password: template };

const OAUTH2: Properties = {
  authority: text({ "x-value": "authority" }),
  endpoints: object("endpoints", {
    token: text({ "x-value": "tokenPath" }),
    revocation: ignored("tokenEndpoints", text()),
    introspection: ignored("tokenEndpoints", text()),
  }),
  grant: { type: "string", enum: ["client_credentials"], "x-refused": REFUSED.grant },
  client: object(
    "client",
    {
      id: template,
      secret: template,
      authentication: fixed(["client_secret_post", "client_secret_basic"]),
      assertion: refused(REFUSED.clientAssertion),
    },
    ["id", "secret"],
  ),
  request: object("request", { encoding: fixed(["application/x-www-form-urlencoded", "application/json"]) }),
  scopes: words,
  audiences: words,
  issuers: ignored("issuers", list(text())),
  username: ignored("tokenOfOthers", text()),
  password: ignored("tokenOfOthers", text()),
  subject: ignored("tokenOfOthers", object("subject", { token: text(), type: text() }, ["token", "type"])),
  actor: ignored("tokenOfOthers", object("actor", { token: text(), type: text() }, ["token", "type"])),
};

const SCHEMES: Record<string, [fields: Properties, required: string[]]> = {
  basic: [LOGIN, ["username", "password"]],
  bearer: [{ token: template }, ["token"]],
  digest: [LOGIN, ["username", "password"]],
  oauth2: [OAUTH2, ["authority", "grant", "client"]],
};
const LATER = ["oidc", "certificate"] as const;

/** The fields of a scheme, or `use` with the name of a secret that has them. */
function schemeOf([scheme, [fields, required]]: [string, (typeof SCHEMES)[string]]): SchemaObject {
  const configuration: SchemaObject = {
    type: "object",
    "x-choose": "key",
    "x-say": `write ${required.join(" and ")}, or \`use\` with the name of a secret`,
    oneOf: [object(scheme, { use: text({ "x-value": "use.secrets" }) }, ["use"]), object(scheme, fields, required)],
  };
  return object("authentication", { [scheme]: configuration }, [scheme]);
}

export const AUTHENTICATION_SCHEMAS: Record<string, SchemaObject> = {
  secretName: {
    type: "string",
    pattern: SECRET_NAME,
    "x-say": `write the name of a secret: 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores`,
  },
  authentication: {
    type: "object",
    "x-what": "authentication",
    "x-choose": "key",
    "x-say": `write one of ${Object.keys(SCHEMES).join(", ")}`,
    oneOf: [...Object.entries(SCHEMES).map(schemeOf), ...LATER.map((scheme) => refusedKey(scheme, REFUSED[scheme]))],
  },
  authenticationOrName: {
    type: "object",
    "x-choose": "key",
    "x-say": "write basic, bearer, digest or oauth2, or `use` with the name of one under use.authentications",
    oneOf: [
      object("authentication", { use: text({ "x-value": "use.authentications" }) }, ["use"]),
      ...[...Object.keys(SCHEMES), ...LATER].map((scheme) => ({ required: [scheme], ...ref("authentication") })),
    ],
  },
};
