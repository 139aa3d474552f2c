/**
 * Half of a surrogate pair is not valid UTF-8, and jq would replace it with U+FFFD, so it travels through jq as a private
 * character. An operation that makes bytes or numbers of it (`@uri`, `@base64`, `explode`) would show that character: jq is asked with two
 * different ones, and if the answers differ, the expression fails.
 */
type Jq<Answer> = (input: string) => Answer;

/** In planes 16 and 15. */
const PLACES = [0x10_f8_00, 0x0f_f0_00] as const;
const HALVES = 0x800;

const UNFIT = "jq: error: half of a surrogate pair has no bytes, so it can't be encoded";

/** Sends jq the JSON text with the halves replaced, and restores them in its answer. */
export function withoutLoneSurrogates<Answer extends { stdout: string; stderr: string; exitCode: number }>(
  json: string,
  ask: Jq<Answer>,
): Answer {
  if (!/\\ud[89a-f]/.test(json)) return ask(json);
  const [first, second] = PLACES.map((place) => {
    const answer = ask(hidden(json, place));
    return { ...answer, stdout: shown(answer.stdout, place) };
  }) as [Answer, Answer];
  return first.stdout === second.stdout ? first : { ...first, stdout: "", stderr: UNFIT, exitCode: 5 };
}

const hidden = (json: string, place: number): string =>
  json.replace(/\\\\|\\u(d[89a-f][0-9a-f]{2})/g, (all, unit?: string) =>
    unit ? String.fromCodePoint(place + Number.parseInt(unit, 16) - 0xd800) : all,
  );

const shown = (json: string, place: number): string =>
  json.replace(/[\u{ff000}-\u{ff7ff}\u{10f800}-\u{10ffff}]/gu, (character) => {
    const half = character.codePointAt(0)! - place;
    return half >= 0 && half < HALVES ? String.fromCharCode(0xd800 + half) : character;
  });
