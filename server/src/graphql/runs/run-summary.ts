/** A run at a glance, for lists. It is short whatever the run's size, and reads no payloads. */
import type { FormField } from "../../definition/form/form.ts";
import type { Run } from "../../execution/run/run.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import { JsonText, type Payload } from "../../lib/json/json-text.ts";
import { membersAtStart } from "../../lib/json/json-beginning.ts";
import { BEGINNING } from "../../runs/read/read-payloads.ts";
import type { Builder } from "../builder/builder.ts";
import type { Context } from "../context/context.ts";
import type { Objects } from "../builder/objects.ts";

/** Values of an input, and characters of each, of a title and of an error. */
const MOST = { values: 3, valueCharacters: 60, titleCharacters: 40, errorCharacters: 200 };

export function addRunSummary(builder: Builder): void {
  builder.objectType("RunSummaryValue", {
    description: "The beginning of one value of a run's input.",
    extensions: { isPart: true },
    fields: (t) => ({
      title: t.exposeString("title", {
        scope: "inherited",
        description: `The field's title in the form, or the value's name. At most ${MOST.titleCharacters} characters.`,
      }),
      text: t.exposeString("text", {
        scope: "inherited",
        description: `The value in one line, at most ${MOST.valueCharacters} characters.`,
      }),
    }),
  });
  builder.objectType("RunSummary", {
    description: "What a list shows of a run. It is short, however large the run's input and error are.",
    extensions: { isPart: true },
    fields: (t) => ({
      input: t.field({
        scope: "inherited",
        type: ["RunSummaryValue"],
        extensions: { cost: { most: MOST.values } },
        description: `The first values of the input, at most ${MOST.values}, in the order of the form.`,
        resolve: inputOf,
      }),
      step: t.string({
        scope: "inherited",
        nullable: true,
        description:
          "The name of the step that is being executed (`currentStep`). Null before the start and after the end.",
        resolve: ({ id, currentStep, finishedAt }, _, { loaders }) =>
          finishedAt || currentStep === null ? null : loaders.stepName({ runId: id, number: currentStep }),
      }),
      error: t.string({
        scope: "inherited",
        nullable: true,
        description: `Why the run failed, in one line of at most ${MOST.errorCharacters} characters. Null if it did not.`,
        resolve: errorOf,
      }),
    }),
  });
  builder.objectField("Run", "summary", (t) =>
    t.field({
      scope: "runs:read",
      type: "RunSummary",
      nullable: true,
      description: "What the run is about and how it stands, short enough for a list.",
      resolve: (run) => run,
    }),
  );
}

type Values = Objects["RunSummaryValue"][];

/** By operation and run: each is read once, however many names the operation has for it. */
const INPUTS = new WeakMap<Context, Map<Run["id"], Promise<Values>>>();

function inputOf(run: Run, _: unknown, context: Context): Promise<Values> {
  const known = INPUTS.get(context) ?? new Map<Run["id"], Promise<Values>>();
  INPUTS.set(context, known);
  const values = known.get(run.id) ?? readInput(run, context);
  known.set(run.id, values);
  return values;
}

async function readInput({ id, input, agentId, version }: Run, context: Context): Promise<Values> {
  const members = await beginningOf(context, input, { of: "run", id, column: "input" });
  const fields = await context.loaders.form({ agentId, version });
  const known = fields.filter(({ name }) => members.has(name));
  const others = [...members.keys()].filter((name) => !known.some((field) => field.name === name));
  return [...known.map((field) => valueOf(members, field.name, field)), ...others.map((name) => valueOf(members, name))]
    .filter(({ text }) => text !== "")
    .slice(0, MOST.values);
}

const valueOf = (members: ReadonlyMap<string, Json>, name: string, field?: FormField): Values[number] => ({
  title: lineOf(field?.title ?? name, MOST.titleCharacters),
  text: lineOf(textOf(members.get(name), field), MOST.valueCharacters),
});

function textOf(value: Json | undefined, field: FormField | undefined): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((one) => !isObject(one)))
    return value.map((one: Json) => textOf(one, field)).join(", ");
  if (typeof value !== "string") return JSON.stringify(value);
  return field?.choices?.find((choice) => choice.value === value)?.title ?? value;
}

async function errorOf({ id, error }: Run, _: unknown, context: Context): Promise<string | null> {
  if (error === null) return null;
  const members = await beginningOf(context, error, { of: "run", id, column: "error" });
  const [title, detail, type] = ["title", "detail", "type"].map((name) => textOf(members.get(name), undefined));
  return lineOf(
    [title || type!.slice(type!.lastIndexOf("/") + 1), detail].filter(Boolean).join(": "),
    MOST.errorCharacters,
  );
}

type RunKey = { of: "run"; id: Run["id"]; column: "input" | "error" };

async function beginningOf(
  { size, loaders }: Context,
  payload: Payload,
  key: RunKey,
): Promise<ReadonlyMap<string, Json>> {
  size.charge(Math.min(payload.bytes, BEGINNING));
  return membersAtStart(payload instanceof JsonText ? payload.text : await loaders.beginning(key));
}

/** In one line, and cut between characters. */
function lineOf(text: string, most: number): string {
  const line = text
    .slice(0, 4 * most)
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : line;
}
