/** Requests that need no session. */
import type { TypedDocumentNode } from "@urql/core";
import { parseJson } from "../lib/json.ts";
import { urlOf } from "./base.ts";
import { refusalOf, unreachable, type GivenError } from "./refusal.ts";

/** Throws Refusal. */
export async function askAsStranger<Data, Variables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  const response = await fetch(urlOf("graphql"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query: document, variables }),
  }).catch(() => {
    throw unreachable();
  });
  const { data, errors } = parseJson(await response.text()) as { data?: Data; errors?: GivenError[] };
  const [error] = errors ?? [];
  if (error) throw refusalOf(error);
  return data!;
}
