import { expect, test } from "vitest";
import { checkDefinition } from "../check-definition.ts";
import { parseDefinition } from "../parse-definition.ts";

const HEAD = `document: {dsl: 1.0.3, namespace: demo, name: lenient, version: 1.0.0}\n`;
const withScheme = (more: string): string =>
  `${HEAD}use: {authentications: {shop: {oauth2: {authority: https://a.example, grant: client_credentials, client: {id: a, secret: b}, ${more}}}}}\ndo: [{a: {set: {b: 1}}}]\n`;
const AT = "/use/authentications/shop/oauth2";

test.each([
  [
    withScheme("endpoints: {token: /t, introspection: /i}"),
    `${AT}/endpoints/introspection`,
    "this endpoint has no effect",
  ],
  [withScheme("endpoints: {revocation: /r}"), `${AT}/endpoints/revocation`, "this endpoint has no effect"],
  [withScheme("issuers: [https://a.example]"), `${AT}/issuers`, "issuers has no effect"],
  [withScheme("username: a"), `${AT}/username`, "the grant client_credentials does not use it"],
  [withScheme("password: a"), `${AT}/password`, "the grant client_credentials does not use it"],
  [withScheme("subject: {token: a, type: b}"), `${AT}/subject`, "the grant client_credentials does not use it"],
  [withScheme("actor: {token: a, type: b}"), `${AT}/actor`, "the grant client_credentials does not use it"],
  [
    withScheme("").replace("secret: b", "secret: b, assertion: c"),
    `${AT}/client/assertion`,
    "client.authentication client_secret_post does not use it",
  ],
  [
    withScheme("").replace("secret: b", "secret: b, authentication: none"),
    `${AT}/client/secret`,
    "client.authentication none does not use it",
  ],
  [
    `${HEAD}do: [{a: {run: {workflow: {namespace: demo, name: other, version: latest}, return: all}}}]\n`,
    "/do/0/a/run/return",
    "return has no effect",
  ],
])("%s: what has no effect is a warning, and the definition is accepted", async (text, path, message) => {
  const { workflow, problems, warnings } = await checkDefinition(text, async () => undefined);
  expect(problems).toEqual([]);
  expect(workflow).toBeDefined();
  expect(warnings).toEqual([
    {
      path,
      line: expect.any(Number),
      column: expect.any(Number),
      message: expect.stringContaining(message),
      severity: "warning",
    },
  ]);
  expect(parseDefinition(text).problems).toEqual([]);
});

test("a part without effect must still be valid", async () => {
  const { problems } = await checkDefinition(withScheme("endpoints: {introspection: 5}"), async () => undefined);
  expect(problems).toMatchObject([{ path: `${AT}/endpoints/introspection`, severity: "error" }]);
});

test.each([
  ["grant: password, username: a", AT, '"password" is missing, which the grant password needs'],
  ["grant: refresh_token", AT, '"subject" is missing, which the grant refresh_token needs'],
  ["grant: 'urn:ietf:params:oauth:grant-type:token-exchange'", AT, '"subject" is missing'],
  ["client: {id: a}", `${AT}/client`, '"secret" is missing, which client.authentication client_secret_post needs'],
  ["client: {id: a, secret: b, authentication: private_key_jwt}", `${AT}/client`, '"assertion" is missing'],
])("%s: what a grant or a client's method needs is an error", async (more, path, message) => {
  const [key] = more.split(":") as [string];
  const given = { grant: "grant: client_credentials, ", client: "client: {id: a, secret: b}, " }[key]!;
  const { problems } = await checkDefinition(withScheme(more).replace(given, ""), async () => undefined);
  expect(problems).toMatchObject([{ path, message: expect.stringContaining(message), severity: "error" }]);
});
