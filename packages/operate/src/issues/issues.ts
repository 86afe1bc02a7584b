// All that can be wrong. Who finds, counts, shows or filters by issues reads it from here.

import { counted, countText, durationText } from 'instep-engine/runtime';
import type { IssueKind, Severity } from './issue.ts';
import { SERVICE_ISSUES } from './service-issues.ts';
import type { ServiceState } from './service-state.ts';
import { ISSUES_OF_SUBJECTS, type Sources, type SubjectIssue } from './subject-issues.ts';

/** Everything that can be wrong. */
export const ISSUES = { ...SERVICE_ISSUES, ...ISSUES_OF_SUBJECTS } as const;

type Subjects = typeof ISSUES_OF_SUBJECTS;

/** The issues of single teams, customers and events. */
export type SubjectIssueCode = keyof Subjects;
export type IssueCode = keyof typeof ISSUES;

const codesOf = <Code extends string>(issues: Readonly<Record<Code, unknown>>) =>
  Object.keys(issues) as Code[];

/** The issues of single teams, customers and events, the most severe first. */
export const SUBJECT_ISSUES: readonly SubjectIssueCode[] = codesOf(ISSUES_OF_SUBJECTS);

/** What is known about an issue with one subject, by its code. */
export type IssueEvidence = {
  readonly [Code in SubjectIssueCode]: Subjects[Code] extends {
    readonly evidence: (stored: never, read: Sources) => infer Evidence;
  }
    ? NonNullable<Evidence>
    : never;
};

/** Something that is wrong, with the number of its subjects. */
export type Issue = IssueKind & {
  readonly code: IssueCode;
  /** The number of subjects; 1 if the issue concerns the service. */
  readonly count: number;
  /** Whether counting stopped at `count`. */
  readonly isMore: boolean;
  /** What is wrong, in a sentence without a period. The page or command that shows it adds what to do. */
  readonly text: string;
};

/** How many of each there are. */
export type IssueCounts = Readonly<
  Record<
    SubjectIssueCode,
    Pick<Issue, 'count' | 'isMore'> & {
      /** Those that operators have dismissed. */
      readonly hidden: number;
      /** Since when the oldest is open, in milliseconds since 1970; `null`: there is none. */
      readonly sinceMs: number | null;
    }
  >
>;

const SEVERITIES: readonly Severity[] = ['failure', 'warning', 'notice'];

/** All that is wrong, the most severe first. */
export function issuesOf(state: ServiceState, counts: IssueCounts, nowMs: number): Issue[] {
  const ofService = codesOf(SERVICE_ISSUES).flatMap((code): Issue[] => {
    const { find, ...kind } = SERVICE_ISSUES[code];
    const found = find(state, nowMs);
    if (found === null) return [];
    const one = { concerns: 'service', remedies: [], count: 1, isMore: false } as const;
    return [{ code, ...kind, ...one, ...found }];
  });
  const ofSubjects = SUBJECT_ISSUES.flatMap((code): Issue[] => {
    const { concerns, remedies, advice, text, ...issue }: SubjectIssue = ISSUES[code];
    const { count, isMore, sinceMs } = counts[code];
    if (count === 0) return [];
    // The database's clock can be ahead.
    const ageMs = Math.max(0, nowMs - (sinceMs ?? nowMs));
    const severity = ageMs < (issue.noticeMs ?? 0) ? 'notice' : issue.severity;
    const subjects = isMore ? `${countText(count, count)} ${concerns}s` : counted(count, concerns);
    const sentence = `${subjects} ${text}, for up to ${durationText(ageMs)}`;
    return [{ code, severity, concerns, remedies, advice, count, isMore, text: sentence }];
  });
  const rank = ({ severity }: Issue) => SEVERITIES.indexOf(severity);
  return [...ofService, ...ofSubjects].sort((a, b) => rank(a) - rank(b));
}
