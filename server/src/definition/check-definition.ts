/** For publishing and validating: as parse-definition.ts, and jq compiles every expression. */
import { LIMITS } from "../lib/limits.ts";
import type { ExpressionPlace } from "./lint.ts";
import { inOrder, parseWithPlaces, type Parsed } from "./parse-definition.ts";
import type { Finding } from "./problem.ts";
import { doesNotCompile } from "./rules-expressions.ts";

/** `Expressions.check`: undefined when the text compiles. */
export type ExpressionCheck = (text: string) => Promise<{ message: string; offset: number } | undefined>;

export async function checkDefinition(text: string, check: ExpressionCheck): Promise<Parsed> {
  const { problems, workflow, expressions, place } = parseWithPlaces(text);
  const uncompiled = await uncompiledOf(expressions, check);
  const all = inOrder([...problems, ...uncompiled.map(place)]);
  return workflow && all.length === 0 ? { workflow, problems: [] } : { problems: all };
}

async function uncompiledOf(expressions: ExpressionPlace[], check: ExpressionCheck): Promise<Finding[]> {
  const texts = [...new Set(expressions.map(({ text }) => text))];
  const extra = expressions.find(({ text }) => text === texts[LIMITS.definitionExpressions]);
  if (extra)
    return [
      {
        path: extra.path,
        at: "value",
        message: `a definition may have ${LIMITS.definitionExpressions} expressions; this is one more`,
      },
    ];
  const answers = new Map(await Promise.all(texts.map(async (text) => [text, await check(text)] as const)));
  return expressions.flatMap(({ path, text }) => {
    const answer = answers.get(text);
    return answer ? [{ path, at: "value" as const, message: doesNotCompile(answer.message) }] : [];
  });
}
