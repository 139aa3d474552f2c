/** A model that stays open answers each call by that call's own sockets, and with what its connection says now. */
import { expect, test } from "vitest";
import { PROTOCOLS } from "../../../test/model-protocols.ts";
import { newId } from "../lib/ids.ts";
import type { Connection, ModelProvider } from "./connection.ts";
import { OpenModels } from "./providers.ts";

const PROVIDERS = Object.keys(PROTOCOLS) as ModelProvider[];
const organizationId = newId<"organization">();
const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }];
const connectionOf = (provider: ModelProvider): Connection => ({
  id: undefined,
  name: "",
  provider,
  baseUrl: "http://model/v1",
  model: "small",
  apiKey: "key",
  apiKeyHeader: null,
  prices: null,
  limits: null,
});

type Seen = { url: string; headers: Headers; body: string };

/** A call whose `fetch` keeps what it is given, and answers when it is told. */
function call() {
  const { signal } = new AbortController();
  const seen: Seen[] = [];
  const answer = Promise.withResolvers<Response>();
  const fetch: typeof globalThis.fetch = (url, init) => {
    seen.push({ url: String(url), headers: new Headers(init!.headers), body: init!.body as string });
    return answer.promise;
  };
  return { signal, fetch, seen, answer };
}

test.each(PROVIDERS)("of %s: calls at once go each by their own", async (provider) => {
  const models = new OpenModels();
  const calls = [call(), call(), call()];
  const open = await Promise.all(
    calls.map((one) => models.open(organizationId, connectionOf(provider), undefined, one)),
  );
  const texts = await Promise.all(
    calls.map(async ({ signal, answer }, index) => {
      const whole = PROTOCOLS[provider]!.answer(`answer ${index}`, "stop");
      const asked = open[index]!.doGenerate({ prompt, abortSignal: signal });
      answer.resolve(Response.json(whole));
      return (await asked).content;
    }),
  );
  expect(texts).toEqual([0, 1, 2].map((index) => [expect.objectContaining({ text: `answer ${index}` })]));
  expect(calls.map(({ seen }) => seen.length)).toEqual([1, 1, 1]);
  const streamed = call();
  const again = await models.open(organizationId, connectionOf(provider), undefined, streamed);
  expect(again).toBe(await models.open(organizationId, connectionOf(provider), undefined, call()));
  streamed.answer.resolve(new Response("", { headers: { "content-type": "text/event-stream" } }));
  await again.doStream({ prompt, abortSignal: streamed.signal });
  expect(streamed.seen).toHaveLength(1);
});

test.each(PROVIDERS)(
  "of %s: another address, key, header or model is asked for from the next call on",
  async (provider) => {
    const models = new OpenModels();
    const asked = async (changes: Partial<Connection>, model?: string): Promise<string> => {
      const { answer, seen, ...own } = call();
      answer.resolve(new Response("{}", { status: 500 }));
      const open = await models.open(organizationId, { ...connectionOf(provider), ...changes }, model, own);
      await Promise.resolve(open.doGenerate({ prompt, abortSignal: own.signal })).catch(() => {});
      const { url, headers, body } = seen[0]!;
      return `${url} ${JSON.stringify([...headers])} ${body}`;
    };
    const first = await asked({});
    expect(first).toMatch(/http:\/\/model\/v1.*key.*/);
    expect(await asked({ baseUrl: "http://other/v2" })).toContain("http://other/v2/");
    expect(await asked({ baseUrl: "http://model/v1?version=2" })).toContain("version=2");
    expect(await asked({ apiKey: "another" })).toContain("another");
    expect(await asked({ apiKeyHeader: "x-gateway" })).toContain('["x-gateway","key"]');
    expect(await asked({ model: "large" })).toContain("large");
    expect(await asked({}, "larger")).toContain("larger");
    expect(await asked({})).toBe(first);
  },
);
