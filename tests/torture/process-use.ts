import { readdirSync, readFileSync } from 'node:fs';

export type Use = { readonly files: number; readonly megabytes: number };

export const canTellUse = () => process.platform === 'linux';

/** How many files a process has open, and how much memory is its own. */
export function useOf(pid: number): Use {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(status) ?? [];
  return {
    files: readdirSync(`/proc/${pid}/fd`).length,
    megabytes: Math.round(Number(kilobytes) / 1_024),
  };
}
