/** `run_01m7…v7w2`: enough to tell two apart. */
export const shortId = (id: string): string => {
  const [kind, rest = ""] = id.split("_");
  return rest.length > 12 ? `${kind}_${rest.slice(0, 4)}…${rest.slice(-4)}` : id;
};

const NAME = { most: 40, start: 24, end: 12 };
/** A name within a button: two that begin alike may end differently. */
export const shortName = (name: string): string =>
  name.length > NAME.most ? `${name.slice(0, NAME.start)}…${name.slice(-NAME.end)}` : name;

const LONG = 20;
/** Somebody else's id, which may be anything: `0191a7c3…4f1e`. */
export const shortText = (id: string): string => (id.length > LONG ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);
