/** The first minute of somebody who has never seen Autograph: from the printed link to a key that works in their own code. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beside } from "../command-line.ts";
import { eventually, startTestServer } from "../client.ts";
import { sharedServer } from "../shared-server.ts";
import { expectEachLook, expectGoodLooks, sharedBrowser, Person, sendDecisions, setUp } from "./ui.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..", "..");

let browser: Browser;
const folder = mkdtempSync(join(tmpdir(), "autograph-first-"));
beforeAll(async () => void (browser = await sharedBrowser()));
afterAll(async () => {
  rmSync(folder, { recursive: true });
});

/** It is there some time after the click. */
const copy = async (page: Page, label: string): Promise<string> => {
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.getByRole("button", { name: label, exact: true }).click();
  return eventually(() => page.evaluate(() => navigator.clipboard.readText()));
};

test("open the link, own the place, run and approve, run from a sentence, cancel, and call it with a key", async () => {
  await using server = await startTestServer({ fresh: true });
  await using person = await Person.open(browser);
  const { page, context } = person;
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));

  await setUp(page, server);
  expect(page.url(), "the token is gone from the address").toBe(`${server.url}/agents`);

  // The form is open and filled in.
  const start = page.getByRole("region", { name: "Start here: run Expense approval" });
  expect(await start.getByLabel("What was it for").inputValue()).toBe("Train to Lyon");
  await expectEachLook(page, "first visit");
  await page.setViewportSize({ width: 1280, height: 800 });
  await start.getByRole("button", { name: "Run expense-approval" }).click();

  await page.getByRole("heading", { name: "Pay 180 euros for Train to Lyon?" }).waitFor();
  await expect.poll(() => page.title()).toBe("paused · Expense approval · Autograph");
  const nav = page.getByRole("navigation", { name: "Main" });
  await nav.getByRole("link", { name: "Approvals 1 open" }).waitFor();
  await page.getByLabel("Comment").fill("Have a good trip");
  await page.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);

  await expect.poll(() => page.title()).toBe("completed · Expense approval · Autograph");
  const output = page.getByRole("region", { name: "Output" });
  await output.getByText("approved", { exact: true }).waitFor();
  await page.getByRole("treeitem", { name: /Ada Lovelace approved: “Have a good trip”/ }).waitFor();
  await expect.poll(() => page.getByRole("treeitem").count()).toBe(4);
  await nav.getByRole("link", { name: "Approvals", exact: true }).waitFor();

  // Another one in words: read back, started by hand, watched, and cancelled.
  await nav.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.getByRole("link", { name: "Expense approval", exact: true }).waitFor();
  await expect.poll(() => start.count(), { message: "who has run something needs no beginning" }).toBe(0);
  await page.getByRole("link", { name: "Expense approval", exact: true }).click();
  await page.getByText("Describe it", { exact: true }).click();
  await page.getByLabel("What should it do?").fill("pay 90 euros for a hotel in Lyon yesterday");
  await page.getByRole("button", { name: "Review" }).click();
  const review = page.getByRole("region", { name: "Review" });
  await review.getByText("from “yesterday”").waitFor();
  expect(await review.getByLabel(/^Amount in euros/).inputValue()).toBe("90");
  await review.getByLabel(/^What was it for/).fill("Hotel in Lyon");
  await review.getByRole("button", { name: /^Run with these/ }).click();
  await page.getByRole("heading", { name: "Pay 90 euros for Hotel in Lyon?" }).waitFor();
  await page.getByRole("button", { name: "Cancel run…" }).click();
  await page.getByRole("button", { name: "Cancel run", exact: true }).click();
  await expect.poll(() => page.title()).toBe("cancelled · Expense approval · Autograph");

  // A key, with a command that works.
  await nav.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  const form = page.getByRole("form", { name: "Create key" });
  await form.getByLabel("Name", { exact: true }).fill("my laptop");
  await form.getByRole("combobox", { name: "Agents" }).click();
  await page.getByRole("option", { name: /Expense approval/ }).click();
  await page.keyboard.press("Escape");
  await form.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("heading", { name: "Your key “my laptop”" }).waitFor();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const key = await copy(page, "Copy the key");
  const first = await run("sh", ["-c", await copy(page, "Copy the command")]);
  expect(JSON.parse(first.stdout).data.runAgent.id).toMatch(/^run_/);

  // The same start as the form's, for a shell and for a program: both as they are pasted.
  await nav.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: "Expense approval", exact: true }).click();
  await page.getByLabel("What was it for").fill("Ada's taxi");
  await page.getByLabel("Amount in euros").fill("20");
  const env = { ...process.env, AUTOGRAPH_API_KEY: key };
  const byCurl = await run("sh", ["-c", await copy(page, "Copy as curl")], { env });
  expect(JSON.parse(byCurl.stdout).data.runAgent.id).toMatch(/^run_/);
  const file = join(folder, "call.mts");
  writeFileSync(file, await copy(page, "Copy as TypeScript"));
  const byProgram = await run(process.execPath, [file], { env });
  const [, runId] = /^(run_\w+) (pending|running|completed)\n$/.exec(byProgram.stdout)!;

  await page.goto(`${server.url}/runs/${runId}`);
  await page.getByText("my laptop").waitFor();
  await page.getByRole("region", { name: "Input" }).getByText("Ada's taxi").waitFor();
  expect([...hosts], "nothing is asked of any other host").toEqual([new URL(server.url).host]);
});

test("the commands that stand where nothing is yet work as they are copied", async () => {
  await using server = await sharedServer();
  const world = await server.organization("empty");
  await using person = await Person.open(browser);
  const { page } = person;
  person.mayFail();
  await person.enter(server, "/agents", world);
  await page.getByRole("heading", { name: "No agents yet" }).waitFor();
  await expectGoodLooks(page, "no agents yet");
  await page.getByRole("link", { name: "an API key" }).waitFor();
  await person.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  /** As somebody pastes it: in Autograph's folder, with a key. */
  const paste = async (command: string): Promise<string> => {
    const bin = join(ROOT, "node_modules", ".bin");
    const env = { ...beside(server, world.apiKey), PATH: `${bin}:${process.env["PATH"]}`, HOME: folder };
    return (await run("sh", ["-ec", command], { cwd: ROOT, env })).stdout;
  };
  const commands = await copy(page, "Copy the commands");
  expect(commands.split("\n")).toHaveLength(2);
  await paste(commands);
  await page.getByRole("link", { name: "Expense approval", exact: true }).waitFor();

  // And the other places that have nothing yet.
  await person.go("/events?source=it's $(exit)");
  await page.getByRole("heading", { name: /^No events/ }).waitFor();
  await expectGoodLooks(page, "no events");
  expect(await paste(await copy(page, "Copy the command"))).toContain("no trigger matches it");
  await page.goto(`${server.url}/events?source=it's $(exit)`);
  await page.getByRole("row", { name: /order\.created.*it's \$\(exit\)|it's \$\(exit\).*order\.created/ }).waitFor();
  await person.go("/settings/secrets");
  await page.getByRole("heading", { name: "No secrets yet" }).waitFor();
  await paste(await copy(page, "Copy the command"));
  await page.reload();
  await page.getByRole("row", { name: /shopToken/ }).waitFor();

  await person.go("/agents");
  await page.getByRole("link", { name: "Expense approval", exact: true }).click();
  await page.getByRole("button", { name: "More for Expense approval" }).click();
  await page.getByRole("menuitem", { name: "Pause…" }).click();
  await page.getByRole("button", { name: "Pause Expense approval" }).click();
  await page.getByRole("heading", { name: "The agent is paused" }).waitFor();
  await paste(await copy(page, "Copy the command"));
  await page.reload();
  await page.getByLabel("What was it for").waitFor();
});
