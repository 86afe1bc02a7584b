import { readFileSync, writeFileSync } from 'node:fs';
import type { Scenario } from './scenario.ts';

const FILE = new URL('../../docs/how-it-is-tested.md', import.meta.url);
const BEGIN = '<!-- Written by npm run torture: begin -->\n';
const END = '<!-- end -->';
const HEAD = ['| fault | promise | test | result | command |', '|---|---|---|---|---|'];

export type Report = {
  readonly name: string;
  readonly scenario: Scenario;
  readonly times: number;
  readonly figures: Readonly<Record<string, number>>;
};

/** Writes a scenario's row into the table of `docs/how-it-is-tested.md`, and replaces its former row. */
export function reportFigures(report: Report): void {
  writeFileSync(FILE, withRow(readFileSync(FILE, 'utf8'), report));
}

/** The page with the row. The row of a shorter run doesn't replace that of a longer one. */
export function withRow(page: string, { name, scenario, times, figures }: Report): string {
  const from = page.indexOf(BEGIN) + BEGIN.length;
  const until = page.indexOf(END);
  const rows = page
    .slice(from, until)
    .split('\n')
    .slice(HEAD.length)
    .filter((line) => line !== '');
  const mark = `\`tests/faults/scenarios/${name}.ts\``;
  const former = rows.find((row) => row.includes(mark));
  if (former !== undefined && timesOf(former, scenario) > times) return page;

  const shorter = times === scenario.times.long ? '' : ` --times ${times}`;
  const command = `\`npm run torture -- ${name}${shorter}\``;
  const results = Object.entries(figures).map(
    ([what, count]) => `${count.toLocaleString('en')} ${what}`,
  );
  const { fault, promise } = scenario;
  const row = `| ${[fault, promise, mark, results.join(', '), command].join(' | ')} |`;
  const others = rows.filter((line) => line !== former);
  const table = [...HEAD, ...[...others, row].sort()].join('\n');
  return `${page.slice(0, from)}${table}\n${page.slice(until)}`;
}

/** The number of repetitions of this row, from its command. */
function timesOf(row: string, { times }: Scenario): number {
  const [, shorter] = / --times (\d+)`/.exec(row) ?? [];
  return shorter === undefined ? times.long : Number(shorter);
}
