/** How each provider is asked: its protocol is the AI SDK's, on sockets that are ours. A package is loaded when it is first needed. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { FairCache } from "../fairness/fair-cache.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { KEY_HEADERS, type Connection, type ModelProvider } from "./connection.ts";
import { LlmError } from "./problem.ts";

type Fetch = typeof globalThis.fetch;
/** A key is always given, if an empty one: without it the packages take one from the environment. */
type Settings = { baseURL: string; apiKey: string; fetch: Fetch };
type Open = (model: string, settings: Settings) => Promise<LanguageModelV4>;

const PACKAGES: Record<ModelProvider, Open> = {
  async openai_compatible(model, { apiKey, ...settings }) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({
      ...settings,
      name: "llm",
      includeUsage: true,
      supportsStructuredOutputs: true,
      ...(apiKey !== "" && { apiKey }),
    })(model);
  },
  async openai(model, settings) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    // The newer protocol keeps what was said at OpenAI, and takes no seed.
    return createOpenAI(settings).chat(model);
  },
  async anthropic(model, settings) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic(settings)(model);
  },
  async google(model, settings) {
    const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
    return createGoogleGenerativeAI(settings)(asPath(model));
  },
  async mistral(model, settings) {
    const { createMistral } = await import("@ai-sdk/mistral");
    return createMistral(settings)(model);
  },
};

/** The name goes into the URL's path, and an author chooses it: none leads to another place of the server, which would get the key. */
function asPath(model: string): string {
  const parts = model.split("/");
  if (parts.some((part) => /^\.{0,2}$/.test(part))) throw new LlmError("not_found", "the model's name is not a path");
  return parts.map(encodeURIComponent).join("/");
}

/** Models that stay open. One of `openai_compatible` holds 84 kB: its package makes the schema of a stream's events for each. */
const KEPT = 32;

/** A call of an open model. Its requests go by its own `fetch`, which is found by its signal: no other call has it, and a package passes it on. */
type OpenCall = { signal: AbortSignal; fetch: Fetch };

/** Keeps the models open that were asked last, of all organizations: opening one of `openai_compatible` takes 0.4 ms. */
export class OpenModels {
  readonly #kept = new FairCache<LanguageModelV4>(KEPT);
  readonly #fetches = new WeakMap<AbortSignal, Fetch>();

  /** `model`: instead of the connection's. */
  async open(
    organizationId: OrganizationId,
    connection: Connection,
    model: string | undefined,
    { signal, fetch }: OpenCall,
  ): Promise<LanguageModelV4> {
    this.#fetches.set(signal, fetch);
    const { provider, baseUrl, apiKey, apiKeyHeader } = connection;
    const key = JSON.stringify([provider, baseUrl, apiKey, apiKeyHeader, model ?? connection.model]);
    let open = this.#kept.get(organizationId, key);
    if (!open) {
      open = await openProvider(connection, this.#fetch, model);
      this.#kept.set(organizationId, key, open);
    }
    return open;
  }

  readonly #fetch: Fetch = (url, init) => this.#fetches.get(init!.signal!)!(url, init);
}

/** `model`: instead of the connection's. */
export function openProvider(connection: Connection, fetch: Fetch, model = connection.model): Promise<LanguageModelV4> {
  const { provider, baseUrl, apiKey = "", apiKeyHeader } = connection;
  const address = new URL(baseUrl);
  const { search } = address;
  // Each package appends its path to the address, which may end with an empty query or fragment.
  address.search = address.hash = "";
  const settings = { baseURL: address.href, apiKey, fetch };
  if (apiKeyHeader === null && search === "") return PACKAGES[provider](model, settings);
  return PACKAGES[provider](model, {
    ...settings,
    fetch: asGateway({ provider, apiKey, apiKeyHeader, search }, fetch),
  });
}

type Gateway = Pick<Connection, "provider" | "apiKeyHeader"> & { apiKey: string; search: string };

/** As a gateway wants a request of the protocol: with the key in another header, or with the query of its address. */
const asGateway =
  ({ provider, apiKey, apiKeyHeader, search }: Gateway, fetch: Fetch): Fetch =>
  (asked, init) => {
    const url = new URL(String(asked));
    url.search = [url.search, search].flatMap((part) => part.slice(1) || []).join("&");
    const headers = new Headers(init!.headers);
    if (apiKeyHeader !== null) {
      headers.delete(KEY_HEADERS[provider]);
      if (apiKey !== "") headers.set(apiKeyHeader, apiKey);
    }
    return fetch(url, { ...init, headers });
  };
