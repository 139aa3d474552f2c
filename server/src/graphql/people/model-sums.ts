/** The fields of a sum over calls of models. */
import type { Builder } from "../builder/builder.ts";

/** `words`: the descriptions. */
export function addModelSum(
  builder: Builder,
  type: "AgentModelUse" | "ConnectionModelUse" | "ModelSpend",
  words: { tokens: string; cost: string },
): void {
  builder.objectFields(type, (t) => ({
    tokens: t.exposeFloat("tokens", { scope: "inherited", description: words.tokens }),
    cost: t.exposeFloat("cost", { scope: "inherited", nullable: true, description: words.cost }),
    currency: t.exposeString("currency", {
      scope: "inherited",
      nullable: true,
      description: "The currency of the cost, a code of ISO 4217.",
    }),
  }));
}
