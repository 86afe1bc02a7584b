import type { Sample } from '../measures/compare.ts';
import { figure } from './format.ts';

/** A sample as it is printed while the benchmark runs. */
export function sampleLine({ system, round, name, measured }: Sample): string {
  const { perSecond, p50Ms, p99Ms, serverCpuUs, postgresCpuUs, senderCpuUs } = measured;
  const head = `${round} ${system.padEnd(28)}${name.padEnd(22)}`;
  const rate = `${figure(perSecond, '/s').padStart(9)}  p50 ${figure(p50Ms, ' ms').padEnd(8)}`;
  const cpu = [serverCpuUs, postgresCpuUs, senderCpuUs].map((us) => figure(us)).join('/');
  const tail = `p99 ${figure(p99Ms, ' ms').padEnd(8)} CPU ${cpu} µs (server/postgres/sender)`;
  const memory = `${figure(measured.peakMegabytes, ' MB')}`;
  const problems = measured.problems.map((problem) => `\n  FAILED: ${problem}`).join('');
  return `${head}${rate} ${tail}  ${memory}${problems}`;
}
