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

/** The most memory that a process ever had; 0 when there is no such process any more. */
export function peakMegabytesOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, kilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(status) ?? [];
    return Math.round(Number(kilobytes) / 1_024);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}
