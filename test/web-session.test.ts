/** `/auth/session`: how a page of the server's own signs in, with a cookie that no script sees, and what no other page can do. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startTestServer, type Data, type TestServer } from "./client.ts";
import type { World } from "./server.ts";

const PUBLIC = "https://agents.example.org";
const LISTED = "https://app.example.org";
const GRACE_MS = 10_000;
const SESSION = "/auth/session";
const REFRESH = "/auth/session/refresh";

let server: TestServer;
let world: World;
beforeAll(async () => {
  server = await startTestServer({
    env: { PUBLIC_URL: `${PUBLIC}/autograph`, CORS_ORIGINS: LISTED, TRUSTED_PROXIES: "127.0.0.1" },
  });
  world = server.world;
});
afterAll(() => server[Symbol.asyncDispose]());

type Sent = { method?: string; body?: unknown; headers?: Record<string, string | undefined> };
type Got = { status: number; headers: IncomingHttpHeaders; body: Data; setCookie: string | undefined };

let browsers = 0;

/** A browser with a page of this server open: it sends the page's origin, and the cookie as long as it has one. */
class Browser {
  /** `name=value`. */
  cookie: string | undefined;
  readonly #origin: string;
  readonly #at: TestServer;
  readonly #address = `10.2.0.${++browsers}`;

  constructor(origin?: string, at = server) {
    this.#at = at;
    this.#origin = origin ?? `http://localhost:${new URL(at.url).port}`;
  }

  /** The session of another tab that began at the same time. */
  tab(): Browser {
    const other = new Browser(this.#origin, this.#at);
    other.cookie = this.cookie;
    return other;
  }

  send(path: string, { method = "POST", body = {}, headers = {} }: Sent = {}): Promise<Got> {
    const { promise, resolve, reject } = Promise.withResolvers<Got>();
    const all = {
      host: new URL(this.#origin).host,
      origin: this.#origin,
      "x-forwarded-for": this.#address,
      ...(method === "POST" && { "content-type": "application/json" }),
      cookie: this.cookie,
      ...headers,
    };
    const sent = httpRequest(`${this.#at.url}${path}`, {
      method,
      headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
    });
    sent.on("error", reject).on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const [setCookie] = response.headers["set-cookie"] ?? [];
        const [pair] = setCookie?.split(";") ?? [];
        if (pair !== undefined) this.cookie = pair.endsWith("=") ? undefined : pair;
        const isJson = response.headers["content-type"]?.startsWith("application/json");
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: isJson && text ? JSON.parse(text) : text,
          setCookie,
        });
      });
    });
    const text = typeof body === "string" ? body : JSON.stringify(body);
    // Headers sent with a text would be UTF-8, and not the bytes that they are written as.
    sent.end(method === "POST" ? Buffer.from(text) : undefined);
    return promise;
  }

  /** Returns the access token. */
  async signIn({ email, password }: Pick<World, "email" | "password"> = world): Promise<string> {
    return tokenIn(await this.send(SESSION, { body: { email, password } }));
  }

  async refresh(body: object = {}): Promise<string> {
    return tokenIn(await this.send(REFRESH, { body }));
  }
}

function tokenIn({ status, body }: Got): string {
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.accessToken;
}

const claimsOf = (token: string): Data => JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
const isGood = async (token: string): Promise<boolean> =>
  (await server.graphql("{ me { id } }", {}, token)).status === 200;
const codeOf = ({ status, body }: Got): [number, string] => [status, body.errors[0].extensions.code];

describe("signing in", () => {
  test("answers an access token of the web UI and its end; the refresh token is in the cookie alone", async () => {
    const browser = new Browser();
    const { body, headers, setCookie } = await browser.send(SESSION, {
      body: { email: world.email, password: world.password },
    });
    expect(Object.keys(body)).toEqual(["accessToken", "expiresAt"]);
    expect(claimsOf(body.accessToken)).toMatchObject({ client: "ui" });
    expect(new Date(body.expiresAt).getTime()).toBe(claimsOf(body.accessToken).exp * 1_000);
    expect(setCookie).toMatch(/^autograph_session=rt_[\w-]{91}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
    expect([headers["cache-control"], headers["access-control-allow-origin"]]).toEqual(["no-store", undefined]);
    const { data, headers: limits } = await server.graphql("{ me { name } }", {}, body.accessToken);
    expect([data.me.name, limits.get("ratelimit-policy")]).toEqual(["first", '"user";q=600;w=60']);
  });

  test("over https the cookie is Secure and has the prefix that no other host, path or scheme can set", async () => {
    const browser = new Browser(PUBLIC);
    const got = await browser.send(SESSION, { body: { email: world.email, password: world.password } });
    expect(got.setCookie).toMatch(
      /^__Host-autograph_session=rt_[\w-]{91}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(await isGood(await browser.refresh())).toBe(true);
    // A cookie that plain http or another host of the domain could have set.
    const planted = browser.cookie!.replace("__Host-", "");
    expect(codeOf(await browser.send(REFRESH, { headers: { cookie: planted } }))).toEqual([401, "UNAUTHENTICATED"]);
    // Browsers take this for a name without the prefix; String.trim would take it for ours.
    const disguised = `a=b; \u00a0${browser.cookie!}`;
    expect(codeOf(await browser.send(REFRESH, { headers: { cookie: disguised } }))).toEqual([401, "UNAUTHENTICATED"]);
    expect((await browser.send(REFRESH, { headers: { cookie: `a=b;${browser.cookie!}; c=d` } })).status).toBe(200);
  });

  test("a wrong password and an unknown e-mail are refused in the words of login, and throttled with it", async () => {
    const { email } = await server.member("throttled@example.org", "viewer");
    const browser = new Browser();
    const right = { email, password: world.password };
    const wrong = { email, password: "not the password" };
    const first = await browser.send(SESSION, { body: wrong });
    const unknown = await browser.send(SESSION, { body: { ...wrong, email: "nobody@example.org" } });
    expect(codeOf(first)).toEqual([401, "UNAUTHENTICATED"]);
    expect(first.body).toEqual(unknown.body);
    expect([first.headers["www-authenticate"], first.setCookie]).toEqual(["Bearer", undefined]);
    for (let count = 1; count < 10; count++) await browser.send(SESSION, { body: wrong });
    const refused = await browser.send(SESSION, { body: right });
    expect(codeOf(refused)).toEqual([429, "RATE_LIMITED"]);
    expect(Number(refused.headers["retry-after"])).toBe(refused.body.errors[0].extensions.retryAfter);
    await server.clock.advance(30_000);
    await browser.signIn(right);
  });

  test("a browser that signs in again has ended its former session", async () => {
    const browser = new Browser();
    const former = await browser.signIn();
    expect(await isGood(former)).toBe(true);
    const present = await browser.signIn();
    expect([await isGood(former), await isGood(present)]).toEqual([false, true]);
    const failed = await browser.send(SESSION, { body: { email: world.email, password: "wrong" } });
    expect([failed.status, await isGood(present)]).toEqual([401, true]);
  });

  test("by an invitation: a new user, and somebody who is signed in", async () => {
    const invite = async (): Promise<string> => {
      const { login } = await server.data(
        `mutation { login(email: "${world.email}", password: "${world.password}") { accessToken } }`,
        {},
        null,
      );
      const { inviteMember } = await server.data(
        "mutation { inviteMember(input: {role: viewer}) { url } }",
        {},
        login.accessToken,
      );
      return inviteMember.url.split("#invitation=")[1];
    };
    const stranger = new Browser();
    const account = { name: "Ada", email: "ada-of-the-page@example.org", password: "correct horse battery" };
    const joined = await stranger.send(SESSION, { body: { invitationToken: await invite(), ...account } });
    expect([joined.status, claimsOf(joined.body.accessToken).client]).toEqual([200, "ui"]);
    expect(claimsOf(await stranger.refresh()).sub).toBe(claimsOf(joined.body.accessToken).sub);

    const elsewhere = await server.organization("joins-by-page");
    const member = new Browser();
    const former = await member.signIn(elsewhere);
    const body = { invitationToken: await invite() };
    const headers = { authorization: `Bearer ${former}` };
    const moved = await member.send(SESSION, { body, headers });
    expect(claimsOf(moved.body.accessToken)).toMatchObject({ sub: claimsOf(former).sub, org: world.organizationId });
    expect(await isGood(former)).toBe(false);
    expect(codeOf(await new Browser().send(SESSION, { body }))).toEqual([404, "NOT_FOUND"]);
  });

  test("by the setup link", async () => {
    await using fresh = await startTestServer({ fresh: true });
    const setupToken = fresh.setupLink!.split("#setup=")[1];
    const browser = new Browser(undefined, fresh);
    const owner = { organization: "Engines", name: "Ada", email: "ada@example.org", password: "correct horse battery" };
    const wrong = await browser.send(SESSION, { body: { setupToken: "wrong", ...owner } });
    expect(codeOf(wrong)).toEqual([401, "UNAUTHENTICATED"]);
    const weak = await browser.send(SESSION, { body: { setupToken, ...owner, password: "short" } });
    expect(weak.body.errors[0].extensions).toMatchObject({ fields: [{ path: "input.password", code: "too_short" }] });
    expect(weak.status).toBe(400);
    const { body } = await browser.send(SESSION, { body: { setupToken, ...owner } });
    const { caller } = await fresh.data("{ caller { role } }", {}, body.accessToken);
    expect([caller.role, claimsOf(await browser.refresh()).client]).toEqual(["owner", "ui"]);
    expect(codeOf(await browser.send(SESSION, { body: { setupToken, ...owner } }))).toEqual([409, "CONFLICT"]);
  });
});

describe("another page", () => {
  const origins: Record<string, string | undefined> = {
    "no Origin": undefined,
    "a foreign one": "https://evil.example",
    "one that CORS lists": LISTED,
    "another port": "http://localhost:1",
    "another scheme": PUBLIC.replace("https", "http"),
    "a name that begins with ours": `${PUBLIC}.evil.example`,
    "an opaque one": "null",
    "an empty one": "",
  };

  test.for(Object.entries(origins))("%s is refused, whatever it asks for", async ([, origin]) => {
    const browser = new Browser();
    const token = await browser.signIn();
    const { cookie } = browser;
    const right = { email: world.email, password: world.password };
    for (const [path, sent] of [
      [SESSION, { body: right }],
      [REFRESH, {}],
      [SESSION, { method: "DELETE" }],
    ] as const) {
      const got = await browser.send(path, { ...sent, headers: { origin } });
      expect([...codeOf(got), got.setCookie]).toEqual([403, "FORBIDDEN", undefined]);
      expect(got.headers["access-control-allow-origin"]).toBeUndefined();
    }
    expect([browser.cookie, await isGood(token)]).toEqual([cookie, true]);
  });

  test("a preflight is answered without permission", async () => {
    const headers = { origin: LISTED, "access-control-request-method": "POST" };
    const got = await new Browser().send(SESSION, { method: "OPTIONS", headers });
    expect([got.status, got.headers["access-control-allow-origin"]]).toEqual([405, undefined]);
  });

  test("another Host is none of ours: 421", async () => {
    const origin = "http://rebound.example:4400";
    const got = await new Browser(origin).send(SESSION, { body: { email: world.email, password: world.password } });
    expect(got.status).toBe(421);
  });
});

describe("a request that is none", () => {
  const browser = (): Browser => new Browser();

  test("other methods: 405, and other paths: 404", async () => {
    for (const method of ["GET", "HEAD", "PUT", "PATCH"])
      expect(await browser().send(SESSION, { method })).toMatchObject({
        status: 405,
        headers: { allow: "POST, DELETE" },
      });
    const got = await browser().send(REFRESH, { method: "DELETE" });
    expect([got.status, got.headers.allow]).toEqual([405, "POST"]);
    for (const path of ["/auth", "/auth/", `${SESSION}/`, `${SESSION}/refresh/x`, "/auth/Session"])
      expect((await browser().send(path)).status, path).toBe(404);
  });

  test("content types that a form can send: 415", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      undefined,
    ])
      for (const path of [SESSION, REFRESH])
        expect(await browser().send(path, { headers: { "content-type": type } })).toMatchObject({ status: 415 });
  });

  test("bodies that are no object of texts: 400; more than 64 KiB: 413", async () => {
    const { email, password } = world;
    for (const [body, code] of [
      ["", "BAD_REQUEST"],
      ["{", "BAD_REQUEST"],
      ["[]", "BAD_REQUEST"],
      ["null", "BAD_REQUEST"],
      ['"x"', "BAD_REQUEST"],
      ["[".repeat(1_000), "BAD_REQUEST"],
      ['{"__proto__": {"email": "a"}}', "BAD_REQUEST"],
      [{}, "BAD_USER_INPUT"],
      [{ email }, "BAD_USER_INPUT"],
      [{ email, password: null }, "BAD_USER_INPUT"],
      [{ email: [email], password }, "BAD_USER_INPUT"],
      [{ email: { toString: email }, password }, "BAD_USER_INPUT"],
      [{ setupToken: 1 }, "BAD_USER_INPUT"],
      [{ setupToken: "x", email, password }, "BAD_USER_INPUT"],
      [{ invitationToken: true }, "BAD_USER_INPUT"],
    ] as const)
      expect(codeOf(await browser().send(SESSION, { body })), JSON.stringify(body)).toEqual([400, code]);
    const missing = await browser().send(SESSION, { body: { email } });
    expect(missing.body.errors[0]).toEqual({
      message: "password is missing",
      extensions: {
        code: "BAD_USER_INPUT",
        reason: "invalid_input",
        fields: [{ path: "input.password", code: "required", message: "is missing" }],
      },
    });
    const large = await browser().send(SESSION, { body: { email, password: "x".repeat(70_000) } });
    expect(codeOf(large)).toEqual([413, "REQUEST_ENTITY_TOO_LARGE"]);
    expect(codeOf(await browser().send(REFRESH, { body: { organizationId: 1 } }))).toEqual([400, "BAD_USER_INPUT"]);
  });
});

describe("refreshing", () => {
  test("gives the browser another cookie; the former one, used later, ends the session, and the log says whose", async () => {
    const browser = new Browser();
    const first = await browser.signIn();
    const former = browser.tab();
    await server.clock.advance(GRACE_MS);
    const second = await browser.refresh();
    expect(browser.cookie).not.toBe(former.cookie);
    expect(claimsOf(second).sid).toBe(claimsOf(first).sid);
    await server.clock.advance(GRACE_MS);
    const got = await former.send(REFRESH);
    expect([...codeOf(got), got.setCookie]).toEqual([401, "UNAUTHENTICATED", undefined]);
    expect(got.body.errors[0].message).toMatch("used before");
    expect([await isGood(first), await isGood(second)]).toEqual([false, false]);
    expect(codeOf(await browser.send(REFRESH))).toEqual([401, "UNAUTHENTICATED"]);
    const line = server
      .log()
      .split("\n")
      .find((one) => one.includes("used twice"));
    expect(JSON.parse(line!)).toMatchObject({ session: expect.any(String), user: expect.any(String) });
    expect(line).not.toContain("rt_");
    for (const cookie of [browser.cookie!, former.cookie!])
      expect(server.log()).not.toContain(cookie.split("=")[1]!.slice(3));
  });

  test("twenty tabs at once with one cookie: all are answered, and have one cookie in the end", async () => {
    const browser = new Browser();
    await browser.signIn();
    await server.clock.advance(GRACE_MS);
    const began = await server.clock.now();
    const tabs = Array.from({ length: 20 }, () => browser.tab());
    const tokens = await Promise.all(tabs.map((tab) => tab.refresh()));
    const cookies = new Set(tabs.map(({ cookie }) => cookie));
    expect([cookies.size, cookies.has(browser.cookie)]).toEqual([1, false]);
    // One that comes late with the first cookie, after one that had the next.
    await server.clock.set(began);
    const quick = tabs[0]!.tab();
    await quick.refresh();
    const late = browser.tab();
    await late.refresh();
    expect([quick.cookie, late.cookie]).toEqual([tabs[0]!.cookie, tabs[0]!.cookie]);
    for (const token of tokens) expect(await isGood(token)).toBe(true);
    await server.clock.advance(GRACE_MS);
    expect(await isGood(await late.refresh())).toBe(true);
  });

  test("a refresh over GraphQL has no grace: a session of a program that uses a token twice is ended", async () => {
    const login = `mutation { login(email: "${world.email}", password: "${world.password}") { accessToken refreshToken } }`;
    const { refreshToken } = (await server.data(login, {}, null)).login;
    const refresh = "mutation ($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken } }";
    const next = (await server.data(refresh, { input: { refreshToken } }, null)).refreshToken;
    expect((await server.graphql(refresh, { input: { refreshToken } }, null)).errors).toMatchObject([
      { extensions: { code: "UNAUTHENTICATED" } },
    ]);
    expect(await isGood(next.accessToken)).toBe(false);
  });

  test("moves the session to another organization of the user; any other is NOT_FOUND, and the cookie stays good", async () => {
    const elsewhere = await server.organization("moves-by-page");
    await server.memberOf(elsewhere, world.email, "viewer");
    const foreign = await server.organization("foreign-by-page");
    const browser = new Browser();
    const first = await browser.signIn();
    const target = claimsOf(first).org === world.organizationId ? elsewhere.organizationId : world.organizationId;
    const former = browser.tab();
    // While the cookie is kept, and when it changes.
    for (const _kept of [true, false]) {
      for (const organizationId of [foreign.organizationId, "org_1", ""]) {
        const got = await browser.send(REFRESH, { body: { organizationId } });
        expect([...codeOf(got), got.body.errors[0].message]).toEqual([404, "NOT_FOUND", "Organization not found"]);
      }
      const there = await browser.refresh({ organizationId: target });
      expect(claimsOf(there).org).toBe(target);
      const back = await browser.refresh({ organizationId: claimsOf(first).org });
      expect([claimsOf(back).org, await isGood(there), await isGood(back)]).toEqual([claimsOf(first).org, false, true]);
      await server.clock.advance(GRACE_MS);
    }
    const last = browser.tab();
    const token = await browser.refresh();
    expect(codeOf(await last.send(REFRESH, { body: { organizationId: foreign.organizationId } }))[1]).toBe("NOT_FOUND");
    expect(await isGood(token)).toBe(true);
    expect(codeOf(await former.send(REFRESH))).toEqual([401, "UNAUTHENTICATED"]);
  });

  test("without a cookie, or with another's: 401", async () => {
    for (const cookie of [
      undefined,
      "",
      "a=b",
      "autograph_session=",
      "autograph_session=x",
      `autograph_session=rt_${"A".repeat(91)}`,
      `autograph_session=${world.apiKey}`,
    ]) {
      const got = await new Browser().send(REFRESH, { headers: { cookie } });
      expect([...codeOf(got), got.headers["www-authenticate"]]).toEqual([401, "UNAUTHENTICATED", "Bearer"]);
    }
  });
});

describe("signing out", () => {
  test("ends the session and takes the cookie away; again does nothing", async () => {
    const browser = new Browser();
    const token = await browser.signIn();
    const { cookie } = browser;
    const got = await browser.send(SESSION, { method: "DELETE" });
    expect([got.status, got.body]).toEqual([200, {}]);
    expect(got.setCookie).toBe("autograph_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
    expect(await isGood(token)).toBe(false);
    browser.cookie = cookie;
    expect(codeOf(await browser.send(REFRESH))).toEqual([401, "UNAUTHENTICATED"]);
    for (const again of [cookie, undefined, "autograph_session=x"])
      expect(await browser.send(SESSION, { method: "DELETE", headers: { cookie: again } })).toMatchObject({
        status: 200,
      });
  });
});

test("nothing else takes the cookie: not GraphQL over HTTP, not a WebSocket", async () => {
  const browser = new Browser();
  await browser.signIn();
  const got = await browser.send("/graphql", { body: { query: "{ me { id } }" } });
  expect([got.status, got.body.data, got.body.errors[0].extensions.code]).toEqual([200, null, "UNAUTHENTICATED"]);
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws", {
    headers: { cookie: browser.cookie! },
    origin: server.url,
  });
  const { promise, resolve } = Promise.withResolvers<Data>();
  socket.once("open", () => socket.send('{"type":"connection_init"}'));
  socket.on("message", (data) => {
    const message = JSON.parse(String(data));
    if (message.type !== "connection_ack") return resolve(message);
    socket.send(JSON.stringify({ type: "subscribe", id: "1", payload: { query: "{ me { id } }" } }));
  });
  expect((await promise).payload.errors[0].extensions.code).toBe("UNAUTHENTICATED");
  socket.terminate();
});
