/** Makes an error of the language of another server's answer that is no success. */
import { WorkflowError } from "../../definition/workflow-error.ts";
import { inTurns } from "../../fairness/slices.ts";
import type { OutboundResponse } from "../../outbound/outbound.ts";
import type { HttpResponse } from "../run/run.ts";
import type { Credentials } from "./http-response.ts";

/** `shown`: the answer as people see it. `hint`: ends the sentence. */
type Refused = {
  shown: HttpResponse;
  credentials: Credentials;
  turn: () => Promise<void> | undefined;
  hint?: string;
};

/** The standard's error of any other answer: `communication` with the answer's status. */
export async function refusedBy(
  response: OutboundResponse,
  { shown, credentials, turn, hint = "" }: Refused,
): Promise<WorkflowError> {
  const { host } = new URL(response.url);
  const body = shown.body?.slice(0, 500).toWellFormed();
  const statusText = await inTurns(credentials.hide(response.statusText), turn);
  const answered = `${host} answered ${response.status} ${statusText}`.trim() + hint;
  const error = WorkflowError.of("communication", body ? `${answered}: ${body}` : answered, response.status);
  return error.answeredBy(await inTurns(credentials.inError(response), turn));
}
