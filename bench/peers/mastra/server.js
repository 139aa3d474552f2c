/**
 * The peer: a Mastra workflow of three steps that add one each, over HTTP, its state in a LibSQL file.
 *
 *     node server.js <folder> [synced]        prints `mastra at <URL>`
 *     POST /      {"inputData": {"n": 1}}     the result of `run.start()`
 *     POST /runs                              {"total"}: the runs in its storage
 *
 * Chosen in its favour where its documentation leaves a choice: `start()` on a bare node:http server instead of Mastra's
 * own server, which adds routing and checks; its default engine, which runs a workflow in the process that was asked;
 * no observability; no logger; NODE_ENV=production. Its storage keeps what it sets by itself: a snapshot before the
 * first step and after each (`shouldPersistSnapshot` left alone), SQLite's WAL with synchronous=NORMAL: it answers
 * before anything is synced to the disk (3 fsyncs for 100 runs), and a power loss takes what it answered last. `synced`
 * sets synchronous=FULL, so that its answers are as durable as ours: 8 fsyncs a run.
 */
import { createServer } from "node:http";
import path from "node:path";
import { Mastra } from "@mastra/core";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { LibSQLStore } from "@mastra/libsql";
import { z } from "zod";

const schema = z.object({ n: z.number() });
const add = (id) =>
  createStep({
    id,
    inputSchema: schema,
    outputSchema: schema,
    execute: async ({ inputData }) => ({ n: inputData.n + 1 }),
  });
const three = createWorkflow({ id: "three", inputSchema: schema, outputSchema: schema })
  .then(add("add1"))
  .then(add("add2"))
  .then(add("add3"))
  .commit();

const [folder, synced] = process.argv.slice(2);
const storage = new LibSQLStore({ id: "bench", url: `file:${path.join(folder, "mastra.db")}` });
const mastra = new Mastra({ storage, workflows: { three }, logger: false });
const workflow = mastra.getWorkflow("three");

async function answer(url, body) {
  if (url === "/runs") return { total: (await workflow.listWorkflowRuns({ page: 0, perPage: 1 })).total };
  const { inputData } = JSON.parse(body);
  const run = await workflow.createRun();
  return run.start({ inputData });
}

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (text) => (body += text));
  request.on("end", () => {
    const send = (status, value) => {
      const text = JSON.stringify(value);
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
      response.writeHead(status, headers).end(text);
    };
    answer(request.url, body).then(
      (value) => send(200, value),
      (error) => send(500, { error: String(error) }),
    );
  });
});
await storage.init();
if (synced === "synced") await storage.client.execute("PRAGMA synchronous=FULL");
server.listen(0, "127.0.0.1", () => console.log(`mastra at http://127.0.0.1:${server.address().port}`));
process.once("SIGTERM", () => process.exit());
