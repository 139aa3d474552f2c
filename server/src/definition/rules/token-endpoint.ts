/** The rules of `oauth2` and `oidc` policies (DSL reference "OAUTH2 Authentication"): where tokens are requested, and by which grant. */
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { withoutLast } from "../../lib/text.ts";
import { misreadingOf } from "../../lib/misread-url.ts";
import type { Path } from "../text/problem.ts";
import type { Found, Lint } from "./lint.ts";
import { URI } from "./rules-expressions.ts";

export const TOKEN_PATH = "/oauth2/token";
/** OpenID Connect Discovery 1.0, 4. */
export const DISCOVERY_PATH = "/.well-known/openid-configuration";

export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
/** Not in the language: only a policy in a secret can have it. */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
export const GRANTS = ["client_credentials", "password", "refresh_token", TOKEN_EXCHANGE];

/** Its problem, or undefined. */
export function authorityProblem(text: string): string | undefined {
  if (text.length > LIMITS.authorityCharacters)
    return `the authority has at most ${LIMITS.authorityCharacters} characters`;
  const url = URI.test(text) && !text.includes("{") ? parseUrl(text) : null;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && !/[?#]/.test(text) && !misreadingOf(text))
    return undefined;
  return "the authority is a URL without user, query and fragment; write one such as https://login.example.com/realms/shop";
}

export function tokenPathProblem(text: string): string | undefined {
  if (text.length > LIMITS.tokenPathCharacters)
    return `the path of a token endpoint has at most ${LIMITS.tokenPathCharacters} characters`;
  if (/^\/[^\s?#{}\\]*$/.test(text) && !misreadingOf(`https://host${text}`)) return undefined;
  return `this is a path below the authority; write one such as ${TOKEN_PATH}`;
}

/** Without the path of its discovery, which an author may write too. */
export const issuerOf = (authority: string): string => {
  const own = authority.endsWith(DISCOVERY_PATH) ? authority.slice(0, -DISCOVERY_PATH.length) : authority;
  return withoutLast(own, "/");
};

export const tokenUrl = (authority: string, path: string): string => withoutLast(authority, "/") + path;

const ruleOf =
  (problemOf: (text: string) => string | undefined) =>
  ({ path, value }: Found, lint: Lint): void => {
    const message = problemOf(value as string);
    if (message !== undefined) lint.report({ path, at: "value", message });
  };

export const authorityRule = ruleOf(authorityProblem);
export const tokenPathRule = ruleOf(tokenPathProblem);

/** The fields that a grant needs, each with what to write. */
const NEEDS = new Map([
  ["password", ["username", "password"]],
  ["refresh_token", ["subject"]],
  [TOKEN_EXCHANGE, ["subject"]],
]);
const MAY_HAVE = new Map([[TOKEN_EXCHANGE, ["actor"]]]);
const OF_GRANTS = ["username", "password", "subject", "actor"];

/** Fields that the grant and the client's method need, and those without effect. */
export function tokenPolicyRule({ path, value }: Found, lint: Lint): void {
  const policy = value as JsonObject;
  const grant = String(policy["grant"]);
  const needed = NEEDS.get(grant) ?? [];
  const taken = [...needed, ...(MAY_HAVE.get(grant) ?? [])];
  checkFields(policy, { path, needed, optional: OF_GRANTS, taken }, `the grant ${grant}`, lint);
  const client = policy["client"];
  if (!isObject(client)) return;
  const method = String(client["authentication"] ?? "client_secret_post");
  const own = method.startsWith("client_secret") ? ["secret"] : method === "private_key_jwt" ? ["assertion"] : [];
  const fields = { path: [...path, "client"], needed: own, optional: ["secret", "assertion"], taken: own };
  checkFields(client, fields, `client.authentication ${method}`, lint);
}

type Fields = { path: Path; needed: string[]; optional: string[]; taken: string[] };

function checkFields(of: JsonObject, { path, needed, optional, taken }: Fields, whose: string, lint: Lint): void {
  for (const name of needed)
    if (!Object.hasOwn(of, name))
      lint.report({ path, at: "key", message: `"${name}" is missing, which ${whose} needs` });
  for (const name of optional)
    if (Object.hasOwn(of, name) && !taken.includes(name))
      lint.report({
        path: [...path, name],
        at: "key",
        message: `this has no effect: ${whose} does not use it`,
        severity: "warning",
      });
}
