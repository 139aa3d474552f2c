/** Calls that a malicious author writes into `call: http`: none of them may reach a server inside. */
import { platform } from "node:os";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Log } from "../lib/log/log.ts";
import type { Lookup } from "./connect.ts";
import { OutboundRefused } from "./errors.ts";
import { failureOf, get, LOOPBACK, outboundTo, serve, textOf, waitFor, type Loopback } from "./loopback.testsuite.ts";

/** A second address of this machine that is not in OUTBOUND_ALLOW. */
const INSIDE = platform() === "linux" ? "127.0.0.2" : "::1";

let inside: Loopback;

beforeEach(async () => {
  inside = await serve((_request, response) => void response.end("the inner network"), "127.0.0.1");
});
afterEach(() => inside[Symbol.asyncDispose]());

describe("without OUTBOUND_ALLOW", () => {
  it.each([
    "127.0.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.1",
    "127.0.0.1.",
    "127%2e0%2e0%2e1",
    "①②⑦.⓪.⓪.①",
    "0.0.0.0",
    "0",
    "127.0.0.2",
    "localhost",
    "LOCALHOST",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "255.255.255.255",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
  ])("http://%s is refused, and no socket is opened", async (host) => {
    await using outbound = outboundTo([]);
    const error = await failureOf(outbound.request(get(`http://${host}:${inside.port}/`)));
    expect(error).toBeInstanceOf(OutboundRefused);
    expect(error.message).toMatch(
      /^the call is refused: .+ \(the operator can permit addresses with OUTBOUND_ALLOW\)$/,
    );
    expect(inside.connections).toHaveLength(0);
  });

  it("https is refused alike", async () => {
    await using outbound = outboundTo([]);
    expect(await failureOf(outbound.request(get(`https://localhost:${inside.port}/`)))).toBeInstanceOf(OutboundRefused);
    expect(inside.connections).toHaveLength(0);
  });

  it.each(["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fe80::1%eth0", "64:ff9b::a00:1"])(
    "a name that resolves to %s is refused and the address not told",
    async (address) => {
      await using outbound = outboundTo([], { lookup: () => Promise.resolve([address]) });
      const error = await failureOf(outbound.request(get("http://rebind.example/")));
      expect(error).toBeInstanceOf(OutboundRefused);
      expect(error.message).toContain("rebind.example resolves to a");
      expect(error.message).not.toContain(address);
    },
  );

  it("the operator reads the address in the log", async () => {
    const info = vi.fn<(...values: unknown[]) => void>();
    const log = { info } as unknown as Log;
    await using outbound = outboundTo([], { log, lookup: () => Promise.resolve(["10.1.2.3"]) });
    await failureOf(outbound.request(get("http://rebind.example/")));
    expect(info).toHaveBeenCalledWith(
      { host: "rebind.example", address: "10.1.2.3", reason: "a private address" },
      "outgoing call refused",
    );
  });

  it.each([
    [
      "has a secret in its URL",
      { confidential: { url: true, headers: new Set<string>(), body: false } },
      "s3cret.example",
    ],
    ["leads there by a redirect", { redirect: true }, "led.example"],
  ])("of a call that %s the log names no host", async (_, options, host) => {
    const info = vi.fn<(...values: unknown[]) => void>();
    const log = { info } as unknown as Log;
    await using server = await serve(
      (_request, response) => void response.writeHead(302, { location: "http://s3cret.example/" }).end(),
    );
    const lookup: Lookup = (name) => Promise.resolve([name === "led.example" ? "127.0.0.1" : "10.1.2.3"]);
    await using outbound = outboundTo(LOOPBACK, { log, lookup });
    await failureOf(outbound.request(get(`http://${host}:${server.port}/`, options)));
    expect(info).toHaveBeenCalledWith({ address: "10.1.2.3", reason: "a private address" }, "outgoing call refused");
  });
});

describe("a name", () => {
  it("with several addresses is called at those that are permitted, and only there", async () => {
    await using other = await serve((_request, response) => void response.end("not permitted"), INSIDE, inside.port);
    await using outbound = outboundTo(LOOPBACK, { lookup: () => Promise.resolve([INSIDE, "127.0.0.1"]) });
    const answer = await outbound.request(get(`http://mixed.example:${inside.port}/`));
    expect(textOf(answer.body)).toBe("the inner network");
    expect(other.connections).toHaveLength(0);
  });

  it("that changes its answer after the check is called where it was checked", async () => {
    await using secret = await serve((_request, response) => void response.end("secret"), INSIDE, inside.port);
    const answers = ["127.0.0.1", INSIDE];
    const lookup = vi.fn<Lookup>(() => Promise.resolve([answers.shift() ?? INSIDE]));
    await using outbound = outboundTo(LOOPBACK, { lookup });
    const url = `http://rebind.example:${inside.port}/`;
    expect(textOf((await outbound.request(get(url))).body)).toBe("the inner network");
    expect(lookup).toHaveBeenCalledTimes(1);
    for (const socket of inside.connections) socket.destroy();
    await waitFor(async () => expect(await failureOf(outbound.request(get(url)))).toBeInstanceOf(OutboundRefused));
    expect(answers).toHaveLength(0);
    expect(secret.connections).toHaveLength(0);
  });

  it("is looked up by the system when none is injected", async () => {
    await using outbound = outboundTo(["127.0.0.1/32"]);
    expect((await outbound.request(get(`http://localhost:${inside.port}/`))).status).toBe(200);
  });
});

describe("a redirect", () => {
  it.each([
    `http://${INSIDE.includes(":") ? `[${INSIDE}]` : INSIDE}/`,
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:10.0.0.1]/",
    "http://0x0a000001/",
    "http://user:password@127.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "//10.0.0.1/",
  ])("to %s is refused", async (location) => {
    await using server = await serve((_request, response) => void response.writeHead(302, { location }).end());
    await using outbound = outboundTo(LOOPBACK);
    const error = await failureOf(outbound.request(get(server.url, { redirect: true })));
    expect(error).toBeInstanceOf(OutboundRefused);
    expect(error.message).not.toContain("password@");
  });

  it("to another origin takes no credential along", async () => {
    const seen = vi.fn<(...values: unknown[]) => void>();
    await using target = await serve((request, response) => {
      seen(request.headers);
      response.end();
    });
    await using server = await serve(
      (_request, response) => void response.writeHead(307, { location: target.url }).end(),
    );
    await using outbound = outboundTo(LOOPBACK);
    const headers = {
      authorization: "Bearer x",
      cookie: "a=b",
      "idempotency-key": "k",
      "x-api-key": "k",
      accept: "a/b",
    };
    await outbound.request(get(server.url, { headers, redirect: true }));
    expect(seen).toHaveBeenCalledWith({
      accept: "a/b",
      "accept-encoding": "gzip, br",
      connection: "keep-alive",
      host: `127.0.0.1:${target.port}`,
      "user-agent": "autograph",
    });
  });
});
