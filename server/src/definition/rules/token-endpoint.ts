/** The URL that tokens are requested from (DSL reference "OAUTH2 Authentication"): the authority and a path below it. */
import { LIMITS } from "../../lib/limits.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { withoutLast } from "../../lib/text.ts";
import { misreadingOf } from "../../lib/misread-url.ts";
import type { Found, Lint } from "./lint.ts";
import { URI } from "./rules-expressions.ts";

export const TOKEN_PATH = "/oauth2/token";

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

export const tokenUrl = (authority: string, path: string): string => withoutLast(authority, "/") + path;

const ruleOf =
  (problemOf: (text: string) => string | undefined) =>
  ({ path, value }: Found, lint: Lint): void => {
    const message = problemOf(value as string);
    if (message !== undefined) lint.report({ path, at: "value", message });
  };

export const authorityRule = ruleOf(authorityProblem);
export const tokenPathRule = ruleOf(tokenPathProblem);
