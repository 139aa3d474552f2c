import { once } from "node:events";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { expectInTime } from "../../../test/in-time.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import {
  failureOf,
  get,
  LOOPBACK,
  outboundTo,
  serve,
  serveRaw,
  textOf,
  waitFor,
  type Loopback,
} from "./loopback.testsuite.ts";
import type { Outbound } from "./outbound.ts";

const overOutput = LIMITS.outputBytes + 1;
let outbound: Outbound & AsyncDisposable;

beforeEach(() => {
  outbound = outboundTo(LOOPBACK);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await outbound[Symbol.asyncDispose]();
});

describe("a call", () => {
  it("sends method, query, headers and body and answers status, headers and body", async () => {
    await using server = await serve((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        response.writeHead(
          418,
          "Short And Stout",
          [
            ["X-Seen", request.headers["x-mine"] as string],
            ["x-two", "a"],
            ["X-Two", "b"],
          ].flat(),
        );
        response.end(
          `${request.method} ${request.url} ${request.headers["content-length"]} ${Buffer.concat(parts).toString()}`,
        );
      });
    });
    const url = `${server.url}/a%20b?q=1&q=2#fragment`;
    const answer = await outbound.request(get(url, { method: "put", headers: { "X-Mine": "yes" }, body: "häl\0lo" }));
    expect(answer).toMatchObject({ status: 418, statusText: "Short And Stout", url: `${server.url}/a%20b?q=1&q=2` });
    expect(answer.headers).toMatchObject({ "x-seen": "yes", "x-two": "a, b" });
    expect(textOf(answer.body)).toBe("PUT /a%20b?q=1&q=2 7 häl\0lo");
  });

  it("sends bytes as they are, a view of a larger buffer too", async () => {
    await using server = await serve((request, response) => void request.pipe(response));
    const whole = Uint8Array.from([1, 0, 255, 128, 9]);
    const answer = await outbound.request(get(server.url, { method: "POST", body: whole.subarray(1, 4) }));
    expect([...answer.body]).toEqual([0, 255, 128]);
  });

  // undici waits a turn of the event loop before it reuses a connection: calls one after the other take two.
  it("keeps its connections for the next call, and at most the limit for one origin", async () => {
    await using server = await serve((_request, response) => void setTimeout(() => response.end("x"), 5));
    for (let index = 0; index < 20; index++) await outbound.request(get(server.url));
    expect(server.connections.length).toBeLessThanOrEqual(2);
    const calls = Array.from({ length: 600 }, () => outbound.request(get(server.url)));
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
    expect(server.connections).toHaveLength(LIMITS.outboundConnectionsPerOrigin);
  });

  it("reads no proxy from the environment", async () => {
    await using proxy = await serve((_request, response) => void response.end("proxied"));
    await using server = await serve((_request, response) => void response.end("direct"));
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"]) vi.stubEnv(name, proxy.url);
    await using fresh = outboundTo(LOOPBACK);
    expect(textOf((await fresh.request(get(server.url))).body)).toBe("direct");
    expect(proxy.connections).toHaveLength(0);
  });

  it("follows redirects only when asked to, at most five", async () => {
    await using server = await serve((request, response) => {
      const left = Number(request.url!.slice(1));
      response.writeHead(left > 0 ? 302 : 200, left > 0 ? { location: `/${left - 1}` } : {}).end(`${left}`);
    });
    const kept = await outbound.request(get(`${server.url}/5`));
    expect([kept.status, kept.headers["location"]]).toEqual([302, "/4"]);
    const followed = await outbound.request(get(`${server.url}/5`, { redirect: true }));
    expect([followed.status, followed.url]).toEqual([200, `${server.url}/0`]);
    const error = await failureOf(outbound.request(get(`${server.url}/6`, { redirect: true })));
    expect([error.kind, error.message]).toEqual(["network", expect.stringContaining("more than 5 redirects")]);
  });
});

describe("the size of an answer", () => {
  const answering = (headers: Record<string, string>, body: Uint8Array): Promise<Loopback> =>
    serve((_request, response) => void response.writeHead(200, headers).end(body));

  it("may be exactly the limit", async () => {
    await using server = await answering({}, Buffer.alloc(LIMITS.outputBytes, "a"));
    expect((await outbound.request(get(server.url))).body).toHaveLength(LIMITS.outputBytes);
  });

  it("is refused when it is announced over the limit", async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { "content-length": overOutput }).flushHeaders();
    });
    expect((await failureOf(outbound.request(get(server.url)))).kind).toBe("too_large");
  });

  it("is refused when it comes in pieces, and the connection is closed", async () => {
    await using server = await serve((_request, response) => {
      for (let sent = 0; sent < overOutput; sent += 100_000) response.write(Buffer.alloc(100_000));
    });
    expect((await failureOf(outbound.request(get(server.url)))).kind).toBe("too_large");
    await waitFor(() => expect(server.open()).toBe(0));
  });

  it("counts unpacked: gzip and br bombs are refused", async () => {
    const bomb = Buffer.alloc(20 * LIMITS.outputBytes);
    for (const [coding, body] of [
      ["gzip", gzipSync(bomb)],
      // Its best quality takes seconds for no smaller bomb.
      ["br", brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ] as const) {
      await using server = await answering({ "content-encoding": coding }, body);
      expect(body.length).toBeLessThan(LIMITS.outputBytes);
      expect((await failureOf(outbound.request(get(server.url)))).kind).toBe("too_large");
    }
  });

  it("does not count for HEAD", async () => {
    await using server = await serve(
      (_request, response) => void response.writeHead(200, { "content-length": overOutput }).end(),
    );
    const answer = await outbound.request(get(server.url, { method: "HEAD" }));
    expect([answer.status, answer.body.length, answer.headers["content-length"]]).toEqual([200, 0, String(overOutput)]);
  });

  it("of headers is limited too", async () => {
    await using server = await answering({ "x-long": "a".repeat(LIMITS.outboundHeaderBytes) }, Buffer.from("x"));
    const error = await failureOf(outbound.request(get(server.url)));
    expect([error.kind, error.message]).toEqual(["too_large", expect.stringContaining("larger than 16384 bytes")]);
    await using small = await answering({ "x-long": "a".repeat(LIMITS.outboundHeaderBytes - 500) }, Buffer.from("x"));
    expect((await outbound.request(get(small.url))).status).toBe(200);
  });

  it.each(["gzip", "x-gzip", "GZIP", "br"])("%s is unpacked and no longer said to be packed", async (coding) => {
    const packed = coding === "br" ? brotliCompressSync("hello") : gzipSync("hello");
    await using server = await answering(
      { "content-encoding": coding, "content-length": String(packed.length) },
      packed,
    );
    const answer = await outbound.request(get(server.url));
    expect(textOf(answer.body)).toBe("hello");
    expect(answer.headers).not.toHaveProperty("content-encoding");
    expect(answer.headers).not.toHaveProperty("content-length");
  });

  it.each(["zstd", "gzip, gzip", "constructor"])("%s is answered as it came", async (coding) => {
    await using server = await answering({ "content-encoding": coding }, Buffer.from("packed"));
    const answer = await outbound.request(get(server.url));
    expect([textOf(answer.body), answer.headers["content-encoding"]]).toEqual(["packed", coding]);
  });

  it.each([gzipSync("hello").subarray(0, 15), Buffer.from("no gzip")])(
    "an invalid gzip body is an error",
    async (body) => {
      await using server = await answering({ "content-encoding": "gzip" }, body);
      expect((await failureOf(outbound.request(get(server.url)))).message).toContain("not valid gzip");
    },
  );
});

describe("an answer that is none", () => {
  it.each([
    ["garbage", "220 smtp.example ESMTP\r\n", "not HTTP"],
    [
      "an upgrade",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
      "closed the connection",
    ],
    ["a cut body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "closed the connection"],
    ["a cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "closed the connection"],
    ["nothing", "", "closed the connection"],
    ["a NUL in a header", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", "not HTTP"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "closed the"],
  ])("%s is a network error", async (_name, text, message) => {
    await using server = await serveRaw((socket) => void socket.end(Buffer.from(text, "latin1")));
    const error = await failureOf(outbound.request(get(server.url)));
    expect([error.kind, error.message]).toEqual(["network", expect.stringContaining(message)]);
  });

  it("a header named __proto__ is left out", async () => {
    await using server = await serveRaw(
      (socket) => void socket.end("HTTP/1.1 200 OK\r\n__proto__: x\r\nconstructor: y\r\n\r\n"),
    );
    const { headers } = await outbound.request(get(server.url));
    expect(JSON.stringify(headers)).toBe('{"constructor":"y"}');
  });

  it("a closed port and an unknown name are network errors", async () => {
    const server = await serve(() => {});
    await server[Symbol.asyncDispose]();
    const closed = await failureOf(outbound.request(get(server.url)));
    expect([closed.kind, closed.code, closed.message]).toEqual([
      "network",
      "ECONNREFUSED",
      expect.stringContaining(server.url),
    ]);
    await using unknown = outboundTo([], {
      lookup: () => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" })),
    });
    const error = await failureOf(unknown.request(get("http://nowhere.invalid/")));
    expect([error.kind, error.message]).toEqual([
      "network",
      "http://nowhere.invalid has a name that is not known (ENOTFOUND)",
    ]);
    await using empty = outboundTo([], { lookup: () => Promise.resolve([]) });
    expect((await failureOf(empty.request(get("http://nowhere.invalid/")))).code).toBe("ENOTFOUND");
  });
});

describe("time", () => {
  it("of the whole call is limited: no answer, a body by drops, slow redirects", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/drops") {
        response.flushHeaders();
        setInterval(() => response.destroyed || response.write("x"), 20).unref();
      }
      if (request.url === "/redirects") setTimeout(() => response.writeHead(302, { location: "/redirects" }).end(), 60);
    });
    for (const path of ["/hang", "/drops", "/redirects"]) {
      const error = await failureOf(outbound.request(get(server.url + path, { timeoutMs: 150, redirect: true })));
      expect([error.kind, error.message]).toEqual(["timeout", `${server.url} did not answer in full within 0.15 s`]);
    }
  });

  it("beyond 24 days does not overflow the timer", async () => {
    await using server = await serve((_request, response) => void setTimeout(() => response.end("late"), 50));
    expect((await outbound.request(get(server.url, { timeoutMs: 30 * 86_400_000 }))).status).toBe(200);
  });

  it("of a body that began and then sends nothing is given up, one that waits for its answer is not", async () => {
    await using impatient = outboundTo(LOOPBACK, { idleMs: 300 });
    await using server = await serve((request, response) => {
      if (request.url === "/late") return void setTimeout(() => response.end("late"), 700);
      response.write("x");
    });
    const silent = failureOf(impatient.request(get(`${server.url}/silent`, { timeoutMs: 60_000 })));
    expect(textOf((await impatient.request(get(`${server.url}/late`, { timeoutMs: 60_000 }))).body)).toBe("late");
    const error = await silent;
    expect([error.kind, error.message]).toEqual([
      "timeout",
      `${server.url} began to answer and then sent nothing for ${LIMITS.callIdleSeconds} s`,
    ]);
  });

  it("to connect is limited by itself", async () => {
    await using slow = outboundTo([], { lookup: () => new Promise(() => {}), connectTimeoutMs: 100 });
    const error = await failureOf(slow.request(get("http://slow.invalid/")));
    expect([error.kind, error.message]).toEqual(["timeout", "http://slow.invalid did not accept a connection in time"]);
  });
});

describe("abort", () => {
  const reason = new Error("the run was cancelled");

  it("before the call sends nothing", async () => {
    await using server = await serve((_request, response) => void response.end());
    await expect(outbound.request(get(server.url, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(server.connections).toHaveLength(0);
  });

  it("while it connects rejects at once and sends nothing afterwards", async () => {
    const requests = vi.fn<(path: string | undefined) => void>();
    await using server = await serve((request, response) => {
      requests(request.url);
      response.end();
    });
    const found = Promise.withResolvers<string[]>();
    await using slow = outboundTo(LOOPBACK, { lookup: () => found.promise });
    const controller = new AbortController();
    const call = slow.request(get(`http://slow.invalid:${server.port}/aborted`, { signal: controller.signal }));
    setTimeout(() => controller.abort(reason), 50);
    await expect(call).rejects.toBe(reason);
    found.resolve(["127.0.0.1"]);
    await waitFor(() => expect(server.connections).toHaveLength(1));
    expect((await slow.request(get(`http://slow.invalid:${server.port}/next`))).status).toBe(200);
    expect(requests.mock.calls).toEqual([["/next"]]);
  });

  it.each(["/hang", "/drops"])("during %s closes the socket within 500 ms", async (path) => {
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    await using server = await serve((request, response) => {
      if (request.url === "/drops") response.write("first");
      isAsked();
    });
    const controller = new AbortController();
    const call = outbound.request(get(server.url + path, { signal: controller.signal }));
    await asked;
    const closed = once(server.connections[0]!, "close");
    setTimeout(() => controller.abort(reason), 100);
    await expect(call).rejects.toBe(reason);
    const since = performance.now();
    await closed;
    // Ten times the promise; its own timeout is a minute.
    expectInTime(performance.now() - since, 10 * 500);
  });

  it("of one call leaves the others alone", async () => {
    await using server = await serve((_request, response) => void setTimeout(() => response.end("x"), 100));
    const controller = new AbortController();
    const aborted = outbound.request(get(server.url, { signal: controller.signal }));
    const other = outbound.request(get(server.url));
    setTimeout(() => controller.abort(reason), 20);
    await expect(aborted).rejects.toBe(reason);
    expect((await other).status).toBe(200);
  });

  it("with a reason that is no Error rejects with it", async () => {
    await using server = await serve(() => {});
    const controller = new AbortController();
    setTimeout(() => controller.abort("stop"), 50);
    await expect(outbound.request(get(server.url, { signal: controller.signal }))).rejects.toBe("stop");
  });
});

describe("bodies", () => {
  it("of all answers that are read at once hold no more than the budget; each comes whole when there is room", async () => {
    const body = Buffer.alloc(1_000_000, "x");
    let sent = 0;
    const held: (() => void)[] = [];
    await using server = await serve((request, response) => {
      // The last byte comes when the test says so; chunked, so that nothing says how long it is.
      const isChunked = request.url === "/chunked";
      response.writeHead(200, isChunked ? {} : { "content-length": body.length });
      response.write(body.subarray(1), () => sent++);
      held.push(() => response.end("x"));
    });
    const count = 160;
    const organizationId = newId<"organization">();
    const answers = Array.from({ length: count }, (_, index) =>
      outbound.request(get(index % 2 ? `${server.url}/chunked` : server.url, { organizationId, timeoutMs: 60_000 })),
    );
    await waitFor(() => expect(held.length).toBe(count));
    await waitFor(() => expect(sent).toBeGreaterThanOrEqual(30));
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Half of the budget is one organization's; the sockets' own buffers take some more. All of them were 160 MB.
    expect(process.memoryUsage().external).toBeLessThan(LIMITS.outboundAnswersBytes * 2);
    const other = outbound.request(get(server.url));
    await waitFor(() => expect(held.length).toBe(count + 1));
    held.at(-1)!();
    expect((await other).body).toHaveLength(body.length);
    for (const end of held) end();
    for (const answer of await Promise.all(answers)) expect(answer.body).toHaveLength(body.length);
  });
});

describe("what is opened", () => {
  it("is closed on dispose, and calls are given up", async () => {
    await using server = await serve((request, response) => void (request.url === "/hang" || response.end()));
    const own = outboundTo(LOOPBACK);
    await own.request(get(server.url));
    const hanging = failureOf(own.request(get(`${server.url}/hang`)));
    await waitFor(() => expect(server.open()).toBeGreaterThan(0));
    await own[Symbol.asyncDispose]();
    expect((await hanging).message).toContain("the server is stopping");
    await waitFor(() => expect(server.open()).toBe(0));
    expect((await failureOf(own.request(get(server.url)))).message).toContain("the server is stopping");
  });

  it("is at most so many sockets, over however many hosts", async () => {
    const servers = await Promise.all(
      Array.from({ length: LIMITS.outboundKeptSockets + 30 }, () => serve((_, response) => void response.end())),
    );
    await using stack = new AsyncDisposableStack();
    for (const server of servers) stack.use(server);
    // Sockets are kept for 4 s: one call after the other takes longer on a busy machine.
    const together = servers.splice(0, LIMITS.outboundKeptSockets - 64);
    await Promise.all(together.map((server) => outbound.request(get(server.url))));
    for (const server of servers) expect((await outbound.request(get(server.url))).status).toBe(200);
    servers.push(...together);
    const open = (): number => servers.reduce((sum, server) => sum + server.open(), 0);
    await waitFor(() => expect(open()).toBeLessThanOrEqual(LIMITS.outboundKeptSockets));
    expect(open()).toBeGreaterThan(LIMITS.outboundKeptSockets - 10);
  });
});

describe("what another organization calls", () => {
  const theirs = { organizationId: newId<"organization">() };

  it("is not held up by names that are slow: no more than two of one organization are looked up at once", async () => {
    await using server = await serve((_request, response) => response.end("x"));
    const slow: (() => void)[] = [];
    const lookup = (name: string): Promise<string[]> =>
      name === "quick.invalid"
        ? Promise.resolve(["127.0.0.1"])
        : new Promise((resolve) => slow.push(() => resolve(["127.0.0.1"])));
    await using own = outboundTo(LOOPBACK, { lookup });
    const calls = Array.from({ length: 6 }, (_, n) =>
      own.request(get(`http://slow${n}.invalid:${server.port}/`, theirs)),
    );
    const quick = get(`http://quick.invalid:${server.port}/`);
    expect((await own.request(quick)).status).toBe(200);
    expect(slow).toHaveLength(2);
    // For the same organization it waits for its turn.
    const behind = own.request({ ...quick, ...theirs });
    for (let answered = 0; answered < 6; answered++) {
      await waitFor(() => expect(slow.length).toBeGreaterThan(answered));
      slow[answered]!();
    }
    for (const { status } of await Promise.all([...calls, behind])) expect(status).toBe(200);
  });

  it("or the same: a name whose time is over before its turn is not looked up", async () => {
    const asked: string[] = [];
    const lookup = (name: string): Promise<string[]> => {
      asked.push(name);
      return new Promise(() => {});
    };
    await using own = outboundTo([], { lookup, connectTimeoutMs: 100 });
    const calls = Array.from({ length: 4 }, (_, n) => failureOf(own.request(get(`http://slow${n}.invalid/`, theirs))));
    for (const { kind } of await Promise.all(calls)) expect(kind).toBe("timeout");
    expect(asked).toEqual(["slow0.invalid", "slow1.invalid"]);
  });

  it("nor by slow names of three others", async () => {
    await using server = await serve((_request, response) => response.end("x"));
    const lookup = (name: string): Promise<string[]> =>
      name === "quick.invalid" ? Promise.resolve(["127.0.0.1"]) : new Promise(() => {});
    await using own = outboundTo(LOOPBACK, { lookup });
    for (let organization = 0; organization < 3; organization++) {
      const organizationId = newId<"organization">();
      for (let n = 0; n < 6; n++)
        own.request(get(`http://slow${n}.invalid:${server.port}/`, { organizationId })).catch(() => {});
    }
    expect((await own.request(get(`http://quick.invalid:${server.port}/`))).status).toBe(200);
  });

  it("waits for no place among all calls: one organization has as many as stay free, the next ones a part, each some", async () => {
    const hanging = new Map<string, (() => void)[]>();
    let isOpen = false;
    await using server = await serve(({ url }, response) => {
      const name = url!.slice(1);
      if (isOpen) response.end("x");
      else hanging.set(name, [...(hanging.get(name) ?? []), () => response.end("x")]);
    });
    await using own = outboundTo(LOOPBACK, { mostCalls: 40 });
    const under = (name: string): number => hanging.get(name)?.length ?? 0;
    const calls = (name: string, count: number, more = {}) => {
      const organizationId = newId<"organization">();
      return Array.from({ length: count }, () =>
        own.request(get(`${server.url}/${name}`, { organizationId, ...more })),
      );
    };
    const leaving = new AbortController();
    const [first, second] = [calls("first", 100), calls("second", 50)];
    await waitFor(() => expect([under("first"), under("second")]).toEqual([20, 10]));
    const gone = Promise.allSettled(calls("gone", 30, { signal: leaving.signal }));
    const many = Array.from({ length: 5 }, (_, n) => calls(`n${n}`, 30));
    await waitFor(() => expect([under("n0"), under("n4")]).toEqual([LIMITS.outboundCallsOwn, LIMITS.outboundCallsOwn]));
    // Time limit and signal apply to waiting calls too.
    const organizationId = newId<"organization">();
    const asked = calls("late", LIMITS.outboundCallsOwn, { organizationId });
    const late = await Promise.all(calls("late", 12, { organizationId, timeoutMs: 200 }).map(failureOf));
    const message = `${server.url} was not asked: no place for the call was free within 0.2 s`;
    for (const error of late) expect(error).toMatchObject({ kind: "timeout", message });
    await waitFor(() => expect(under("late")).toBe(LIMITS.outboundCallsOwn));
    leaving.abort();
    await gone;
    isOpen = true;
    for (const end of [...hanging.values()].flat()) end();
    const all = Promise.all([...first, ...second, ...many.flat(), ...asked]);
    for (const { status } of await all) expect(status).toBe(200);
  });

  it("goes to a server to which one has as many connections as it may", async () => {
    const hanging: (() => void)[] = [];
    await using server = await serve(({ url }, response) => {
      if (url === "/hang") hanging.push(() => response.end("x"));
      else response.end("x");
    });
    const calls = Array.from({ length: LIMITS.outboundConnectionsPerOrigin + 1 }, () =>
      outbound.request(get(`${server.url}/hang`, theirs)),
    );
    await waitFor(() => expect(hanging).toHaveLength(LIMITS.outboundConnectionsPerOrigin));
    expect((await outbound.request(get(server.url))).status).toBe(200);
    for (const answer of hanging) answer();
    await waitFor(() => expect(hanging).toHaveLength(LIMITS.outboundConnectionsPerOrigin + 1));
    hanging.at(-1)!();
    await Promise.all(calls);
  });
});
