/** The HTTP request of a call with the secrets that its arguments name, for one attempt. */
import type { CallArguments } from "../../definition/tasks/program-parts.ts";
import type { SecretArguments } from "../../expressions/secret-arguments.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import type { Confidential } from "../../outbound/outbound.ts";
import { partsOf } from "../../secrets/secret-fields.ts";
import type { SecretValues } from "../../secrets/secret.ts";
import type { Frame } from "../frame.ts";
import { keptIn, prepareRequest } from "./prepare-request.ts";
import { withFilled, withoutReason } from "./secret-arguments.ts";

export type FilledRequest = {
  /** The arguments that are sent, prepared. */
  request: JsonObject;
  /** The texts that expressions made of secrets. */
  made: readonly string[];
  /** The parts with secrets, which must not follow a redirect to another origin nor be logged. */
  confidential: Confidential;
  /** JSON pointer to the arguments. */
  place: string;
};

/** `kept`: the request as it is kept and shown; `defaults`: what the call adds to the arguments. */
type Filling = { place: string; secrets: SecretValues; signal: AbortSignal; kept: JsonObject; defaults?: JsonObject };

/** Calls `work` with the request; undefined if no argument names a secret. Rejects with WorkflowError. */
export function withFilledRequest<Result>(
  frame: Frame,
  { arguments: template, secretive }: CallArguments,
  { place, secrets, signal, kept, defaults }: Filling,
  work: (filled: FilledRequest | undefined) => Promise<Result>,
): Promise<Result> {
  if (!secretive) return work(undefined);
  return withFilled(frame, secretive, { place, secrets, signal, kept: keptIn(kept) }, ({ values, made }) => {
    const given = { ...defaults, ...(values as JsonObject) };
    const request = withoutReason(place, () => prepareRequest(given, frame.input, template, place));
    const parts = secretive.names(["endpoint"]) ? partsIn(request["endpoint"] as string, secrets) : [];
    return work({ request, made: [...made, ...parts], confidential: confidentialIn(secretive, request), place });
  });
}

/** The secrets in a host, as the parser of URLs writes them, and the parts of a URL that a secret has from its host on. */
export function partsIn(url: string, secrets: SecretValues): string[] {
  const host = parseUrl(url)?.hostname ?? "";
  const endOfHost = /^https?:\/\/[^/?#]*/i.exec(url)?.[0].length ?? 0;
  return [...secrets.values()].flatMap((secret) => {
    const small = secret.toLowerCase();
    if (host.includes(small)) return small;
    const start = url.indexOf(secret);
    const end = start + secret.length;
    return start >= 0 && start < endOfHost && end > endOfHost ? partsOf(url.slice(0, end)) : [];
  });
}

function confidentialIn(secretive: SecretArguments, { headers }: JsonObject): Confidential {
  const names = Object.keys(isObject(headers) ? headers : {});
  // If one expression yields all headers, any of them may have the secret.
  const isWhole = secretive.isOne(["headers"]);
  return {
    url: secretive.names(["endpoint"]) || secretive.names(["query"]),
    headers: new Set(
      names.filter((name) => isWhole || secretive.names(["headers", name])).map((name) => name.toLowerCase()),
    ),
    body: secretive.names(["body"]),
  };
}
