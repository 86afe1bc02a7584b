import { readdirSync, readFileSync } from 'node:fs';

type Use = { readonly files: number; readonly megabytes: number };

export const canMeasureUse = () => process.platform === 'linux';

/** The number of open files and the private memory of a process. */
export function useOf(pid: number): Use {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(status) ?? [];
  return {
    files: readdirSync(`/proc/${pid}/fd`).length,
    megabytes: Math.round(Number(kilobytes) / 1_024),
  };
}

/** The peak memory of a process; 0 if it has exited. */
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
