import type { Finding } from 'instep/operate';
import { type ExportedList, exportedTime } from '../export.ts';

const COLUMNS = [
  'finding',
  'team',
  'customer',
  'cause',
  'subscriptions',
  'is',
  'should_be',
  'since',
  'is_repaired',
] as const;

type Column = (typeof COLUMNS)[number];

export function exportedFindings(findings: readonly Finding[]): ExportedList<Column> {
  return { name: 'findings', columns: COLUMNS, rows: findingRows(findings) };
}

async function* findingRows(findings: readonly Finding[]) {
  for (const finding of findings) {
    const drift = finding.kind === 'drift' ? finding : null;
    const { sinceSeconds = null, isRepaired = null } = drift ?? {};
    yield {
      finding: finding.kind,
      team: 'teamId' in finding ? finding.teamId : null,
      customer: finding.customerId,
      cause: drift?.cause ?? null,
      subscriptions: 'subscriptionIds' in finding ? finding.subscriptionIds.join(' ') : null,
      is: drift && JSON.stringify(drift.is),
      should_be: drift && JSON.stringify(drift.shouldBe),
      since: exportedTime(sinceSeconds === null ? null : sinceSeconds * 1_000),
      is_repaired: isRepaired,
    };
  }
}
