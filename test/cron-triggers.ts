/** Cron triggers of one agent, for tests that move the clock. */
import { eventually, type Data, type TestServer } from "./client.ts";
import { firingsOf } from "./webhooks.ts";

export const CREATE_CRON = `mutation($input: CreateTriggerInput!) { createTrigger(input: $input) {
  id nextDueAt configuration schedule timezone input policy { missed catchUpMinutes jitterSeconds startsAt endsAt } } }`;

export type CronTriggers = ReturnType<typeof cronTriggers>;

export function cronTriggers(server: TestServer, agentId: string) {
  let names = 0;
  return {
    create: async (trigger: object, policy?: object): Promise<Data> => {
      const input = { agentId, name: `cron ${++names}`, trigger: { type: "cron", ...trigger }, policy };
      return (await server.data(CREATE_CRON, { input })).createTrigger;
    },
    setStatus: (triggerId: string, status: string) =>
      server.data("mutation($input: SetTriggerStatusInput!) { setTriggerStatus(input: $input) { nextDueAt } }", {
        input: { triggerId, status },
      }),
    remove: (triggerId: string) =>
      server.data("mutation($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { id } }", {
        input: { triggerId },
      }),
    /** Oldest first, when there are so many. */
    firings: (trigger: Data, count: number): Promise<Data[]> =>
      eventually(async () => {
        const found = await firingsOf(server, trigger as { id: string });
        return found.length >= count ? found.toReversed() : undefined;
      }),
  };
}
