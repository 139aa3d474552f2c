/** Every kind of call with an effect, by its name in `call:`. */
import type { Outbound } from "../outbound/outbound.ts";
import { createHttpCall } from "./http.ts";
import type { Calls } from "./task.ts";

export const createCalls = (outbound: Outbound): Calls => ({ http: createHttpCall(outbound) });
