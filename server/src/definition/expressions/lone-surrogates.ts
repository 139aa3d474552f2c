/**
 * Half of a surrogate pair is not valid UTF-8, and jq would replace it with U+FFFD, so it travels through jq as a private
 * character of plane 16.
 */
type Jq<Answer> = (input: string) => Answer;

const HIDING = 0x10f800;

/** Sends jq the JSON text with the halves replaced, and restores them in its answer. */
export function withoutLoneSurrogates<Answer extends { stdout: string }>(json: string, ask: Jq<Answer>): Answer {
  if (!/\\ud[89a-f]/.test(json)) return ask(json);
  const answer = ask(hidden(json));
  return { ...answer, stdout: shown(answer.stdout) };
}

const hidden = (json: string): string =>
  json.replace(/\\\\|\\u(d[89a-f][0-9a-f]{2})/g, (all, unit?: string) =>
    unit ? String.fromCodePoint(HIDING + Number.parseInt(unit, 16) - 0xd800) : all,
  );

const shown = (json: string): string =>
  json.replace(/[\u{10f800}-\u{10ffff}]/gu, (character) =>
    String.fromCharCode(character.codePointAt(0)! - HIDING + 0xd800),
  );
