import type { Explanation } from '../../../event-log/explain.ts';
import type { EventRow } from '../../../queries/search-events.ts';

/** Why that was decided on an event, as sentences that a page can show beside its outcome. */
export function reasonsOf({ outcome }: EventRow, { why }: Explanation): readonly string[] {
  const said = `${outcome}: `;
  return why.map((sentence) =>
    sentence.startsWith(said) ? sentence.slice(said.length) : sentence,
  );
}
