/** For publishing and validating: as parse-definition.ts, and jq compiles every expression. */
import { LIMITS } from "../lib/limits.ts";
import { inSlices, type Steps } from "../lib/slices.ts";
import type { ExpressionPlace } from "./lint.ts";
import { inOrder, parseWithPlaces, type Parsed } from "./parse-definition.ts";
import type { Finding } from "./problem.ts";
import { doesNotCompile } from "./rules-expressions.ts";

/** `Expressions.check`: undefined when the text compiles. */
export type ExpressionCheck = (text: string) => Promise<{ message: string; offset: number } | undefined>;

export async function checkDefinition(text: string, check: ExpressionCheck): Promise<Parsed> {
  const { problems, workflow, expressions, place } = await inSlices(parseWithPlaces(text));
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
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters > LIMITS.definitionExpressionCharacters) {
    const message = `a definition may have ${LIMITS.definitionExpressionCharacters} characters of expressions, and this one has ${characters}; make another agent of a part`;
    return [{ path: [], at: "value", message }];
  }
  const answers = await inSlices(checking(texts, check));
  return expressions.flatMap(({ path, text }) => {
    const answer = answers.get(text);
    return answer ? [{ path, at: "value" as const, message: doesNotCompile(answer.message) }] : [];
  });
}

/** What jq is asked for is under way when all have been looked at. */
function* checking(
  texts: string[],
  check: ExpressionCheck,
): Steps<Promise<Map<string, Awaited<ReturnType<ExpressionCheck>>>>> {
  const asked: ReturnType<ExpressionCheck>[] = [];
  for (const text of texts) {
    const answer = check(text);
    // Waited for below, with the others: one that fails meanwhile must not end the process.
    answer.catch(() => {});
    asked.push(answer);
    yield;
  }
  return Promise.all(asked).then((answers) => new Map(answers.map((answer, at) => [texts[at]!, answer])));
}
