/** The header that a model's key goes in. */
export const modelKeyHeaders = `
-- Null: as the provider's protocol has it.
alter table model_connections add column api_key_header text;
`;
