// Reports the open issues to the receiver of `ALERT_WEBHOOK_URL`, when another one is open, one is over, or its severity changes.

import type { Query } from 'instep-engine/postgres';
import { type Job, withLease } from 'instep-engine/repair';
import { abortAfter, codeOf, counted, InstepError, Stopped } from 'instep-engine/runtime';
import * as v from 'valibot';
import { type Issue, SUBJECT_ISSUES } from '../issues/issues.ts';

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

/** The issues of the last message, as the job stores them. */
const progressShape = v.object({
  reported: v.array(v.object({ code: v.string(), severity: v.string() })),
});

/** An issue in a message. */
export type AlertIssue = Pick<Issue, 'code' | 'severity' | 'text'>;

const INTERVAL_MS = 60_000;

type AlertsOptions = {
  readonly query: Query;
  readonly alerts: AlertConfig;
  readonly readIssues: () => Promise<readonly AlertIssue[]>;
  readonly now: () => number;
  /** This instance. */
  readonly holder: string;
};

/**
 * A job of maintenance, which stands here because it reads the report of the health, in one of the instances and at most
 * once a minute. A message that was not accepted fails the job, which is tried again.
 */
export function createAlertsJob({ query, alerts, readIssues, now, holder }: AlertsOptions): Job {
  const lease = { name: 'alerts', holder, dueAfterMs: INTERVAL_MS };
  return {
    name: 'alerts',
    intervalMs: 5_000,
    run: async (signal) => {
      await withLease(query, lease, async (run) => {
        const stored = v.safeParse(progressShape, run.progress);
        const last = stored.success ? stored.output.reported : [];
        // A notice is probably over soon.
        const open = (await readIssues()).filter(({ severity }) => severity !== 'notice');
        const reported = open.map(({ code, severity }) => ({ code, severity }));
        if (JSON.stringify(reported) !== JSON.stringify(last)) {
          const headline =
            open.length === 0 ? 'all issues are resolved.' : counted(open.length, 'issue');
          await sendAlert(alerts, { headline, issues: open, nowMs: now() }, signal);
        }
        await run.saveProgress({ reported });
      });
    },
  };
}

const DEADLINE_MS = 10_000;

type Alert = {
  /** What the issues amount to. */
  readonly headline: string;
  /** The failures first. */
  readonly issues: readonly AlertIssue[];
  readonly nowMs: number;
};

/** Sends a message within 10 seconds. @throws AlertFailed */
export async function sendAlert(
  { url, consoleUrl }: AlertConfig,
  { headline, issues, nowMs }: Alert,
  signal: AbortSignal,
): Promise<void> {
  const members = issues.map(({ code, severity, text }) => ({
    ...{ code, severity, text },
    ...(consoleUrl && { url: linkOf(code, consoleUrl) }),
  }));
  const lines = members.map(({ severity, text, url = '' }) =>
    `${severity === 'failure' ? 'Failure' : 'Warning'}: ${text}. ${url}`.trim(),
  );
  const text = [`Instep: ${headline}`, ...lines].join('\n');
  const message = isSlack(url)
    ? { text: escaped(text) }
    : // For programs. `text` is for chats that read nothing else.
      { at: new Date(nowMs).toISOString(), text, issues: members };
  let response: Response;
  try {
    response = await abortAfter(DEADLINE_MS, signal, (inTime) =>
      fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(message),
        // A redirect could lead to a host that is not configured.
        redirect: 'error',
        signal: inTime,
      }),
    );
  } catch (error) {
    if (error instanceof Stopped) throw error;
    // Without its message, which can have the address.
    const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : null);
    const reason = code ?? 'it is unreachable, or redirects';
    throw new AlertFailed(`the receiver of ALERT_WEBHOOK_URL did not answer: ${reason}`);
  }
  await response.body?.cancel();
  if (response.ok) return;
  throw new AlertFailed(`the receiver of ALERT_WEBHOOK_URL answered with ${response.status}`);
}

/** Slack's own hosts, and the addresses at which others take its format, such as Discord's. */
function isSlack({ hostname, pathname }: URL): boolean {
  return /(?:^|\.)slack(?:-gov)?\.com$/.test(hostname) || pathname.endsWith('/slack');
}

/** Slack's three control characters. */
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The list of the issue's subjects in the console, or else the overview. */
function linkOf(code: Issue['code'], consoleUrl: URL): string {
  const base = consoleUrl.href.replace(/\/$/, '');
  const hasList = SUBJECT_ISSUES.some((known) => known === code);
  return hasList ? `${base}/attention?issue=${code}` : `${base}/`;
}
