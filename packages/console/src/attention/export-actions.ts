import { type Query, type RecordedAction, readActions } from 'instep/operate/inside';
import { type ExportedList, exportedTime } from '../export.ts';

const COLUMNS = ['acted_at', 'action', 'subject', 'is_done', 'result', 'note'] as const;

type Column = (typeof COLUMNS)[number];

/** The actions of operators, the newest first. */
export function exportedActions(query: Query): ExportedList<Column> {
  return { name: 'actions', columns: COLUMNS, rows: rowsOf(query) };
}

const PAGE = 500;

async function* rowsOf(query: Query) {
  let before: number | null = null;
  for (;;) {
    const page: RecordedAction[] = await readActions(query, { before, limit: PAGE });
    for (const { actedAtMicroseconds, action, subject, isDone, result, note } of page) {
      const acted_at = exportedTime(Math.floor(actedAtMicroseconds / 1_000));
      yield { acted_at, action, subject, is_done: isDone, result, note };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    before = last.actedAtMicroseconds;
  }
}
