/** TLS passes the same guard, and certificates are verified. */
import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, it, vi } from "vitest";
import { CERTIFICATE, KEY } from "../../../test/certificate.ts";
import type { Lookup } from "./connect.ts";
import { OutboundRefused } from "./errors.ts";
import { failureOf, get, listen, LOOPBACK, outboundTo, textOf } from "./loopback.testsuite.ts";

const authorities = getCACertificates("default");
afterEach(() => setDefaultCACertificates(authorities));

const serveTls = (): ReturnType<typeof listen> =>
  listen(
    createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
      if (request.url === "/down") response.writeHead(302, { location: "http://127.0.0.1/" });
      response.end(request.headers.host);
    }),
  );

it("an unknown certificate is refused", async () => {
  await using server = await serveTls();
  await using outbound = outboundTo(LOOPBACK);
  const error = await failureOf(outbound.request(get(`https://127.0.0.1:${server.port}/`)));
  expect([error.kind, error.message]).toEqual(["network", expect.stringContaining("certificate that is not trusted")]);
});

it("the certificate must be the name's", async () => {
  setDefaultCACertificates([CERTIFICATE]);
  await using server = await serveTls();
  await using outbound = outboundTo(LOOPBACK, { lookup: () => Promise.resolve(["127.0.0.1"]) });
  const named = await outbound.request(get(`https://localhost:${server.port}/`));
  expect(textOf(named.body)).toBe(`localhost:${server.port}`);
  expect((await outbound.request(get(`https://127.0.0.1:${server.port}/`))).status).toBe(200);
  const error = await failureOf(outbound.request(get(`https://other.example:${server.port}/`)));
  expect(error.code).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
});

it("a redirect from https to http is refused", async () => {
  setDefaultCACertificates([CERTIFICATE]);
  await using server = await serveTls();
  await using outbound = outboundTo(LOOPBACK);
  const error = await failureOf(outbound.request(get(`https://localhost:${server.port}/down`, { redirect: true })));
  expect(error).toBeInstanceOf(OutboundRefused);
  expect(error.message).toContain("from https to http");
});

it("a name is judged once, and the connection made to the judged address", async () => {
  setDefaultCACertificates([CERTIFICATE]);
  await using server = await serveTls();
  const answers = [["127.0.0.1"]];
  const lookup = vi.fn<Lookup>(() => Promise.resolve(answers.shift() ?? ["10.0.0.1"]));
  await using outbound = outboundTo(LOOPBACK, { lookup });
  expect((await outbound.request(get(`https://localhost:${server.port}/`))).status).toBe(200);
  expect(lookup).toHaveBeenCalledOnce();
});
