/** Follows references within an OpenAPI document, as far as one operation needs them: whatever else it holds costs nothing. */
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { DocumentProblem } from "./operation.ts";

/** References that lead to references. */
const MAX_FOLLOWED = 32;
const SHOWN_CHARACTERS = 100;

export class References {
  readonly root: JsonObject;

  constructor(root: JsonObject) {
    this.root = root;
  }

  /** The object that is meant; undefined if there is no object. Throws DocumentProblem. */
  resolve(value: Json | undefined): JsonObject | undefined {
    let found = value;
    for (let followed = 0; isObject(found); followed++) {
      const reference = own(found, "$ref");
      if (typeof reference !== "string") return found;
      if (followed === MAX_FOLLOWED)
        throw new DocumentProblem(`has more than ${MAX_FOLLOWED} references that lead to each other`);
      found = this.#at(reference);
    }
    return undefined;
  }

  #at(reference: string): Json | undefined {
    if (!reference.startsWith("#/") && reference !== "#")
      throw new DocumentProblem(
        `refers to ${shown(reference)}, and only references within the document are followed; bundle it into one document`,
      );
    let found: Json | undefined = this.root;
    for (const part of reference.split("/").slice(1)) {
      found = own(found, keyOf(part));
      if (found === undefined) throw new DocumentProblem(`refers to ${shown(reference)}, which it does not have`);
    }
    return found;
  }
}

const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARACTERS));

/** A part of a JSON pointer in a URL's fragment. */
function keyOf(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // It is written as it is.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A property of the object itself, or an item of a list. */
export function own(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(key) ? value[Number(key)] : undefined;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export const textAt = (value: Json | undefined, key: string): string | undefined => {
  const found = own(value, key);
  return typeof found === "string" ? found : undefined;
};

export const listAt = (value: Json | undefined, key: string): readonly Json[] => {
  const found = own(value, key);
  return Array.isArray(found) ? found : [];
};

export const entriesAt = (value: Json | undefined, key: string): [string, Json][] => {
  const found = own(value, key);
  return isObject(found) ? Object.entries(found) : [];
};

/** An operation where it stands. `isSwagger`: in a document of version 2.0. */
export type Found = {
  method: string;
  path: string;
  item: JsonObject;
  operation: JsonObject;
  references: References;
  isSwagger: boolean;
};
