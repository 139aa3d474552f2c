/** The run page of an assistant that has reached a limit and asks a person for more. */
import { expect, test } from "vitest";
import { startLlmService, toolCall } from "../llm-service.ts";
import { agentOf, ran } from "../runs.ts";
import { sharedServer } from "../shared-server.ts";
import { Person, sendDecisions, sharedBrowser } from "./ui.ts";

const ASSISTANT = `do:
  - work:
      call: assistant:1.0.0@default
      with:
        prompt: Greet Grace
        tools: [{agent: {handle: greeter, description: Greets.}}]
        limits: {iterations: 2}
        onLimit: ask`;

test("asks beside its conversation, in a form that proposes how much, and shows the limit as it was raised", async () => {
  await using model = await startLlmService();
  await using server = await sharedServer();
  const { projectId } = server.world;
  const input = { projectId, name: "main", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await server.data("mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }", {
    input: { ...input, isDefault: true },
  });
  await agentOf(server, "do: [{greet: {set: {greeting: hello}}}]", "greeter");
  model.replies = [toolCall("greeter", {}), toolCall("greeter", {}), "All are greeted."];
  const { id, status } = await ran(server, await agentOf(server, ASSISTANT));
  expect(status).toBe("paused");

  await using owner = await Person.open(await sharedBrowser());
  const page = await owner.enter(server, `/runs/${id}`);
  const talk = page.getByRole("complementary", { name: "Conversation of work" });
  const questions = talk.locator("dl div", { hasText: "Questions" }).locator("dd");
  await talk.getByText("Asked a person for more questions").waitFor();
  await talk.getByText("waits for a person").waitFor();
  await expect.poll(() => questions.textContent()).toBe("2 of 2");
  await page.getByRole("heading", { name: "May work go on beyond its limit of 2 questions to the model?" }).waitFor();
  const more = page.getByLabel("More questions to the model");
  expect(await more.inputValue()).toBe("2");
  await more.fill("4");
  await page.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await talk.getByText("All are greeted.").waitFor();
  await expect.poll(() => questions.textContent()).toBe("3 of 6");
  await talk.getByText(/approved$/).waitFor();
});
