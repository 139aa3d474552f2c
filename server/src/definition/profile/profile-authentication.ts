/** How a call authenticates (DSL reference "Authentication"), and the names of secrets. */
import { LIMITS } from "../../lib/limits.ts";
import { SECRET_NAME } from "../../lib/secret-name.ts";
import { fixed, ignored, list, object, ref, refusedKey, text, type Properties } from "../schema/schema-words.ts";
import { GRANTS } from "../rules/token-endpoint.ts";
import { REFUSED } from "../schema/refusals.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";

const template = text({ "x-value": "template" });
const words = list(text({ "x-value": "template" }));

const LOGIN: Properties = { username: template, password: template };

const token = (what: string): SchemaObject => object(what, { token: template, type: template }, ["token", "type"]);

const OIDC: Properties = {
  authority: text({ "x-value": "authority" }),
  grant: { type: "string", enum: GRANTS, "x-refused": REFUSED.grant },
  client: object(
    "client",
    {
      id: template,
      secret: template,
      authentication: fixed([
        "client_secret_post",
        "client_secret_basic",
        "client_secret_jwt",
        "private_key_jwt",
        "none",
      ]),
      assertion: template,
    },
    ["id"],
  ),
  request: object("request", { encoding: fixed(["application/x-www-form-urlencoded", "application/json"]) }),
  scopes: words,
  audiences: words,
  issuers: ignored("issuers", list(text())),
  username: template,
  password: template,
  subject: token("subject"),
  actor: token("actor"),
};

const OAUTH2: Properties = {
  ...OIDC,
  endpoints: object("endpoints", {
    token: text({ "x-value": "tokenPath" }),
    revocation: ignored("tokenEndpoints", text()),
    introspection: ignored("tokenEndpoints", text()),
  }),
};

const SCHEMES: Record<string, [fields: Properties, required: string[], means?: string]> = {
  basic: [LOGIN, ["username", "password"]],
  bearer: [{ token: template }, ["token"]],
  digest: [LOGIN, ["username", "password"]],
  oauth2: [OAUTH2, ["authority", "grant", "client"], "tokenPolicy"],
  oidc: [OIDC, ["authority", "grant", "client"], "tokenPolicy"],
};
const OTHERS = ["certificate"] as const;

/** The fields of a scheme, or `use` with the name of a secret that has them. */
function schemeOf([scheme, [fields, required, means]]: [string, (typeof SCHEMES)[string]]): SchemaObject {
  const configuration: SchemaObject = {
    type: "object",
    "x-choose": "key",
    "x-say": `write ${required.join(" and ")}, or \`use\` with the name of a secret`,
    oneOf: [
      object(scheme, { use: text({ "x-value": "use.secrets" }) }, ["use"]),
      { ...object(scheme, fields, required), ...(means !== undefined && { "x-value": means }) },
    ],
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
    oneOf: [...Object.entries(SCHEMES).map(schemeOf), ...OTHERS.map((scheme) => refusedKey(scheme, REFUSED[scheme]))],
  },
  authenticationOrName: {
    type: "object",
    "x-choose": "key",
    "x-say": "write basic, bearer, digest, oauth2 or oidc, or `use` with the name of one under use.authentications",
    oneOf: [
      object("authentication", { use: text({ "x-value": "use.authentications" }) }, ["use"]),
      ...[...Object.keys(SCHEMES), ...OTHERS].map((scheme) => ({ required: [scheme], ...ref("authentication") })),
    ],
  },
};
