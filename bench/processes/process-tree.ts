import { readdirSync, readFileSync } from 'node:fs';

/** The resources that a process and its children have used. */
export type Use = { readonly cpuMs: number; readonly peakMegabytes: number };

type Stat = { readonly pid: number; readonly parent: number; readonly cpuMs: number };

/** Linux reports times in hundredths of a second. */
const MS_PER_TICK = 10;

/** Whether the system reports what processes use. */
export const canMeasureUse = () => process.platform === 'linux';

/**
 * The processor time of a process and its children, including those that have ended, and the sum of
 * the peak memory of those that run.
 */
export function useOf(pid: number): Use {
  const members = treeOf(pid);
  const cpuMs = members.reduce((sum, stat) => sum + stat.cpuMs, 0);
  const peakMegabytes = members.reduce((sum, stat) => sum + megabytesOf(stat.pid, 'VmHWM'), 0);
  return { cpuMs, peakMegabytes };
}

/** The resident memory of a process and its children. */
export function residentMegabytes(pid: number): number {
  return treeOf(pid).reduce((sum, stat) => sum + megabytesOf(stat.pid, 'VmRSS'), 0);
}

function treeOf(root: number): Stat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const text = readIfThere(`/proc/${name}/stat`);
      return text === null ? [] : [parseStat(text)];
    });
  const tree = all.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** `pid (name) state parent …`; the name can contain anything. Fields as in proc(5). */
function parseStat(text: string): Stat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  return { pid: Number.parseInt(text, 10), parent: field(4), cpuMs: ticks * MS_PER_TICK };
}

function megabytesOf(pid: number, name: 'VmHWM' | 'VmRSS'): number {
  const status = readIfThere(`/proc/${pid}/status`) ?? '';
  const [, kilobytes = '0'] = new RegExp(`${name}:\\s+(\\d+)`).exec(status) ?? [];
  return Number(kilobytes) / 1_024;
}

/** `null` when the process has ended. */
function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
