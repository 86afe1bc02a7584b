// Reports new and resolved issues to the receiver of `ALERT_WEBHOOK_URL`.

import type { Query } from 'instep-engine/postgres';
import { type Job, withLease } from 'instep-engine/repair';
import { abortAfter, DeadlineExceeded, InstepError, Stopped } from 'instep-engine/runtime';
import * as v from 'valibot';
import type { Issue } from '../issues/issue.ts';
import { issueText, SUBJECT_ISSUES } from '../issues/issues.ts';

/** The receiver of alerts did not accept a message. The error never shows its address, which can be a secret. */
export class AlertFailed extends InstepError {
  readonly code = 'ALERT_FAILED';
}

/** Where alerts go. */
export type AlertConfig = {
  readonly url: URL;
  /** The address of the console, for links; `null`: without links. */
  readonly consoleUrl: URL | null;
};

/** The issues that the last message left open, as the job stores them. */
const progressShape = v.object({
  reported: v.array(
    v.object({
      code: v.string(),
      severity: v.picklist(['failure', 'warning']),
      text: v.string(),
      sinceMs: v.number(),
    }),
  ),
});

/** An issue that has been reported. */
type Reported = v.InferOutput<typeof progressShape>['reported'][number];

/** What has changed since the last message. */
export type Alert = {
  /** New issues, and those that have become failures, the failures first. */
  readonly opened: readonly Reported[];
  /** Issues that are over. */
  readonly resolved: readonly Reported[];
};

const INTERVAL_MS = 60_000;

type AlertsOptions = {
  readonly query: Query;
  readonly alerts: AlertConfig;
  readonly readIssues: () => Promise<readonly Issue[]>;
  readonly now: () => number;
  /** This instance. */
  readonly holder: string;
};

/**
 * A job of maintenance, which stands here because it reads the report of the health: reports new and resolved issues to
 * the receiver of `ALERT_WEBHOOK_URL`, in one of the instances and at most once a minute. A message that was not
 * accepted fails the job, and a minute later the next one has everything that is still news.
 */
export function createAlertsJob({ query, alerts, readIssues, now, holder }: AlertsOptions): Job {
  const lease = { name: 'alerts', holder, dueAfterMs: INTERVAL_MS };
  return {
    name: 'alerts',
    intervalMs: 5_000,
    run: async (signal) => {
      await withLease(query, lease, async (run) => {
        const stored = v.safeParse(progressShape, run.progress);
        const known = stored.success ? stored.output.reported : [];
        const open = openOf(await readIssues(), known, now());
        const alert = alertOf(known, open);
        try {
          const isNews = alert.opened.length + alert.resolved.length > 0;
          if (isNews) await sendAlert(alerts, alert, now(), signal);
        } catch (error) {
          await run.complete({ reported: known });
          throw error;
        }
        await run.complete({ reported: open });
      });
    },
  };
}

/** The issues that are open now, without those that are probably over soon. Pure. */
function openOf(issues: readonly Issue[], known: readonly Reported[], nowMs: number): Reported[] {
  return issues.flatMap((issue) => {
    const { code, severity } = issue;
    if (severity === 'notice') return [];
    const sinceMs = known.find((issue) => issue.code === code)?.sinceMs ?? nowMs;
    return [{ code, severity, text: issueText(issue, nowMs), sinceMs }];
  });
}

/** What is new in `open`. Pure. */
function alertOf(known: readonly Reported[], open: readonly Reported[]): Alert {
  const news = open.filter(({ code, severity }) => {
    const before = known.find((issue) => issue.code === code);
    return before === undefined || (severity === 'failure' && before.severity === 'warning');
  });
  return {
    // In the order of the alphabet, failures come first.
    opened: news.sort((a, b) => a.severity.localeCompare(b.severity)),
    resolved: known.filter(({ code }) => open.every((issue) => issue.code !== code)),
  };
}

const DEADLINE_MS = 10_000;

/** Sends a message, within 10 seconds. @throws AlertFailed */
export async function sendAlert(
  { url, consoleUrl }: AlertConfig,
  alert: Alert,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  const write = isSlack(url) ? slackMessage : jsonMessage;
  let response: Response;
  try {
    response = await abortAfter(DEADLINE_MS, signal, (inTime) =>
      fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(write(alert, consoleUrl, nowMs)),
        // A redirect could lead to a host that is not configured.
        redirect: 'error',
        signal: inTime,
      }),
    );
  } catch (error) {
    if (error instanceof Stopped) throw error;
    // Without its message, which can have the address.
    throw new AlertFailed(`the receiver of ALERT_WEBHOOK_URL did not answer: ${failureOf(error)}`);
  }
  await response.body?.cancel();
  if (response.ok) return;
  throw new AlertFailed(`the receiver of ALERT_WEBHOOK_URL answered with ${response.status}`);
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error instanceof DeadlineExceeded) return '10 seconds are over';
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return 'it is unreachable, or redirects';
}

/** Slack's own hosts, and the addresses at which others take its format, such as Discord's. */
function isSlack({ hostname, pathname }: URL): boolean {
  return /(?:^|\.)slack(?:-gov)?\.com$/.test(hostname) || pathname.endsWith('/slack');
}

const HEADINGS = { failure: 'Failure', warning: 'Warning' } as const;

/** For programs. `text` is for chats that read nothing else. */
function jsonMessage({ opened, resolved }: Alert, consoleUrl: URL | null, nowMs: number) {
  const line = (issue: Reported) => `${HEADINGS[issue.severity]}: ${issue.text}`;
  const member = (issue: Reported) => ({
    code: issue.code,
    severity: issue.severity,
    text: issue.text,
    since: new Date(issue.sinceMs).toISOString(),
    ...(consoleUrl !== null && { url: linkOf(issue, consoleUrl) }),
  });
  const lines = [...opened.map(line), ...resolved.map(({ text }) => `Resolved: ${text}`)];
  return {
    at: new Date(nowMs).toISOString(),
    text: lines.length === 0 ? TEST : `Instep\n${lines.join('\n')}`,
    opened: opened.map(member),
    resolved: resolved.map(member),
  };
}

const TEST = 'Instep: this is a test. Alerts arrive here.';

function slackMessage({ opened, resolved }: Alert, consoleUrl: URL | null) {
  const link = (issue: Reported) =>
    consoleUrl === null ? '' : ` <${escaped(linkOf(issue, consoleUrl))}|Open>`;
  const lines = [
    ...opened.map((issue) => `*${HEADINGS[issue.severity]}:* ${escaped(issue.text)}${link(issue)}`),
    ...resolved.map((issue) => `*Resolved:* ${escaped(issue.text)}${link(issue)}`),
  ];
  return { text: lines.length === 0 ? TEST : `Instep\n${lines.join('\n')}` };
}

/** Slack's three control characters. */
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The list of the issue's subjects in the console, or else the overview. */
function linkOf({ code }: Reported, consoleUrl: URL): string {
  const base = consoleUrl.href.replace(/\/$/, '');
  const hasList = SUBJECT_ISSUES.some((known) => known === code);
  return hasList ? `${base}/attention?issue=${code}` : `${base}/`;
}
