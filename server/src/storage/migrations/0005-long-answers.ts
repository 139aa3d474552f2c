/** Tokens that calls without a maximum may use beyond those that count if nobody knows. */
export const longAnswers = `
alter table model_reservations
  -- Only while the call is under way.
  add column beyond_tokens bigint not null default 0;
`;
