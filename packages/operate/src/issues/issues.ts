// All that can be wrong. Who finds, counts, shows or filters by issues reads it from here.

import type { IssueKind } from './issue.ts';
import { SERVICE_ISSUES } from './service-issues.ts';
import { ISSUES_OF_SUBJECTS, type Sources } from './subject-issues.ts';

/** Everything that can be wrong. */
export const ISSUES = { ...SERVICE_ISSUES, ...ISSUES_OF_SUBJECTS } as const;

type Subjects = typeof ISSUES_OF_SUBJECTS;

/** The issues of single teams, customers and events. */
export type SubjectIssueCode = keyof Subjects;
export type IssueCode = keyof typeof ISSUES;

/** The issues of single teams, customers and events, the most severe first. */
export const SUBJECT_ISSUES = Object.keys(ISSUES_OF_SUBJECTS) as readonly SubjectIssueCode[];

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
