import type { TextField } from "../../forms/credentials-form.tsx";

export const FIELDS: readonly TextField<"email" | "password">[] = [
  { name: "email", label: "E-mail", autoComplete: "username" },
  { name: "password", label: "Password", autoComplete: "current-password" },
];
