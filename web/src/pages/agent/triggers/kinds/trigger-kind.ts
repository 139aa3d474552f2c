/** A kind of trigger, for the UI. Each kind is a folder, and a line in `../kinds.ts`. */
import type { ComponentType } from "react";
import type {
  TriggerConfigurationInput,
  TriggerOverlap,
  TriggerPartFragment,
  TriggerPolicyInput,
} from "../../../../api/documents.ts";
import type { FormField } from "../../../../forms/values.ts";
import type { Json } from "../../../../lib/json.ts";

/** The values of every trigger's form. A kind adds those of its own fields. */
export type Said = { name: string; overlap: TriggerOverlap };

/** The part of a trigger that its sentence needs. */
export type Told = Pick<TriggerPartFragment, "schedule" | "timezone" | "source" | "event"> & { filter: Json };

export type FieldsProps<Own extends object = object> = {
  said: Own;
  /** By their keys; `input.amount` is one of the input's. */
  problems: ReadonlyMap<string, string>;
  /** The fields of the agent's input. */
  fields: readonly FormField[];
  /** `mended`: which problem is gone with it, if it is not the key's. */
  set: (change: Partial<Own>, mended?: string) => void;
  /** A key's problem, said of its label. */
  problemOf: (name: keyof Own & string, label: string) => string | undefined;
  /** For an input of text. */
  text: (
    name: keyof Own & string,
    label: string,
  ) => {
    label: string;
    value: string;
    error: string | undefined;
    onChange: (event: { currentTarget: { value: string } }) => void;
  };
};

export type Kind<Own extends object> = {
  /** As in a menu: when a trigger of this kind fires. */
  word: string;
  sentenceOf: (trigger: Told) => string;
  /** The form's values: the trigger's, else those that a new one begins with. */
  saidBy: (trigger: TriggerPartFragment | undefined, fields: readonly FormField[]) => Own;
  /** For a new trigger. */
  overlap: TriggerOverlap;
  /** Both throw a Refusal for text that is not JSON. */
  configurationOf: (said: Own) => Omit<TriggerConfigurationInput, "type">;
  policyOf: (said: Own) => TriggerPolicyInput;
  Fields: ComponentType<FieldsProps<Own>>;
  /** Below the choice of what happens when its run before is open. */
  LastFields?: ComponentType<FieldsProps<Own>>;
  /** A change begins at the first field after the name. */
  isEditedAtFields?: true;
  /** Below the sentence of a trigger that exists. */
  Details?: ComponentType<{ trigger: TriggerPartFragment }>;
  /** Callers start it by a URL, which can be replaced. */
  hasUrl?: true;
  /** How it is fired by hand, and whether somebody says what comes with it. */
  byHand: { word: string; hasPayload: boolean };
};

/** A kind as the form knows it: only the kind itself knows what its own fields hold. */
export type TriggerKind = Kind<object>;
export const defineKind = <Own extends object>(kind: Kind<Own>): TriggerKind => kind as unknown as TriggerKind;
