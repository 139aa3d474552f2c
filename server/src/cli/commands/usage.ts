import { Option, type Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { printItems, type Table } from "../line/page.ts";
import { costText } from "../watch/show-run.ts";

type Day = {
  date: string;
  requests: number;
  refused: number;
  runs: number;
  steps: number;
  modelTokens: number;
  modelCost: number | null;
  modelCostCurrency: string | null;
};
type Options = ApiOptions & { json?: true; days: number };

const USAGE =
  "query ($days: Int!) { usage(days: $days) { date requests refused runs steps modelTokens modelCost modelCostCurrency } }";
const DEFAULT_DAYS = 30;

export function addUsage(program: Command, line: CommandLine): void {
  addApiOptions(addCommand(program, "usage", "What the organization used on each day, in UTC, today first."))
    .addOption(
      new Option("--days <count>", `how many days, up to ${LIMITS.usageDays}`).argParser(daysOf).default(DEFAULT_DAYS),
    )
    .action((options: Options) => show(line, options));
}

function daysOf(text: string): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= LIMITS.usageDays) return days;
  throw new OperatorError(`--days must be a whole number from 1 to ${LIMITS.usageDays}`);
}

const TABLE: Table<Day> = {
  head: ["date", "requests", "refused", "runs", "steps", "model tokens", "model cost"],
  row: ({ date, requests, refused, runs, steps, modelTokens, ...day }) => [
    date,
    ...[requests, refused, runs, steps, modelTokens].map(String),
    costOf(day),
  ],
  none: "there are no days",
};

/** Empty without questions; without a sum for several currencies, or questions without prices. */
function costOf({ modelCost, modelCostCurrency }: Pick<Day, "modelCost" | "modelCostCurrency">): string {
  if (modelCost === null) return "no sum";
  return modelCostCurrency === null ? "" : costText(modelCost, modelCostCurrency);
}

async function show(line: CommandLine, options: Options): Promise<void> {
  const { usage } = await openApi(line, options).send<{ usage: Day[] }>(USAGE, { days: options.days });
  printItems(line, usage, TABLE, options.json);
}
