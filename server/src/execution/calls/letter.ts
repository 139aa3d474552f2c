/** A mail as an author's values make it: every address, name and text is checked, so that none can add a header or a recipient. */
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { isPlainText, parseMailbox, type Mailbox } from "../../lib/mail/email-address.ts";
import { LIMITS } from "../../lib/limits.ts";
import { shortenedTo } from "../../lib/text.ts";
import type { AuthorsLetter } from "../../mail/send-now.ts";
import type { Attachment } from "../../mail/transport.ts";

const RECIPIENTS = ["to", "cc", "bcc"] as const;
const SHOWN_CHARACTERS = 100;

/** `place`: the JSON pointer to the values. Throws WorkflowError: nothing is sent of a mail that is not right. */
export function letterOf(values: JsonObject, place: string): AuthorsLetter {
  const [to, cc, bcc] = RECIPIENTS.map((key) => mailboxesOf(values[key], `${place}/${key}`)) as [
    Mailbox[],
    Mailbox[],
    Mailbox[],
  ];
  const replyTo = mailboxesOf(values["replyTo"], `${place}/replyTo`);
  if (to.length === 0) throw unfit(`${place}/to has no address`);
  const count = to.length + cc.length + bcc.length;
  if (count > LIMITS.emailRecipients)
    throw unfit(`the mail has ${count} recipients, and it may have at most ${LIMITS.emailRecipients}`);
  const subject = textOf(values["subject"], `${place}/subject`)!;
  if (!isPlainText(subject)) throw unfit(`${place}/subject has a line break or another control character`);
  if (subject.length > LIMITS.emailSubjectCharacters)
    throw unfit(`${place}/subject has more than ${LIMITS.emailSubjectCharacters} characters`);
  const text = textOf(values["text"], `${place}/text`);
  const html = textOf(values["html"], `${place}/html`);
  if (text === undefined && html === undefined) throw unfit(`${place} has neither text nor html`);
  const attachments = attachmentsOf(values["attachments"], `${place}/attachments`);
  const bytes = [text ?? "", html ?? "", ...attachments.map(({ content }) => content)].reduce(
    (sum, part) => sum + Buffer.byteLength(part),
    0,
  );
  if (bytes > LIMITS.emailBytes)
    throw unfit(`the mail's texts and attachments have ${bytes} bytes, and they may have at most ${LIMITS.emailBytes}`);
  return { to, cc, bcc, replyTo, subject, text, html, attachments };
}

/** One address or a list of them. */
function mailboxesOf(value: Json | undefined, place: string): Mailbox[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value);
  if (isList && value.length > LIMITS.emailRecipients)
    throw unfit(`${place} has ${value.length} addresses, and a mail may have at most ${LIMITS.emailRecipients}`);
  return (isList ? value : [value]).map((one, index) => {
    const mailbox = typeof one === "string" ? parseMailbox(one) : undefined;
    if (mailbox) return mailbox;
    const shown = shortenedTo(JSON.stringify(one), SHOWN_CHARACTERS);
    throw unfit(`${isList ? `${place}/${index}` : place} is no e-mail address: ${shown}`);
  });
}

function textOf(value: Json | undefined, place: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw unfit(`${place} is not a text`);
}

/** Whether `content` of such a type is the text itself. Any other is base64. */
const IS_TEXT = /^(?:text\/[\w.+-]+|application\/(?:json|xml|yaml|[\w.-]+\+(?:json|xml)))(?:;|$)/i;
const TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:; ?charset=[\w-]{1,30})?$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const NAME_CHARACTERS = 200;

function attachmentsOf(value: Json | undefined, place: string): Attachment[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unfit(`${place} is not a list`);
  if (value.length > LIMITS.emailAttachments)
    throw unfit(`the mail has ${value.length} attachments, and it may have at most ${LIMITS.emailAttachments}`);
  return value.map((one, index) => attachmentOf(one, `${place}/${index}`));
}

function attachmentOf(value: Json, place: string): Attachment {
  if (!isObject(value)) throw unfit(`${place} is not an object with name, type and content`);
  const { name, type = "application/octet-stream", content, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw unfit(`${place} has name, type and content, and no ${shortenedTo(other, SHOWN_CHARACTERS)}`);
  if (typeof name !== "string" || name === "" || name.length > NAME_CHARACTERS || !isPlainText(name))
    throw unfit(`${place}/name is no name of a file with up to ${NAME_CHARACTERS} characters`);
  if (typeof type !== "string" || !TYPE.test(type))
    throw unfit(`${place}/type is no media type, such as application/pdf`);
  if (IS_TEXT.test(type)) {
    const text = typeof content === "string" ? content : content === undefined ? "" : JSON.stringify(content);
    return { filename: name, contentType: type, content: Buffer.from(text) };
  }
  if (typeof content !== "string" || content.length % 4 !== 0 || !BASE64.test(content))
    throw unfit(`${place}/content is not base64, which an attachment of the type ${type} must be`);
  return { filename: name, contentType: type, content: Buffer.from(content, "base64") };
}

const unfit = (why: string): WorkflowError => WorkflowError.of("validation", `${why}; nothing was sent`);
