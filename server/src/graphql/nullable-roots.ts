/**
 * The fields of Query and Mutation are nullable, so that one refusal does not take the other fields' answers with it:
 * of two mutations in one operation, the first is done and answered when the second is refused, and the third is executed.
 * This holds for the whole schema, so that no field has to say it.
 */
import { getNullableType, type GraphQLSchema } from "graphql";

export function makeRootsNullable(schema: GraphQLSchema): GraphQLSchema {
  for (const type of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(type?.getFields() ?? {})) field.type = getNullableType(field.type);
  return schema;
}
