// SQL for ids that are parameters, whatever type the app's ids have.

import type { IdType } from './application-tables.ts';

/**
 * SQL that parses an id from text, or yields null for text that is not an id of this type: a session, a link
 * or a command can contain anything.
 */
export function idFrom(type: IdType, text: string): string {
  switch (type) {
    case 'bigint':
      return `
        case when ${text} ~ '^-?[0-9]{1,19}$' then
          case when ${text}::numeric between -9223372036854775808 and 9223372036854775807 then
            ${text}::bigint
          end
        end`;
    case 'uuid':
      return `
        case when ${text} ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
          ${text}::uuid
        end`;
    case 'text':
      return text;
  }
}

/**
 * SQL for the array of valid ids in a parameter of integers and one of strings. Parsing an id takes longer
 * than finding its row, so integers are not parsed where ids are integers.
 */
export function idsFrom(type: IdType, integers: string, texts: string): string {
  const read = (asked: string) => `array(
               select ${idFrom(type, 'asked.id')}
                 from unnest(${asked}) as asked (id)
             )`;
  return type === 'bigint'
    ? `${integers}::bigint[] || ${read(`${texts}::text[]`)}`
    : read(`${integers}::bigint[]::text[] || ${texts}::text[]`);
}

/**
 * SQL for the condition that a page begins after an id; the first page, for which it is null, has the smallest id
 * too. An index on `id` finds the beginning.
 */
export function isAfter(type: IdType, text: string, column = 'id'): string {
  // A subquery, so that the text is parsed once and not for each row.
  const id = `(select ${idFrom(type, text)})`;
  return `${column} >= coalesce(${id}, ${SMALLEST[type]}) and ${column} is distinct from ${id}`;
}

const SMALLEST: Readonly<Record<IdType, string>> = {
  bigint: "'-9223372036854775808'::bigint",
  uuid: "'00000000-0000-0000-0000-000000000000'::uuid",
  text: "''",
};
