import { type Answer, Connection } from './connection.ts';
import type { Job, Load } from './job.ts';
import type { NextRequest, Outgoing } from './outgoing.ts';
import { percentile } from './percentile.ts';

/** How long to wait for responses after the last request. */
const LAST_ANSWER_MS = 10_000;
const TICK_MS = 1;

type Lane = { readonly connection: Connection; outgoing: Outgoing | null; sentAtMs: number };

/** Runs a job: sends its requests and counts the responses. */
export function runJob(job: Job, nextRequest: NextRequest): Promise<Load> {
  const { hostname: host, port } = new URL(job.url);
  const { ratePerSecond } = job;
  const tookMs: number[] = [];
  const failures: Record<string, number> = {};
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + job.seconds * 1_000;
  let inFlight = 0;
  let lastAnswerAtMs = startedAtMs;

  return new Promise((resolve) => {
    const lanes = Array.from({ length: job.connections }, openLane);
    /** The connections that can send, the longest waiting first. */
    const idle = ratePerSecond === null ? [] : [...lanes];
    /** The due times of requests for which no connection was free. */
    const due: number[] = [];
    let isOver = false;

    function openLane(): Lane {
      const lane: Lane = {
        connection: new Connection({
          host,
          port: Number(port),
          onAnswer: (answer) => receive(lane, answer),
        }),
        outgoing: null,
        sentAtMs: 0,
      };
      return lane;
    }

    /** `sentAtMs`: when it is sent, or was due. */
    function send(lane: Lane, sentAtMs: number): boolean {
      const outgoing = nextRequest();
      if (outgoing === null) return false;
      lane.outgoing = outgoing;
      lane.sentAtMs = sentAtMs;
      inFlight += 1;
      lane.connection.send(outgoing.bytes);
      return true;
    }

    function receive(lane: Lane, answer: Answer | null): void {
      const nowMs = performance.now();
      inFlight -= 1;
      lastAnswerAtMs = nowMs;
      tookMs.push(nowMs - lane.sentAtMs);
      const failure = failureOf(answer, lane.outgoing);
      if (failure !== null) failures[failure] = (failures[failure] ?? 0) + 1;
      reuse(lane, nowMs);
    }

    function reuse(lane: Lane, nowMs: number): void {
      if (ratePerSecond === null) {
        const isSent = nowMs < endsAtMs && send(lane, nowMs);
        if (!isSent && inFlight === 0) finish();
        return;
      }
      const dueAtMs = due.shift();
      if (dueAtMs === undefined) idle.push(lane);
      else send(lane, dueAtMs);
      if (isOver && inFlight === 0) finish();
    }

    /** Sends the requests that are due, whether earlier ones are answered or not. */
    function sendOnTime(rate: number): void {
      let sent = 0;
      const timer = setInterval(() => {
        const nowMs = performance.now();
        const until = Math.min(nowMs, endsAtMs);
        for (; startedAtMs + (sent * 1_000) / rate < until; sent += 1) {
          const dueAtMs = startedAtMs + (sent * 1_000) / rate;
          const lane = idle.shift();
          if (lane === undefined) due.push(dueAtMs);
          else send(lane, dueAtMs);
        }
        if (nowMs < endsAtMs) return;
        clearInterval(timer);
        isOver = true;
        if (inFlight === 0) finish();
      }, TICK_MS);
    }

    function finish(): void {
      clearTimeout(late);
      for (const { connection } of lanes) connection.close();
      const { user, system } = process.cpuUsage(cpuBefore);
      const sorted = Float64Array.from(tookMs).sort();
      const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
      const elapsedMs = lastAnswerAtMs - startedAtMs;
      const answered = tookMs.length - failed;
      resolve({
        answered,
        failures,
        perSecond: (answered * 1_000) / elapsedMs,
        p50Ms: percentile(sorted, 50),
        p99Ms: percentile(sorted, 99),
        senderCpuMs: (user + system) / 1_000,
      });
    }

    const late = setTimeout(
      () => {
        failures.unanswered = inFlight;
        finish();
      },
      job.seconds * 1_000 + LAST_ANSWER_MS,
    );
    if (ratePerSecond === null) for (const lane of lanes) reuse(lane, startedAtMs);
    else sendOnTime(ratePerSecond);
  });
}

function failureOf(answer: Answer | null, outgoing: Outgoing | null): string | null {
  if (answer === null) return 'ended';
  if (answer.status !== 200) return String(answer.status);
  return outgoing?.isRight(answer) === true ? null : 'wrong';
}
