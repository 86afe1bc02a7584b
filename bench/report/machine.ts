import { availableParallelism, cpus, totalmem, type } from 'node:os';

const BYTES_PER_GIGABYTE = 1_000_000_000;

/** The machine, without its name, and the settings of PostgreSQL that are not defaults. */
export function describeMachine(postgresVersion: string, settings: readonly string[]): string {
  const model = cpus()[0]?.model.trim() || 'unknown processor';
  const gigabytes = Math.round(totalmem() / BYTES_PER_GIGABYTE);
  return (
    `${availableParallelism()} cores (${model}), ${gigabytes} GB of memory, ${type()}, ` +
    `Node ${process.versions.node}, PostgreSQL ${postgresVersion}` +
    settings.map((setting, index) => `${index === 0 ? ' with' : ' and'} \`${setting}\``).join('')
  );
}
