/** An event that somebody publishes, or that happens in the service itself. */
import { needsWhole } from "../../auth/caller.ts";
import { isPlainText } from "../../lib/mail/email-address.ts";
import { badInput } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { checkFilter } from "../../lib/events/event-filter.ts";
import { OWN_EVENTS, OWN_SOURCE } from "../../events/own-source.ts";
import { MAPPING_KEY, settleMapping } from "./contract/mapping.ts";
import { OVERLAP_KEY, settleOverlap } from "./contract/overlap.ts";
import type { TriggerKind } from "./contract/trigger-kind.ts";

/** The names that a mapping may refer to (`fire.ts`). */
const VARIABLES: ReadonlySet<string> = new Set(["event"]);

export const event: TriggerKind = {
  description: "An event of a source.",
  keys: {
    source: {
      api: "String",
      isRequired: true,
      description: `Where the event happens: at most ${LIMITS.eventNameCharacters} characters.`,
    },
    event: {
      api: "String",
      isRequired: true,
      description: `The event's name: at most ${LIMITS.eventNameCharacters} characters.`,
    },
    filter: {
      api: "JSON",
      description:
        'For each field of the event\'s data, a list of the values that it accepts: `{status: ["paid", "sent"]}`. All fields must match. A field is a key of the data, or a path of keys with dots. Values are compared by their JSON type; a list in the data matches by any of its elements. Default: every event matches.',
    },
  },
  policies: { overlap: OVERLAP_KEY, mapping: MAPPING_KEY },
  hasUrl: false,
  dropsUnknown: true,
  overlap: "allow",
  deliveryHours: LIMITS.eventDays * 24,
  shared: { keys: ["source", "event"], most: LIMITS.triggersPerEvent },
  /** Events belong to the organization, and a trigger shows its project all that it fires on. The service's own tell of all agents of a project. */
  checkNarrowed(reach, projectId, { source }) {
    if (source !== OWN_SOURCE) throw needsWhole("a trigger on events");
    if (reach.projectIds.includes(projectId)) return;
    const message = `must not be ${OWN_SOURCE}: its events tell of all agents of the project, which this API key does not reach`;
    throw badInput("invalid_input", `source ${message}`, [
      { path: "input.trigger.source", code: "not_a_choice", message },
    ]);
  },
  configure({ source, event: name, filter = {} }, problems) {
    for (const [key, value] of Object.entries({ source, event: name })) {
      const text = value as string;
      if (text.trim() === "") problems.add(key, "required", "must not be empty");
      else if (text.length > LIMITS.eventNameCharacters)
        problems.add(key, "too_long", `must have at most ${LIMITS.eventNameCharacters} characters`);
      else if (!isPlainText(text))
        problems.add(key, "invalid", "must not contain control characters or lone surrogates");
    }
    if (source === OWN_SOURCE && !OWN_EVENTS.some((own) => own === name))
      problems.add("event", "not_a_choice", `of the source ${OWN_SOURCE} must be one of ${OWN_EVENTS.join(", ")}`);
    checkFilter(filter, problems);
    return { source: source!, event: name!, filter };
  },
  settle: (given, problems) => ({
    ...settleOverlap(given, problems),
    ...settleMapping(given, problems, VARIABLES),
  }),
  show: ({ source, event: name, filter }) => ({ source: source!, event: name!, filter: filter! }),
  inputOf: (_, payload) => payload ?? {},
};
