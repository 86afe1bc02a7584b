import { expect, test } from 'vitest';
import { type Report, withRow } from './report.ts';

const PAGE = `# Page
<!-- Written by npm run torture: begin -->
<!-- end -->
after
`;

const scenario = {
  fault: 'a fault',
  promise: 'a promise',
  times: { short: 1, long: 500 },
  run: async () => ({}),
};

function report(fields: Partial<Report> = {}): Report {
  return { name: 'one', scenario, times: 500, figures: { kills: 1_000, lost: 0 }, ...fields };
}

const rowsOf = (page: string) => page.split('\n').filter((line) => line.startsWith('| a '));

test('a row holds fault, promise, test, figures and command', () => {
  const page = withRow(PAGE, report());
  expect(rowsOf(page)).toEqual([
    '| a fault | a promise | `tests/faults/scenarios/one.ts` | 1,000 kills, 0 lost | `npm run torture -- one` |',
  ]);
  expect(page).toMatch(/^# Page\n/);
  expect(page).toMatch(/<!-- end -->\nafter\n$/);
});

test('a new row replaces the former row of its scenario only', () => {
  const both = withRow(withRow(PAGE, report({ name: 'one-more' })), report());
  const again = withRow(both, report({ figures: { kills: 7 } }));
  expect(rowsOf(again)).toHaveLength(2);
  expect(rowsOf(again).filter((row) => row.includes('| 7 kills |'))).toHaveLength(1);
  expect(withRow(again, report({ figures: { kills: 7 } }))).toBe(again);
});

test('a shorter run is labeled, and does not replace the row of a longer one', () => {
  const shorter = withRow(PAGE, report({ times: 20 }));
  expect(rowsOf(shorter)[0]).toContain('`npm run torture -- one --times 20`');
  expect(withRow(shorter, report({ times: 10 }))).toBe(shorter);
  const longer = withRow(shorter, report());
  expect(rowsOf(longer)).toHaveLength(1);
  expect(withRow(longer, report({ times: 499 }))).toBe(longer);
});
