/** docs/limits.md, from the tables that the program goes by. */
import { TABLES } from "../lib/limits.ts";
import type { Limit } from "../lib/limits/limit.ts";
import { MODEL_TOKENS_PER_DAY, REQUESTS_PER_MINUTE } from "../rates/plans.ts";
import { table } from "./print-table.ts";

const agreed = (option: string): string => `as agreed (\`org set-plan … ${option}\`); without an agreement no limit`;

const plans = table(
  ["plan", "requests in any 60 seconds", "tokens of language models a day"],
  Object.entries(REQUESTS_PER_MINUTE).map(([plan, most]) => [
    `\`${plan}\``,
    String(most ?? agreed("--per-minute")),
    MODEL_TOKENS_PER_DAY[plan as keyof typeof MODEL_TOKENS_PER_DAY]?.toLocaleString("en-US") ??
      agreed("--model-tokens"),
  ]),
);

const limits = TABLES.map(({ heading, limits: rows }) =>
  [
    `### ${heading}`,
    table(
      ["limit", "value", "what it bounds", "beyond it"],
      Object.entries<Limit>(rows).map(([name, { value, bounds, beyond = "refused" }]) => [
        `\`${name}\``,
        value.toLocaleString("en-US"),
        bounds,
        beyond,
      ]),
    ),
  ].join("\n\n"),
);

export const limitsText = (): string => `# Limits

\`npm run schema\` prints this page from \`server/src/lib/limits.ts\` and \`server/src/rates/plans.ts\`.

Everything has a limit, and the server says so when a limit is reached.

## Plans

An organization's plan says how many requests it may send, over all of its API keys and access tokens and all processes of one
database. [The API](api.md#how-often-you-may-ask) describes what counts and what a refusal looks like. It also says how many tokens of
language models it may use a day ([budgets](models.md#budgets)).

${plans}

Up to 1,000 requests a minute this is exact: no 60 seconds have more, whenever they begin. Above that, a second's worth (a sixtieth) may come at once,
and then what the plan allows in that time.

## Everything else

These limits apply to everybody; they are not settings. Where the last column says "refused", the error names the limit's
value. What one organization may have of something that all share depends on the others, so no error says how much that is.
A limit's name says its unit; without one it is a count.

An expression is charged for what it touches and makes: the items of a list, the characters of a text, the keys of an object,
and whatever it compares, copies, sorts or throws. All expressions of one text or object share 200,000 steps of 10 to 50 ns in the
server's main thread; after that they go to jq. After 200,000 steps in a row, for any organization, evaluation gives the thread back,
and organizations take turns.

${limits.join("\n\n")}
`;
