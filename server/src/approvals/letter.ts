/** The mail that asks somebody for a decision. All that an author or a model wrote is quoted, so that it can't pass for our words. */
import { shownText } from "../lib/text.ts";
import { LIMITS } from "../lib/limits.ts";

export type Asking = {
  question: string;
  agent: string;
  organization: string;
  /** Who is asked. */
  name: string;
  expiresAt: Date | null;
  quorum: number;
  link: string;
  /** They were asked before. */
  isReminder: boolean;
};

export type Letter = { subject: string; text: string; html: string };

export function writeLetter({
  question,
  agent,
  organization,
  name,
  expiresAt,
  quorum,
  link,
  isReminder,
}: Asking): Letter {
  const lines = linesOf(question);
  const greeting = `Hello ${shown(name)},`;
  const asked = `the agent "${shown(agent)}" of ${shown(organization)} ${isReminder ? "still waits for your decision" : "asks you to decide"}:`;
  const facts = [
    quorum > 1 ? `${quorum} people have to approve.` : "",
    expiresAt ? `The question expires on ${timeOf(expiresAt)}.` : "",
  ].filter(Boolean);
  const text = [
    greeting,
    "",
    asked,
    "",
    ...lines.map((line) => `> ${line}`),
    "",
    ...facts,
    "Read what it is about, and decide:",
    link,
    "",
    WARNING,
    "",
  ];
  const html = `<!doctype html><html lang="en"><body style="font-family: sans-serif; line-height: 1.5">
<p>${escaped(greeting)}</p>
<p>${escaped(asked)}</p>
<blockquote style="margin: 0; padding: 0 1em; border-left: 3px solid #888">${lines.map(escaped).join("<br>")}</blockquote>
${facts.map((fact) => `<p>${escaped(fact)}</p>\n`).join("")}<p><a href="${escaped(link)}">Read what it is about, and decide</a></p>
<p>${escaped(WARNING)}</p>
</body></html>
`;
  return {
    subject: `${isReminder ? "Reminder: a decision is wanted" : "Approval wanted"}: ${lines.find((line) => line.trim() !== "") ?? ""}`,
    text: text.join("\n"),
    html,
  };
}

const WARNING =
  "This link is yours alone: anybody who has it can decide in your name. Opening it decides nothing, and it ends when the question is closed.";

const shown = (text: string): string => shownText(text, LIMITS.nameCharacters);

/** Without what turns the direction of a text, or is not seen. */
const linesOf = (text: string): string[] =>
  text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => shownText(line, LIMITS.descriptionCharacters));

const timeOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;

const ENTITIES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES.get(sign)!);
