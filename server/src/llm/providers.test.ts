import { expect, test } from "vitest";
import { PROTOCOLS } from "../../../test/model-protocols.ts";
import type { ModelProvider } from "./connection.ts";
import { openProvider } from "./providers.ts";

/** Where a question is sent, by path and query. */
async function askedAt(provider: ModelProvider, baseUrl: string): Promise<string> {
  let asked = "";
  const fetch = async (url: Parameters<typeof globalThis.fetch>[0]): Promise<Response> => {
    asked = String(url);
    throw new Error("asked");
  };
  const connection = { baseUrl, provider, model: "small", apiKey: "key", apiKeyHeader: null };
  const model = await openProvider({ ...connection, id: undefined, name: "", prices: null, limits: null }, fetch);
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }];
  await model.doGenerate({ prompt }).then(undefined, () => {});
  return asked;
}

test.each(Object.keys(PROTOCOLS) as ModelProvider[])(
  "%s appends its path to the address, whatever comes after that",
  async (provider) => {
    const plain = await askedAt(provider, "http://model/v1");
    expect(plain).toMatch(/^http:\/\/model\/v1\/\w/);
    for (const end of ["/", "?", "#", "/?", "?#"]) expect(await askedAt(provider, `http://model/v1${end}`)).toBe(plain);
    for (const end of ["?path=/a/", "/?path=/a/"])
      expect(await askedAt(provider, `http://model/v1${end}`)).toBe(
        `${plain}${plain.includes("?") ? "&" : "?"}path=/a/`,
      );
  },
);
