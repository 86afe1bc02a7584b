// `instep config`: every setting, without secrets, and where its value comes from.

import type { Command } from 'commander';
import {
  ConfigInvalid,
  describeDatabase,
  readConfig,
  readDatabaseConfig,
  SETTINGS,
} from '../config/config.ts';
import { createCommand } from './arguments.ts';
import { type Json, type RowFormat, writeRows } from './output.ts';
import { sourceOf } from './variable-files.ts';

/** Addresses and certificates too: they can have a password, a token or a key. */
const SECRET = /SECRET|TOKEN|KEY$|URL$|_CA$|_BASE$/;

export function configCommand(): Command {
  return createCommand(
    'config',
    'show every setting, without secrets, and where its value comes from',
    'instep config',
  )
    .option('--json', 'print JSON lines')
    .action(showConfig);
}

type Setting = {
  readonly variable: string;
  /** `set` in place of a secret. */
  readonly value: string | null;
  /** `default`, `environment`, or the name of a file. */
  readonly from: string;
  readonly problem: string | null;
};

const FORMAT: RowFormat<Setting> = {
  columns: [
    ['variable', 22, ({ variable }) => variable],
    ['value', 44, ({ value, problem }) => (problem === null ? value : `✗ ${problem}`)],
    ['from', 11, ({ from }) => from],
  ],
  data: (setting) => setting,
};

/** What stands in for another variable, or is read by a route of the app. */
const OTHERS = [
  { variable: 'POSTGRES_URL', byDefault: null },
  { variable: 'CRON_SECRET', byDefault: null },
];

/** @throws ConfigInvalid after all settings, if some are invalid */
async function showConfig({ json }: Json): Promise<void> {
  const invalid = problemsOf(() => readConfig(process.env));
  const problems = new Map(invalid?.problems.map((one) => [one.variable, one.problem]));
  const settings = [...SETTINGS, ...OTHERS].map(({ variable, byDefault }): Setting => {
    const text = process.env[variable];
    const isSet = text !== undefined && text !== '';
    const problem = problems.get(variable) ?? null;
    const value = isSet ? shown(variable, text) : defaultOf(variable, byDefault);
    const from = isSet ? sourceOf(variable) : 'default';
    return { variable, value: problem === null ? value : null, from, problem };
  });
  await writeRows(FORMAT, settings, { json });
  if (invalid !== null) throw invalid;
}

function defaultOf(variable: string, byDefault: string | null): string | null {
  const isReplaced = variable === 'DATABASE_URL' && process.env.POSTGRES_URL;
  return isReplaced ? 'that of POSTGRES_URL' : byDefault;
}

function shown(variable: string, text: string): string {
  if (!SECRET.test(variable)) return text;
  const isDatabase = variable === 'DATABASE_URL' || variable === 'POSTGRES_URL';
  if (!isDatabase || problemsOf(() => readDatabaseConfig(process.env)) !== null) return 'set';
  return describeDatabase(readDatabaseConfig(process.env));
}

function problemsOf(read: () => unknown): ConfigInvalid | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof ConfigInvalid) return error;
    throw error;
  }
}
