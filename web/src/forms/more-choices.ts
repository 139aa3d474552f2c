/** The last of choices that were read in part: it cannot be chosen, and says that there are others. */
import { isOptionsGroup, type ComboboxItem, type OptionsFilter } from "@mantine/core";

/** `words` are of one list alone, such as "and more keys, older ones". */
export const moreChoices = (hasMore: boolean | undefined, words: string): ComboboxItem[] =>
  hasMore ? [{ value: words, label: words, disabled: true }] : [];

/** Where the server finds what is typed. */
export const TYPE_FOR_MORE = "and more: type to find others";

/** Finds what is typed among those that were read; that there are others stays there. */
export const amongRead: OptionsFilter = ({ options, search }) => {
  const text = search.trim().toLowerCase();
  const isFound = ({ label, disabled }: ComboboxItem): boolean =>
    disabled === true || label.toLowerCase().includes(text);
  return options
    .map((one) => (isOptionsGroup(one) ? { ...one, items: one.items.filter(isFound) } : one))
    .filter((one) => (isOptionsGroup(one) ? one.items.length > 0 : isFound(one)));
};
