import { readFileSync, writeFileSync } from 'node:fs';
import type { Scenario } from './scenario.ts';

const FILE = new URL('../../docs/reliability.md', import.meta.url);
const BEGIN = '<!-- Written by npm run torture: begin -->\n';
const END = '<!-- end -->';
const HEAD = ['| fault | promise | test | seen | command |', '|---|---|---|---|---|'];

/** Puts a scenario's row into the table of `docs/reliability.md`, in the place of its former one. */
export function reportFigures(
  name: string,
  { fault, promise }: Scenario,
  figures: Readonly<Record<string, number>>,
): void {
  const text = readFileSync(FILE, 'utf8');
  const from = text.indexOf(BEGIN) + BEGIN.length;
  const until = text.indexOf(END);
  const test = `\`tests/torture/scenarios/${name}.ts\``;
  const command = `\`npm run torture -- ${name}\``;
  const seen = Object.entries(figures).map(
    ([what, count]) => `${count.toLocaleString('en')} ${what}`,
  );
  const row = `| ${[fault, promise, test, seen.join(', '), command].join(' | ')} |`;
  const others = text
    .slice(from, until)
    .split('\n')
    .slice(HEAD.length)
    .filter((line) => line !== '' && !line.includes(command));
  const table = [...HEAD, ...[...others, row].sort()].join('\n');
  writeFileSync(FILE, `${text.slice(0, from)}${table}\n${text.slice(until)}`);
}
