/** A choice of many, which is searched. On its own, because few forms have one and it weighs as much as all other fields together. */
import type { ReactNode } from "react";
import { Select } from "@mantine/core";

export type SearchedChoiceProps = {
  id: string;
  label: ReactNode;
  description: string | undefined;
  error: string | undefined;
  "aria-required": boolean;
  clearable: boolean;
  value: string;
  data: { value: string; label: string }[];
  onChange: (value: string) => void;
  onBlur: () => void;
};

export const SearchedChoice = ({ value, onChange, ...more }: SearchedChoiceProps) => (
  <Select {...more} searchable value={value || null} onChange={(chosen) => onChange(chosen ?? "")} />
);
