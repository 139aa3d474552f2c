/** A run from a sentence: read, reviewed, corrected and started by a person. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectGoodLooks, publishExamples, sharedBrowser, Person } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser);
  await publishExamples(server);
  await person.enter(server, "/agents");
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test("a sentence is read, reviewed with the words that each field came from, corrected, and started by hand", async () => {
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("link", { name: "Order intake", exact: true }).click();
  await page.getByText("Describe it", { exact: true }).click();
  const sentence = page.getByLabel("What should it do?");
  await sentence.fill("rush, on 2026-12-24, and sing a song");
  await page.getByRole("button", { name: "Review" }).click();
  const review = page.getByRole("region", { name: "Review" });
  await review.getByText("Not understood: “sing a song”").waitFor();
  await review.getByText("needs a value").waitFor();
  await review.getByText("from “rush”").waitFor();
  // Nobody said what is ordered, unless it was in what was not understood.
  expect(await review.getByText("by default: please check", { exact: true }).count()).toBe(2);
  expect(await review.getByLabel(/^Deliver by/).inputValue()).toBe("2026-12-24");

  // Values entered or cleared by hand stay however often the sentence is read again, and the form says so.
  await review.getByLabel(/^Customer/).fill("Ada Lovelace");
  await review.getByText("needs a value").waitFor({ state: "detached" });
  await review.getByLabel(/^Deliver by/).fill("");
  await expect.poll(() => review.getByText("changed by you").count()).toBe(2);
  for (const [more, source] of [
    ["as a gift", "gift"],
    ["no gift", "no gift"],
  ] as const) {
    await sentence.fill(`rush, on 2026-12-24, ${more}`);
    await sentence.press("Control+Enter");
    await review.getByText(`from “${source}”`).waitFor();
    expect(await review.getByLabel(/^Customer/).inputValue()).toBe("Ada Lovelace");
    expect(await review.getByLabel(/^Deliver by/).inputValue()).toBe("");
    expect(await review.getByText("changed by you").count()).toBe(2);
  }
  await expectGoodLooks(page, "a sentence that was corrected");
  await review.getByLabel(/^Deliver by/).fill("2026-12-24");
  await review.getByText(/^from “.*2026-12-24”/).waitFor();
  await review.getByRole("button", { name: "Run with these 5 values" }).click();
  const input = page.getByRole("region", { name: "Input" });
  await input.getByText("Ada Lovelace").waitFor();
  await input.getByText("2026-12-24", { exact: true }).waitFor();
  await input.getByText("said: “rush, on 2026-12-24, no gift”").waitFor();
  expect(await input.getByRole("button", { name: "Show all" }).count()).toBe(0);
});

test("a default does not overrule what was said, and what was not understood keeps a run from starting unseen", async () => {
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("link", { name: "Batch greeting", exact: true }).click();
  await page.getByText("Describe it", { exact: true }).click();
  const sentence = page.getByLabel("What should it do?");
  const review = page.getByRole("region", { name: "Review" });
  await sentence.fill("Greet Ada, Tom and Lena formally");
  await page.getByRole("button", { name: "Review" }).click();
  await review.getByText("from “Ada, Tom and Lena”").waitFor();
  await review.getByText("from “formally”").waitFor();
  expect(await review.getByRole("checkbox").count()).toBe(0);

  await sentence.fill("Greet whoever is on the list, formally");
  await sentence.press("Control+Enter");
  await review.getByText("by default: please check").waitFor();
  const looked = review.getByRole("checkbox", { name: "I have checked the default values: Names" });
  await looked.waitFor();
  await expectGoodLooks(page, "a sentence that was not wholly understood");
  const run = review.getByRole("button", { name: "Run with these 2 values" });
  await run.click();
  await review
    .getByRole("alert")
    .getByText(/^Names has its default value/)
    .waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/agents\//);
  await looked.check();
  await run.click();
  const input = page.getByRole("region", { name: "Input" });
  await input.getByText("said: “Greet whoever is on the list, formally”").waitFor();

  // The page that one goes back to reads its sentence again; another that is sent meanwhile is read next.
  const isSent = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("on the list, formally")) await isSent.promise;
    await route.continue();
  });
  await page.goBack();
  await expect.poll(() => sentence.inputValue()).toBe("Greet whoever is on the list, formally");
  await sentence.fill("Greet whoever is on the list");
  await sentence.press("Control+Enter");
  isSent.resolve();
  await review.getByRole("checkbox", { name: /Names, Tone$/ }).waitFor();
  await page.unroute("**/graphql");
  expect(await sentence.inputValue()).toBe("Greet whoever is on the list");
  // Sent again unchanged while it is read, a sentence is read once.
  const counts = { formally: 0, briefly: 0 };
  const isSentAgain = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    const said = route.request().postData() ?? "";
    if (said.includes("on the list, formally")) {
      counts.formally++;
      await isSentAgain.promise;
    } else if (said.includes("on the list, briefly")) counts.briefly++;
    await route.continue();
  });
  await sentence.fill("Greet whoever is on the list, formally");
  await sentence.press("Control+Enter");
  await expect.poll(() => counts.formally).toBe(1);
  await sentence.press("Control+Enter");
  isSentAgain.resolve();
  await review.getByText("from “formally”").waitFor();
  await sentence.fill("Greet whoever is on the list, briefly");
  await sentence.press("Control+Enter");
  await expect.poll(() => counts.briefly).toBe(1);
  expect(counts.formally).toBe(1);
  await page.unroute("**/graphql");
  await sentence.fill("Greet whoever is on the list");
  await sentence.press("Control+Enter");
  await review.getByRole("checkbox", { name: /Names, Tone$/ }).waitFor();
  // Who changes the field has looked at it.
  await review
    .getByRole("textbox", { name: /^Names/ })
    .first()
    .fill("Tom");
  await review.getByRole("checkbox", { name: "I have checked the default values: Tone" }).waitFor();
});

test("a sentence in the palette finds its agent by its words, and another can be chosen; without one there is a list", async () => {
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("link", { name: "Order intake", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.type("rush order intake on 2026-12-24");
  await page.getByRole("option", { name: /^Describe a run/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Describe a run" }).waitFor();
  const review = page.getByRole("region", { name: "Review" });
  await review.getByText("from “order intake”").waitFor();
  const agent = review.getByRole("combobox", { name: /^Agent/ });
  await expect.poll(() => agent.inputValue()).toBe("Order intake");
  await expect.poll(() => review.getByLabel(/^Deliver by/).inputValue()).toBe("2026-12-24");
  await agent.click();
  await page.getByRole("option", { name: "Expense approval", exact: true }).click();
  await expect.poll(() => agent.inputValue()).toBe("Expense approval");
  await review.getByRole("button", { name: /^Run with/ }).waitFor();

  const examples = page.getByRole("list", { name: "For example:" }).getByRole("button");
  await person.go("/describe");
  await examples.first().waitFor();
  for (let index = (await examples.count()) - 1; index >= 0; index--) {
    await person.go("/describe");
    await examples.nth(index).click();
    await page.getByRole("button", { name: "Review" }).click();
    await review
      .getByText(/^from “/)
      .first()
      .waitFor();
    expect(await review.getByText(/^Not understood/).count()).toBe(0);
  }

  await person.go("/describe?text=sing%20a%20song");
  await review.getByRole("heading", { name: "No agent was found" }).waitFor();
  const sentence = page.getByRole("textbox", { name: "What should it do?" });
  expect(await sentence.and(page.locator(":focus")).count(), "it is said already").toBe(0);
  await expectGoodLooks(page, "no agent was found");
  await agent.click();
  await page.keyboard.type("flaky");
  await page.getByRole("option", { name: "Flaky service", exact: true }).click();
  await review.getByText("Not understood: “sing a song”").waitFor();
  await review.getByRole("button", { name: /^Run with/ }).waitFor();
});

test("the sentence has the focus at once", async () => {
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("link", { name: "Describe a run" }).click();
  // As soon as the box is there.
  const found = await page.waitForFunction(() => {
    const boxes = [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")];
    const box = boxes.find(({ labels }) => labels?.[0]?.textContent.includes("What should it do?"));
    return box && { isFocused: document.activeElement === box };
  });
  expect(await found.jsonValue()).toEqual({ isFocused: true });
  await page.keyboard.type("rush order intake");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("region", { name: "Review" }).getByRole("heading", { name: "How it was understood" }).waitFor();
});
