import { Refusal } from "../../../lib/errors.ts";

const UNSIGNED = "the request is not signed as it must be";

/** Says why, to those who see the trigger's firings. */
export class Unsigned extends Refusal {
  constructor(why: string) {
    super("FORBIDDEN", `${UNSIGNED}: ${why}`);
  }
}

/** Tells the caller, who learns nothing of the project's secrets. `status`: of the answer over HTTP. */
export class NotSigned extends Refusal {
  readonly status: 401 | 403;

  constructor(status: NotSigned["status"]) {
    super("FORBIDDEN", UNSIGNED);
    this.status = status;
  }
}
